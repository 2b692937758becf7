// SPDX-License-Identifier: Apache-2.0
#include "test/torn/writers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "base/prng.h"

namespace torn {
namespace {

constexpr int64_t kPiece = 1 << 20;

struct BlockHead {
  char magic[8];
  int64_t step;
  int64_t index;
  uint64_t file;
};

class Writer {
 public:
  Writer(const WriterOptions& options, Progress& progress)
      : options_(options), progress_(progress), prng_(options.seed) {}

  int Run() {
    for (int64_t step = Resume() + 1; step <= options_.last_step; ++step) {
      if (options_.fill_at_step > 0 && step >= options_.fill_at_step) Fill();
      progress_.written = 0;
      progress_.begun = step;
      if (!WriteStep(step)) {
        // Half the programs notice and go on for a while without writing; all end with an error.
        if (prng_.Chance(1, 2)) Pause(2500, 3500);
        return 1;
      }
      progress_.finished = step;
      Pause(options_.min_pause_ms, options_.max_pause_ms);
    }
    return 0;
  }

 private:
  int64_t Resume() const { return 0; }

  void Pause(int low, int high) {
    std::this_thread::sleep_for(std::chrono::milliseconds(prng_.Between(low, high)));
  }

  void Fill() {
    if (options_.by_limit) {
      signal(SIGXFSZ, SIG_IGN);
      const auto limit = static_cast<rlim_t>(options_.size * prng_.Between(1, 9) / 10);
      const rlimit value{limit, limit};
      setrlimit(RLIMIT_FSIZE, &value);
      return;
    }
    // All that is left, but for part of what the next step needs beyond the file it overwrites.
    const int fd = open(options_.ballast.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    std::vector<char> piece(kPiece, 'b');
    while (write(fd, piece.data(), piece.size()) > 0) {
    }
    close(fd);
    const int64_t room = options_.size * prng_.Between(1, 9) / 10;
    struct stat info;
    // A file that is overwritten gives its own room back first: take some of that away.
    if (stat((options_.directory + "/checkpoint.pt").c_str(), &info) == 0) {
      truncate((options_.directory + "/checkpoint.pt").c_str(), 0);
      const int more = open(options_.ballast.c_str(), O_WRONLY | O_APPEND);
      for (int64_t left = options_.size - room; left > 0;) {
        const ssize_t put =
            write(more, piece.data(), static_cast<size_t>(std::min<int64_t>(left, kPiece)));
        if (put <= 0) break;
        left -= put;
      }
      close(more);
    }
  }

  bool WriteStep(int64_t step) {
    const std::string& kind = options_.kind;
    const std::string dir = options_.directory + "/";
    if (kind == "rename") {
      return WriteFile(dir + "checkpoint.pt.tmp", "checkpoint.pt", step, O_TRUNC) &&
             rename((dir + "checkpoint.pt.tmp").c_str(), (dir + "checkpoint.pt").c_str()) == 0;
    }
    if (kind == "mmap") return MapFile(dir + "checkpoint.pt", "checkpoint.pt", step);
    if (kind == "patch") return WriteFile(dir + "checkpoint.pt", "checkpoint.pt", step, 0);
    if (kind == "pair") {
      if (!WriteFile(dir + "model.pt", "model.pt", step, O_TRUNC)) return false;
      Pause(options_.min_pause_ms / 10, options_.max_pause_ms / 4);
      return WriteFile(dir + "optim.pt", "optim.pt", step, O_TRUNC);
    }
    if (kind == "folder") return WriteFolder(step);
    if (kind == "held") return WriteHeld(step);
    return WriteFile(dir + "checkpoint.pt", "checkpoint.pt", step, O_TRUNC);
  }

  bool WriteFolder(int64_t step) {
    const std::string name = "step-" + std::to_string(step);
    const std::string folder = options_.directory + "/" + name;
    mkdir(folder.c_str(), 0755);
    for (const std::string& file : FilesOf("folder")) {
      if (!WriteFile(folder + "/" + file, file, step, O_TRUNC)) return false;
      Pause(0, options_.min_pause_ms / 4);
    }
    const std::string pointer = options_.directory + "/latest";
    const int fd = open(pointer.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    const bool good = write(fd, name.data(), name.size()) == static_cast<ssize_t>(name.size());
    close(fd);
    if (step > 2) {
      std::error_code error;
      std::filesystem::remove_all(options_.directory + "/step-" + std::to_string(step - 2), error);
    }
    return good;
  }

  bool WriteFile(const std::string& path, const std::string& name, int64_t step, int flags) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | flags, 0644);
    if (fd < 0) return false;
    const bool good = WriteAll(fd, name, step);
    return close(fd) == 0 && good;
  }

  // As a database does: it opens its file once, and never lets go of it.
  bool WriteHeld(int64_t step) {
    const std::string path = options_.directory + "/checkpoint.pt";
    if (held_ < 0) held_ = open(path.c_str(), O_WRONLY | O_CREAT, 0644);
    return held_ >= 0 && lseek(held_, 0, SEEK_SET) == 0 && WriteAll(held_, "checkpoint.pt", step);
  }

  bool WriteAll(int fd, const std::string& name, int64_t step) {
    std::vector<char> piece(kPiece);
    bool good = true;
    const int64_t size = SizeOfFile(options_, name);
    for (int64_t at = 0; at < size && good; at += kPiece) {
      const int64_t length = std::min(kPiece, size - at);
      for (int64_t block = 0; block < length; block += kBlock) {
        FillBlock(piece.data() + block, step, name, (at + block) / kBlock);
      }
      for (int64_t done = 0; done < length && good;) {
        const ssize_t put = write(fd, piece.data() + done, static_cast<size_t>(length - done));
        good = put > 0;
        done += put;
      }
      progress_.written += length;
      if (prng_.Chance(1, 40)) Pause(1, 20);
    }
    return good;
  }

  bool MapFile(const std::string& path, const std::string& name, int64_t step) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT, 0644);
    if (fd < 0) return false;
    const int64_t size = SizeOfFile(options_, name);
    if (ftruncate(fd, size) != 0) return false;
    void* memory =
        mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED) return false;
    char* bytes = static_cast<char*>(memory);
    for (int64_t at = 0; at < size; at += kBlock) {
      FillBlock(bytes + at, step, name, at / kBlock);
      progress_.written += kBlock;
      if (prng_.Chance(1, 40 * (kPiece / kBlock))) Pause(1, 20);
    }
    munmap(memory, static_cast<size_t>(size));
    return true;
  }

  const WriterOptions& options_;
  Progress& progress_;
  stoker::Prng prng_;
  int held_ = -1;
};

}  // namespace

const std::vector<std::string>& WriterKinds() {
  static const std::vector<std::string> kinds = {"inplace", "patch",  "pair", "rename",
                                                 "mmap",    "folder", "held"};
  return kinds;
}

std::vector<std::string> FilesOf(const std::string& kind) {
  if (kind == "pair") return {"model.pt", "optim.pt"};
  if (kind == "folder") return {"model.bin", "optimizer.bin", "rng.bin"};
  return {"checkpoint.pt"};
}

int64_t SizeOfFile(const WriterOptions& options, const std::string& file) {
  if (file == "rng.bin") return kBlock * 4;
  const auto files = static_cast<int64_t>(FilesOf(options.kind).size());
  const int64_t parts = options.kind == "folder" ? 2 : files;
  return options.size / parts / kBlock * kBlock;
}

void FillBlock(char* block, int64_t step, const std::string& file, int64_t index) {
  BlockHead head{
      {'t', 'o', 'r', 'n', 'b', 'l', 'k', '1'}, step, index, std::hash<std::string>()(file)};
  // The stamp stands in every 512 bytes, so that a torn block shows, too.
  for (int64_t at = 0; at < kBlock; at += 512) std::memcpy(block + at, &head, sizeof(head));
}

int64_t StepOfBlock(const char* block, const std::string& file, int64_t index) {
  const uint64_t wanted = std::hash<std::string>()(file);
  int64_t step = -1;
  for (int64_t at = 0; at < kBlock; at += 512) {
    BlockHead head;
    std::memcpy(&head, block + at, sizeof(head));
    if (std::memcmp(head.magic, "tornblk1", 8) != 0 || head.index != index || head.file != wanted ||
        (at > 0 && head.step != step)) {
      return -1;
    }
    step = head.step;
  }
  return step;
}

int RunWriter(const WriterOptions& options, Progress& progress) {
  return Writer(options, progress).Run();
}

}  // namespace torn
