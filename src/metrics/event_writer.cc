// SPDX-License-Identifier: Apache-2.0
#include "metrics/event_writer.h"

#include <protozero/pbf_writer.hpp>

#include "metrics/event_file.h"

namespace stoker::metrics {
namespace {

template <typename T>
void AppendLittle(std::string* out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace

std::string EventRecord(std::string_view event) {
  std::string out;
  AppendLittle(&out, static_cast<uint64_t>(event.size()));
  AppendLittle(&out, MaskedCrc32c(out));
  out += event;
  AppendLittle(&out, MaskedCrc32c(event));
  return out;
}

// Event: 1 wall_time, 2 step, 3 file_version, 5 summary, 7 session_log.
std::string EventFileBegin(double time) {
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_double(1, time);
  writer.add_string(3, "brain.Event:2");
  return EventRecord(event);
}

// Summary: 1 value, of which 1 is the tag and 2 simple_value.
std::string ScalarRecord(double time, int64_t step, std::string_view tag, double value) {
  std::string one;
  protozero::pbf_writer scalar(one);
  scalar.add_string(1, tag.data(), tag.size());
  scalar.add_float(2, static_cast<float>(value));
  std::string summary;
  protozero::pbf_writer(summary).add_message(1, one);
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_double(1, time);
  writer.add_int64(2, step);
  writer.add_message(5, summary);
  return EventRecord(event);
}

// SessionLog: 1 status, of which 1 is START.
std::string SessionStartRecord(double time, int64_t step) {
  std::string session;
  protozero::pbf_writer(session).add_enum(1, 1);
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_double(1, time);
  writer.add_int64(2, step);
  writer.add_message(7, session);
  return EventRecord(event);
}

}  // namespace stoker::metrics
