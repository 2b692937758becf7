// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/format_check.h"

#include <algorithm>
#include <string>

#include <zlib.h>

#include "base/json.h"
#include "base/json_depth.h"
#include "base/text.h"
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

// Python writes NaN and Infinity, which are no JSON: numbers here.
std::string WithoutNan(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      out += c;
      if (c == '\\' && i + 1 < text.size()) out += text[++i];
      quoted = c != '"';
      continue;
    }
    quoted = c == '"';
    const bool nan = text.compare(i, 3, "NaN") == 0;
    if (!nan && text.compare(i, 8, "Infinity") != 0) {
      out += c;
      continue;
    }
    out += '0';
    i += nan ? 2 : 7;
  }
  return out;
}

// Where a parser stopped: at the end, what is missing was cut off. Anywhere else it is something
// else than JSON, of which nothing is known.
class StopsAtTheEnd : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit StopsAtTheEnd(size_t size) : size_(size) {}
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception&) override {
    at_end_ = at > size_;
    return false;
  }
  bool at_end() const { return at_end_; }

 private:
  const size_t size_;
  bool at_end_ = false;
};

Wholeness CheckJson(ByteSource& source) {
  std::string text;
  if (source.size() > kMaxJson) return Wholeness::kUnknown;
  if (!ReadUpTo(source, 0, source.size(), &text)) return Wholeness::kBroken;
  text = WithoutNan(text);
  if (NestedDeeper(text, kMaxJsonDepth)) return Wholeness::kUnknown;
  StopsAtTheEnd sax(text.size());
  if (nlohmann::json::sax_parse(text, &sax)) return Wholeness::kWhole;
  return sax.at_end() ? Wholeness::kBroken : Wholeness::kUnknown;
}

// Members one after the other, each with its checksum.
Wholeness CheckGzip(ByteSource& source) {
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + 16) != Z_OK) return Wholeness::kUnknown;
  std::string in(1 << 16, '\0');
  std::string out(1 << 18, '\0');
  int64_t at = 0;
  int state = Z_OK;
  while (state == Z_OK || state == Z_BUF_ERROR || state == Z_STREAM_END) {
    if (stream.avail_in == 0) {
      const auto got = source.Read(at, in.data(), static_cast<int64_t>(in.size()));
      if (!got.ok() || *got <= 0) break;
      at += *got;
      stream.next_in = reinterpret_cast<Bytef*>(in.data());
      stream.avail_in = static_cast<uInt>(*got);
    }
    // What follows a member is another one, or the padding of a tape.
    if (state == Z_STREAM_END && (*stream.next_in == 0 || inflateReset(&stream) != Z_OK)) break;
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    state = inflate(&stream, Z_NO_FLUSH);
  }
  inflateEnd(&stream);
  return state == Z_STREAM_END ? Wholeness::kWhole : Wholeness::kBroken;
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
  const int64_t whole = 8 + header_size + end;
  if (source.size() < whole) return Wholeness::kBroken;
  return source.size() == whole ? Wholeness::kFullSize : Wholeness::kUnknown;
}

}  // namespace

Wholeness CheckFormat(ByteSource& source) {
  std::string head;
  if (!ReadUpTo(source, 0, std::min<int64_t>(source.size(), 16), &head)) return Wholeness::kUnknown;
  if (head.size() >= 4 &&
      (head.substr(0, 4) == "PK\x03\x04" || head.substr(0, 4) == "PK\x05\x06")) {
    return CheckZip(source);
  }
  if (StartsWith(head, "\x1f\x8b\x08")) return CheckGzip(source);
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
