// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/format_check.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <string>
#include <vector>

namespace stoker {
namespace {

class Text : public ByteSource {
 public:
  explicit Text(std::string text) : text_(std::move(text)) {}
  int64_t size() const override { return static_cast<int64_t>(text_.size()); }
  Result<int64_t> Read(int64_t offset, char* buffer, int64_t count) override {
    if (offset >= size()) return int64_t{0};
    return static_cast<int64_t>(
        text_.copy(buffer, static_cast<size_t>(count), static_cast<size_t>(offset)));
  }

 private:
  std::string text_;
};

Wholeness Check(const std::string& bytes) {
  Text text(bytes);
  return CheckFormat(text);
}

std::string Le(uint64_t value, int width) {
  std::string out;
  for (int i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

std::string Deflated(const std::string& plain) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(plain.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// An archive as torch.save (stored) or numpy.savez_compressed (deflated) writes it.
std::string Zip(const std::vector<std::string>& entries, bool packed, bool zip64 = false) {
  std::string out;
  std::string directory;
  for (const std::string& plain : entries) {
    const std::string data = packed ? Deflated(plain) : plain;
    const uLong crc =
        crc32(0, reinterpret_cast<const Bytef*>(plain.data()), static_cast<uInt>(plain.size()));
    const std::string common = Le(packed ? 8 : 0, 2) + Le(0, 4) + Le(crc, 4);
    const std::string sizes =
        zip64 ? Le(0xffffffff, 4) + Le(0xffffffff, 4) : Le(data.size(), 4) + Le(plain.size(), 4);
    const std::string extra =
        zip64 ? Le(1, 2) + Le(24, 2) + Le(plain.size(), 8) + Le(data.size(), 8) + Le(out.size(), 8)
              : "";
    directory += Le(0x02014b50, 4) + Le(20, 2) + Le(20, 2) + Le(0, 2) + common + sizes + Le(1, 2) +
                 Le(extra.size(), 2) + Le(0, 2) + Le(0, 2) + Le(0, 2) + Le(0, 4) +
                 Le(zip64 ? 0xffffffff : out.size(), 4) + "a" + extra;
    out += Le(0x04034b50, 4) + Le(20, 2) + Le(0, 2) + common + Le(data.size(), 4) +
           Le(plain.size(), 4) + Le(1, 2) + Le(0, 2) + "a" + data;
  }
  const size_t offset = out.size();
  out += directory;
  if (zip64) {
    const size_t end64 = out.size();
    out += Le(0x06064b50, 4) + Le(44, 8) + Le(45, 2) + Le(45, 2) + Le(0, 4) + Le(0, 4) +
           Le(entries.size(), 8) + Le(entries.size(), 8) + Le(directory.size(), 8) + Le(offset, 8);
    out += Le(0x07064b50, 4) + Le(0, 4) + Le(end64, 8) + Le(1, 4);
  }
  return out + Le(0x06054b50, 4) + Le(0, 4) + Le(entries.size(), 2) + Le(entries.size(), 2) +
         Le(directory.size(), 4) + Le(zip64 ? 0xffffffff : offset, 4) + Le(0, 2);
}

std::string Tensors(const std::string& header, size_t bytes) {
  return Le(header.size(), 8) + header + std::string(bytes, 'x');
}

TEST(FormatCheck, WholeArchives) {
  const std::vector<std::string> entries = {"one", std::string(3 << 20, 'y'), ""};
  EXPECT_EQ(Check(Zip(entries, false)), Wholeness::kWhole);
  EXPECT_EQ(Check(Zip(entries, true)), Wholeness::kWhole);
  EXPECT_EQ(Check(Zip(entries, false, true)), Wholeness::kWhole);
  EXPECT_EQ(Check(Zip({}, false)), Wholeness::kWhole);
}

TEST(FormatCheck, EveryCutArchiveIsBroken) {
  for (bool packed : {false, true}) {
    const std::string whole = Zip({"one entry", "and another one"}, packed);
    for (size_t size = 4; size < whole.size(); ++size) {
      EXPECT_EQ(Check(whole.substr(0, size)), Wholeness::kBroken) << size;
    }
  }
}

TEST(FormatCheck, OverwrittenContentIsFoundByItsChecksum) {
  // An old end record at the right place proves nothing: only the sums of the entries do.
  std::string bytes = Zip({std::string(100'000, 'a')}, false);
  bytes.replace(50'000, 1000, std::string(1000, 'b'));
  EXPECT_EQ(Check(bytes), Wholeness::kBroken);
}

TEST(FormatCheck, FlippedBitsNeverCrash) {
  const std::string whole = Zip({"one entry", std::string(500, 'q')}, true, true);
  int accepted = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      accepted += Check(bytes) == Wholeness::kWhole ? 1 : 0;
    }
  }
  // Dates, versions and the like carry no content.
  EXPECT_LT(accepted, static_cast<int>(whole.size()) * 4);
}

TEST(FormatCheck, Safetensors) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(Check(Tensors(header, 8)), Wholeness::kFullSize);
  EXPECT_EQ(Check(Tensors(header, 7)), Wholeness::kBroken);
  EXPECT_EQ(Check(Tensors(header, 9)), Wholeness::kBroken);
  EXPECT_EQ(Check(Tensors(R"({"a":{"data_offsets":[0,-8]}})", 8)), Wholeness::kBroken);
  EXPECT_EQ(Check(Tensors(R"({"a":5})", 8)), Wholeness::kBroken);
  // As a signed number it would be below 0, and the file as long as it is to be.
  EXPECT_EQ(Check(Tensors(R"({"a":{"data_offsets":[0,9223372036854775808]}})", 0)),
            Wholeness::kBroken);
}

TEST(FormatCheck, Json) {
  EXPECT_EQ(Check(R"({"step": 12, "best": [1, 2]})"), Wholeness::kWhole);
  EXPECT_EQ(Check("  [1, 2]\n"), Wholeness::kWhole);
  EXPECT_EQ(Check(R"({"step": 12, "best": [1,)"), Wholeness::kBroken);
  EXPECT_EQ(Check(std::string(5000, '[')), Wholeness::kUnknown);
}

TEST(FormatCheck, SaysNothingOfOtherBytes) {
  EXPECT_EQ(Check(""), Wholeness::kUnknown);
  EXPECT_EQ(Check("123"), Wholeness::kUnknown);
  EXPECT_EQ(Check(std::string(4096, '\0')), Wholeness::kUnknown);
  EXPECT_EQ(Check("\x80\x02pickle."), Wholeness::kUnknown);
}

}  // namespace
}  // namespace stoker
