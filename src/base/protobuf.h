// SPDX-License-Identifier: Apache-2.0
// protozero's reader of protobuf messages, for bytes that others wrote: a field of another wire
// type than was asked for is a WrongWireType, beside what protozero throws. Heavy: include it in
// .cc files only, and nothing of protozero before it.
#pragma once

namespace stoker {
struct WrongWireType {};
}  // namespace stoker

// protozero asserts what a caller should have asked before.
#define protozero_assert(x) ((x) ? static_cast<void>(0) : throw ::stoker::WrongWireType{})
#include <protozero/pbf_reader.hpp>
#include <string_view>

namespace stoker {

// The bytes of a field of text, bytes or another message; views what the reader reads.
inline std::string_view ViewOf(protozero::pbf_reader& reader) {
  const protozero::data_view data = reader.get_view();
  return {data.data(), data.size()};
}

// Runs `read`, which reads messages. False: the bytes are no such message; what came before the
// place has been read.
template <class Read>
bool ReadProtobuf(const Read& read) {
  try {
    read();
    return true;
  } catch (const protozero::exception&) {
    return false;
  } catch (const WrongWireType&) {
    return false;
  }
}

}  // namespace stoker
