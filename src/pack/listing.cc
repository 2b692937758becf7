// SPDX-License-Identifier: Apache-2.0
#include "pack/listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <unordered_set>

#include "base/text.h"
#include "pack/credentials.h"
#include "pack/exclusions.h"
#include "pack/git.h"
#include "pack/tree_builder.h"
#include "sys/file.h"

namespace stoker::pack {
namespace {

std::string Below(const std::string& dir, const std::string& name) {
  return dir.empty() ? name : dir + "/" + name;
}

std::string FullPath(const Listing& listing, const std::string& path) {
  return path.empty() ? listing.root : (listing.root == "/" ? "" : listing.root) + "/" + path;
}

struct Found {
  std::string name;
  bool is_dir = false;
};

Result<std::vector<Found>> ReadDir(int root, const std::string& path) {
  const std::string shown = "cannot list '" + Printable(path.empty() ? "." : path) + "'";
  const int fd = openat(root, path.empty() ? "." : path.c_str(),
                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    return ErrnoStatus(shown, errno)
        .WithNext("Make it readable, or leave it out with .stokerignore");
  }
  DIR* dir = fdopendir(fd);
  if (dir == nullptr) {
    close(fd);
    return ErrnoStatus(shown, ENOMEM);
  }
  std::vector<Found> found;
  errno = 0;
  while (const dirent* entry = readdir(dir)) {
    Found one{entry->d_name, entry->d_type == DT_DIR};
    if (one.name == "." || one.name == "..") continue;
    if (entry->d_type == DT_UNKNOWN) {
      Result<Fingerprint> seen = LookAt(root, Below(path, one.name));
      one.is_dir = seen.ok() && S_ISDIR(seen->mode);
    }
    found.push_back(std::move(one));
    errno = 0;
  }
  const int error = errno;
  closedir(dir);
  if (error != 0) return ErrnoStatus(shown, error);
  return found;
}

// Adds what of `path`, which git ignores, the options or an ignore file bring back.
class BringBack {
 public:
  BringBack(TreeBuilder& builder, Listing& listing, int root)
      : builder_(builder), listing_(listing), root_(root) {}

  Status Run(const std::string& path, bool is_dir) {
    const bool above = builder_.BringsBackAbove(path);
    STOKER_TRY(Take(path, is_dir, above));
    while (!open_.empty()) {
      const Open folder = std::move(open_.back());
      open_.pop_back();
      STOKER_ASSIGN(const bool enter, builder_.EnterDir(folder.path, false));
      if (!enter) continue;
      STOKER_ASSIGN(const std::vector<Found> found, ReadDir(root_, folder.path));
      for (const Found& one : found) {
        STOKER_TRY(Take(Below(folder.path, one.name), one.is_dir, folder.kept));
      }
    }
    return Status::Ok();
  }

 private:
  struct Open {
    std::string path;
    bool kept = false;
  };

  Status Take(const std::string& path, bool is_dir, bool kept) {
    const Verdict verdict = builder_.BringsBack(path, is_dir);
    if (verdict != Verdict::kNone) kept = verdict == Verdict::kKeep;
    if (is_dir) {
      // What tools make again is huge, and seldom meant.
      const bool skip =
          verdict == Verdict::kIgnore || (!kept && IsMadeAgain(path.substr(path.rfind('/') + 1)));
      if (!skip) open_.push_back({path, kept});
      return Status::Ok();
    }
    if (!kept) return Status::Ok();
    STOKER_ASSIGN(const bool added, builder_.AddLeaf(path));
    if (added) listing_.included.push_back(path);
    return Status::Ok();
  }

  TreeBuilder& builder_;
  Listing& listing_;
  int root_;
  std::vector<Open> open_;
};

// A walk from the top with .gitignore rules, for folders that git does not list. `top` is where the
// rules begin: the work tree's root when git could not be asked, else the folder itself.
class Walk {
 public:
  Walk(TreeBuilder& builder, Listing& listing, int root)
      : builder_(builder), listing_(listing), root_(root) {}

  Status Run(const std::string& start) {
    const std::string full = FullPath(listing_, start);
    const std::string top = FindGitTop(full);
    if (!top.empty()) STOKER_TRY(LoadRulesAbove(top, full));
    start_ = start;
    std::vector<std::string> open = {start};
    while (!open.empty()) {
      const std::string dir = std::move(open.back());
      open.pop_back();
      STOKER_ASSIGN(bool enter, builder_.EnterDir(dir, true));
      if (!enter) continue;
      STOKER_ASSIGN(std::string rules, builder_.ReadIgnoreFile(Below(dir, ".gitignore")));
      ignore_.Add(RulePath(dir), rules);
      STOKER_ASSIGN(std::vector<Found> found, ReadDir(root_, dir));
      for (const Found& one : found) {
        const std::string path = Below(dir, one.name);
        if (ignore_.IgnoresEntry(RulePath(path), one.is_dir)) {
          builder_.NoteIgnored(path + (one.is_dir ? "/" : ""), true);
          if (builder_.MayBringBack()) {
            STOKER_TRY(BringBack(builder_, listing_, root_).Run(path, one.is_dir));
          }
        } else if (one.is_dir) {
          open.push_back(path);
        } else {
          STOKER_TRY(builder_.AddLeaf(path).status());
        }
      }
    }
    return Status::Ok();
  }

 private:
  // The rules of the folders from `top` down to above `full`, which git would apply too.
  Status LoadRulesAbove(const std::string& top, const std::string& full) {
    const std::string base = top == "/" ? "" : top;
    prefix_ = full.size() > base.size() ? full.substr(base.size() + 1) : "";
    Result<std::string> own = sys::ReadFile(base + "/.git/info/exclude", 4 << 20);
    if (own.ok()) ignore_.Add("", *own);
    for (std::string dir; dir != prefix_;) {
      Result<std::string> text = sys::ReadFile(base + "/" + Below(dir, ".gitignore"), 4 << 20);
      if (text.ok()) ignore_.Add(dir, *text);
      const size_t from = dir.empty() ? 0 : dir.size() + 1;
      dir = prefix_.substr(0, prefix_.find('/', from));
    }
    return Status::Ok();
  }

  // `path` as the rules see it: relative to where they begin.
  std::string RulePath(const std::string& path) const {
    if (path == start_) return prefix_;
    return Below(prefix_, start_.empty() ? path : path.substr(start_.size() + 1));
  }

  TreeBuilder& builder_;
  Listing& listing_;
  int root_;
  std::string start_;
  std::string prefix_;
  IgnoreTree ignore_;
};

// Sets listing.git from what git said about the folder itself.
void RecordState(const GitAnswer& answer, const TreeBuilder& builder,
                 const std::unordered_set<std::string>& packed, bool untracked, Listing& listing) {
  GitState& git = listing.git;
  git.used = true;
  git.commit = answer.commit;
  git.branch = answer.branch;
  git.downloads = answer.downloads;
  std::string diff;
  for (const GitChange& change : answer.changes) {
    // Files that are not packed stay out of the diff too: it may be their secrets that changed.
    const bool counts =
        change.deleted ? builder.AdmitsName(change.path) : packed.count(change.path) != 0;
    if (!counts) continue;
    git.dirty = true;
    diff += change.section;
  }
  git.dirty = git.dirty || untracked || answer.commit.empty() || answer.changes_truncated;
  if (!git.dirty) return;
  if (answer.diff_truncated) {
    listing.notes.push_back("the diff against the commit is not recorded: it is longer than " +
                            HumanSize(static_cast<int64_t>(listing.options.max_diff)) +
                            " or has conflicts");
  } else if (FindCredential(diff).has_value()) {
    listing.notes.push_back(
        "the diff against the commit is not recorded: it holds what looks like a "
        "credential");
  } else {
    git.diff = std::move(diff);
  }
}

// What git ignores below `start` and is wanted all the same.
Status BringBackIgnored(const std::string& start, TreeBuilder& builder, int root,
                        Listing& listing) {
  STOKER_ASSIGN(const std::vector<std::string> ignored, AskGitIgnored(FullPath(listing, start)));
  for (const std::string& entry : ignored) {
    const std::string path = Below(start, entry);
    const bool is_dir = EndsWith(path, "/");
    builder.NoteIgnored(path, true);
    STOKER_TRY(BringBack(builder, listing, root)
                   .Run(is_dir ? path.substr(0, path.size() - 1) : path, is_dir));
  }
  listing.git.dirty = listing.git.dirty || !listing.included.empty();
  return Status::Ok();
}

// Lists folder `start`, itself the root or a repository inside it, as git does; false when git
// cannot say, with a note.
Result<bool> ListAsGit(const std::string& start, TreeBuilder& builder, int root, Listing& listing) {
  Result<GitAnswer> answer = AskGit(FullPath(listing, start), listing.options.max_diff);
  if (!answer.ok()) {
    const std::string why =
        answer.status().Is(Code::kNotFound) ? "git is not installed" : answer.status().message();
    builder.Note("git could not list " +
                 (start.empty() ? "the files" : "'" + Printable(start) + "'") + " (" + why +
                 "): .gitignore files were followed instead");
    return false;
  }
  std::unordered_set<std::string> packed;
  bool untracked = false;
  for (const GitFile& file : answer->files) {
    const std::string path = Below(start, file.path);
    if (!file.repository) {
      STOKER_ASSIGN(bool added, builder.AddLeaf(path));
      if (!added) continue;
      packed.insert(file.path);
      untracked = untracked || file.untracked;
      continue;
    }
    STOKER_ASSIGN(bool enter, builder.EnterDir(path, true));
    if (!enter) continue;
    packed.insert(file.path);
    untracked = untracked || file.untracked;
    if (!sys::FileExists(FullPath(listing, path) + "/.git")) {
      builder.Note("submodule '" + Printable(path) + "' is not checked out, and is packed empty");
      continue;
    }
    STOKER_ASSIGN(bool listed, ListAsGit(path, builder, root, listing));
    if (!listed) STOKER_TRY(Walk(builder, listing, root).Run(path));
  }
  if (start.empty()) {
    RecordState(*answer, builder, packed, untracked, listing);
    if (answer->files.empty())
      builder.Note("git lists no files here: they are all ignored, or there are none");
  }
  if (builder.MayBringBack()) STOKER_TRY(BringBackIgnored(start, builder, root, listing));
  return true;
}

}  // namespace

Result<Listing> ListWorkdir(const std::string& dir, const ListOptions& options) {
  Listing listing;
  listing.options = options;
  Result<std::string> real = sys::RealPath(dir);
  if (!real.ok()) return real.status().WithContext("work directory");
  listing.root = *real;
  if (!sys::DirExists(listing.root)) {
    return Status(Code::kInvalid, "work directory '" + Printable(dir) + "' is not a directory");
  }
  Result<sys::ScopedFd> opened = sys::Open(listing.root, O_RDONLY | O_DIRECTORY);
  if (!opened.ok()) return opened.status().WithContext("work directory");
  const int root = opened->get();
  TreeBuilder builder(listing, root);
  STOKER_TRY(builder.EnterDir("", false).status());
  bool listed = false;
  if (!FindGitTop(listing.root).empty()) {
    STOKER_ASSIGN(listed, ListAsGit("", builder, root, listing));
  }
  if (!listed) STOKER_TRY(Walk(builder, listing, root).Run(""));
  listing.knows_ignored = !listed || builder.MayBringBack();
  STOKER_TRY(builder.Finish());
  return listing;
}

}  // namespace stoker::pack
