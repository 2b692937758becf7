// SPDX-License-Identifier: Apache-2.0
// How frameworks really write their saves, as strace saw it: each trace is cut at every event, by a
// kill, by a notice that the program ends well after, or by nothing but silence. What counts then
// must be whole, and of one save; and what the table is certain of must not be missed.
#include <cctype>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"
#include "checkpoint/rule/episode.h"
#include "test/checkpoint/keeper_bench.h"

namespace stoker::test {
namespace {

struct Op {
  int64_t ms = 0;
  std::string what;
  std::string path;
  std::string to;  // of a rename
  bool append = false;
};

// strace missed some closes, of threads that had ended: where a file was synced, it was whole.
std::vector<Op> WithCloses(const std::vector<Op>& ops) {
  std::vector<Op> out;
  for (size_t i = 0; i < ops.size(); ++i) {
    const bool sync = ops[i].what == "fsync" || ops[i].what == "fdatasync";
    if (!sync) out.push_back(ops[i]);
    if (!sync && ops[i].what != "open") continue;
    bool closed = false;
    bool synced = false;
    for (size_t j = i + 1; j < ops.size(); ++j) {
      if (ops[j].path != ops[i].path) continue;
      if (ops[j].what == "open" || (ops[j].what == "rename" && !closed)) break;
      closed = closed || ops[j].what == "close";
      synced = synced || ops[j].what == "fsync" || ops[j].what == "fdatasync";
    }
    if (closed || synced) continue;
    Op close = ops[i];
    close.what = "close";
    out.push_back(close);
  }
  return out;
}

std::vector<Op> ReadTrace(const std::string& name) {
  std::ifstream in("test/checkpoint/traces/" + name + ".txt");
  EXPECT_TRUE(in.good()) << name;
  std::vector<Op> out;
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    double seconds = 0;
    std::string process;
    Op op;
    if (!(words >> seconds >> process >> op.what >> op.path)) continue;
    op.ms = static_cast<int64_t>(seconds * 1000);
    std::string rest;
    if (op.what == "rename") {
      words >> rest >> op.to;
    } else if (words >> rest) {
      op.append = rest.find("APPEND") != std::string::npos;
    }
    const bool told = op.what == "open" || op.what == "close" || op.what == "rename" ||
                      op.what == "unlink" || op.what == "fsync" || op.what == "fdatasync";
    const bool inside = op.path[0] != '/' || op.what == "rename";
    if (told && inside) out.push_back(op);
  }
  return WithCloses(out);
}

// One whose format proves it, where the real one has such; else bytes that say nothing.
std::string BytesOf(const std::string& path, int write) {
  const std::string text = path + " write " + std::to_string(write);
  for (const char* end :
       {".pt", ".pth", ".ckpt", ".json", ".zip", ".keras", ".safetensors", ".bin", ".pkl"}) {
    if (EndsWith(path, end)) return "{\"of\": \"" + text + "\"}";
  }
  return text + std::string(100, '.');
}
std::string HalfOf(const std::string& path) {
  const std::string whole = BytesOf(path, 0);
  return whole[0] == '{' ? "{\"of\": \"half" : "half of " + path;
}

// The save that a file is of, by the first number in its name or in that of the folder that it lies
// in; "" = by none, or it has a working name.
std::string SaveOf(const std::string& path) {
  const std::vector<std::string> names = Split(path, '/');
  const bool held = names[0] == "checkpoints" || names[0] == "exp";  // what holds saves is none
  if (names.size() <= (held ? 1u : 0u)) return "";
  std::string name = names[held ? 1 : 0];
  if (EndsWith(name, ".h5")) name.resize(name.size() - 3);
  if (name.find("tmp") != std::string::npos || name.find("_temp") != std::string::npos) return "";
  size_t digit = 0;
  while (digit < name.size() && !IsDigit(name[digit])) ++digit;
  if (digit == name.size() || EndsWith(name, ".py")) return "";
  if (names.size() > (held ? 2u : 1u)) return held ? names[0] + "/" + name : name;
  size_t behind = digit;
  while (behind < name.size() && IsDigit(name[behind])) ++behind;
  return "number " + name.substr(digit, behind - digit);
}

// What lies there after the first `count` events, as its writers have it.
struct Disk {
  Contents files;
  std::map<std::string, int> writes;  // by path
  std::map<std::string, std::string> open;
  void Play(const Op& op) {
    if (op.what == "open") {
      if (open.count(op.path) == 0) ++writes[op.path];
      open[op.path] = BytesOf(op.path, writes[op.path]);
      files[op.path] = HalfOf(op.path);
    } else if (op.what == "close") {
      const auto it = open.find(op.path);
      if (it == open.end()) return;
      files[op.path] = it->second;
      open.erase(it);
    } else if (op.what == "rename") {
      Rename(op.path, op.to);
    } else {
      files.erase(op.path);
    }
  }
  void Rename(const std::string& from, const std::string& to) {
    if (from[0] == '/') {
      files[to] = BytesOf(to, ++writes[to]);
      return;
    }
    for (auto it = files.begin(); it != files.end();) {
      const bool inside = it->first == from || StartsWith(it->first, from + "/");
      if (!inside) {
        ++it;
        continue;
      }
      const std::string path = to + it->first.substr(from.size());
      if (const auto is_open = open.find(it->first); is_open != open.end()) {
        open[path] = is_open->second;
        open.erase(is_open);
      }
      ++writes[path];
      files[path] = it->second;
      it = files.erase(it);
    }
  }
};

// Of each save of the whole trace: its last event, and what it consists of then.
struct Truth {
  struct Save {
    size_t last = 0;
    Contents files;
  };
  std::map<std::string, Save> saves;
  std::map<std::string, size_t> gone;  // saves of which a file is deleted: when first
};

Truth TruthOf(const std::vector<Op>& ops) {
  Truth truth;
  Disk disk;
  std::vector<Contents> after;
  for (size_t i = 0; i < ops.size(); ++i) {
    disk.Play(ops[i]);
    after.push_back(disk.files);
    const std::string path = ops[i].what == "rename" ? ops[i].to : ops[i].path;
    const std::string save = SaveOf(path + (ops[i].what == "rename" ? "/" : ""));
    const std::string own = SaveOf(path);
    const bool folder = disk.files.count(path) == 0;
    const std::string& name = folder && ops[i].what == "rename" ? save : own;
    if (name.empty()) continue;
    if (ops[i].what == "unlink") {
      truth.gone.emplace(name, i);
    } else {
      truth.saves[name].last = i;
    }
  }
  for (auto& [name, save] : truth.saves) {
    for (const auto& [path, bytes] : after[save.last]) {
      if (SaveOf(path) == name) save.files[path] = bytes;
    }
  }
  return truth;
}

enum class End { kKill, kNotice, kSilence };

struct Play {
  Bench bench{[] {
    KeeperConfig config;
    config.keep = 0;
    return config;
  }()};
  Disk disk;

  void Do(const Op& op) {
    disk.Play(op);
    if (op.what == "open") {
      bench.files.Open(op.path, HalfOf(op.path));
    } else if (op.what == "close") {
      const auto it = disk.files.find(op.path);
      if (it != disk.files.end()) bench.files.Close(op.path, it->second);
    } else if (op.what == "rename" && op.path[0] == '/') {
      bench.files.MoveIn(op.to, disk.files[op.to]);
    } else if (op.what == "rename") {
      bench.files.Rename(op.path, op.to);
    } else {
      bench.files.Delete(op.path);
    }
  }
  void Until(int64_t ms) {
    const MonoTime at{1000 + ms};
    if (at > bench.clock.now) bench.Run(at - bench.clock.now, Duration::Ms(10));
  }
  void Finish(End end) {
    if (end == End::kSilence) {
      bench.Run(Duration::Seconds(25), Duration::Ms(50));
    } else if (end == End::kKill) {
      bench.files.Kill();
      bench.End(0, 9);
    } else {
      // exit(0) closes what is open. Of bytes that say nothing nobody could tell that they are
      // half.
      for (const auto& [path, bytes] : disk.open) {
        bench.files.Close(path, bytes[0] == '{' ? HalfOf(path) : bytes);
      }
      bench.files.alive = false;
      bench.End(0, 0, true);
    }
  }
};

std::string Described(const std::string& name, size_t cut, End end, const Contents& restored) {
  std::string out = name + " cut before event " + std::to_string(cut) +
                    (end == End::kKill     ? " by a kill"
                     : end == End::kNotice ? " by a notice"
                                           : " by silence");
  for (const auto& [path, bytes] : restored) out += "\n  " + path + " = " + bytes.substr(0, 60);
  return out;
}

void Check(const std::string& name, const std::vector<Op>& ops, const Truth& truth, size_t cut,
           End end, bool certain) {
  Play play;
  for (size_t i = 0; i < cut; ++i) {
    play.Until(ops[i].ms);
    play.Do(ops[i]);
  }
  play.Finish(end);
  const Contents restored = play.bench.Restored();
  const std::string where = Described(name, cut, end, restored);
  std::set<std::string> saves;
  for (const auto& [path, bytes] : restored) {
    if (!IsStream(path)) EXPECT_NE(bytes, HalfOf(path)) << where;
    if (const std::string save = SaveOf(path); !save.empty()) saves.insert(save);
  }
  // What counts by rest alone may be half of a save whose writer fell silent.
  const auto newest_one = NewestCheckpoint(play.bench.store, "job", {});
  const bool by_rest = end == End::kSilence && newest_one.ok() && newest_one->has_value() &&
                       LoadManifest(play.bench.store, "job", (*newest_one)->id)->reason == "quiet";
  for (const std::string& save : saves) {
    if (by_rest) break;
    const auto& whole = truth.saves.at(save);
    if (end != End::kNotice) EXPECT_LT(whole.last, cut) << save << " goes on: " << where;
    for (const auto& [path, bytes] : whole.files) {
      const auto it = restored.find(path);
      ASSERT_TRUE(it != restored.end()) << path << " is missing: " << where;
      EXPECT_EQ(it->second, bytes) << path << ": " << where;
    }
  }
  if (!certain) return;
  std::string newest;
  size_t last = 0;
  for (const auto& [save, whole] : truth.saves) {
    const auto gone = truth.gone.find(save);
    const bool there = whole.last < cut && (gone == truth.gone.end() || gone->second >= cut);
    if (there && whole.last >= last) newest = save, last = whole.last;
  }
  if (!newest.empty()) EXPECT_EQ(saves.count(newest), 1u) << newest << " is missed: " << where;
}

struct Trace {
  const char* name;
  bool certain = false;  // the table knows when each of its saves is whole
};
class Traces : public testing::TestWithParam<Trace> {};

TEST_P(Traces, CutAtEveryEvent) {
  const std::string name = GetParam().name;
  const std::vector<Op> ops = ReadTrace(name);
  ASSERT_FALSE(ops.empty());
  const Truth truth = TruthOf(ops);
  for (size_t cut = 0; cut <= ops.size(); ++cut) {
    for (const End end : {End::kKill, End::kNotice, End::kSilence}) {
      Check(name, ops, truth, cut, end, GetParam().certain);
      if (testing::Test::HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , Traces,
    testing::Values(Trace{"acc"}, Trace{"accddp"}, Trace{"big", true}, Trace{"dcpasync", true},
                    Trace{"dcphf"}, Trace{"dcpmulti", true}, Trace{"ds"}, Trace{"fsdp"},
                    Trace{"gb_cat", true}, Trace{"gb_lgb"}, Trace{"gb_optuna"}, Trace{"gb_optunaj"},
                    Trace{"gb_xgbpkl"}, Trace{"hfddp"}, Trace{"hfold", true}, Trace{"hfslow"},
                    Trace{"hfterm", true}, Trace{"ignite"}, Trace{"ob_flaxorbax", true},
                    Trace{"ob_mgr", true}, Trace{"ob_mgrsync", true}, Trace{"ob_ptc", true},
                    Trace{"plasync", true}, Trace{"plone", true}, Trace{"plshm"},
                    Trace{"plterm", true}, Trace{"pltop", true}, Trace{"ray"}, Trace{"sb"},
                    Trace{"skorch"}, Trace{"st0.5.3"}, Trace{"st0.6.2"}, Trace{"st0.7.0"},
                    Trace{"tf_bar"}, Trace{"tf_h5"}, Trace{"tf_keras"}, Trace{"tf_mgrasync", true},
                    Trace{"tf_same"}, Trace{"tf_w"}, Trace{"tsave"}),
    [](const auto& one) {
      std::string name = one.param.name;
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
      return name;
    });

}  // namespace
}  // namespace stoker::test
