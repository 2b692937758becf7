// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <zlib.h>

#include <protozero/pbf_writer.hpp>

#include "metrics/trackers/mlflow_lines.h"
#include "metrics/trackers/settings_text.h"
#include "metrics/trackers/wandb_file.h"
#include "test/kit/metric_sink.h"
#include "test/kit/recorded_wandb.h"

namespace stoker::metrics {
namespace {

using Items = std::vector<std::pair<std::vector<std::string>, std::string>>;

std::string Item(const std::vector<std::string>& path, const std::string& json) {
  std::string bytes;
  protozero::pbf_writer item(bytes);
  for (const std::string& key : path) item.add_string(path.size() == 1 ? 1 : 2, key);
  item.add_string(16, json);
  return bytes;
}

std::string Holding(uint32_t tag, const std::string& message) {
  std::string bytes;
  protozero::pbf_writer(bytes).add_message(tag, message);
  return bytes;
}

std::string History(const Items& items) {
  std::string row;
  for (const auto& [path, json] : items) row += Holding(1, Item(path, json));
  return Holding(2, row);
}

std::string StepRow(int64_t step, const std::string& name, const std::string& value) {
  return History({{{"_step"}, std::to_string(step)},
                  {{"_timestamp"}, "1.7958701261524e+09"},
                  {{"_runtime"}, "0.5"},
                  {{name}, value}});
}

// As wandb/sdk/internal/datastore.py writes it.
struct WandbFile {
  std::string bytes = std::string(":W&B\xe1\xbe\x00", 7);
  void Chunk(unsigned char type, std::string_view body) {
    std::string typed(1, static_cast<char>(type));
    typed += body;
    const auto crc = static_cast<uint32_t>(::crc32(
        0, reinterpret_cast<const unsigned char*>(typed.data()), static_cast<uInt>(typed.size())));
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(crc >> (8 * i));
    bytes += static_cast<char>(body.size());
    bytes += static_cast<char>(body.size() >> 8);
    bytes += typed;
  }
  void Add(std::string_view record) {
    constexpr size_t kBlock = 32768;
    for (bool first = true;; first = false) {
      size_t left = kBlock - bytes.size() % kBlock;
      if (left < 7) {
        bytes.append(left, '\0');
        left = kBlock;
      }
      const size_t take = std::min(left - 7, record.size());
      const bool last = take == record.size();
      Chunk(first && last ? 1 : first ? 2 : last ? 4 : 3, record.substr(0, take));
      record.remove_prefix(take);
      if (last) return;
    }
  }
};

std::vector<int64_t> Steps(const std::vector<Point>& points) {
  std::vector<int64_t> steps;
  for (const Point& point : points) steps.push_back(point.step.value_or(-1));
  return steps;
}

TEST(WandbFile, ReadsWhatWandbWrote) {
  const std::string bytes = RecordedWandb();
  WandbFileReader reader;
  TestSink sink;
  reader.Feed(bytes, sink);
  EXPECT_EQ(reader.damaged(), 0);
  EXPECT_EQ(reader.offset(), static_cast<int64_t>(bytes.size()));
  EXPECT_EQ(sink.points.size(), 1U);
  ASSERT_EQ(sink.points["loss"].size(), 2U);
  EXPECT_EQ(*sink.points["loss"][1].step, 10);
  EXPECT_EQ(sink.points["loss"][1].value, 0.25);
  EXPECT_EQ(sink.hyperparameters, (std::map<std::string, std::string>{{"lr", "0.1"}}));
}

TEST(WandbFile, HoweverTheBytesAreCut) {
  WandbFile file;
  file.Add(StepRow(0, "loss", "1"));
  file.Add(Holding(7, std::string(100'000, 'x')));  // several chunks, of another kind
  for (int i = 1; i < 2000; ++i) file.Add(StepRow(i, "loss", "0.5"));
  for (const size_t piece : {size_t{1}, size_t{6}, size_t{32768}, file.bytes.size()}) {
    WandbFileReader reader;
    TestSink sink;
    for (size_t at = 0; at < file.bytes.size(); at += piece) {
      reader.Feed(std::string_view(file.bytes).substr(at, piece), sink);
    }
    EXPECT_EQ(reader.damaged(), 0);
    EXPECT_EQ(reader.offset(), static_cast<int64_t>(file.bytes.size()));
    ASSERT_EQ(sink.points["loss"].size(), 2000U) << piece;
    EXPECT_EQ(*sink.points["loss"][1999].step, 1999);
    EXPECT_EQ(sink.points["loss"][0].time.ms, 1795870126152);
    EXPECT_EQ(sink.points.size(), 1U);
  }
}

TEST(WandbFile, ATornTailWaitsForItsRest) {
  WandbFile file;
  file.Add(StepRow(0, "loss", "1"));
  const auto whole = static_cast<int64_t>(file.bytes.size());
  file.Add(StepRow(1, "loss", "0.5"));
  WandbFileReader reader;
  TestSink sink;
  const std::string_view bytes = file.bytes;
  reader.Feed(bytes.substr(0, bytes.size() - 1), sink);
  EXPECT_EQ(sink.points["loss"].size(), 1U);
  EXPECT_EQ(reader.offset(), whole);
  reader.Feed(bytes.substr(bytes.size() - 1), sink);
  EXPECT_EQ(Steps(sink.points["loss"]), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(reader.damaged(), 0);
}

TEST(WandbFile, BehindDamageTheNextBlockIsRead) {
  WandbFile file;
  for (int i = 0; i < 2000; ++i) file.Add(StepRow(i, "loss", "0.5"));
  for (const size_t at : {size_t{40}, size_t{11}, size_t{12}, size_t{13}}) {
    std::string bytes = file.bytes;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
    WandbFileReader reader;
    TestSink sink;
    reader.Feed(bytes, sink);
    EXPECT_GE(reader.damaged(), 1) << at;
    ASSERT_GT(sink.points["loss"].size(), 1000U) << at;
    EXPECT_EQ(*sink.points["loss"].back().step, 1999);
  }
  WandbFileReader other;
  TestSink sink;
  other.Feed("no such file at all", sink);
  EXPECT_TRUE(other.foreign());
}

TEST(WandbFile, AnotherReaderGoesOn) {
  WandbFile file;
  file.Add(Holding(
      12, Holding(1, "") + [] {
        std::string metric;
        protozero::pbf_writer one(metric);
        one.add_string(2, "*");
        one.add_string(4, "trainer/global_step");
        return metric;
      }()));
  file.Add(History({{{"_step"}, "0"}, {{"trainer/global_step"}, "40"}, {{"loss"}, "1"}}));
  const auto known = static_cast<int64_t>(file.bytes.size());
  file.Add(History({{{"_step"}, "1"}, {{"trainer/global_step"}, "50"}, {{"loss"}, "2"}}));
  WandbFileReader reader(known);
  TestSink sink;
  reader.Feed(file.bytes, sink);
  EXPECT_EQ(Steps(sink.points["loss"]), std::vector<int64_t>{50});
  EXPECT_EQ(sink.points.size(), 1U);
}

TEST(WandbRecords, NumbersOfARow) {
  WandbRecords records;
  TestSink sink;
  ASSERT_TRUE(records.Read(History({{{"_step"}, "3"},
                                    {{"loss"}, "0.5"},
                                    {{"nested", "b", "c"}, "2.5"},
                                    {{"old"}, R"({"a": 1, "b": "x"})"},
                                    {{"nan"}, "NaN"},
                                    {{"inf"}, R"("-Infinity")"},
                                    {{"text"}, R"("5")"},
                                    {{"flag"}, "true"},
                                    {{"image", "_type"}, R"("image-file")"},
                                    {{"image", "width"}, "28"},
                                    {{"table"}, R"({"_type": "table-file", "nrows": 3})"},
                                    {{"epoch"}, "2"}}),
                           true, sink));
  std::vector<std::string> names;
  for (const auto& [name, points] : sink.points) names.push_back(name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"epoch", "inf", "loss", "nan", "nested.b.c", "old.a"}));
  EXPECT_EQ(*sink.points["loss"][0].step, 3);
  EXPECT_EQ(sink.points["loss"][0].epoch, 2);
  EXPECT_LT(sink.points["inf"][0].value, 0);
  EXPECT_FALSE(records.Read("\x12\xff", true, sink));
}

TEST(WandbRecords, ItsOwnStepsGoOnWhereTheRunWas) {
  WandbRecords records;
  records.set_goes_on(400);
  TestSink sink;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(records.Read(StepRow(i, "loss", "1"), true, sink));
  EXPECT_EQ(Steps(sink.points["loss"]), (std::vector<int64_t>{400, 401, 402}));
  EXPECT_EQ(records.shift(), 400);
  WandbRecords own;
  own.set_goes_on(400);
  TestSink named;
  for (int i = 380; i < 382; ++i) ASSERT_TRUE(own.Read(StepRow(i, "loss", "1"), true, named));
  EXPECT_EQ(Steps(named.points["loss"]), (std::vector<int64_t>{380, 381}));
}

TEST(WandbRecords, ConfigurationIsHyperparameters) {
  const std::string config = Holding(1, Item({"lr"}, "0.1")) +
                             Holding(1, Item({"opt"}, R"({"name":"sgd","betas":[0.9,0.99]})")) +
                             Holding(1, Item({"_wandb"}, R"({"x":1})")) +
                             Holding(1, Item({"model", "width"}, "64"));
  for (const std::string& record : {Holding(5, config), Holding(17, Holding(4, config))}) {
    WandbRecords records;
    TestSink sink;
    ASSERT_TRUE(records.Read(record, true, sink));
    EXPECT_EQ(sink.hyperparameters, (std::map<std::string, std::string>{{"lr", "0.1"},
                                                                        {"model.width", "64"},
                                                                        {"opt.betas", "[0.9,0.99]"},
                                                                        {"opt.name", "\"sgd\""}}));
  }
}

TEST(MlflowReader, StepsAndNone) {
  TestSink sink;
  MlflowReader reader("loss", 0);
  reader.Feed("1795870138117 1.0 0\n17958701381", sink);
  EXPECT_TRUE(sink.points.empty());
  reader.Feed("19 0.5 1\n1795870138120 nan 2 data 1a2b\n", sink);
  EXPECT_EQ(Steps(sink.points["loss"]), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(sink.points["loss"][1].time.ms, 1795870138119);
  EXPECT_EQ(reader.given(), 3);

  MlflowReader again("loss", 2);
  TestSink rest;
  again.Feed("1 1.0 0\n2 0.5 1\n3 0.25 2\nno line\n", rest);
  EXPECT_EQ(Steps(rest.points["loss"]), std::vector<int64_t>{2});
  EXPECT_EQ(again.damaged(), 1);

  MlflowReader none("acc", 0);
  TestSink stepless;
  none.Feed("1 1.0 0\n2 0.5 0\n", stepless);
  MlflowReader once("once", 0);
  once.Feed("1 1.0 0\n", stepless);
  once.Finish(stepless);
  EXPECT_EQ(Steps(stepless.points["acc"]), (std::vector<int64_t>{-1, -1}));
  EXPECT_EQ(Steps(stepless.points["once"]), std::vector<int64_t>{-1});
}

TEST(SettingsText, YamlOfHydraAndLightning) {
  TestSink sink;
  EXPECT_EQ(
      GiveYamlSettings("model:\n  name: resnet\n  lr: ${lr}\nlr: 1e-3\nbetas: [0.9, 0.99]\n"
                       "name: ${hydra:job.name}\nnone: null\nflag: true\nzero: '007'\n"
                       "act: !!python/name:torch.nn.ReLU ''\nshape: !!python/tuple\n- 1\n- 2\n"
                       "args: !!python/object:argparse.Namespace\n  seed: 3\n",
                       sink),
      "");
  const std::map<std::string, std::string> expected = {{"args.seed", "3"},
                                                       {"betas", "[0.9,0.99]"},
                                                       {"flag", "true"},
                                                       {"lr", "0.001"},
                                                       {"model.lr", "0.001"},
                                                       {"model.name", "\"resnet\""},
                                                       {"name", "\"${hydra:job.name}\""},

                                                       {"shape", "[1,2]"},
                                                       {"zero", "\"007\""}};
  EXPECT_EQ(sink.hyperparameters, expected);
  EXPECT_NE(GiveYamlSettings("a: [1", sink), "");
  TestSink overrides;
  EXPECT_EQ(GiveOverrides("- lr=0.1\n- +data=small\n- ~old\n- hydra.run.dir=x\n- model=vit\n",
                          {"lr"}, overrides),
            "");
  EXPECT_EQ(overrides.hyperparameters,
            (std::map<std::string, std::string>{{"data", "\"small\""}, {"model", "\"vit\""}}));
}

}  // namespace
}  // namespace stoker::metrics
