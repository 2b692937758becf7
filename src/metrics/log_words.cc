// SPDX-License-Identifier: Apache-2.0
#include "metrics/log_words.h"

#include <array>
#include <bitset>
#include <cstring>
#include <vector>

namespace stoker::metrics {
namespace {

constexpr size_t kLongest = 20;

struct Group {
  uint32_t flags;
  std::string_view words;
};

constexpr Group kGroups[] = {
    {kEpochWord, "epoch current_epoch train_epoch"},
    {kStepWord,
     "step iter iteration round episode update timestep global_step global_iter train_step "
     "current_step num_updates num_timesteps total_timesteps updates timesteps"},
    {kBatchWord, "batch batch_idx minibatch"},
    {kFoldWord, "fold"},
    {kRankWord, "rank local_rank global_rank"},
    {kTrainWord, "train training trn"},
    {kHeldWord, "val valid validate validation dev test testing eval evaluate evaluation holdout"},
    {kUnitWord,
     "s sec secs second seconds ms us ns msec min mins minute minutes h hr hrs hour hours day days "
     "b kb mb gb tb kib mib gib tib bytes k m g t it/s s/it samples/s tok/s img/s images/s "
     "tokens/s steps/s iter/s ms/step s/step ms/batch s/batch fps hz flops params parameters "
     "images image samples examples rows files epochs steps iterations iters batches workers "
     "tokens times gpus cpus cores"},
    {kFillerWord,
     "with at of in to from is are was were be for the a an took takes taken after until till by "
     "than and or not did does no on into onto as that this has have had using per while when "
     "if it its because saving saved save loading loaded load starting started start finished "
     "finishing done complete completed reached improved improving decreased increased changed "
     "reducing reduced setting set between within about since"},
    {kResultWord,
     "loss losses accuracy acc accuracies precision recall auc auroc auprc roc_auc f1 fscore mse "
     "mae rmse rmsle mape mase r2 score scores bleu rouge perplexity ppl map iou miou psnr ssim "
     "lpips fid wer cer mcc kappa dice reward return returns nll bpb bpc logloss elbo ndcg mrr hit "
     "top error err errors mlogloss merror spearman pearson corr correlation"},
    {kWeakWord,
     "best final mean avg average total overall macro micro weighted std min max top running "
     "cumulative current last smoothed score scores"},
    {kLevelWord, "info debug warning warn error critical fatal notice trace success"},
    {kOtherWord,
     "time times eta elapsed remaining duration runtime wall wall_time walltime date pid tid "
     "rank local_rank world_size gpu gpus cuda device devices node nodes worker workers thread "
     "threads port seed line lineno version fold id job trial size shape dt took it/s s/it "
     "ms/batch "
     "s/batch ms/step s/step host layer layers checkpoint ckpt patience shard part chunk"},
    {kLimitWord,
     "warmup best max min total per first num every decay from until of resume resumed "
     "resuming log save eval_every last previous next best_val loaded loading"},
};

// A word of at most kLongest bytes, made small, as numbers.
struct Key {
  std::array<uint64_t, 3> parts{};
  bool operator==(const Key&) const = default;
};

Key KeyOf(std::string_view word) {
  std::array<char, 24> small{};
  for (size_t i = 0; i < word.size(); ++i) {
    small[i] = word[i] >= 'A' && word[i] <= 'Z' ? static_cast<char>(word[i] + 32) : word[i];
  }
  Key key;
  std::memcpy(key.parts.data(), small.data(), small.size());
  return key;
}

// Open addressing: each word of each line is looked up.
class Table {
 public:
  void Add(std::string_view word, uint32_t flags) {
    Slot& slot = slots_[Find(KeyOf(word))];
    slot = {KeyOf(word), slot.flags | flags};
  }
  uint32_t At(std::string_view word) const { return slots_[Find(KeyOf(word))].flags; }
  template <typename Each>
  void ForEach(Each each) const {
    for (const Slot& slot : slots_) {
      if (slot.flags != 0) each(reinterpret_cast<const char*>(slot.key.parts.data()), slot.flags);
    }
  }

 private:
  struct Slot {
    Key key;
    uint32_t flags = 0;
  };
  static constexpr size_t kSlots = 2048;  // as `>> 53` has it
  size_t Find(const Key& key) const {
    const uint64_t mixed =
        (key.parts[0] ^ key.parts[1] * 31 ^ key.parts[2] * 131) * 0x9e3779b97f4a7c15ULL;
    size_t at = mixed >> 53;
    while (slots_[at].flags != 0 && !(slots_[at].key == key)) at = (at + 1) % kSlots;
    return at;
  }
  std::vector<Slot> slots_{kSlots};
};

const Table& Words() {
  static const Table table = [] {
    Table made;
    for (const Group& group : kGroups) {
      for (std::string_view rest = group.words; !rest.empty();) {
        const size_t end = rest.find(' ');
        if (end != 0) made.Add(rest.substr(0, end), group.flags);
        rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
      }
    }
    return made;
  }();
  return table;
}

constexpr bool IsLetter(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr bool IsNumeral(unsigned char c) { return c >= '0' && c <= '9'; }

constexpr uint32_t kWanted = kEpochWord | kStepWord | kBatchWord | kResultWord;

// The first three letters of words that count, or name results.
using Beginnings = std::bitset<32 * 32 * 32>;
constexpr size_t LettersAt(unsigned char a, unsigned char b, unsigned char c) {
  return (size_t{a} & 31) << 10 | (size_t{b} & 31) << 5 | (size_t{c} & 31);
}

const Beginnings& Known() {
  static const Beginnings known = [] {
    Beginnings made;
    Words().ForEach([&made](const char* word, uint32_t flags) {
      if ((flags & kWanted) == 0 || word[1] == 0 || word[2] == 0) return;
      made.set(LettersAt(static_cast<unsigned char>(word[0]), static_cast<unsigned char>(word[1]),
                         static_cast<unsigned char>(word[2])));
    });
    return made;
  }();
  return known;
}

}  // namespace

uint32_t FlagsOf(std::string_view word) { return word.size() > kLongest ? 0 : Words().At(word); }

bool NamesResult(std::string_view name) {
  // From its last part to the first: what says more of a result may stand behind it.
  while (!name.empty()) {
    size_t end = name.size();
    while (end > 0 && !IsLetter(static_cast<unsigned char>(name[end - 1])) &&
           !IsNumeral(static_cast<unsigned char>(name[end - 1]))) {
      --end;
    }
    size_t digits = end;  // "top5", "map50"; but "f1" and "r2" are words
    while (digits > 0 && IsNumeral(static_cast<unsigned char>(name[digits - 1]))) --digits;
    size_t begin = digits;
    while (begin > 0 && IsLetter(static_cast<unsigned char>(name[begin - 1]))) --begin;
    const std::string_view whole = name.substr(begin, end - begin);
    const std::string_view bare = name.substr(begin, digits - begin);
    const uint32_t flags = FlagsOf(whole) | FlagsOf(bare);
    if ((flags & kResultWord) != 0) return true;
    const bool more = bare.empty() || (flags & (kWeakWord | kTrainWord | kHeldWord)) != 0;
    if (!more) return false;
    name = name.substr(0, begin);
  }
  return false;
}

bool MayHoldMetrics(std::string_view line) {
  const Beginnings& known = Known();
  const auto at = [&](size_t i) {
    return i < line.size() ? static_cast<unsigned char>(line[i]) : static_cast<unsigned char>(0);
  };
  bool letter = false;  // before this place
  for (size_t i = 0; i < line.size(); ++i) {
    const unsigned char c = at(i);
    if (IsLetter(c)) {
      const unsigned char b = at(i + 1);
      if (!letter && IsLetter(b) && IsLetter(at(i + 2)) && known[LettersAt(c, b, at(i + 2))]) {
        size_t end = i + 3;
        while (IsLetter(at(end))) ++end;
        if ((FlagsOf(line.substr(i, end - i)) & kWanted) != 0) return true;
      }
      if (!letter && ((b == '1' && (c | 32) == 'f') || (b == '2' && (c | 32) == 'r'))) return true;
      letter = true;
      continue;
    }
    letter = false;
    if (c > ']' && c != '{') continue;
    switch (c) {
      case '\r':
      case '\x1b':
      case '\b':
        return true;
      case '/':
        if (i > 0 && (IsNumeral(at(i - 1)) || at(i - 1) == ' ') &&
            (IsNumeral(at(i + 1)) || at(i + 1) == ' ')) {
          return true;
        }
        break;
      case '[':
        if (IsNumeral(at(i + 1)) || at(i + 1) == ' ') return true;
        break;
      case '{':
        if (at(i + 1) == '"' || at(i + 1) == '\'' || at(i + 1) == ' ') return true;
        break;
      case ':':
        if (at(i + 1) == '\t') return true;
        break;
      default:
        break;
    }
  }
  return false;
}

}  // namespace stoker::metrics
