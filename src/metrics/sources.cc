// SPDX-License-Identifier: Apache-2.0
#include "metrics/sources.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/letter_case.h"
#include "base/text.h"

namespace stoker::metrics {
namespace {

constexpr int kLogRank = 8;

// Letters and digits belong to a word, and so does what is no ASCII.
bool IsOfWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
}

std::string_view PhaseOf(std::string_view word) {
  if (word == "train" || word == "training") return "train";
  if (word == "val" || word == "valid" || word == "validation") return "val";
  if (word == "eval" || word == "evaluation") return "eval";
  return word == "test" || word == "testing" ? "test" : "";
}

}  // namespace

int SourceRank(std::string_view source) {
  static constexpr std::array<std::pair<std::string_view, int>, 9> kRanks = {{{"pattern", 0},
                                                                              {"own", 1},
                                                                              {"tensorboard", 2},
                                                                              {"csv", 3},
                                                                              {"jsonl", 4},
                                                                              {"wandb", 5},
                                                                              {"mlflow", 6},
                                                                              {"log", kLogRank},
                                                                              {"bar", 9}}};
  const std::string_view kind = source.substr(0, source.find(':'));
  for (const auto& [name, rank] : kRanks) {
    if (name == kind) return rank;
  }
  return kLogRank - 1;
}

bool IsOfLog(std::string_view source) { return SourceRank(source) >= kLogRank; }

std::string PlainName(std::string_view name) {
  for (const std::string_view counts : {" by step", " by epoch", " by order"}) {
    if (EndsWith(name, counts)) name.remove_suffix(counts.size());
  }
  const std::string low = LowerCase(name);
  std::vector<std::string_view> words;
  for (size_t at = 0; at < low.size();) {
    size_t end = at;
    while (end < low.size() && IsOfWord(low[end])) ++end;
    if (end > at) words.push_back(std::string_view(low).substr(at, end - at));
    at = end + 1;
  }
  // In front, or at the end: "Loss/val". Hugging Face's "train/train_loss" has it twice.
  std::string_view phase;
  while (words.size() > 1 && !PhaseOf(words.front()).empty()) {
    phase = PhaseOf(words.front());
    words.erase(words.begin());
  }
  if (words.size() > 1 && phase.empty() && !PhaseOf(words.back()).empty()) {
    phase = PhaseOf(words.back());
    words.pop_back();
  }
  std::string out(phase == "train" ? "" : phase);
  out += '/';
  for (const std::string_view word : words) out += word;
  return out;
}

void SourceChoice::Add(std::string_view name, std::string_view source, bool steps) {
  if (source.empty() || IsOfLog(source)) return;
  steps_ |= steps;
  const auto known = best_.find(name);
  if (known == best_.end()) {
    best_.emplace(name, source);
    plain_.insert(PlainName(name));
  } else if (SourceRank(source) < SourceRank(known->second)) {
    known->second = source;
  }
}

bool SourceChoice::Counts(std::string_view name, std::string_view source) const {
  // Older segments do not say it.
  if (source.empty()) return true;
  if (!IsOfLog(source)) {
    const auto best = best_.find(name);
    return best == best_.end() || best->second == source;
  }
  if (steps_ && source == "bar") return false;
  return plain_.empty() || !plain_.contains(PlainName(name));
}

}  // namespace stoker::metrics
