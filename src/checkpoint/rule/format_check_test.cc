// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/format_check.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
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
    const size_t got = text_.copy(buffer, static_cast<size_t>(count), static_cast<size_t>(offset));
    read_ += static_cast<int64_t>(got);
    return static_cast<int64_t>(got);
  }
  int64_t read() const { return read_; }

 private:
  std::string text_;
  int64_t read_ = 0;
};

Wholeness Check(const std::string& bytes) {
  Text text(bytes);
  return CheckFormat(text);
}

std::string Le(uint64_t value, int width) {
  std::string out;
  for (int i = 0; i < width; ++i) out += i < 8 ? static_cast<char>(value >> (8 * i) & 0xff) : '\0';
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

std::string Crc(const std::string& plain) {
  return Le(crc32(0, reinterpret_cast<const Bytef*>(plain.data()), static_cast<uInt>(plain.size())),
            4);
}

// How an archive is written, or what is wrong with it.
struct Form {
  bool packed = false;      // deflated, as numpy.savez_compressed does; stored, as torch.save does
  bool zip64 = false;       // sizes, places and the end record in 64 bits
  bool streamed = false;    // sums and sizes follow the data: the writer could not go back
  uint64_t method = 0;      // instead of the true one
  uint64_t flags = 0;       // in addition
  uint64_t attributes = 0;  // of a file system: no content
  std::string comment;
  std::vector<std::string> names;  // "a", "b", ...
  std::vector<std::string> names_in_front_of_the_data;
};

struct Parts {
  std::string data;
  std::string directory;
};

void AddEntry(const std::string& plain, size_t i, const Form& form, Parts* out) {
  const std::string letter(1, static_cast<char>('a' + i % 26));
  const std::string name = i < form.names.size() ? form.names[i] : letter;
  const auto& inside = form.names_in_front_of_the_data;
  const std::string local_name = i < inside.size() ? inside[i] : name;
  const std::string data = form.packed ? Deflated(plain) : plain;
  const std::string head = Le(form.flags | (form.streamed ? 8 : 0), 2) +
                           Le(form.method != 0 ? form.method : (form.packed ? 8 : 0), 2) + Le(0, 4);
  const std::string sizes = Le(data.size(), 4) + Le(plain.size(), 4);
  const uint64_t place = out->data.size();
  const std::string extra =
      form.zip64 ? Le(1, 2) + Le(24, 2) + Le(plain.size(), 8) + Le(data.size(), 8) + Le(place, 8)
                 : "";
  out->directory += Le(0x02014b50, 4) + Le(20, 2) + Le(20, 2) + head + Crc(plain) +
                    (form.zip64 ? Le(0xffffffff, 4) + Le(0xffffffff, 4) : sizes) +
                    Le(name.size(), 2) + Le(extra.size(), 2) + Le(0, 6) + Le(form.attributes, 4) +
                    Le(form.zip64 ? 0xffffffff : place, 4) + name + extra;
  out->data += Le(0x04034b50, 4) + Le(20, 2) + head +
               (form.streamed ? Le(0, 12) : Crc(plain) + sizes) + Le(local_name.size(), 2) +
               Le(0, 2) + local_name + data +
               (form.streamed ? Le(0x08074b50, 4) + Crc(plain) + sizes : "");
}

std::string End64(const Parts& parts, uint64_t entries) {
  return Le(0x06064b50, 4) + Le(44, 8) + Le(45, 2) + Le(45, 2) + Le(0, 8) + Le(entries, 8) +
         Le(entries, 8) + Le(parts.directory.size(), 8) + Le(parts.data.size(), 8) +
         Le(0x07064b50, 4) + Le(0, 4) + Le(parts.data.size() + parts.directory.size(), 8) +
         Le(1, 4);
}

std::string End(const Parts& parts, uint64_t entries, const Form& form) {
  return Le(0x06054b50, 4) + Le(0, 4) + Le(entries, 2) + Le(entries, 2) +
         Le(parts.directory.size(), 4) + Le(form.zip64 ? 0xffffffff : parts.data.size(), 4) +
         Le(form.comment.size(), 2) + form.comment;
}

std::string Zip(const std::vector<std::string>& entries, const Form& form = {}) {
  Parts parts;
  for (size_t i = 0; i < entries.size(); ++i) AddEntry(entries[i], i, form, &parts);
  return parts.data + parts.directory + (form.zip64 ? End64(parts, entries.size()) : "") +
         End(parts, entries.size(), form);
}

// As torch.save writes it: a 64-bit end record, which readers go by, and all in the other as well.
std::string ZipWithBothEnds(const std::vector<std::string>& entries, uint64_t entries64) {
  Parts parts;
  for (size_t i = 0; i < entries.size(); ++i) AddEntry(entries[i], i, {}, &parts);
  return parts.data + parts.directory + End64(parts, entries64) + End(parts, entries.size(), {});
}

std::vector<Form> Forms() {
  std::vector<Form> forms(6);
  forms[1].packed = true;
  forms[2].zip64 = true;
  forms[3].streamed = true;
  forms[4].packed = forms[4].zip64 = forms[4].streamed = true;
  forms[5].comment = "written by nobody";
  return forms;
}

std::string Tensors(const std::string& header, size_t bytes) {
  return Le(header.size(), 8) + header + std::string(bytes, 'x');
}

TEST(FormatCheck, WholeArchives) {
  const std::vector<std::string> entries = {"one", std::string(3 << 20, 'y'), ""};
  for (const Form& form : Forms()) {
    EXPECT_EQ(Check(Zip(entries, form)), Wholeness::kWhole);
    if (form.zip64) continue;  // begins with another mark, and nobody writes it
    EXPECT_EQ(Check(Zip({}, form)), Wholeness::kWhole);
  }
  EXPECT_EQ(Check(ZipWithBothEnds(entries, 3)), Wholeness::kWhole);
}

TEST(FormatCheck, EveryCutArchiveIsBroken) {
  for (const Form& form : Forms()) {
    const std::string whole = Zip({"one entry", "and another one"}, form);
    for (size_t size = 4; size < whole.size(); ++size) {
      EXPECT_EQ(Check(whole.substr(0, size)), Wholeness::kBroken) << size;
    }
  }
}

TEST(FormatCheck, AnArchiveWithinAnArchiveIsNotItsEnd) {
  const std::string inner = Zip({"one entry", "and another one"});
  const std::string whole = Zip({"first", inner, "last"});
  EXPECT_EQ(Check(whole), Wholeness::kWhole);
  const size_t end = whole.find(inner) + inner.size();
  EXPECT_EQ(Check(whole.substr(0, end)), Wholeness::kBroken);
}

TEST(FormatCheck, CommentsMayBeLong) {
  Form form;
  for (size_t size : {1, 16'384, 60'000, 65'535}) {
    form.comment = std::string(size, 'c');
    const std::string whole = Zip({"one entry"}, form);
    EXPECT_EQ(Check(whole), Wholeness::kWhole) << size;
    EXPECT_EQ(Check(whole.substr(0, whole.size() - 1)), Wholeness::kBroken) << size;
    EXPECT_EQ(Check(whole + "c"), Wholeness::kBroken) << size;
  }
  form.comment = "PK\x05\x06 and much that is no end record";
  EXPECT_EQ(Check(Zip({"one entry"}, form)), Wholeness::kWhole);
}

TEST(FormatCheck, WhatStandsBesideTheContentDoesNotCount) {
  Form form;
  for (uint64_t attributes : {0x10U, 0x41ed0010U, 0xa1ff0000U, 0x21b60000U}) {
    form.attributes = attributes;  // of a folder (MS-DOS, Unix), of a link, of a device
    std::string bytes = Zip({std::string(1000, 'a')}, form);
    EXPECT_EQ(Check(bytes), Wholeness::kWhole) << attributes;
    bytes[500] = 'b';
    EXPECT_EQ(Check(bytes), Wholeness::kBroken) << attributes;
  }
  form.names = {
      "mod\xc3\xa8le/donn\xc3\xa9"
      "es.pkl",
      "folder/"};
  form.flags = 0x800;
  EXPECT_EQ(Check(Zip({"content", ""}, form)), Wholeness::kWhole);
}

TEST(FormatCheck, MoreEntriesThan16BitsCount) {
  Form form;
  form.zip64 = true;
  Parts parts;
  for (size_t i = 0; i < 70'000; ++i) AddEntry("", i, form, &parts);
  const auto with_end = [&](uint64_t entries) {
    return parts.data + parts.directory + End64(parts, entries) + End(parts, 0xffff, form);
  };
  EXPECT_EQ(Check(with_end(70'000)), Wholeness::kWhole);
  EXPECT_EQ(Check(with_end(69'999)), Wholeness::kBroken);
  EXPECT_EQ(Check(with_end(70'001)), Wholeness::kBroken);
}

TEST(FormatCheck, EndRecordsThatDisagreeAreBroken) {
  Parts parts;
  for (size_t i = 0; i < 3; ++i) AddEntry("one entry", i, {}, &parts);
  for (uint64_t entries : {0, 2, 4}) {
    const std::string fewer = parts.data + parts.directory + End(parts, entries, {});
    EXPECT_EQ(Check(fewer), Wholeness::kBroken) << entries;
    EXPECT_EQ(Check(ZipWithBothEnds({"a", "b", "c"}, entries)), Wholeness::kBroken) << entries;
  }
  std::string bytes = Zip({"a", "b", "c"});
  bytes[bytes.size() - 14] = 2;  // entries in this part of the archive
  EXPECT_EQ(Check(bytes), Wholeness::kBroken);
}

TEST(FormatCheck, NamesThatDifferAreBroken) {
  Form form;
  form.names = {"data/0", "data/1"};
  form.names_in_front_of_the_data = {"data/0", "data/2"};
  EXPECT_EQ(Check(Zip({"same", "same"}, form)), Wholeness::kBroken);
  form.names_in_front_of_the_data = {"data/0", "data/11"};
  EXPECT_EQ(Check(Zip({"same", "same"}, form)), Wholeness::kBroken);
}

TEST(FormatCheck, PackedInOtherWaysIsUnknown) {
  Form form;
  for (uint64_t method : {1, 9, 12, 14, 93, 95, 99}) {
    form.method = method;
    EXPECT_EQ(Check(Zip({"one entry"}, form)), Wholeness::kUnknown) << method;
  }
  form.method = 0;
  form.flags = 1;  // encrypted
  EXPECT_EQ(Check(Zip({"one entry"}, form)), Wholeness::kUnknown);
}

TEST(FormatCheck, BytesBeforeOrBehindAreBroken) {
  const std::string whole = Zip({"one entry", "and another one"});
  EXPECT_EQ(Check("PK\x03\x04" + whole), Wholeness::kBroken);
  for (size_t size : {1, 22, 5000, 70'000}) {
    EXPECT_EQ(Check(whole + std::string(size, '\0')), Wholeness::kBroken) << size;
  }
}

// As torch's distributed checkpoint writes its files: nothing is cut, and nothing proves their end.
TEST(FormatCheck, ArchivesBehindOneAnotherAreUnknown) {
  const std::string one = Zip({"one entry", std::string(5000, 'y')});
  const std::string both = ZipWithBothEnds({"another"}, 1);
  Form form;
  form.zip64 = true;
  const std::string other = Zip({"one entry", "and another one"}, form);
  const std::string all = one + both + other + one;
  EXPECT_EQ(Check(all), Wholeness::kUnknown);
  EXPECT_EQ(Check(one + one), Wholeness::kUnknown);
  std::vector<size_t> ends = {one.size()};
  for (const std::string& next : {both, other, one}) ends.push_back(ends.back() + next.size());
  for (size_t size = 4; size < all.size(); ++size) {
    const bool whole = std::find(ends.begin(), ends.end(), size) != ends.end();
    if (!whole) EXPECT_EQ(Check(all.substr(0, size)), Wholeness::kBroken) << size;
  }
  std::string damaged = all;
  damaged[one.size() / 2] ^= 1;
  EXPECT_EQ(Check(damaged), Wholeness::kBroken) << "in the first of them";
  // Where one is stored within another that was cut behind it, that begins with no archive's end.
  const std::string outer = Zip({"first", all, "last"});
  const size_t cut = outer.find(all) + all.size();
  EXPECT_EQ(Check(outer.substr(0, cut)), Wholeness::kBroken);
  // Many small ones are each read a few times.
  std::string many;
  while (many.size() < 1 << 20) many += both;
  Text text(many);
  EXPECT_EQ(CheckFormat(text), Wholeness::kUnknown);
  EXPECT_LT(text.read(), 6 << 20);
}

TEST(FormatCheck, OverlappingEntriesAreNotReadAgainAndAgain) {
  const std::string plain(1 << 20, 'x');
  Parts parts;
  AddEntry(plain, 0, {}, &parts);
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += parts.directory;
  parts.directory = many;
  Text text(parts.data + parts.directory + End(parts, 20'000, {}));
  EXPECT_EQ(CheckFormat(text), Wholeness::kBroken);
  EXPECT_LT(text.read(), 4 * text.size());
}

TEST(FormatCheck, NoMoreIsUnpackedThanTheDirectorySays) {
  Form form;
  form.packed = true;
  std::string bytes = Zip({std::string(64 << 20, '\0')}, form);
  EXPECT_EQ(Check(bytes), Wholeness::kWhole);
  const size_t size_at = bytes.find("PK\x01\x02") + 24;
  bytes.replace(size_at, 4, Le(1000, 4));
  Text text(bytes);
  EXPECT_EQ(CheckFormat(text), Wholeness::kBroken);
  bytes.replace(size_at, 4, Le(0xfffffffe, 4));
  EXPECT_EQ(Check(bytes), Wholeness::kBroken);
}

TEST(FormatCheck, OverwrittenContentIsFoundByItsChecksum) {
  // An old end record at the right place proves nothing: only the sums of the entries do.
  std::string bytes = Zip({std::string(100'000, 'a')});
  bytes.replace(50'000, 1000, std::string(1000, 'b'));
  EXPECT_EQ(Check(bytes), Wholeness::kBroken);
}

TEST(FormatCheck, FlippedBitsNeverCrash) {
  Form form;
  form.packed = form.zip64 = true;
  const std::string whole = Zip({"one entry", std::string(500, 'q')}, form);
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

TEST(FormatCheck, NoByteOfTheContentMayDiffer) {
  const std::string plain = "some content, in all of which each byte counts";
  for (const Form& form : Forms()) {
    const std::string whole = Zip({"first", plain}, form);
    const std::string data = form.packed ? Deflated(plain) : plain;
    const size_t begin = whole.find(data);
    const size_t end = begin + data.size() - (form.packed ? 1 : 0);  // which has bits to spare
    for (size_t at = begin; at < end; ++at) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ 0x80);
      EXPECT_EQ(Check(bytes), Wholeness::kBroken) << at;
    }
  }
}

TEST(FormatCheck, Safetensors) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(Check(Tensors(header, 8)), Wholeness::kFullSize);
  EXPECT_EQ(Check(Tensors(header, 7)), Wholeness::kBroken);
  EXPECT_EQ(Check(Tensors(header, 9)), Wholeness::kUnknown);
  EXPECT_EQ(Check(Tensors(R"({"a":{"data_offsets":[0,-8]}})", 8)), Wholeness::kBroken);
  EXPECT_EQ(Check(Tensors(R"({"a":5})", 8)), Wholeness::kBroken);
  // As a signed number it would be below 0, and the file as long as it is to be.
  EXPECT_EQ(Check(Tensors(R"({"a":{"data_offsets":[0,9223372036854775808]}})", 0)),
            Wholeness::kBroken);
}

// Python's json writes NaN; a log that begins with a bracket is no JSON at all.
TEST(FormatCheck, OnlyAJsonThatEndsTooEarlyIsBroken) {
  EXPECT_EQ(Check("{\"loss\": NaN, \"best\": -Infinity}"), Wholeness::kWhole);
  EXPECT_EQ(Check("{\"loss\": NaN, \"best\": -Inf"), Wholeness::kUnknown);
  EXPECT_EQ(Check("{\"loss\": NaN, \"best\": 1"), Wholeness::kBroken);
  EXPECT_EQ(Check("{\"name\": \"NaN"), Wholeness::kBroken);
  EXPECT_EQ(Check("[2026-11-28 10:00] step 1\n"), Wholeness::kUnknown);
  EXPECT_EQ(Check("{'a': 1}"), Wholeness::kUnknown);
}

TEST(FormatCheck, GzipIsProvenByItsEnd) {
  // printf 'hello hello hello' | gzip -n
  const std::string whole(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x57\xc8\x40\x90\x00"
      "\x80\x88\xf9\xe5\x11\x00\x00\x00",
      28);
  EXPECT_EQ(Check(whole), Wholeness::kWhole);
  EXPECT_EQ(Check(whole + whole), Wholeness::kWhole);
  EXPECT_EQ(Check(whole.substr(0, 24)), Wholeness::kBroken);
  EXPECT_EQ(Check(whole + whole.substr(0, 20)), Wholeness::kBroken);
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
