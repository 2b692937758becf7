// SPDX-License-Identifier: Apache-2.0
// Programs that write checkpoints, each in its own way, and never heard of stoker.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace torn {

// Shared with the trial through memory, so that it knows how far the writer is.
struct Progress {
  std::atomic<int64_t> begun{0};     // step whose write has begun
  std::atomic<int64_t> finished{0};  // last step of which every file is written
  std::atomic<int64_t> written{0};   // bytes of the write under way
};

struct WriterOptions {
  std::string kind;
  std::string directory;
  std::string ballast;     // a file on the same file system, to fill it up
  int64_t size = 8 << 20;  // bytes of one step, all files together
  uint64_t seed = 1;
  int min_pause_ms = 50;  // between two steps
  int max_pause_ms = 600;
  int64_t fill_at_step = 0;  // disk full from this step on; 0 = never
  bool by_limit = false;     // "disk full" is a limit on the size of files
  int64_t last_step = 1'000'000;
};

// All kinds that RunWriter knows.
const std::vector<std::string>& WriterKinds();
// Files of one step, by kind, without the folder of the step.
std::vector<std::string> FilesOf(const std::string& kind);
int64_t SizeOfFile(const WriterOptions& options, const std::string& file);

// Writes steps until it is killed or has written the last one; returns the exit code.
int RunWriter(const WriterOptions& options, Progress& progress);

inline constexpr int64_t kBlock = 4096;
// The 4 KiB block number `index` of `file` at `step`.
void FillBlock(char* block, int64_t step, const std::string& file, int64_t index);
// The step that a block carries; -1 when it is not block `index` of `file` of any step.
int64_t StepOfBlock(const char* block, const std::string& file, int64_t index);

}  // namespace torn
