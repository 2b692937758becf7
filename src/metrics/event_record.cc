// SPDX-License-Identifier: Apache-2.0
#include "metrics/event_record.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/json.h"
#include "base/protobuf.h"

namespace stoker::metrics {
namespace {

using protozero::pbf_reader;

// IEEE 754 binary16, as half_val has it: one in the low bits of each number.
double FromHalf(uint32_t bits) {
  const int exponent = static_cast<int>((bits >> 10) & 31);
  const double mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa == 0 ? sign * HUGE_VAL : std::nan("");
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

double FromBfloat(uint32_t bits) {
  const uint32_t whole = bits << 16;
  float value = 0;
  std::memcpy(&value, &whole, sizeof value);
  return static_cast<double>(value);
}

template <typename T>
std::optional<double> Raw(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little);  // tensor_content is little-endian
  if (bytes.size() != sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return static_cast<double>(value);
}

// DataType of types.proto.
enum Type : int32_t {
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kInt64 = 9,
  kBool = 10,
  kBfloat16 = 14,
  kUint16 = 17,
  kHalf = 19,
  kUint32 = 22,
  kUint64 = 23,
};

std::optional<double> FromContent(int32_t type, std::string_view bytes) {
  switch (type) {
    case kFloat:
      return Raw<float>(bytes);
    case kDouble:
      return Raw<double>(bytes);
    case kInt32:
      return Raw<int32_t>(bytes);
    case kUint8:
      return Raw<uint8_t>(bytes);
    case kInt16:
      return Raw<int16_t>(bytes);
    case kInt8:
      return Raw<int8_t>(bytes);
    case kInt64:
      return Raw<int64_t>(bytes);
    case kBool:
      return Raw<uint8_t>(bytes);
    case kUint16:
      return Raw<uint16_t>(bytes);
    case kUint32:
      return Raw<uint32_t>(bytes);
    case kUint64:
      return Raw<uint64_t>(bytes);
    case kHalf:
    case kBfloat16: {
      if (bytes.size() != 2) return std::nullopt;
      uint16_t bits = 0;
      std::memcpy(&bits, bytes.data(), 2);
      return type == kHalf ? FromHalf(bits) : FromBfloat(bits);
    }
    default:
      return std::nullopt;
  }
}

template <typename Range>
void First(const Range& range, std::optional<double>* value) {
  if (!*value && range.begin() != range.end()) *value = static_cast<double>(*range.begin());
}

// TensorProto's one number; nullopt: it holds none, or is no number.
std::optional<double> TensorValue(std::string_view bytes) {
  pbf_reader tensor(bytes.data(), bytes.size());
  int32_t type = 0;
  std::optional<double> value;
  std::optional<int64_t> half;
  std::string_view content;
  while (tensor.next()) {
    switch (tensor.tag()) {
      case 1:
        type = tensor.get_enum();
        break;
      case 4:
        content = ViewOf(tensor);
        break;
      // Numbers may come packed or, from other writers, one by one.
      case 5:
        if (tensor.has_wire_type(protozero::pbf_wire_type::length_delimited)) {
          First(tensor.get_packed_float(), &value);
        } else {
          value = static_cast<double>(tensor.get_float());
        }
        break;
      case 6:
        if (tensor.has_wire_type(protozero::pbf_wire_type::length_delimited)) {
          First(tensor.get_packed_double(), &value);
        } else {
          value = tensor.get_double();
        }
        break;
      case 7:
      case 10:
      case 11:
      case 13:
      case 16:
      case 17: {
        std::optional<double> number;
        const auto tag = tensor.tag();
        if (tensor.has_wire_type(protozero::pbf_wire_type::length_delimited)) {
          if (tag == 17) {
            First(tensor.get_packed_uint64(), &number);
          } else {
            First(tensor.get_packed_int64(), &number);
          }
        } else if (tag == 17) {
          number = static_cast<double>(tensor.get_uint64());
        } else {
          number = static_cast<double>(tensor.get_int64());
        }
        if (tag == 13 && number) half = static_cast<int64_t>(*number);
        if (tag != 13 && number) value = number;
        break;
      }
      default:
        tensor.skip();
    }
  }
  if (half) {
    const auto bits = static_cast<uint32_t>(*half & 0xffff);
    return type == kBfloat16 ? FromBfloat(bits) : FromHalf(bits);
  }
  return value ? value : FromContent(type, content);
}

// google.protobuf.Value (struct.proto) as JSON; lists and structs are left out.
std::optional<std::string> ValueJson(std::string_view bytes) {
  pbf_reader value(bytes.data(), bytes.size());
  nlohmann::json out;
  while (value.next()) {
    switch (value.tag()) {
      case 2:
        out = value.get_double();
        break;
      case 3:
        out = value.get_string();
        break;
      case 4:
        out = value.get_bool();
        break;
      default:
        value.skip();
    }
  }
  if (out.is_number() && !std::isfinite(out.get<double>())) return std::nullopt;
  // A whole number is meant as one: Value knows doubles alone.
  if (out.is_number_float() && out.get<double>() == std::floor(out.get<double>()) &&
      std::abs(out.get<double>()) < 1e15) {
    out = static_cast<int64_t>(out.get<double>());
  }
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// HParamsPluginData -> session_start_info = 3 -> hparams = 1 (tensorboard/plugins/hparams/
// plugin_data.proto).
void ReadHyperparameters(std::string_view content, PointSink& sink) {
  pbf_reader data(content.data(), content.size());
  while (data.next(3)) {
    pbf_reader start = data.get_message();
    while (start.next(1)) {
      pbf_reader entry = start.get_message();
      std::string name;
      std::optional<std::string> json;
      while (entry.next()) {
        switch (entry.tag()) {
          case 1:
            name = entry.get_string();
            break;
          case 2:
            json = ValueJson(ViewOf(entry));
            break;
          default:
            entry.skip();
        }
      }
      if (!name.empty() && json) sink.OnHyperparameter(name, *json);
    }
  }
}

struct Plugin {
  std::string_view name;
  std::string_view content;
};

// SummaryMetadata's plugin_data.
Plugin ReadMetadata(std::string_view bytes) {
  Plugin plugin;
  pbf_reader metadata(bytes.data(), bytes.size());
  while (metadata.next(1)) {
    pbf_reader data = metadata.get_message();
    while (data.next()) {
      switch (data.tag()) {
        case 1:
          plugin.name = ViewOf(data);
          break;
        case 2:
          plugin.content = ViewOf(data);
          break;
        default:
          data.skip();
      }
    }
  }
  return plugin;
}

void ReadValue(pbf_reader value, int64_t step, WallTime time, EventNames& names, PointSink& sink) {
  std::string_view tag;
  std::string_view metadata;
  std::optional<std::string_view> tensor;
  std::optional<double> simple;
  while (value.next()) {
    switch (value.tag()) {
      case 1:
        tag = ViewOf(value);
        break;
      case 2:
        simple = static_cast<double>(value.get_float());
        break;
      case 8:
        tensor = ViewOf(value);
        break;
      case 9:
        metadata = ViewOf(value);
        break;
      default:
        value.skip();
    }
  }
  if (simple) return sink.OnPoint(tag, {step, *simple, time});
  const Plugin plugin = metadata.empty() ? Plugin{} : ReadMetadata(metadata);
  if (plugin.name == "hparams") return ReadHyperparameters(plugin.content, sink);
  if (!tensor) return;
  if (plugin.name == "scalars" && names.scalars.size() < EventNames::kMost) {
    names.scalars.emplace(tag);
  }
  if (names.scalars.find(tag) == names.scalars.end()) return;
  if (const auto number = TensorValue(*tensor)) sink.OnPoint(tag, {step, *number, time});
}

}  // namespace

bool ReadEvent(std::string_view bytes, EventNames& names, PointSink& sink) {
  return ReadProtobuf([&] {
    pbf_reader event(bytes.data(), bytes.size());
    double time = 0;
    int64_t step = 0;
    std::string_view summary;
    while (event.next()) {
      switch (event.tag()) {
        case 1:
          time = event.get_double();
          break;
        case 2:
          step = event.get_int64();
          break;
        case 5:
          summary = ViewOf(event);
          break;
        default:
          event.skip();
      }
    }
    const bool sane = time > 0 && time < 1e11;
    const WallTime at{sane ? static_cast<int64_t>(time * 1000) : 0};
    pbf_reader values(summary.data(), summary.size());
    while (values.next(1)) ReadValue(values.get_message(), step, at, names, sink);
  });
}

}  // namespace stoker::metrics
