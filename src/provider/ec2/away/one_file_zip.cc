// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/away/one_file_zip.h"

#include <zlib.h>

#include <cstdint>
#include <limits>

namespace stoker::ec2 {
namespace {

constexpr uint32_t kDeflated = 8;
constexpr uint32_t kNeeds = 20;               // version 2.0 of the format
constexpr uint32_t kMadeByUnix = 3 << 8;      // so that the mode counts
constexpr uint32_t kMode = 0100755u << 16;    // a file that everybody may run
constexpr uint32_t kFirstDay = (1 << 5) | 1;  // 1980-01-01: the format's first

void Put(std::string* out, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

// Raw deflate; "" where there is no memory for it.
std::string Deflate(std::string_view data) {
  z_stream stream{};
  if (deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK) return "";
  std::string out(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int done = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return done == Z_STREAM_END ? out : "";
}

// What the local header and the directory have in common.
std::string Facts(std::string_view name, std::string_view data, size_t deflated) {
  const auto* bytes = reinterpret_cast<const Bytef*>(data.data());
  std::string out;
  Put(&out, kNeeds, 2);
  Put(&out, 0, 2);  // flags
  Put(&out, kDeflated, 2);
  Put(&out, 0, 2);  // time of day
  Put(&out, kFirstDay, 2);
  Put(&out, static_cast<uint32_t>(crc32(0, bytes, static_cast<uInt>(data.size()))), 4);
  Put(&out, static_cast<uint32_t>(deflated), 4);
  Put(&out, static_cast<uint32_t>(data.size()), 4);
  Put(&out, static_cast<uint32_t>(name.size()), 2);
  Put(&out, 0, 2);  // extra field
  return out;
}

}  // namespace

std::string OneFileZip(std::string_view name, std::string_view data) {
  if (data.size() > std::numeric_limits<uint32_t>::max() / 2) return "";
  const std::string deflated = Deflate(data);
  if (deflated.empty()) return "";
  const std::string facts = Facts(name, data, deflated.size());
  std::string out;
  Put(&out, 0x04034b50, 4);
  out.append(facts).append(name).append(deflated);
  const auto directory = static_cast<uint32_t>(out.size());
  Put(&out, 0x02014b50, 4);
  Put(&out, kMadeByUnix | kNeeds, 2);
  out.append(facts);
  Put(&out, 0, 2);  // comment
  Put(&out, 0, 2);  // disk
  Put(&out, 0, 2);  // internal attributes
  Put(&out, kMode, 4);
  Put(&out, 0, 4);  // where its header is
  out.append(name);
  const auto size = static_cast<uint32_t>(out.size()) - directory;
  Put(&out, 0x06054b50, 4);
  Put(&out, 0, 4);  // disks
  Put(&out, 1, 2);
  Put(&out, 1, 2);
  Put(&out, size, 4);
  Put(&out, directory, 4);
  Put(&out, 0, 2);  // comment
  return out;
}

}  // namespace stoker::ec2
