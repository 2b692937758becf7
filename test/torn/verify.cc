// SPDX-License-Identifier: Apache-2.0
#include "test/torn/verify.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace torn {
namespace {

namespace fs = std::filesystem;

// Step of one whole file; -1 = torn.
int64_t StepOfFile(const WriterOptions& options, const std::string& path, const std::string& name,
                   std::string* why) {
  const int64_t size = SizeOfFile(options, name);
  std::error_code error;
  if (static_cast<int64_t>(fs::file_size(path, error)) != size || error) {
    *why = path + " has the wrong size";
    return -1;
  }
  std::ifstream in(path, std::ios::binary);
  std::vector<char> piece(1 << 20);
  int64_t step = -1;
  for (int64_t at = 0; at < size;) {
    const int64_t length = std::min<int64_t>(size - at, 1 << 20);
    in.read(piece.data(), length);
    for (int64_t block = 0; block < length; block += kBlock) {
      const int64_t here = StepOfBlock(piece.data() + block, name, (at + block) / kBlock);
      if (here < 0 || (step >= 0 && here != step)) {
        *why = path + ": step " + std::to_string(here) + " at " + std::to_string(at + block) +
               " after step " + std::to_string(step);
        return -1;
      }
      step = here;
    }
    at += length;
  }
  return step;
}

Verdict VerifyFiles(const WriterOptions& options, const std::string& folder) {
  Verdict verdict;
  bool first = true;
  for (const std::string& name : FilesOf(options.kind)) {
    const std::string path = folder + "/" + name;
    if (!fs::exists(path)) {
      verdict.mixed = true;
      verdict.why = path + " is missing";
      return verdict;
    }
    const int64_t step = StepOfFile(options, path, name, &verdict.why);
    if (step < 0) {
      verdict.torn = true;
      return verdict;
    }
    if (!first && step != verdict.step) {
      verdict.mixed = true;
      verdict.why =
          path + " is of step " + std::to_string(step) + ", not " + std::to_string(verdict.step);
      return verdict;
    }
    verdict.step = step;
    first = false;
  }
  return verdict;
}

}  // namespace

Verdict Verify(const WriterOptions& options, const std::string& directory) {
  if (!fs::exists(directory) || fs::is_empty(directory)) return {};
  if (options.kind != "folder") return VerifyFiles(options, directory);
  std::ifstream in(directory + "/latest");
  std::string name;
  // Programs take the newest folder, or what the pointer names: both must be whole.
  int64_t newest = 0;
  Verdict verdict;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string unit = entry.path().filename();
    if (unit.rfind("step-", 0) != 0) continue;
    Verdict one = VerifyFiles(options, entry.path());
    if (one.torn || one.mixed) return one;
    if (one.step != std::stoll(unit.substr(5))) {
      one.mixed = true;
      one.why = unit + " holds step " + std::to_string(one.step);
      return one;
    }
    newest = std::max(newest, one.step);
  }
  verdict.step = newest;
  if (in >> name && !fs::exists(directory + "/" + name)) {
    verdict.mixed = true;
    verdict.why = "latest names " + name + ", which is not there";
  }
  return verdict;
}

}  // namespace torn
