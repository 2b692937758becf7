// SPDX-License-Identifier: Apache-2.0
#include "pack/archive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <map>
#include <thread>

#include "base/digest.h"
#include "base/text.h"
#include "pack/credentials.h"
#include "pack/extract.h"
#include "pack/tar_stream.h"
#include "pack/tree_builder.h"
#include "pack/zstd_stream.h"
#include "sys/file.h"

namespace stoker::pack {
namespace {

constexpr int64_t kScanBytes = 1 << 20;
constexpr size_t kMaxFindings = 5;
// Time stamps of files advance in steps of the kernel's clock, at most this long.
constexpr int64_t kClockStepNs = 20'000'000;
constexpr int64_t kFirstPauseMs = 100;

// The code says "try again" to Pack below; the message is what the user sees in the end.
Status Changed(const std::string& path) {
  return Status(Code::kBusy, QuotedPath(path) + " changed while it was packed");
}

// Where a link that lies in folder `dir` leads, by its text alone: outside the tree?
bool PointsOutside(const std::string& path, const std::string& target) {
  if (StartsWith(target, "/")) return true;
  int64_t depth = std::count(path.begin(), path.end(), '/');
  for (const std::string& part : Split(target, '/')) {
    if (part == "..") {
      if (--depth < 0) return true;
    } else if (!part.empty() && part != ".") {
      ++depth;
    }
  }
  return false;
}

// One try at packing one listing.
class Packing {
 public:
  Packing(const Listing& listing, int root, int out, const std::string& out_path,
          const PackOptions& options)
      : listing_(listing),
        options_(options),
        root_(root),
        zstd_([this, out, out_path](std::string_view data) { return Emit(out, data, out_path); },
              listing.bytes + static_cast<int64_t>(listing.entries.size()) * 2048),
        tar_([this](std::string_view data) { return zstd_.Write(data); }) {}

  Result<PackSummary> Run() {
    WaitForClock();
    for (const ListedEntry& entry : listing_.entries) {
      TarEntry tar;
      tar.path = entry.path;
      tar.mode = entry.seen.mode & 0777;
      switch (entry.kind) {
        case EntryKind::kDir:
          // The time of a folder changes with every stray temporary file: it is left out, so that
          // the same files have the same digest.
          tar.kind = TarKind::kDir;
          STOKER_TRY(tar_.Add(tar));
          break;
        case EntryKind::kLink:
          STOKER_TRY(AddLink(entry, tar));
          break;
        case EntryKind::kFile:
          STOKER_TRY(AddFile(entry, tar));
          break;
      }
    }
    STOKER_TRY(tar_.Finish());
    STOKER_TRY(zstd_.Finish());
    STOKER_TRY(Recheck());
    STOKER_TRY(Verdict());
    return Summary();
  }

 private:
  Status Emit(int out, std::string_view data, const std::string& out_path) {
    hash_.Update(data);
    return sys::WriteAll(out, data, out_path);
  }

  // A change in the same clock step as the one before it would leave no trace in the time stamps.
  void WaitForClock() const {
    int64_t newest = listing_.root_seen.ctime_ns;
    for (const ListedEntry& entry : listing_.entries) {
      newest = std::max(newest, entry.seen.ctime_ns);
    }
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t age = now.tv_sec * 1'000'000'000LL + now.tv_nsec - newest;
    if (age >= 0 && age < kClockStepNs) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(kClockStepNs - age));
    }
  }

  Status AddLink(const ListedEntry& entry, TarEntry& tar) {
    char target[PATH_MAX];
    const ssize_t length = readlinkat(root_, entry.path.c_str(), target, sizeof(target));
    if (length < 0) {
      if (errno == EINVAL || errno == ENOENT) return Changed(entry.path);
      return ErrnoStatus("cannot read link " + QuotedPath(entry.path), errno);
    }
    tar.kind = TarKind::kLink;
    tar.target.assign(target, static_cast<size_t>(length));
    tar.mode = 0777;
    tar.mtime_ns = entry.seen.mtime_ns;
    if (PointsOutside(entry.path, tar.target)) {
      outside_.push_back(Printable(entry.path) + " -> " + Printable(tar.target));
    }
    return tar_.Add(tar);
  }

  Status AddFile(const ListedEntry& entry, TarEntry& tar) {
    tar.mtime_ns = entry.seen.mtime_ns;
    if (entry.seen.links > 1) {
      auto [first, added] = linked_.insert({{entry.seen.device, entry.seen.inode}, entry.path});
      if (!added) {
        tar.kind = TarKind::kHardLink;
        tar.target = first->second;
        return tar_.Add(tar);
      }
    }
    tar.size = entry.seen.size;
    const int raw = openat(root_, entry.path.c_str(),
                           O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (raw < 0) {
      if (errno == ENOENT || errno == ELOOP || errno == ENOTDIR) return Changed(entry.path);
      return ErrnoStatus("cannot read " + QuotedPath(entry.path), errno)
          .WithNext("Make it readable, or leave it out with .stokerignore");
    }
    sys::ScopedFd fd(raw);
    STOKER_TRY(tar_.Add(tar));
    return CopyContent(fd.get(), entry);
  }

  // Exactly as many bytes as announced; Recheck sees a file that has more by then.
  Status CopyContent(int fd, const ListedEntry& entry) {
    if (buffer_ == nullptr) buffer_.reset(new char[kScanBytes]);  // not zeroed
    for (int64_t done = 0; done < entry.seen.size;) {
      const int64_t want = std::min<int64_t>(entry.seen.size - done, kScanBytes);
      int64_t have = 0;
      while (have < want) {
        const ssize_t got = read(fd, buffer_.get() + have, static_cast<size_t>(want - have));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return ErrnoStatus("cannot read " + QuotedPath(entry.path), errno);
        if (got == 0) return Changed(entry.path);
        have += got;
      }
      const std::string_view data(buffer_.get(), static_cast<size_t>(have));
      if (done == 0) {
        Scan(entry.path, data);
        if (options_.look) options_.look(entry.path, data);
      }
      STOKER_TRY(tar_.Write(data));
      done += have;
      read_ += have;
      if (options_.progress) options_.progress(read_);
    }
    return Status::Ok();
  }

  void Scan(const std::string& path, std::string_view text) {
    if (!listing_.options.scan_credentials || findings_.size() >= kMaxFindings) return;
    std::optional<CredentialFinding> found = FindCredential(text);
    if (!found.has_value()) return;
    if (findings_.empty()) first_finding_ = path;
    findings_.push_back(Printable(path) + ":" + std::to_string(found->line) + ": looks like " +
                        found->what);
  }

  // Everything once more: whatever was written, added, removed or renamed since it was listed
  // shows in a file's time and size, or in its folder's time.
  Status Recheck() const {
    for (const ListedEntry& entry : listing_.entries) {
      STOKER_TRY(Compare(entry.path, entry.seen, entry.kind == EntryKind::kDir));
    }
    return Compare("", listing_.root_seen, true);
  }

  Status Compare(const std::string& path, const Fingerprint& before, bool is_dir) const {
    Result<Fingerprint> now = LookAt(root_, path);
    if (!now.ok()) return now.status().Is(Code::kNotFound) ? Changed(path) : now.status();
    Fingerprint then = before;
    // Subfolders that are not packed come and go.
    if (is_dir) then.links = now->links;
    if (*now == then) return Status::Ok();
    return Changed(path.empty() ? listing_.root : path);
  }

  Status Verdict() const {
    if (!findings_.empty()) {
      return Status(
          Code::kInvalid, Join(findings_, "; "),
          "Take it out of the file, or leave the file out: add a line '/" +
              Printable(first_finding_) +
              "' to .stokerignore. Secrets that the program needs belong under 'secrets:'. "
              "If it is none, write 'stoker:not-a-secret' on that line");
    }
    const ExtractLimits limits;
    if (zstd_.bytes_in() > limits.ratio_floor &&
        zstd_.bytes_in() / limits.max_ratio > zstd_.bytes_out()) {
      return Status(Code::kInvalid,
                    QuotedPath(listing_.root) + " shrinks more than " +
                        std::to_string(limits.max_ratio) + " times, which no machine would unpack",
                    "Leave empty data files out with .stokerignore");
    }
    return Status::Ok();
  }

  PackSummary Summary() {
    PackSummary summary;
    summary.files = listing_.files;
    summary.links = listing_.links;
    summary.dirs = listing_.dirs;
    summary.bytes = listing_.bytes;
    summary.packed_bytes = zstd_.bytes_out();
    summary.sha256 = hash_.Hex();
    summary.git = listing_.git;
    summary.notes = listing_.notes;
    for (const std::string& link : outside_) {
      summary.notes.push_back("link " + link +
                              " leads out of the directory: kept as it is, and "
                              "broken on a machine that has no such file");
    }
    return summary;
  }

  const Listing& listing_;
  const PackOptions& options_;
  int64_t read_ = 0;
  int root_;
  Sha256 hash_;
  ZstdWriter zstd_;
  TarWriter tar_;
  std::unique_ptr<char[]> buffer_;
  std::map<std::pair<uint64_t, uint64_t>, std::string> linked_;
  std::vector<std::string> outside_;
  std::vector<std::string> findings_;
  std::string first_finding_;
};

Result<PackSummary> PackOnce(const Listing& listing, int out, const std::string& out_name,
                             const PackOptions& options) {
  Result<sys::ScopedFd> root = sys::Open(listing.root, O_RDONLY | O_DIRECTORY);
  if (!root.ok()) return root.status();
  if (ftruncate(out, 0) != 0 || lseek(out, 0, SEEK_SET) != 0) {
    return ErrnoStatus("cannot write " + QuotedPath(out_name), errno);
  }
  return Packing(listing, root->get(), out, out_name, options).Run();
}

Status CheckPlace(const Listing& listing, const std::string& out_path) {
  const size_t slash = out_path.rfind('/');
  STOKER_ASSIGN(std::string folder, sys::RealPath(slash == std::string::npos ? "."
                                                  : slash == 0               ? "/"
                                                               : out_path.substr(0, slash)));
  if (!StartsWith(folder + "/", listing.root == "/" ? "/" : listing.root + "/")) {
    return Status::Ok();
  }
  return Status(Code::kInvalid,
                "the archive would lie in the directory that is packed: " + QuotedPath(out_path));
}

}  // namespace

Result<PackSummary> PackInto(const Listing& listing, int out, const std::string& out_name,
                             const PackOptions& options) {
  Result<PackSummary> packed = PackOnce(listing, out, out_name, options);
  int64_t pause = kFirstPauseMs;
  for (int i = 0; i < options.retries && !packed.ok() && packed.status().Is(Code::kBusy); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    pause *= 2;
    STOKER_ASSIGN(Listing again, ListWorkdir(listing.root, listing.options));
    if (again.bytes > options.max_bytes) {
      return Status(Code::kInvalid, QuotedPath(listing.root) + " grew to " +
                                        HumanSize(again.bytes) + " while it was packed");
    }
    packed = PackOnce(again, out, out_name, options);
  }
  if (!packed.ok() && packed.status().Is(Code::kBusy)) {
    return packed.status().WithNext(
        "Stop what writes to it, or leave it out with .stokerignore, and submit again");
  }
  return packed;
}

Result<PackSummary> Pack(const Listing& listing, const std::string& out_path,
                         const PackOptions& options) {
  STOKER_TRY(CheckPlace(listing, out_path));
  Result<sys::ScopedFd> out = sys::Open(out_path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!out.ok()) return out.status();
  Result<PackSummary> packed = PackInto(listing, out->get(), out_path, options);
  if (!packed.ok()) unlink(out_path.c_str());
  return packed;
}

std::string Describe(const PackSummary& summary) {
  std::string out;
  if (summary.git.used) {
    out =
        "git " + (summary.git.commit.empty() ? "without commit" : summary.git.commit.substr(0, 7));
    out += summary.git.dirty && !summary.git.commit.empty() ? " dirty, " : ", ";
  }
  const int64_t count = summary.files + summary.links;
  return out + std::to_string(count) + (count == 1 ? " file, " : " files, ") +
         HumanSize(summary.bytes);
}

}  // namespace stoker::pack
