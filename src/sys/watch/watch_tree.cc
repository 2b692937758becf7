// SPDX-License-Identifier: Apache-2.0
#include "sys/watch/watch_tree.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/text.h"

namespace stoker {
namespace {

constexpr uint32_t kMask = IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE |
                           IN_DELETE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW;
constexpr int kLookForRootMs = 100;
constexpr int kGlanceMs = 500;
// The second half of a rename comes right after the first.
constexpr int kRenamePatienceMs = 5;
constexpr size_t kMaxQueue = 100'000;

}  // namespace

WatchTree::WatchTree(std::string root, Clock& clock,
                     std::function<void(std::vector<FileEvent>*)> judge, ReadWatch* reads)
    : root_(std::move(root)),
      clock_(clock),
      judge_(std::move(judge)),
      reads_(reads),
      hears_reads_(reads != nullptr && reads->listens()),
      inotify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      stop_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  std::vector<FileEvent> nothing;
  Arm(false);
  reader_ = std::thread([this] { Run(); });
}

WatchTree::~WatchTree() {
  const uint64_t one = 1;
  (void)!write(stop_.get(), &one, sizeof(one));
  reader_.join();
}

std::string WatchTree::Absolute(const std::string& path) const {
  return path.empty() ? root_ : root_ + "/" + path;
}

FileEvent WatchTree::Made(FileEvent::Kind kind, const std::string& path, bool directory) {
  FileEvent event;
  event.kind = kind;
  event.path = path;
  event.directory = directory;
  event.at = clock_.Mono();
  return event;
}

uint32_t WatchTree::Mask(bool modify) const {
  return kMask | (modify ? IN_MODIFY : 0) | (hears_reads_ ? ReadWatch::kMask : 0);
}

bool WatchTree::AddWatch(const std::string& path, bool modify) {
  const int descriptor = inotify_add_watch(inotify_.get(), Absolute(path).c_str(), Mask(modify));
  if (descriptor < 0) return false;
  watches_[descriptor] = {path, modify};
  return true;
}

// A write is thousands of IN_MODIFY of which the first is news.
void WatchTree::SetModify(int descriptor, bool wanted) {
  const auto it = watches_.find(descriptor);
  if (it == watches_.end() || it->second.modify == wanted) return;
  const std::string path = it->second.path;
  const int again = inotify_add_watch(inotify_.get(), Absolute(path).c_str(), Mask(wanted));
  if (again == descriptor) {
    it->second.modify = wanted;
  } else if (again >= 0) {
    watches_[again] = {path, wanted};  // another directory has that name by now
  }
}

// A read is as many events as it has pieces: none is wanted once it is known, or nobody asks.
void WatchTree::ForgetReads() {
  hears_reads_ = false;
  std::map<int, bool> all;
  for (const auto& [descriptor, watched] : watches_) all[descriptor] = watched.modify;
  for (const auto& [descriptor, modify] : all) {
    watches_[descriptor].modify = !modify;
    SetModify(descriptor, modify);
  }
}

// Watches `path` and what is below it. What was made before the watch stood is announced.
void WatchTree::AddTree(const std::string& path, bool announce, std::vector<FileEvent>* out) {
  if (!AddWatch(path, true)) {
    if (errno == ENOSPC) out->push_back(Made(FileEvent::Kind::kLost, "", false));
    if (errno == ENOSPC && reads_ != nullptr) reads_->Lost();
    return;
  }
  auto entries = sys::ListDir(Absolute(path));
  if (!entries.ok()) return;
  for (const sys::DirEntry& entry : *entries) {
    const std::string child = path.empty() ? entry.name : path + "/" + entry.name;
    if (entry.is_dir) {
      AddTree(child, announce, out);
    } else if (announce) {
      out->push_back(Made(FileEvent::Kind::kChanged, child, false));
      out->back().found = true;
    }
  }
}

void WatchTree::Arm(bool news) {
  if (armed_ || !sys::DirExists(root_)) return;
  // Only at the very start is what lies there no news: the keeper scans before the program starts.
  std::vector<FileEvent> found;
  AddTree("", news, &found);
  armed_ = !watches_.empty();
  const std::lock_guard lock(mutex_);
  queue_.insert(queue_.end(), found.begin(), found.end());
}

void WatchTree::Forget(const std::string& path) {
  for (auto it = watches_.begin(); it != watches_.end();) {
    const bool below = it->second.path == path || StartsWith(it->second.path, path + "/");
    if (below) inotify_rm_watch(inotify_.get(), it->first);
    it = below ? watches_.erase(it) : std::next(it);
  }
}

void WatchTree::Renamed(const std::string& from, const std::string& to) {
  for (auto& [descriptor, watched] : watches_) {
    if (watched.path == from || StartsWith(watched.path, from + "/")) {
      watched.path = to + watched.path.substr(from.size());
    }
  }
}

void WatchTree::Convert(const inotify_event& event, std::vector<FileEvent>* out) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) {
    if (reads_ != nullptr) reads_->Lost();
    out->push_back(Made(FileEvent::Kind::kLost, "", false));
    return;
  }
  const auto it = watches_.find(event.wd);
  if (it == watches_.end()) return;
  const std::string folder = it->second.path;
  if ((event.mask & (IN_DELETE_SELF | IN_IGNORED)) != 0) {
    watches_.erase(it);
    if (folder.empty()) {
      armed_ = false;
      out->push_back(Made(FileEvent::Kind::kLost, "", false));
    }
    return;
  }
  if (event.len == 0) return;
  const std::string path = folder.empty() ? event.name : folder + "/" + event.name;
  const bool directory = (event.mask & IN_ISDIR) != 0;
  if (hears_reads_) reads_->OnEvent(event.mask, path);
  if ((event.mask & ReadWatch::kMask) != 0) return;
  if (!moved_from_.empty() && (event.mask & IN_MOVED_TO) != 0 && event.cookie == cookie_) {
    FileEvent moved = Made(FileEvent::Kind::kMovedIn, path, directory);
    moved.from = moved_from_;
    if (directory) Renamed(moved_from_, path);
    moved_from_.clear();
    out->push_back(std::move(moved));
    return;
  }
  if (!moved_from_.empty()) {
    out->push_back(Made(FileEvent::Kind::kGone, moved_from_, moved_directory_));
    if (moved_directory_) Forget(moved_from_);
    moved_from_.clear();
  }
  if ((event.mask & IN_MOVED_FROM) != 0) {
    cookie_ = event.cookie;
    moved_from_ = path;
    moved_directory_ = directory;
  } else if ((event.mask & IN_MOVED_TO) != 0) {
    out->push_back(Made(FileEvent::Kind::kMovedIn, path, directory));
    if (directory) AddTree(path, true, out);
  } else if ((event.mask & IN_DELETE) != 0) {
    out->push_back(Made(FileEvent::Kind::kGone, path, directory));
  } else if ((event.mask & IN_CREATE) != 0) {
    out->push_back(Made(FileEvent::Kind::kChanged, path, directory));
    if (directory) AddTree(path, true, out);
  } else if ((event.mask & IN_MODIFY) != 0) {
    out->push_back(Made(FileEvent::Kind::kChanged, path, directory));
    SetModify(event.wd, false);
  } else if ((event.mask & IN_CLOSE_WRITE) != 0) {
    out->push_back(Made(FileEvent::Kind::kClosed, path, directory));
    SetModify(event.wd, true);
  }
}

void WatchTree::ReadBatch(std::vector<FileEvent>* out) {
  alignas(inotify_event) char buffer[64 << 10];
  for (;;) {
    const ssize_t size = read(inotify_.get(), buffer, sizeof(buffer));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      Convert(*event, out);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  }
}

void WatchTree::Run() {
  for (;;) {
    pollfd fds[2] = {{stop_.get(), POLLIN, 0}, {inotify_.get(), POLLIN, 0}};
    const int idle = armed_ ? kGlanceMs : kLookForRootMs;
    const int timeout = moved_from_.empty() ? idle : kRenamePatienceMs;
    const int ready = poll(fds, inotify_.valid() ? 2 : 1, timeout);
    if ((fds[0].revents & POLLIN) != 0) return;
    std::vector<FileEvent> events;
    if (ready == 0 && !moved_from_.empty()) {
      events.push_back(Made(FileEvent::Kind::kGone, moved_from_, moved_directory_));
      if (moved_directory_) Forget(moved_from_);
      moved_from_.clear();
    }
    if (!armed_) Arm(true);
    ReadBatch(&events);
    if (hears_reads_ && !reads_->listens()) ForgetReads();
    judge_(&events);
    if (events.empty()) continue;
    const std::lock_guard lock(mutex_);
    if (queue_.size() + events.size() > kMaxQueue) {
      queue_.clear();
      events.assign(1, Made(FileEvent::Kind::kLost, "", false));
    }
    queue_.insert(queue_.end(), events.begin(), events.end());
    changed_.notify_all();
  }
}

std::vector<FileEvent> WatchTree::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(queue_, {});
}

void WatchTree::Wait(Duration timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(timeout.ms),
                    [this] { return woken_ || !queue_.empty(); });
  woken_ = false;
}

void WatchTree::Wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

}  // namespace stoker
