// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/digest.h"
#include "base/text.h"
#include "node/env/setup/setup_cache.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostOfKeyFile = int64_t{1} << 30;

// `name` is in `text` as a word of its own.
bool Names(const std::string& text, const std::string& name) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const auto joins = [&](size_t i) {
      return i < text.size() && (IsAlnum(text[i]) || text[i] == '_');
    };
    if ((at == 0 || !joins(at - 1)) && !joins(at + name.size())) return true;
  }
  return false;
}

// Collects what the key is made of; each part with its length, so that no two texts run together.
class KeyMaker {
 public:
  void Part(const std::string& text) { sum_.Update(std::to_string(text.size()) + ":" + text); }

  Status File(const std::string& workdir, const std::string& path) {
    const std::string whole = workdir + "/" + path;
    struct stat seen {};
    if (::lstat(whole.c_str(), &seen) != 0) {
      return Status(Code::kInvalid,
                    "setup.cache names " + Printable(path) + ", which was not packed",
                    "Write the path in the work directory, or bring a file that git ignores along "
                    "with 'include'");
    }
    Part(path);
    if (S_ISLNK(seen.st_mode)) {
      std::error_code error;
      Part("link " + fs::read_symlink(whole, error).string());
    } else if (S_ISDIR(seen.st_mode)) {
      Part("folder");
      STOKER_ASSIGN(const auto entries, sys::ListDir(whole));
      for (const auto& entry : entries) STOKER_TRY(File(workdir, path + "/" + entry.name));
    } else {
      STOKER_ASSIGN(const std::string text, sys::ReadFile(whole, kMostOfKeyFile));
      Part((seen.st_mode & S_IXUSR) != 0 ? "program" : "file");
      Part(text);
      texts_.push_back(text);
    }
    return Status::Ok();
  }

  void Text(const std::string& text) {
    Part(text);
    texts_.push_back(text);
  }
  bool AnyNames(const std::string& name) const {
    return std::any_of(texts_.begin(), texts_.end(),
                       [&](const std::string& text) { return Names(text, name); });
  }
  bool AnyHolds(const std::string& piece) const {
    return std::any_of(texts_.begin(), texts_.end(), [&](const std::string& text) {
      return text.find(piece) != std::string::npos;
    });
  }
  std::string Key() { return sum_.Hex().substr(0, 32); }

 private:
  Sha256 sum_;
  std::vector<std::string> texts_;
};

}  // namespace

Result<std::string> SetupKey(const JobSpec& spec, const std::string& workdir, int rank) {
  KeyMaker maker;
  maker.Part("stoker setup 1");
  maker.Text(spec.setup);
  for (const std::string& path : spec.setup_cache.value_or(std::vector<std::string>())) {
    STOKER_TRY(maker.File(workdir, path));
  }
  for (const auto& [name, value] : spec.envs) {
    if (!maker.AnyNames(name)) continue;
    maker.Part(name);
    maker.Part(value);
  }
  if (maker.AnyHolds("STOKER_HP")) {
    for (const auto& [name, value] : spec.hyperparameters) {
      maker.Part(name);
      maker.Part(value);
    }
  }
  if (maker.AnyHolds("NODE_RANK")) maker.Part("rank " + std::to_string(rank));
  return maker.Key();
}

}  // namespace stoker::node
