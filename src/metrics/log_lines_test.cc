// SPDX-License-Identifier: Apache-2.0
#include "metrics/log_lines.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>

#include "base/prng.h"
#include "base/text.h"
#include "metrics/log_words.h"
#include "metrics/numbers.h"
#include "test/kit/metric_sink.h"

namespace stoker::metrics {
namespace {

constexpr WallTime kThen{1'700'000'000'000};

// What is found, in its order: "loss@3=0.5", "acc@epoch 2=0.9", "accuracy=0.97".
struct Told : PointSink {
  std::vector<std::string> all;
  void OnPoint(std::string_view name, const Point& point) override {
    const std::string at =
        point.step ? fmt::format("@{}{}", point.by_epoch ? "epoch " : "", *point.step) : "";
    all.push_back(fmt::format("{}{}={}", name, at, point.value));
  }
  void OnHyperparameter(std::string_view, const std::string&) override {}
};

std::vector<std::string> Read(LogLines& reader, const std::vector<std::string>& lines) {
  Told told;
  for (const std::string& line : lines) reader.Record(0, false, line, kThen, told);
  reader.Finish(told);
  return told.all;
}

std::vector<std::string> Read(const std::vector<std::string>& lines) {
  LogLines reader({});
  return Read(reader, lines);
}

using Lines = std::vector<std::string>;

struct Form {
  Lines lines;
  Lines found;
};

// Lines as public training loops and libraries print them.
const std::vector<Form> kForms = {
    {{"Epoch 1/5, Train Loss: 1.0000, Val Loss: 10.5000"},
     {"Train Loss@epoch 1=1", "Val Loss@epoch 1=10.5"}},
    {{"step 50: train loss 0.5000, val loss 1.0000"}, {"train loss@50=0.5", "val loss@50=1"}},
    {{"iter 10: loss 0.5000, time 63.20ms, mfu 12.34%"}, {"loss@10=0.5", "mfu@10=12.34"}},
    {{"step 10 | loss 0.5000 | step time 12.34ms"}, {"loss@10=0.5"}},
    {{"iter_dt 0.00ms; iter 10: train loss 0.50000"}, {"train loss@10=0.5"}},
    {{"step    1/18865 | loss 11.009 (+nanz)| norm 15.3 (+nanz)| lr 9.00e-07 | 4000.12 ms | "
      "55.1% bf16 MFU | 131072 tok/s"},
     {"loss@1=11.009", "norm@1=15.3", "lr@1=9e-07"}},
    {{"Train Epoch: 1 [640/60000 (1%)]\tLoss: 0.500000",
      "Train Epoch: 2 [0/60000 (0%)]\tLoss: 0.25"},
     {"Loss@640=0.5", "Loss@60000=0.25"}},
    {{"Train Epoch: 3 [0/60000 (0%)]\tLoss: 0.5", "",
      "Test set: Average loss: 0.0263, Accuracy: 9913/10000 (99%)"},
     {"Loss@120000=0.5", "Average loss@epoch 3=0.0263", "Accuracy@epoch 3=99"}},
    {{"Epoch: [1][ 10/5005]\tTime  0.450 ( 0.500)\tLoss 7.0000e+00 (6.5000e+00)\t"
      "Acc@1   0.39 (  0.12)"},
     {"Loss@10=7", "Acc@1@10=0.39"}},
    {{"| epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch 15.71 | loss  1.00 | ppl  "
      "2000.10"},
     {"lr@200=20", "loss@200=1", "ppl@200=2000.1"}},
    {{"[Epoch 0/20] [Batch 3/100] [D loss: 1.5000] [G loss: 0.30]"},
     {"D loss@3=1.5", "G loss@3=0.3"}},
    {{"Epoch [2/5], Step [100/600], Loss: 0.1234"}, {"Loss@700=0.1234"}},
    {{"[10]\ttrain-rmse:1.00000\teval-rmse:0.90"}, {"train-rmse@10=1", "eval-rmse@10=0.9"}},
    {{"[10]\ttrain-rmse:1.5+0.1\ttest-rmse:1.75+0.2"}, {"train-rmse@10=1.5", "test-rmse@10=1.75"}},
    {{"[20]\ttraining's l2: 0.25\tvalid_0's l2: 0.5"},
     {"training's l2@20=0.25", "valid_0's l2@20=0.5"}},
    {{"3:\tlearn: 0.65\ttest: 0.66\tbest: 0.66 (3)\ttotal: 50ms\tremaining: 4.9s"},
     {"learn@3=0.65", "test@3=0.66", "best@3=0.66"}},
    {{"2026-11-27 23:11:14,123 - INFO - epoch 2: loss=1.5 acc=0.90"},
     {"loss@epoch 2=1.5", "acc@epoch 2=0.9"}},
    {{"INFO:root:epoch 2 loss: 1,234.5"}, {"loss@epoch 2=1234.5"}},
    // A comma before three digits groups them, everywhere; before others it is no number of ours.
    {{"epoch 3 | ppl: 1,532 | reward -12,345,678"},
     {"ppl@epoch 3=1532", "reward@epoch 3=-12345678"}},
    {{"step 1,532: loss=0.5, ppl=1,532, lr=1e-4"},
     {"loss@1532=0.5", "ppl@1532=1532", "lr@1532=0.0001"}},
    {{"iter 1,000/20,000 loss 0.5"}, {"loss@1000=0.5"}},
    {{"step 4: loss: 0,532 acc: 12,34 ppl: 1,5 mae: 1,234,5"}, {}},
    {{"epoch 1 [1,234] loss: 0.5"}, {"loss@epoch 1=0.5"}},
    {{"2026-11-27 23:11:14.123 | INFO     | __main__:main:45 - step 9: loss = 0.5"},
     {"loss@9=0.5"}},
    {{"I1127 23:11:14.123456 12345 solver.cpp:228] Iteration 100, loss = 2.5"}, {"loss@100=2.5"}},
    {{"I1127 12:00:00.1 140 logging_writer.py:48] [100] train/loss=0.5, lr=0.125"},
     {"train/loss@100=0.5", "lr@100=0.125"}},
    {{"[11/27 12:00:00 d2.utils.events]:  eta: 0:12:01  iter: 19  total_loss: 1.5  time: 0.31  "
      "lr: 0.25  max_mem: 2000M"},
     {"total_loss@19=1.5", "lr@19=0.25"}},
    {{"11/27 12:00:00 - mmengine - INFO - Epoch(train)  [1][ 50/3666]  lr: 2.5e-02  eta: 1 day, "
      "2:03:04  time: 0.52  memory: 4000  loss: 0.5"},
     {"lr@50=0.025", "memory@50=4000", "loss@50=0.5"}},
    {{" iteration      100/  500000 | consumed samples:        25600 | elapsed time per "
      "iteration "
      "(ms): 1234.5 | learning rate: 1.5E-04 | lm loss: 6.5E+00 |"},
     {"consumed samples@100=25600", "learning rate@100=0.00015", "lm loss@100=6.5"}},
    {{"2026-11-27 | INFO | train_inner | epoch 001:    100 / 1000 loss=5.25, ppl=37.5, lr=0.5"},
     {"loss@100=5.25", "ppl@100=37.5", "lr@100=0.5"}},
    {{"| epoch 001 | valid on 'valid' subset | loss 5.125 | ppl 34.5"},
     {"valid/loss@epoch 1=5.125", "valid/ppl@epoch 1=34.5"}},
    {{"Train: 2 [  10/1251 (  1%)]  Loss: 6.94 (6.95)  Time: 3.5s,  360.00/s  LR: 1.0e-05"},
     {"Loss@1261=6.94", "LR@1261=1e-05"}},
    {{"Epoch 1: 100%|████| 938/938 [00:12<00:00, 75.12it/s, v_num=0, train_loss=0.5]"},
     {"v_num@938=0", "train_loss@938=0.5"}},
    {{"Epoch 1", "-------------------------------", "loss: 2.303494  [   64/60000]",
      "Test Error: ", " Accuracy: 51.5%, Avg loss: 2.156 "},
     {"loss@64=2.303494", "Accuracy@epoch 1=51.5", "Avg loss@epoch 1=2.156"}},
    {{"Epoch 0/24", "----------", "train Loss: 0.625 Acc: 0.75", "val Loss: 0.5 Acc: 0.875"},
     {"train Loss@epoch 0=0.625", "Acc@epoch 0=0.75", "val Loss@epoch 0=0.5",
      "val/Acc@epoch 0=0.875"}},
    {{"epoch 3 train loss 0.5 acc 0.75 val loss 0.625 acc 0.5"},
     {"train loss@epoch 3=0.5", "acc@epoch 3=0.75", "val loss@epoch 3=0.625",
      "val/acc@epoch 3=0.5"}},
    {{"Episode 10\tLast reward: 26.00\tAverage reward: 16.43"},
     {"Last reward@10=26", "Average reward@10=16.43"}},
    {{"[rank0] step 3 loss 0.5", "[rank1] step 3 loss 0.6", "rank 1: step 4 loss 0.7"},
     {"loss@3=0.5", "rank_1/loss@3=0.6", "rank_1/loss@4=0.7"}},
    {{"Fold 2/5 Epoch 3/10 val_loss: 0.5"}, {"fold_2/val_loss@epoch 3=0.5"}},
    {{"Epoch 3: {'loss': 0.5, 'acc': np.float64(0.75)}"}, {"loss@epoch 3=0.5", "acc@epoch 3=0.75"}},
    {{"step 3 loss tensor(0.5, device='cuda:0', grad_fn=<NllLossBackward0>) acc nan"},
     {"loss@3=0.5", "acc@3=nan"}},
    {{"{'loss': np.float64(1.5), 'acc': np.float32(0.1), 'lr': 0.25}"},
     {"loss=1.5", "acc=0.1", "lr=0.25"}},
    {{"2026-11-27 23:11:14 - INFO - {'loss': 0.5, 'lr': [0.1, 0.2], 'step': 3}"}, {"loss@3=0.5"}},
    {{"accuracy 0.97"}, {"accuracy=0.97"}},
    {{"Test set: Average loss: 0.1, Accuracy: 97%"}, {"Average loss=0.1", "Accuracy=97"}},
    {{"INFO - Final test accuracy: 0.97"}, {"Final test accuracy=0.97"}},
    {{"Epoch 1/2", "10/10 [====] - 1s 5ms/step - loss: 1.0",
      "20/20 [====] - 1s 5ms/step - loss: 0.5"},
     {"loss@epoch 1=1", "evaluate/loss=0.5"}},
};

TEST(LogLines, ReadsWhatPublicLoopsPrint) {
  for (const Form& form : kForms) {
    EXPECT_EQ(Read(form.lines), form.found) << form.lines.back();
    for (const std::string& line : form.lines) {
      EXPECT_TRUE(Read({line}).empty() || MayHoldMetrics(line)) << line;
    }
  }
}

const Lines kOthers = {
    "Downloading: 100%|##########| 440M/440M [00:12<00:00, 36.2MB/s]",
    "ETA: 0:12:01",
    "| 0 | encoder | Sequential | 1.2 M | train",
    "Total params: 11,689,512",
    "GPU 0: NVIDIA A100-SXM4-80GB, 81920 MiB",
    "torch==2.4.1 cuda 12.1",
    "Epoch 3 took 12.4 seconds",
    "Epoch 3 took 12.4",
    "Loaded 60000 images in 3.1 s",
    "lr scheduler: cosine, warmup 500 steps",
    "mAP@[IoU=0.5:0.95] evaluation started",
    "step 3: IoU=0.5:0.95",
    "epoch 3 time 0:12:01",
    "epoch 3 ratio 3/10",
    "epoch 3 built 2026-11-27",
    "epoch 3: reducing learning rate of group 0 to 1e-4.",
    "step 100: saved checkpoint 5",
    "step 3 loss 0.5 0.6",
    "step 3 loss: 0.5 -> 0.4",
    "test loss 2.2 is the best so far, saving model to out/model.pt",
    "warmup steps: 500, lr: 0.1",
    "best epoch 12",
    "[CV 1/5] END ....C=1, kernel=rbf;, score=0.97",
    "config: {'lr': 0.1, 'batch': 64}",
    "python train.py --lr 0.1 --step 3 --momentum=0.9",
    "2026-11-27 12:00:00 train.py:45 starting",
    "accuracy threshold: 0.9",
    "Accuracy of the network on the 10000 test images: 54 %",
    "precision: 16",
    "    accuracy                           0.97       360",
    "Validation loss decreased (0.5 --> 0.4).  Saving model",
    "step 3 pid 1234 port 8.5",
    "epoch 2 betas (0.9, 0.999)",
};

TEST(LogLines, TakesNothingForAMetricThatIsNone) {
  for (const std::string& line : kOthers) EXPECT_EQ(Read({line}), Lines{}) << line;
}

TEST(LogLines, KeepsWhatCountsDifferentlyApart) {
  EXPECT_EQ(Read({"step 10 loss 0.5", "epoch 1 loss 0.75", "step 20 loss 0.25"}),
            (Lines{"loss@10=0.5", "loss by epoch@epoch 1=0.75", "loss@20=0.25"}));
  EXPECT_EQ(Read({"epoch 1 Train: loss 0.5", "epoch 1 Val: loss 0.75", "epoch 2 Train: loss 0.25"}),
            (Lines{"loss@epoch 1=0.5", "val/loss@epoch 1=0.75", "loss@epoch 2=0.25"}));
}

// It begins again in each epoch, and its line does not say in which.
TEST(LogLines, GivesAPlaceWithoutItsEpochNoStepWhereEpochsAreCounted) {
  EXPECT_EQ(Read({"Epoch: [0][10/50] Loss 7", "Test: [10/40] Loss 6.9", "Epoch: [1][10/50] Loss 6",
                  "Test: [10/40] Loss 5.9"}),
            (Lines{"Loss@10=7", "test/Loss=6.9", "Loss@60=6", "test/Loss=5.9"}));
}

// Where nobody counts epochs, a place is the step; where it begins again, behind those of before.
TEST(LogLines, GivesAPlaceWithoutAnyEpochItsStep) {
  EXPECT_EQ(Read({"[1/14] train_loss=0.5", "[2/14] train_loss=0.25", "[14/14] train_loss=0.125"}),
            (Lines{"train_loss@1=0.5", "train_loss@2=0.25", "train_loss@14=0.125"}));
  LogLines first({});
  EXPECT_EQ(Read(first, {"loss: 0.5 [  0/60000]", "loss: 0.4 [59520/60000]",
                         "loss: 0.3 [  0/60000]", "val loss: 0.4 [1/9]", "loss: 0.2 [640/60000]"}),
            (Lines{"loss@0=0.5", "loss@59520=0.4", "loss@60000=0.3", "val loss@1=0.4",
                   "loss@60640=0.2"}));
  EXPECT_EQ(Read({"[100/250] a=1.5", "[200/250] a=1.5", "[100/250] a=1.5"}),
            (Lines{"a@100=1.5", "a@200=1.5", "a@350=1.5"}));
  // Two processes, neither of which says that it is another.
  EXPECT_EQ(Read({"[5/14] a=1.5", "[6/14] a=1.5", "[5/14] a=1.5", "[6/14] a=1.5"}),
            (Lines{"a@5=1.5", "a@6=1.5", "a@5=1.5", "a@6=1.5"}));
  // A resumed program goes on in the round that it was in.
  LogLines later({});
  later.set_series(first.series());
  EXPECT_EQ(Read(later, {"loss: 0.1 [1280/60000]", "loss: 0.7 [1/9]"}),
            (Lines{"loss@61280=0.1", "loss by order=0.7"}));
}

// "11/29" is a date as well: it counts once a line is further of the same whole.
TEST(LogLines, TakesNoDateForAPlace) {
  EXPECT_EQ(Read({"11/29 loss=0.5"}), Lines{"loss=0.5"});
  EXPECT_EQ(Read({"[11/29] loss=0.5", "[11/29] loss=0.25", "[11/30] loss=0.125"}),
            (Lines{"loss=0.5", "loss=0.25", "loss=0.125"}));
  EXPECT_EQ(Read({"11/29 epoch 2 loss=0.5", "11/29 step 7: loss=0.25", "11/29 lr=0.5"}),
            (Lines{"loss@epoch 2=0.5", "loss by step@7=0.25"}));
  EXPECT_EQ(Read({"11/29 Epoch 3", "loss: 0.5"}), Lines{"loss@epoch 3=0.5"});
  const Lines many(100, "11/29 loss=0.5");
  EXPECT_EQ(Read(many), Lines(100, "loss=0.5"));
}

TEST(LogLines, LosesNoPointOfAPlaceThatMightHaveBeenADate) {
  Lines lines, found;
  for (int i = 1; i <= 14; ++i) {
    lines.push_back(fmt::format("[{}/14] loss=0.5 lr=0.25", i));
    lines.emplace_back("saving");
    found.push_back(fmt::format("loss@{}=0.5", i));
    found.push_back(fmt::format("lr@{}=0.25", i));
  }
  EXPECT_EQ(Read(lines), found);
  EXPECT_EQ(Read({"3/14 a=1.5", "3/14 b=1.5", "4/14 a=1.5"}),
            (Lines{"a@3=1.5", "b@3=1.5", "a@4=1.5"}));
  EXPECT_EQ(Read({"[12/14] a=1.5", "[13/14] a=1.5"}), (Lines{"a@12=1.5", "a@13=1.5"}));
  EXPECT_EQ(Read({"[0/3] a=1.5", "[1/3] a=1.5"}), (Lines{"a@0=1.5", "a@1=1.5"}));
}

// A bar draws the same place again, and there may be one for each epoch.
TEST(LogLines, GivesThePlaceOfABarNoStep) {
  EXPECT_EQ(Read({" 12%|█   | 12/100 [00:01<00:09, 10.1it/s, loss=0.5]",
                  " 12%|█   | 12/100 [00:01<00:09, 10.1it/s, loss=0.4]", "[1/1] loss: 0.3"}),
            (Lines{"loss=0.5", "loss=0.4", "loss=0.3"}));
  EXPECT_EQ(Read({"iteration 100/500000 loss 0.5"}), Lines{"loss@100=0.5"});
  // The attempt before has counted epochs: a line before the first of them is at no step.
  LogLines first({});
  Read(first, {"Epoch: [0][10/50] Loss 7"});
  LogLines later({});
  later.set_series(first.series());
  EXPECT_EQ(Read(later, {"step 10/50 Loss 6", "Epoch: [3][10/50] Loss 5"}),
            (Lines{"Loss by order=6", "Loss@160=5"}));
}

// A remark about an epoch is not its beginning, nor what epochs are counted from.
TEST(LogLines, ARemarkAboutAnEpochBeginsNone) {
  const Lines lines = {"Epoch 0 [10/100] loss 0.5", "Epoch 1 [10/100] loss 0.25"};
  const Lines found = {"loss@10=0.5", "loss@110=0.25"};
  for (const std::string remark : {"lr drop at epoch 30", "saving every epoch: 1", "Epoch 7"}) {
    LogLines reader({});
    Read(reader, {remark});
    EXPECT_EQ(Read(reader, lines), found) << remark;
  }
  EXPECT_EQ(Read({"lr drop at epoch 30", "accuracy: 0.5"}), Lines{"accuracy=0.5"});
  EXPECT_EQ(Read({"Starting epoch 3", "accuracy: 0.5"}), Lines{"accuracy@epoch 3=0.5"});
  EXPECT_EQ(Read({"=== Epoch 3/10 ===", "accuracy: 0.5"}), Lines{"accuracy@epoch 3=0.5"});
}

TEST(LogLines, ALaterAttemptGoesOnWithTheNamesOfTheOneBefore) {
  LogLines first({});
  Read(first, {"Epoch 0 [10/100] loss 0.5", "epoch 0 loss: 0.75"});
  LogLines later({});
  later.set_series(first.series());
  EXPECT_EQ(Read(later, {"epoch 3 loss: 0.25", "Epoch 4 [10/100] loss 0.5"}),
            (Lines{"loss by epoch@epoch 3=0.25", "loss@410=0.5"}));
}

TEST(LogLines, SaysOnceWhatItDidNotTake) {
  LogLines reader({});
  Read(reader, {"words", "the current loss: 0.5 for the epochs so far", "loss: 0.4 of three"});
  const std::string said = reader.TakeUntaken();
  EXPECT_NE(said.find("the current loss: 0.5"), std::string::npos) << said;
  EXPECT_NE(said.find("regex: 'the current loss:\\s*([-+.eE0-9]+)'"), std::string::npos) << said;
  EXPECT_EQ(reader.TakeUntaken(), "");
  Read(reader, {"loss: 0.4 of three"});
  EXPECT_EQ(reader.TakeUntaken(), "");
}

// Whether the line has the name, and beside it this number as a whole token: by other means than
// the reader's.
bool Stands(const std::string& line, std::string name, double value) {
  for (const char* end : {" by step", " by epoch", " by order"}) {
    if (EndsWith(name, end)) name.resize(name.size() - std::string(end).size());
  }
  for (size_t slash = 0; line.find(name) == line.npos;) {  // what was put in front of it
    slash = name.find('/');
    if (slash == name.npos) return false;
    name = name.substr(slash + 1);
  }
  static const re2::RE2 kBehind(
      R"((?i)^['"`]?[ \t]*[:=]?[ \t]*['"`]?(?:[a-z][\w.]*\()?)"
      R"(([-+]?(?:nan|infinity|inf)|[-+]?(?:\d+(?:,\d+)*)?\.?\d*(?:e[-+]?\d+)?)(.?))");
  static const re2::RE2 kShare(R"(^[ \t]*[:=][ \t]*\d+[ \t]*/[ \t]*\d+[ \t]*\([ \t]*([\d.]+)%)");
  for (size_t at = line.find(name); at != line.npos; at = line.find(name, at + 1)) {
    const std::string rest = line.substr(at + name.size());
    std::string digits;
    std::string next;
    if (re2::RE2::PartialMatch(rest, kShare, &digits) && ParseNumber(digits) == value) return true;
    if (!re2::RE2::PartialMatch(rest, kBehind, &digits, &next)) continue;
    while (!digits.empty() && (digits.back() == ',' || digits.back() == '.')) digits.pop_back();
    digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
    const auto number = ParseNumber(digits);
    const bool whole = next.empty() || !(IsAlnum(next[0]) || next[0] == '/' || next[0] == '_');
    if (number && whole && (*number == value || (std::isnan(*number) && std::isnan(value)))) {
      return true;
    }
  }
  return false;
}

TEST(LogLines, EachNumberStandsInALineThatNamesIt) {
  Lines corpus = kOthers;
  for (const Form& form : kForms) corpus.insert(corpus.end(), form.lines.begin(), form.lines.end());
  Prng prng(43);
  const auto pick = [&]() -> const std::string& { return corpus[prng.Below(corpus.size())]; };
  const std::string odd = " \t:=,;|[](){}'\"/-+.%0123456789eEnaif#_@lossepoch";
  size_t found = 0;
  for (int round = 0; round < 10'000; ++round) {
    std::string line = pick();
    for (uint64_t edits = 1 + prng.Below(4); edits > 0; --edits) {
      const size_t at = prng.Below(line.size() + 1);
      switch (prng.Below(4)) {
        case 0:
          line.erase(at, 1 + prng.Below(4));
          break;
        case 1:
          line.insert(at, 1, odd[prng.Below(odd.size())]);
          break;
        case 2:
          if (at < line.size()) line[at] = odd[prng.Below(odd.size())];
          break;
        default: {
          const std::string& other = pick();
          const size_t from = prng.Below(other.size() + 1);
          line.insert(at, other.substr(from, prng.Below(12)));
        }
      }
    }
    if (line.find_first_of("\r{\x1b") != line.npos) continue;  // objects have tests of their own
    LogLines reader({});
    TestSink sink;
    reader.Record(0, false, line, kThen, sink);
    reader.Finish(sink);
    for (const auto& [name, points] : sink.points) {
      for (const Point& point : points) {
        ++found;
        ASSERT_TRUE(Stands(line, name, point.value))
            << name << "=" << point.value << " in " << line;
      }
    }
  }
  EXPECT_GT(found, 5000U);
}

}  // namespace
}  // namespace stoker::metrics
