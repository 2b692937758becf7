// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/zip_check.h"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {
namespace {

constexpr int64_t kEndSize = 22;
constexpr int64_t kLocatorSize = 20;
constexpr int64_t kEnd64Size = 56;
constexpr int64_t kEntrySize = 46;
constexpr int64_t kLocalSize = 30;
constexpr uint64_t kMaxDirectory = 256 << 20;
constexpr int64_t kZipPiece = 1 << 20;
constexpr uint64_t kFull32 = 0xffffffffU;

uint64_t Number(const std::string& bytes, size_t at, int width) {
  uint64_t value = 0;
  for (int i = width - 1; i >= 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

bool ReadExactly(ByteSource& source, int64_t offset, int64_t size, std::string* out) {
  if (offset < 0 || size < 0 || offset > source.size() - size) return false;
  out->resize(static_cast<size_t>(size));
  for (int64_t done = 0; done < size;) {
    auto got = source.Read(offset + done, out->data() + done, size - done);
    if (!got.ok() || *got <= 0) return false;
    done += *got;
  }
  return true;
}

struct Directory {
  uint64_t entries = 0;
  uint64_t size = 0;
  uint64_t offset = 0;
};

struct Entry {
  uint64_t flags = 0;
  uint64_t method = 0;
  uint64_t crc = 0;
  uint64_t packed = 0;
  uint64_t plain = 0;
  uint64_t local = 0;
};

// Zip64's end record, if there is one, and its place. Readers go by it wherever they find it.
bool ReadEnd64(ByteSource& source, int64_t end, std::string* out, uint64_t* place) {
  std::string locator;
  if (!ReadExactly(source, end - kLocatorSize, kLocatorSize, &locator)) return false;
  *place = Number(locator, 8, 8);
  return Number(locator, 0, 4) == 0x07064b50 &&
         ReadExactly(source, static_cast<int64_t>(*place), kEnd64Size, out) &&
         Number(*out, 0, 4) == 0x06064b50;
}

// What the end record says that stands at `at` of `tail`, and at `end` of the file.
bool ReadEnd(ByteSource& source, const std::string& tail, size_t at, int64_t end, Directory* out) {
  const Directory said{Number(tail, at + 10, 2), Number(tail, at + 12, 4),
                       Number(tail, at + 16, 4)};
  const bool full_entries = said.entries == 0xffff;
  const bool full_size = said.size == kFull32;
  const bool full_offset = said.offset == kFull32;
  auto behind = static_cast<uint64_t>(end);
  uint64_t place = 0;
  std::string end64;
  *out = said;
  if (ReadEnd64(source, end, &end64, &place)) {
    behind = place;
    *out = {Number(end64, 32, 8), Number(end64, 40, 8), Number(end64, 48, 8)};
    if ((!full_entries && out->entries != said.entries) || (!full_size && out->size != said.size) ||
        (!full_offset && out->offset != said.offset)) {
      return false;
    }
  } else if (full_entries || full_size || full_offset) {
    return false;
  }
  // A directory elsewhere would be that of another archive, behind which this one was written.
  return Number(tail, at + 8, 2) == said.entries && out->size <= kMaxDirectory &&
         out->offset <= behind && out->size == behind - out->offset &&
         out->entries <= out->size / kEntrySize;
}

// The end record is the last thing of the file: only its comment follows, and ends where it ends.
bool FindDirectory(ByteSource& source, Directory* out) {
  const int64_t tail_size = std::min<int64_t>(source.size(), kEndSize + 65'535);
  std::string tail;
  if (!ReadExactly(source, source.size() - tail_size, tail_size, &tail)) return false;
  for (int64_t at = tail_size - kEndSize; at >= 0; --at) {
    const auto i = static_cast<size_t>(at);
    if (Number(tail, i, 4) != 0x06054b50) continue;
    if (at + kEndSize + static_cast<int64_t>(Number(tail, i + 20, 2)) != tail_size) continue;
    return ReadEnd(source, tail, i, source.size() - tail_size + at, out);
  }
  return false;
}

// Sizes and offset of more than 32 bits stand in the extra field 0x0001, in this order.
bool ReadZip64(const std::string& extra, Entry* entry) {
  for (size_t at = 0; at + 4 <= extra.size();) {
    const uint64_t id = Number(extra, at, 2);
    const size_t size = Number(extra, at + 2, 2);
    at += 4;
    if (size > extra.size() - at) return false;
    if (id == 1) {
      const size_t end = at + size;
      for (uint64_t* field : {&entry->plain, &entry->packed, &entry->local}) {
        if (*field != kFull32) continue;
        if (at + 8 > end) return false;
        *field = Number(extra, at, 8);
        at += 8;
      }
      return true;
    }
    at += size;
  }
  return true;
}

class Inflater {
 public:
  Inflater() { ready_ = inflateInit2(&stream_, -MAX_WBITS) == Z_OK; }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // False when the data is damaged or unpacks to more than `limit` bytes in all.
  bool Feed(const std::string& packed, uint64_t limit) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    std::vector<Bytef> out(1 << 18);
    while (ready_ && !over_ && stream_.avail_in > 0) {
      stream_.next_out = out.data();
      stream_.avail_out = static_cast<uInt>(out.size());
      const int code = inflate(&stream_, Z_NO_FLUSH);
      if (code != Z_OK && code != Z_STREAM_END) return false;
      const uInt got = static_cast<uInt>(out.size()) - stream_.avail_out;
      total_ += got;
      if (total_ > limit) return false;
      crc_ = crc32(crc_, out.data(), got);
      over_ = code == Z_STREAM_END;
    }
    return ready_;
  }
  bool over() const { return over_; }
  uint64_t total() const { return total_; }
  uint64_t crc() const { return crc_; }

 private:
  z_stream stream_{};
  bool ready_ = false;
  bool over_ = false;
  uint64_t total_ = 0;
  uLong crc_ = 0;
};

Wholeness CheckEntry(ByteSource& source, const Entry& entry, std::string_view name,
                     int64_t data_end) {
  if ((entry.flags & 1) != 0 || (entry.method != 0 && entry.method != 8)) {
    return Wholeness::kUnknown;
  }
  std::string local;
  const int64_t local_size = kLocalSize + static_cast<int64_t>(name.size());
  if (entry.local > static_cast<uint64_t>(data_end) ||
      !ReadExactly(source, static_cast<int64_t>(entry.local), local_size, &local) ||
      Number(local, 0, 4) != 0x04034b50 || Number(local, 26, 2) != name.size() ||
      std::string_view(local).substr(kLocalSize) != name) {  // Python refuses a name that differs
    return Wholeness::kBroken;
  }
  int64_t at = static_cast<int64_t>(entry.local) + kLocalSize +
               static_cast<int64_t>(Number(local, 26, 2) + Number(local, 28, 2));
  if (at > data_end || entry.packed > static_cast<uint64_t>(data_end - at)) {
    return Wholeness::kBroken;
  }
  const int64_t end = at + static_cast<int64_t>(entry.packed);
  uLong crc = 0;
  Inflater inflater;
  for (std::string piece; at < end; at += static_cast<int64_t>(piece.size())) {
    if (!ReadExactly(source, at, std::min(kZipPiece, end - at), &piece)) return Wholeness::kBroken;
    if (entry.method == 0) {
      crc =
          crc32(crc, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size()));
    } else if (!inflater.Feed(piece, entry.plain)) {
      return Wholeness::kBroken;
    }
  }
  if (entry.method == 0) {
    return crc == entry.crc && entry.packed == entry.plain ? Wholeness::kWhole : Wholeness::kBroken;
  }
  const bool good =
      inflater.over() && inflater.total() == entry.plain && inflater.crc() == entry.crc;
  return good ? Wholeness::kWhole : Wholeness::kBroken;
}

// Some bytes of another source.
class Window : public ByteSource {
 public:
  Window(ByteSource& source, int64_t begin, int64_t end)
      : source_(source), begin_(begin), size_(end - begin) {}
  int64_t size() const override { return size_; }
  Result<int64_t> Read(int64_t offset, char* buffer, int64_t count) override {
    if (offset >= size_) return int64_t{0};
    return source_.Read(begin_ + offset, buffer, std::min(count, size_ - offset));
  }

 private:
  ByteSource& source_;
  const int64_t begin_;
  const int64_t size_;
};

// Where the archive begins of which the end record, without a comment, ends at `end`; nullopt: none
// does.
std::optional<int64_t> BeginOf(ByteSource& source, int64_t end) {
  std::string bytes;
  const int64_t at = end - kEndSize;
  if (!ReadExactly(source, at, kEndSize, &bytes) || Number(bytes, 0, 4) != 0x06054b50)
    return std::nullopt;
  const uint64_t length = Number(bytes, 12, 4) + Number(bytes, 16, 4);
  const int64_t at64 = at - kLocatorSize - kEnd64Size;
  std::string end64;
  const bool has64 = ReadExactly(source, at64, kEnd64Size + kLocatorSize, &end64) &&
                     Number(end64, 0, 4) == 0x06064b50 &&
                     Number(end64, kEnd64Size, 4) == 0x07064b50;
  const auto before = static_cast<uint64_t>(has64 ? at64 : at);
  const uint64_t all = has64 ? Number(end64, kEnd64Size + 8, 8) : length;
  if (all > before || before == 0) return std::nullopt;
  return static_cast<int64_t>(before - all);
}

Wholeness CheckOne(ByteSource& source) {
  Directory directory;
  std::string bytes;
  if (!FindDirectory(source, &directory) ||
      !ReadExactly(source, static_cast<int64_t>(directory.offset),
                   static_cast<int64_t>(directory.size), &bytes)) {
    return Wholeness::kBroken;
  }
  // Entries that overlap would let a small file cost much work; whole archives never do that.
  int64_t work = 0;
  size_t at = 0;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    if (at + kEntrySize > bytes.size() || Number(bytes, at, 4) != 0x02014b50) {
      return Wholeness::kBroken;
    }
    const size_t name = Number(bytes, at + 28, 2);
    const size_t extra = Number(bytes, at + 30, 2);
    const size_t comment = Number(bytes, at + 32, 2);
    Entry entry{Number(bytes, at + 8, 2),  Number(bytes, at + 10, 2), Number(bytes, at + 16, 4),
                Number(bytes, at + 20, 4), Number(bytes, at + 24, 4), Number(bytes, at + 42, 4)};
    at += kEntrySize;
    if (name + extra + comment > bytes.size() - at) return Wholeness::kBroken;
    if (!ReadZip64(bytes.substr(at + name, extra), &entry)) return Wholeness::kBroken;
    const Wholeness one = CheckEntry(source, entry, std::string_view(bytes).substr(at, name),
                                     static_cast<int64_t>(directory.offset));
    at += name + extra + comment;
    if (one != Wholeness::kWhole) return one;
    work += static_cast<int64_t>(entry.packed);
    if (work > source.size()) return Wholeness::kBroken;
  }
  // An entry behind the last one that was counted has been checked by nobody.
  return at == bytes.size() ? Wholeness::kWhole : Wholeness::kBroken;
}

}  // namespace

// torch's distributed checkpoint writes a file of archives one behind the other. That each of them
// is whole does not show that none is missing, but nothing is cut.
Wholeness CheckZip(ByteSource& source) {
  auto begin = BeginOf(source, source.size());
  if (begin.value_or(0) == 0) return CheckOne(source);
  int64_t end = source.size();
  while (end > 0) {
    if (!begin || *begin >= end) return Wholeness::kBroken;
    Window one(source, *begin, end);
    const Wholeness whole = CheckOne(one);
    if (whole == Wholeness::kBroken) return whole;
    end = *begin;
    begin = BeginOf(source, end);
  }
  return Wholeness::kUnknown;
}

}  // namespace stoker
