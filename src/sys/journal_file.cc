// SPDX-License-Identifier: Apache-2.0
#include "sys/journal_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <utility>

#include "base/text.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr int64_t kMost = int64_t{1} << 30;

class JournalFile : public Journal {
 public:
  explicit JournalFile(std::string path) : path_(std::move(path)) {}

  Result<std::vector<std::string>> Lines() override {
    auto text = sys::ReadFile(path_, kMost);
    if (text.code() == Code::kNotFound) return std::vector<std::string>();
    if (!text.ok()) return text.status();
    // What has no end was torn.
    text->resize(text->rfind('\n') + 1);
    std::vector<std::string> lines = Split(*text, '\n');
    if (!lines.empty()) lines.pop_back();
    return lines;
  }

  Status Add(const std::string& line) override {
    const std::lock_guard lock(mutex_);
    if (!fd_.valid()) STOKER_TRY(Open());
    return sys::WriteAll(fd_.get(), line + "\n", path_);
  }

  Status Settle() override {
    const std::lock_guard lock(mutex_);
    if (!fd_.valid()) return Status::Ok();
    if (fsync(fd_.get()) != 0) return ErrnoStatus("writing " + path_, errno);
    return sys::SyncDir(path_.substr(0, path_.rfind('/')));
  }

  Status Replace(const std::vector<std::string>& lines) override {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    fd_.Reset();
    return sys::WriteFileAtomic(path_, text, 0600, false);
  }

 private:
  Status Open() {
    STOKER_TRY(sys::MakeDirs(path_.substr(0, path_.rfind('/')), 0700));
    STOKER_ASSIGN(fd_, sys::Open(path_, O_RDWR | O_CREAT | O_APPEND, 0600));
    // A torn line must not swallow the next one.
    char last = '\n';
    const off_t size = lseek(fd_.get(), 0, SEEK_END);
    if (size > 0 && pread(fd_.get(), &last, 1, size - 1) == 1 && last != '\n') {
      return sys::WriteAll(fd_.get(), "\n", path_);
    }
    return Status::Ok();
  }

  const std::string path_;
  std::mutex mutex_;
  sys::ScopedFd fd_;
};

}  // namespace

std::unique_ptr<Journal> OpenJournalFile(const std::string& path) {
  return std::make_unique<JournalFile>(path);
}

}  // namespace stoker
