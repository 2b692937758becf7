// SPDX-License-Identifier: Apache-2.0
#include "pack/tar_stream.h"

#include <archive.h>
#include <archive_entry.h>
#include <iconv.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/text.h"

// Two definitions that stand in for others when the binary is linked statically. They must be in
// this object, which the linker always takes before it looks into libarchive.a and libc.a.
extern "C" {
// glibc's would load modules of the host's C library, which aborts a static binary of another
// version. libarchive asks for it when an archive names a character set; it copes with a refusal.
iconv_t iconv_open(const char*, const char*) {
  errno = EINVAL;
  return reinterpret_cast<iconv_t>(-1);
}
// libarchive's lies in the object that names every format it can write, and would bring xml2, lzma,
// bz2, zlib and nettle into the link. It only words an error for kinds that are never added here.
void __archive_write_entry_filetype_unsupported(struct archive*, struct archive_entry*,
                                                const char*) {}
}

namespace stoker::pack {
namespace {

// A tar file may be padded to a multiple of its block size, 10 KiB by default.
constexpr int64_t kMaxPadding = 1 << 20;

std::string Words(struct archive* archive) {
  const char* text = archive_error_string(archive);
  return text != nullptr ? Printable(text) : "unknown error";
}

}  // namespace

struct TarWriter::State {
  struct EntryDeleter {
    void operator()(struct archive_entry* it) const { archive_entry_free(it); }
  };
  struct archive* archive = archive_write_new();
  std::unique_ptr<struct archive_entry, EntryDeleter> entry{archive_entry_new()};
  ByteSink sink;
  Status failed;
  ~State() {
    if (failed.ok()) failed = Status(Code::kCancelled, "archive was given up");
    archive_write_free(archive);
  }

  // libarchive never learns of a failure: told of one, it forgets to free its buffers (3.6).
  static la_ssize_t OnWrite(struct archive*, void* self, const void* data, size_t size) {
    State& state = *static_cast<State*>(self);
    if (state.failed.ok()) state.failed = state.sink({static_cast<const char*>(data), size});
    return static_cast<la_ssize_t>(size);
  }
  Status Check(bool ok) const {
    if (ok || !failed.ok()) return failed;
    return Status(Code::kInternal, "cannot write the archive: " + Words(archive));
  }
};

TarWriter::TarWriter(ByteSink sink) : state_(std::make_unique<State>()) {
  state_->sink = std::move(sink);
  archive_write_set_format_pax(state_->archive);
  archive_write_set_options(state_->archive, "hdrcharset=BINARY");
  archive_write_set_bytes_per_block(state_->archive, 64 << 10);
  archive_write_set_bytes_in_last_block(state_->archive, 1);
  archive_write_open(state_->archive, state_.get(), nullptr, State::OnWrite, nullptr);
}
TarWriter::~TarWriter() = default;

Status TarWriter::Add(const TarEntry& entry) {
  struct archive_entry* e = archive_entry_clear(state_->entry.get());
  archive_entry_set_pathname(e, entry.path.c_str());
  archive_entry_set_mode(e, entry.mode & 07777);
  archive_entry_set_size(e, 0);
  switch (entry.kind) {
    case TarKind::kDir:
      archive_entry_set_filetype(e, AE_IFDIR);
      break;
    case TarKind::kLink:
      archive_entry_set_filetype(e, AE_IFLNK);
      archive_entry_set_symlink(e, entry.target.c_str());
      break;
    case TarKind::kHardLink:
      archive_entry_set_filetype(e, AE_IFREG);
      archive_entry_set_hardlink(e, entry.target.c_str());
      break;
    default:
      archive_entry_set_filetype(e, AE_IFREG);
      archive_entry_set_size(e, entry.size);
  }
  // Before 1970 in whole seconds, rounded down: libarchive writes negative fractions in a way of
  // its own.
  const int64_t fraction = ((entry.mtime_ns % 1'000'000'000) + 1'000'000'000) % 1'000'000'000;
  archive_entry_set_mtime(e, (entry.mtime_ns - fraction) / 1'000'000'000,
                          entry.mtime_ns < 0 ? 0 : static_cast<long>(fraction));
  return state_->Check(archive_write_header(state_->archive, e) == ARCHIVE_OK);
}

Status TarWriter::Write(std::string_view data) {
  while (!data.empty()) {
    const la_ssize_t wrote = archive_write_data(state_->archive, data.data(), data.size());
    STOKER_TRY(state_->Check(wrote >= 0));
    if (wrote == 0) return Status(Code::kInternal, "archive entry is longer than announced");
    data.remove_prefix(static_cast<size_t>(wrote));
  }
  return Status::Ok();
}

Status TarWriter::Finish() {
  return state_->Check(archive_write_close(state_->archive) == ARCHIVE_OK);
}

struct TarReader::State {
  struct archive* archive = archive_read_new();
  ByteSource source;
  Status failed;
  static constexpr int64_t kBuffer = 256 << 10;
  const std::unique_ptr<char[]> buffer{new char[kBuffer]};  // not zeroed: most archives are small
  int64_t expected_offset = 0;
  int64_t given = 0;       // bytes handed to libarchive so far
  int64_t given_last = 0;  // of which in `buffer`
  bool opened = false;
  ~State() { archive_read_free(archive); }

  static la_ssize_t OnRead(struct archive* archive, void* self, const void** data) {
    State& state = *static_cast<State*>(self);
    Result<int64_t> got = state.source(state.buffer.get(), kBuffer);
    if (!got.ok()) {
      state.failed = got.status();
      archive_set_error(archive, EIO, "source failed");
      return -1;
    }
    *data = state.buffer.get();
    state.given += *got;
    state.given_last = *got;
    return static_cast<la_ssize_t>(*got);
  }
};

TarReader::TarReader(ByteSource source) : state_(std::make_unique<State>()) {
  state_->source = std::move(source);
  archive_read_support_format_tar(state_->archive);
}
TarReader::~TarReader() = default;

Status TarReader::Failure(const char* what) {
  if (!state_->failed.ok()) return state_->failed;
  return Status(Code::kCorrupt, std::string("archive is damaged: ") + what);
}

Result<bool> TarReader::Next(TarEntry& entry) {
  State& s = *state_;
  if (!s.opened) {
    s.opened = true;
    if (archive_read_open(s.archive, &s, nullptr, State::OnRead, nullptr) != ARCHIVE_OK) {
      return Failure("it is not a tar file");
    }
  }
  struct archive_entry* e = nullptr;
  const int code = archive_read_next_header(s.archive, &e);
  if (code == ARCHIVE_EOF) {
    STOKER_TRY(ReadToEnd());
    return false;
  }
  // A warning means that something about the entry was not understood or not representable.
  if (code != ARCHIVE_OK) return Failure(Words(s.archive).c_str());
  const char* path = archive_entry_pathname(e);
  const char* link = archive_entry_symlink(e);
  const char* hard = archive_entry_hardlink(e);
  if (path == nullptr) return Failure("an entry has no name");
  if (archive_entry_sparse_count(e) != 0) return Failure("sparse files are not supported");
  entry = TarEntry();
  entry.path = path;
  entry.mode = archive_entry_mode(e) & 07777;
  entry.size = archive_entry_size(e);
  entry.mtime_ns =
      static_cast<int64_t>(static_cast<uint64_t>(archive_entry_mtime(e)) * 1'000'000'000U) +
      archive_entry_mtime_nsec(e);
  if (hard != nullptr) {
    entry.kind = TarKind::kHardLink;
    entry.target = hard;
  } else {
    switch (archive_entry_filetype(e)) {
      case AE_IFREG:
        entry.kind = TarKind::kFile;
        break;
      case AE_IFDIR:
        entry.kind = TarKind::kDir;
        break;
      case AE_IFLNK:
        entry.kind = TarKind::kLink;
        break;
      default:
        entry.kind = TarKind::kOther;
        break;
    }
    if (entry.kind == TarKind::kLink) entry.target = link != nullptr ? link : "";
  }
  s.expected_offset = 0;
  return true;
}

Result<std::string_view> TarReader::Read() {
  State& s = *state_;
  const void* data = nullptr;
  size_t size = 0;
  la_int64_t offset = 0;
  const int code = archive_read_data_block(s.archive, &data, &size, &offset);
  if (code == ARCHIVE_EOF) return std::string_view();
  if (code != ARCHIVE_OK) return Failure(Words(s.archive).c_str());
  if (offset != s.expected_offset) return Failure("sparse files are not supported");
  s.expected_offset += static_cast<int64_t>(size);
  return std::string_view(static_cast<const char*>(data), size);
}

// libarchive stops at the mark that ends a tar file. What follows must be padding, and reading it
// is what makes the layers below check that they are complete.
Status TarReader::ReadToEnd() {
  State& s = *state_;
  // First what libarchive was given and did not use, then the rest of the input.
  int64_t end = s.given_last;
  int64_t begin = end - std::clamp<int64_t>(s.given - archive_filter_bytes(s.archive, 0), 0, end);
  int64_t padding = 0;
  while (true) {
    padding += end - begin;
    const bool zero =
        std::all_of(s.buffer.get() + begin, s.buffer.get() + end, [](char c) { return c == 0; });
    if (padding > kMaxPadding || !zero) return Failure("bytes follow its end");
    STOKER_ASSIGN(end, s.source(s.buffer.get(), State::kBuffer));
    if (end == 0) return Status::Ok();
    begin = 0;
  }
}

}  // namespace stoker::pack
