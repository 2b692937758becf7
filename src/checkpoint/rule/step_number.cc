// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/step_number.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "base/json.h"
#include "base/json_depth.h"
#include "base/text.h"

namespace stoker {
namespace {

constexpr int kDeepest = 32;
constexpr size_t kMostDigits = 15;

struct Word {
  std::string_view text;
  StepNumber::Of of;
};
constexpr std::array kWords = {
    Word{"step", StepNumber::Of::kSteps},       Word{"steps", StepNumber::Of::kSteps},
    Word{"globalstep", StepNumber::Of::kSteps}, Word{"iter", StepNumber::Of::kSteps},
    Word{"iters", StepNumber::Of::kSteps},      Word{"iteration", StepNumber::Of::kSteps},
    Word{"iterations", StepNumber::Of::kSteps}, Word{"update", StepNumber::Of::kSteps},
    Word{"updates", StepNumber::Of::kSteps},    Word{"checkpoint", StepNumber::Of::kCheckpoints},
    Word{"ckpt", StepNumber::Of::kCheckpoints}, Word{"chkpt", StepNumber::Of::kCheckpoints},
    Word{"epoch", StepNumber::Of::kEpochs},     Word{"epochs", StepNumber::Of::kEpochs},
    Word{"ep", StepNumber::Of::kEpochs},
};
// Before such a word: a setting of the run, the same in each save (max_steps=1000).
constexpr std::array kSettings = {"max", "total", "num", "n", "warmup", "save", "eval", "log"};
// Before a number that tells apart what is no later save of the same.
constexpr std::array kOthers = {
    "v",       "version", "rev",   "rank",  "shard",  "part",  "mp",    "pp",         "tp",
    "dp",      "zero",    "node",  "host",  "worker", "gpu",   "cuda",  "device",     "proc",
    "process", "trial",   "fold",  "seed",  "run",    "exp",   "expt",  "experiment", "attempt",
    "job",     "task",    "split", "chunk", "stage",  "phase", "layer", "expert",     "adapter",
    "lora",    "group",   "size",  "dim",   "lr",     "bs",    "loss",  "acc",        "accuracy"};

bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool IsJoint(char c) { return c == '-' || c == '_' || c == '=' || c == ' '; }

// The letters that end right before `end`.
std::string_view LettersBefore(std::string_view name, size_t end) {
  size_t begin = end;
  while (begin > 0 && IsLetter(name[begin - 1])) --begin;
  return name.substr(begin, end - begin);
}

// 20240131, or seconds since 1970.
bool IsDate(std::string_view digits) {
  if (digits.size() == 10) return digits[0] == '1' || digits[0] == '2';
  return digits.size() == 8 && (StartsWith(digits, "19") || StartsWith(digits, "20")) &&
         digits.substr(4, 2) <= "12" && digits.substr(6) <= "31";
}

// What stands behind the digits makes them something else: 0.31, 200k, 1-of-3.
bool IsPart(std::string_view behind) {
  if (behind.empty()) return false;
  if (IsLetter(behind[0])) return true;
  if (behind[0] == '.') return behind.size() > 1 && IsDigit(behind[1]);
  return IsJoint(behind[0]) && StartsWith(behind.substr(1), "of");
}

// The number that follows the word at `at`, if it is one.
std::optional<int64_t> NumberBehind(std::string_view name, size_t at, StepNumber::Of of) {
  size_t begin = at;
  while (begin < name.size() && begin < at + 2 && IsJoint(name[begin])) ++begin;
  size_t end = begin;
  while (end < name.size() && IsDigit(name[end])) ++end;
  const std::string_view digits = name.substr(begin, end - begin);
  const std::string_view behind = name.substr(end);
  if (digits.empty() || digits.size() > kMostDigits || IsPart(behind)) return std::nullopt;
  // A word that is in the name of each save may be followed by anything: checkpoint-2024-01-31.
  if (of == StepNumber::Of::kCheckpoints) {
    const bool goes_on = behind.size() > 1 && IsJoint(behind[0]) && IsDigit(behind[1]);
    if (goes_on || IsDate(digits)) return std::nullopt;
  }
  return WholeNumber(digits, 0, INT64_MAX);
}

StepNumber StepInName(std::string_view name) {
  StepNumber best;
  size_t at = 0;
  while (at < name.size()) {
    if (!IsLetter(name[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < name.size() && IsLetter(name[end])) ++end;
    std::string letters(name.substr(at, end - at));
    std::transform(letters.begin(), letters.end(), letters.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::string_view before = at > 0 ? LettersBefore(name, at - 1) : "";
    const bool setting = std::find(kSettings.begin(), kSettings.end(), before) != kSettings.end();
    for (const Word& word : kWords) {
      if (letters != word.text || setting || word.of <= best.of) continue;
      if (const auto number = NumberBehind(name, end, word.of)) best = {word.of, *number};
    }
    at = end;
  }
  return best;
}

// Of "s-21" and "model_200.pt": nothing else stands in the name.
StepNumber NumberOfName(std::string_view name) {
  size_t end = 0;
  while (end < name.size() && IsLetter(name[end])) ++end;
  std::string word(name.substr(0, end));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  size_t begin = end;
  while (begin < name.size() && IsJoint(name[begin])) ++begin;
  size_t behind = begin;
  while (behind < name.size() && IsDigit(name[behind])) ++behind;
  const std::string_view digits = name.substr(begin, behind - begin);
  const std::string_view rest = name.substr(behind);
  const bool ends = rest.empty() || (rest[0] == '.' && rest.size() > 1 && IsLetter(rest[1]));
  if (end == 0 || begin != end + 1 || digits.empty() || digits.size() > kMostDigits || !ends ||
      IsDate(digits) || std::find(kOthers.begin(), kOthers.end(), word) != kOthers.end()) {
    return {};
  }
  return {StepNumber::Of::kNames, WholeNumber(digits, 0, INT64_MAX).value_or(-1)};
}

}  // namespace

StepNumber StepInPath(std::string_view path) {
  StepNumber best;
  for (const std::string& name : Split(std::string(path), '/')) {
    StepNumber here = StepInName(name);
    if (here.of == StepNumber::Of::kNothing) here = NumberOfName(name);
    if (here.of > best.of) best = here;
  }
  return best;
}

int64_t StepInTrainerState(const std::string& text) {
  if (NestedDeeper(text, kDeepest)) return -1;
  const auto in = nlohmann::json::parse(text, nullptr, false);
  if (!in.is_object()) return -1;
  const auto step = in.find("global_step");
  if (step == in.end() || !step->is_number_integer()) return -1;
  const bool large = step->is_number_unsigned() && step->get<uint64_t>() > INT64_MAX;
  return large ? -1 : std::max<int64_t>(step->get<int64_t>(), -1);
}

}  // namespace stoker
