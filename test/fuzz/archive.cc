// SPDX-License-Identifier: Apache-2.0
// An archive of a work directory that somebody put in the place of ours. Input: a zstd frame, or
// the tar that is to be in it; the checksums of its headers are put right first, since a fuzzer
// would find no entry otherwise.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "pack/archive.h"
#include "pack/extract.h"
#include "pack/safe_tree.h"
#include "sys/file.h"
#include "test/fuzz/target.h"
#include "test/kit/evil_tar.h"

namespace stoker::fuzz {
namespace {

constexpr size_t kBlock = 512;

// As far as the sizes in the headers lead.
std::string WithChecksums(std::string_view input) {
  std::string tar(input);
  for (size_t at = 0; at + kBlock <= tar.size();) {
    std::fill_n(tar.begin() + static_cast<std::ptrdiff_t>(at) + 148, 8, ' ');
    unsigned sum = 0;
    for (size_t i = 0; i < kBlock; ++i) sum += static_cast<unsigned char>(tar[at + i]);
    char text[8];
    std::snprintf(text, sizeof text, "%06o", sum & 0777777);
    // A block of zeros ends an archive, and its sum is that of eight blanks.
    if (sum == 8 * ' ') {
      std::fill_n(tar.begin() + static_cast<std::ptrdiff_t>(at) + 148, 8, '\0');
    } else {
      std::copy_n(text, 7, tar.begin() + static_cast<std::ptrdiff_t>(at) + 148);
    }
    const uint64_t size = std::strtoull(tar.substr(at + 124, 11).c_str(), nullptr, 8);
    at += kBlock;
    if (size <= tar.size()) at += (size + kBlock - 1) / kBlock * kBlock;
  }
  return tar;
}

pack::ByteSource InPieces(const std::string& bytes) {
  size_t at = 0;
  return [&bytes, at](char* buffer, int64_t size) mutable -> Result<int64_t> {
    const size_t got = std::min({static_cast<size_t>(size), bytes.size() - at, size_t{777}});
    bytes.copy(buffer, got, at);
    at += got;
    return static_cast<int64_t>(got);
  };
}

// A folder in memory with neighbours that nothing may touch; made once, since thousands a second
// are unpacked into it.
class Scratch {
 public:
  Scratch() : dir_(sys::TempDir::Make("stoker-fuzz", "/dev/shm").value()) {
    FUZZ_EXPECT(sys::MakeDirs(dir_.path() + "/in/victim").ok(), "no scratch folder");
    FUZZ_EXPECT(sys::WriteFileAtomic(victim() + "/file", "mine", 0640, false).ok(), "no victim");
  }
  std::string top() const { return dir_.path(); }
  std::string in() const { return dir_.path() + "/in"; }
  std::string victim() const { return in() + "/victim"; }
  std::string dest() const { return in() + "/dest"; }
  // `with`: the destination is there, and nothing else is new.
  void ExpectClean(bool with) const {
    FUZZ_EXPECT(Names(dir_.path()) == "in ", Names(dir_.path()));
    FUZZ_EXPECT(Names(in()) == (with ? "dest victim " : "victim "), Names(in()));
    FUZZ_EXPECT(Names(victim()) == "file ", Names(victim()));
    FUZZ_EXPECT(sys::ReadFile(victim() + "/file").value_or("") == "mine", "it was written to");
    struct stat info {};
    FUZZ_EXPECT(stat((victim() + "/file").c_str(), &info) == 0 && (info.st_mode & 07777) == 0640 &&
                    info.st_nlink == 1,
                "its mode or its links were changed");
  }
  static std::string Names(const std::string& folder) {
    std::string names;
    for (const sys::DirEntry& entry : *sys::ListDir(folder)) names += entry.name + " ";
    return names;
  }

 private:
  sys::TempDir dir_;
};

// One line for each entry: kind, path, mode, size or target.
void Describe(const std::string& root, const std::string& below, std::string* out) {
  const auto entries = sys::ListDir(root + below);
  FUZZ_EXPECT(entries.ok(), entries.status().ToString());
  for (const sys::DirEntry& entry : *entries) {
    const std::string path = below + "/" + entry.name;
    struct stat info {};
    FUZZ_EXPECT(lstat((root + path).c_str(), &info) == 0, path);
    FUZZ_EXPECT(S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) || S_ISLNK(info.st_mode), path);
    FUZZ_EXPECT((info.st_mode & 07000) == 0, path + " has set-id bits");
    FUZZ_EXPECT(pack::CheckEntryName(path.substr(1)).ok(), path);
    *out += path + " " + std::to_string(info.st_mode);
    if (entry.is_file) *out += " " + sys::ReadFile(root + path).value_or("?");
    if (entry.is_link) {
      char target[4096];
      const ssize_t size = readlink((root + path).c_str(), target, sizeof target);
      *out += " -> " + std::string(target, static_cast<size_t>(std::max<ssize_t>(size, 0)));
    }
    *out += "\n";
    if (entry.is_dir) Describe(root, path, out);
  }
}

Status Unpack(const std::string& packed, const Scratch& scratch) {
  pack::ExtractOptions options;
  options.limits.max_bytes = 1 << 20;
  options.limits.max_files = 200;
  options.limits.max_ratio = 1000;
  options.limits.ratio_floor = 1 << 20;
  return pack::Extract(InPieces(packed), scratch.dest(), options);
}

// What was unpacked, packed and unpacked again.
void ExpectSameTree(const Scratch& scratch) {
  std::string before;
  Describe(scratch.dest(), "", &before);
  const std::string archive = scratch.top() + "/archive";
  pack::ListOptions options;
  options.scan_credentials = false;
  const auto listing = pack::ListWorkdir(scratch.dest(), options);
  // Ignore files, and what is never packed, leave something out; modes may close a folder.
  const bool all = listing.ok() && listing->notes.empty() &&
                   listing->entries.size() ==
                       static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  const bool packed = all && pack::Pack(*listing, archive).ok();
  const std::string bytes = packed ? sys::ReadFile(archive).value_or("") : "";
  (void)unlink(archive.c_str());
  if (!packed) return;
  FUZZ_EXPECT(sys::RemoveTree(scratch.dest()).ok(), "cannot be removed");
  const Status status = Unpack(bytes, scratch);
  FUZZ_EXPECT(status.ok(), status.ToString());
  std::string after;
  Describe(scratch.dest(), "", &after);
  FUZZ_EXPECT(before == after, before + "\n" + after);
}

}  // namespace
}  // namespace stoker::fuzz

FUZZ_TARGET(archive) {
  using namespace stoker;
  using namespace stoker::fuzz;
  static const Scratch scratch;
  const bool frame = input.substr(0, 4) == "\x28\xb5\x2f\xfd";
  const std::string packed =
      frame ? std::string(input) : pack::EvilTar::Compress(WithChecksums(input));
  const Status status = Unpack(packed, scratch);
  scratch.ExpectClean(status.ok());
  if (!status.ok()) {
    FUZZ_EXPECT(Refused(status, Code::kCorrupt, Code::kInvalid), status.ToString());
    return;
  }
  ExpectSameTree(scratch);
  FUZZ_EXPECT(sys::RemoveTree(scratch.dest()).ok(), "cannot be removed");
  scratch.ExpectClean(false);
}
