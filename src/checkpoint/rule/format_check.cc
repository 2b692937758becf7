// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/format_check.h"

#include <algorithm>
#include <string>

#include "base/json.h"
#include "base/json_depth.h"
#include "checkpoint/rule/zip_check.h"

namespace stoker {
namespace {

constexpr int64_t kMaxJson = 64 << 20;
constexpr int64_t kMaxSafetensorsHeader = 100'000'000;  // of the reference implementation
constexpr int kMaxJsonDepth = 200;

bool ReadUpTo(ByteSource& source, int64_t offset, int64_t size, std::string* out) {
  out->resize(static_cast<size_t>(size));
  int64_t done = 0;
  while (done < size) {
    auto got = source.Read(offset + done, out->data() + done, size - done);
    if (!got.ok()) return false;
    if (*got <= 0) break;
    done += *got;
  }
  out->resize(static_cast<size_t>(done));
  return true;
}

Wholeness CheckJson(ByteSource& source) {
  std::string text;
  if (source.size() > kMaxJson) return Wholeness::kUnknown;
  if (!ReadUpTo(source, 0, source.size(), &text)) return Wholeness::kBroken;
  if (NestedDeeper(text, kMaxJsonDepth)) return Wholeness::kUnknown;
  return nlohmann::json::accept(text) ? Wholeness::kWhole : Wholeness::kBroken;
}

// 8 bytes: length of the header, little-endian; then JSON: name -> {dtype, shape, data_offsets}.
Wholeness CheckSafetensors(ByteSource& source, int64_t header_size) {
  std::string text;
  if (!ReadUpTo(source, 8, header_size, &text) || NestedDeeper(text, kMaxJsonDepth))
    return Wholeness::kBroken;
  const nlohmann::json header = nlohmann::json::parse(text, nullptr, false);
  if (!header.is_object()) return Wholeness::kBroken;
  int64_t end = 0;
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") continue;
    const auto offsets = tensor.is_object() ? tensor.find("data_offsets") : tensor.end();
    if (!tensor.is_object() || offsets == tensor.end() || !offsets->is_array() ||
        offsets->size() != 2 || !(*offsets)[1].is_number_unsigned()) {
      return Wholeness::kBroken;
    }
    const auto behind = (*offsets)[1].get<uint64_t>();
    if (behind > static_cast<uint64_t>(source.size())) return Wholeness::kBroken;
    end = std::max(end, static_cast<int64_t>(behind));
  }
  return source.size() == 8 + header_size + end ? Wholeness::kFullSize : Wholeness::kBroken;
}

}  // namespace

Wholeness CheckFormat(ByteSource& source) {
  std::string head;
  if (!ReadUpTo(source, 0, std::min<int64_t>(source.size(), 16), &head)) return Wholeness::kUnknown;
  if (head.size() >= 4 &&
      (head.substr(0, 4) == "PK\x03\x04" || head.substr(0, 4) == "PK\x05\x06")) {
    return CheckZip(source);
  }
  if (head.size() >= 9 && head[8] == '{') {
    uint64_t size = 0;
    for (int i = 7; i >= 0; --i) size = size << 8 | static_cast<unsigned char>(head[i]);
    if (size >= 2 && size <= static_cast<uint64_t>(kMaxSafetensorsHeader) &&
        static_cast<int64_t>(size) <= source.size() - 8) {
      return CheckSafetensors(source, static_cast<int64_t>(size));
    }
  }
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (head[first] == '{' || head[first] == '[')) {
    return CheckJson(source);
  }
  return Wholeness::kUnknown;
}

}  // namespace stoker
