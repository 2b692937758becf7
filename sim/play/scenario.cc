// SPDX-License-Identifier: Apache-2.0
#include "sim/play/scenario.h"

#include <charconv>

#include "base/prng.h"
#include "base/text.h"
#include "sim/faults/faults.h"
#include "sim/faults/triggers.h"
#include "sim/play/scenario_fields.h"
#include "sim/play/swarm.h"

namespace stoker::sim {
namespace {

using Words = std::vector<std::string>;

Words WordsOf(const std::string& line) {
  Words words;
  for (std::string& word : Split(line.substr(0, line.find('#')), ' ')) {
    if (!word.empty()) words.push_back(std::move(word));
  }
  return words;
}

std::string Meant(const std::string& word, const Words& known) {
  const std::string nearest = Nearest(word, known);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

template <typename T>
Words NamesOf(const std::vector<T>& things) {
  Words names;
  for (const T& thing : things) names.push_back(thing.name);
  return names;
}

Result<int64_t> Number(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Status(Code::kInvalid, "'" + text + "' is not a whole number");
  }
  return value;
}

// The generator itself counts upwards: seeds beside each other would share their draws.
Prng StreamOf(uint64_t seed) { return Prng(Prng(seed * 2 + 1).Next() + 7); }

class Parser {
 public:
  explicit Parser(uint64_t seed) : seed_(seed), rng_(StreamOf(seed)) {}

  Result<Scenario> Parse(const std::string& text, const std::string& name) {
    STOKER_TRY(FindSeed(text, name));
    plan().seed = seed_;
    line_ = 0;
    for (const std::string& line : Split(text, '\n')) {
      ++line_;
      const Words words = WordsOf(line);
      if (words.empty()) continue;
      const Status taken = Take(words);
      if (!taken.ok()) return taken.WithContext(name + ":" + std::to_string(line_));
    }
    const Status whole = Complete();
    if (!whole.ok()) return whole.WithContext(name);
    return std::move(scenario_);
  }

 private:
  Plan& plan() { return scenario_.plan; }
  static Status Wrong(const std::string& what) { return Status(Code::kInvalid, what); }

  // Everything is drawn from it, so that it must be known first.
  Status FindSeed(const std::string& text, const std::string& name) {
    for (const std::string& line : Split(text, '\n')) {
      ++line_;
      const Words words = WordsOf(line);
      if (words.empty() || words[0] != "seed") continue;
      uint64_t value = 0;
      const std::string& number = words.size() == 2 ? words[1] : "";
      const auto [end, error] =
          std::from_chars(number.data(), number.data() + number.size(), value);
      if (number.empty() || error != std::errc() || end != number.data() + number.size()) {
        return Wrong("a seed is one whole number").WithContext(name + ":" + std::to_string(line_));
      }
      seed_ = value;
      rng_ = StreamOf(seed_);
    }
    return Status::Ok();
  }

  Status Take(const Words& words) {
    const std::string& head = words[0];
    if (head == "seed") return Status::Ok();
    if (head == "swarm") return TakeSwarm(words);
    begun_ = true;
    if (head == "nobody-looks" && words.size() == 1) {
      looked_after_ = false;
      return Status::Ok();
    }
    if (head == "zone") return TakeZone(words);
    if (head == "job") return TakeJob(words);
    if (head == "program") return TakeProgram(words);
    if (head == "controller") return TakeController(words);
    if (head == "fault") return TakeFault(words);
    if (head == "store") return TakePairs(words, 1, BucketFields(), &plan().bucket);
    if (head == "cloud") return TakePairs(words, 1, CloudFields(), &plan().cloud);
    if (head == "expect") return TakeExpectation(words);
    if (FindField(PlanFields(), head) != nullptr) {
      return TakePairs(words, 0, PlanFields(), &plan());
    }
    Words known = NamesOf(PlanFields());
    for (const char* other : {"seed", "swarm", "nobody-looks", "zone", "job", "program",
                              "controller", "fault", "store", "cloud", "expect"}) {
      known.push_back(other);
    }
    return Wrong("no line begins with '" + head + "'" + Meant(head, known));
  }

  Status TakeSwarm(const Words& words) {
    if (begun_) return Wrong("'swarm' comes before everything else: what follows changes it");
    const Plan drawn = DrawPlan(seed_);
    if (words.size() == 1) {
      plan() = drawn;
      looked_after_ = false;
      return Status::Ok();
    }
    for (size_t i = 1; i < words.size(); ++i) {
      if (words[i] == "jobs") {
        plan().jobs = drawn.jobs;
      } else if (words[i] == "controllers") {
        plan().controllers = drawn.controllers;
        looked_after_ = false;
      } else if (words[i] == "faults") {
        plan().faults = drawn.faults;
      } else if (words[i] == "noise") {
        plan().bucket = drawn.bucket;
        plan().cloud = drawn.cloud;
      } else if (words[i] == "platform") {
        for (const auto& field : PlanFields()) Copy(field, drawn, &plan());
        plan().zones = drawn.zones;
      } else {
        const Words parts = {"platform", "jobs", "controllers", "faults", "noise"};
        return Wrong("a seed draws no '" + words[i] + "'" + Meant(words[i], parts));
      }
    }
    return Status::Ok();
  }

  template <typename T>
  static void Copy(const Field<T>& field, const T& from, T* to) {
    field.clear(*to);
    for (const int64_t value : field.get(from)) field.set(*to, value);
  }

  Status TakeZone(const Words& words) {
    static constexpr char kForm[] = "say: zone NAME [capacity NUMBER] [of PROVIDER] [price NUMBER]";
    if (words.size() % 2 != 0 || words.size() > 8) return Wrong(kForm);
    if (!has_zones_) plan().zones.clear();
    has_zones_ = true;
    Zone zone{words[1]};
    for (size_t i = 2; i < words.size(); i += 2) {
      if (words[i] == "of") {
        zone.provider = words[i + 1];
      } else if (words[i] == "capacity") {
        STOKER_ASSIGN(const int64_t capacity, Value(words[i + 1], Unit::kNumber, {}, 0));
        zone.capacity = static_cast<int>(capacity);
      } else if (words[i] == "price") {
        STOKER_ASSIGN(zone.price, Value(words[i + 1], Unit::kNumber, {}, 0));
      } else {
        return Wrong(kForm);
      }
    }
    plan().zones.push_back(zone);
    return Status::Ok();
  }

  Status TakeJob(const Words& words) {
    if (!has_jobs_) plan().jobs.clear();
    has_jobs_ = true;
    plan().jobs.emplace_back();
    return TakePairs(words, 1, JobFields(), &plan().jobs.back());
  }

  Status TakeProgram(const Words& words) {
    if (has_jobs_) return TakePairs(words, 1, ProgramFields(), &plan().jobs.back().program);
    if (plan().jobs.empty()) plan().jobs.emplace_back();
    for (JobPlan& job : plan().jobs) {
      STOKER_TRY(TakePairs(words, 1, ProgramFields(), &job.program));
    }
    return Status::Ok();
  }

  Status TakeController(const Words& words) {
    const auto* const kind = FindField(ControllerFields(), std::string("kind"));
    if (words.size() < 2) return Wrong("say: controller " + Join(kind->words, "|") + " …");
    ControllerPlan controller;
    STOKER_ASSIGN(const int64_t value, Value(words[1], Unit::kWord, kind->words, 0));
    kind->set(controller, value);
    STOKER_TRY(TakePairs(words, 2, ControllerFields(), &controller));
    plan().controllers.push_back(controller);
    return Status::Ok();
  }

  Status TakeFault(const Words& words) {
    FaultPlan fault;
    if (words.size() < 2) return Wrong("say: fault KIND at TIME|on TRIGGER …");
    if (FindFault(words[1]) == nullptr) {
      Words known = NamesOf(FaultKinds());
      for (const auto* more :
           {&DamageKinds(), &RefusalKinds(), &AccountKinds(), &OwnKinds(), &ScenarioKinds()}) {
        for (const std::string& name : NamesOf(*more)) known.push_back(name);
      }
      return Wrong("no fault is called '" + words[1] + "'" + Meant(words[1], known));
    }
    fault.kind = words[1];
    Words pairs;
    for (size_t i = 2; i < words.size(); ++i) {
      const bool more = i + 1 < words.size();
      if (words[i] == "on" && more) {
        fault.on = words[++i];
        if (i + 1 < words.size() && Number(words[i + 1]).ok()) {
          fault.number = static_cast<int>(*Number(words[++i]));
        }
      } else if (words[i] == "zone" && more) {
        fault.zone = words[++i];
      } else if (words[i] == "who" && more) {
        fault.who = words[++i];
      } else {
        pairs.push_back(words[i]);
      }
    }
    STOKER_TRY(TakePairs(pairs, 0, FaultFields(), &fault));
    STOKER_TRY(CheckFault(fault));
    plan().faults.push_back(fault);
    return Status::Ok();
  }

  Status CheckFault(const FaultPlan& fault) const {
    const TriggerKind* const trigger = FindTrigger(fault.on);
    if (!fault.on.empty() && trigger == nullptr) {
      return Wrong("nothing waits for '" + fault.on + "'" +
                   Meant(fault.on, NamesOf(TriggerKinds())));
    }
    if (fault.number != 0 && trigger->number.empty()) {
      return Wrong("there is one " + fault.on + ": it has no number");
    }
    if (fault.on.empty() && fault.who == "cause") return Wrong("a time is nobody's doing");
    if (fault.on.empty() && fault.count > 1 && fault.every == 0) {
      return Wrong("how far apart is 'every'");
    }
    return Status::Ok();
  }

  Status TakeExpectation(const Words& words) {
    const Words known = {"lives",    "succeeded", "failed", "cancelled", "attempts",
                         "machines", "strikes",   "time",   "moved"};
    Expectation wanted;
    wanted.line = line_;
    const bool strikes = words.size() > 1 && words[1] == "strikes";
    if (words.size() != (strikes ? 4U : 3U)) return Wrong("say: expect WHAT [KIND] LOW..HIGH");
    wanted.what = words[1];
    if (Nearest(wanted.what, known) != wanted.what) {
      return Wrong("nothing is counted as '" + wanted.what + "'" + Meant(wanted.what, known));
    }
    if (strikes) wanted.kind = words[2];
    const Unit unit = wanted.what == "time" ? Unit::kTime : Unit::kNumber;
    const std::string& range = words.back();
    const size_t dots = range.find("..");
    const std::string low = range.substr(0, dots);
    const std::string high = dots == std::string::npos ? low : range.substr(dots + 2);
    if (!low.empty()) {
      STOKER_ASSIGN(wanted.low, One(low, unit, {}));
    }
    if (!high.empty()) {
      STOKER_ASSIGN(wanted.high, One(high, unit, {}));
    }
    scenario_.expectations.push_back(wanted);
    return Status::Ok();
  }

  // Name and value, name and value.
  template <typename T>
  Status TakePairs(const Words& words, size_t first, const std::vector<Field<T>>& fields, T* of) {
    for (size_t i = first; i < words.size(); i += 2) {
      const Field<T>* const field = FindField(fields, words[i]);
      if (field == nullptr) {
        return Wrong("there is no '" + words[i] + "' here" + Meant(words[i], NamesOf(fields)));
      }
      if (i + 1 >= words.size()) return Wrong("'" + words[i] + "' has no value");
      auto value = Value(words[i + 1], field->unit, field->words, field->least);
      if (!value.ok()) return value.status().WithContext(words[i]);
      field->set(*of, *value);
    }
    return Status::Ok();
  }

  // Drawn, where the text leaves it open.
  Result<int64_t> Value(const std::string& text, Unit unit, const Words& words, int64_t least) {
    const Words choice = Split(text, '|');
    const uint64_t which = choice.size() > 1 ? rng_.Below(choice.size()) : 0;
    const std::string& chosen = choice[which];
    for (const std::string& other : choice) {
      STOKER_TRY(OneOrRange(other, unit, words, least, nullptr));
    }
    int64_t value = 0;
    STOKER_TRY(OneOrRange(chosen, unit, words, least, &value));
    return value;
  }

  Status OneOrRange(const std::string& text, Unit unit, const Words& words, int64_t least,
                    int64_t* drawn) {
    const size_t dots = text.find("..");
    STOKER_ASSIGN(const int64_t low, One(text.substr(0, dots), unit, words));
    int64_t high = low;
    if (dots != std::string::npos) {
      STOKER_ASSIGN(high, One(text.substr(dots + 2), unit, words));
    }
    if (high < low) return Wrong("'" + text + "' ends before it begins");
    if (low < least && low != -1) return Wrong("'" + text + "' is too little");
    if (drawn != nullptr) *drawn = high > low ? rng_.Between(low, high) : low;
    return Status::Ok();
  }

  static Result<int64_t> One(const std::string& text, Unit unit, const Words& words) {
    if (unit == Unit::kYesNo) {
      if (text != "yes" && text != "no") return Wrong("'" + text + "' is neither yes nor no");
      return text == "yes" ? 1 : 0;
    }
    if (unit == Unit::kWord) {
      for (size_t i = 0; i < words.size(); ++i) {
        if (words[i] == text) return static_cast<int64_t>(i);
      }
      return Wrong("'" + text + "' is none of " + Join(words, ", "));
    }
    if (text == "never") return -1;
    if (unit == Unit::kNumber) return Number(text);
    const bool minus = StartsWith(text, "-");
    STOKER_ASSIGN(const Duration time, ParseDuration(minus ? text.substr(1) : text));
    return minus ? -time.ms : time.ms;
  }

  Status Complete() {
    if (plan().jobs.empty()) plan().jobs.emplace_back();
    if (plan().boot_high < plan().boot_low) return Wrong("boot-high is below boot-low");
    for (const FaultPlan& fault : plan().faults) {
      bool known = fault.zone.empty();
      for (const Zone& zone : plan().zones) known |= zone.name == fault.zone;
      if (!known) return Wrong("there is no zone '" + fault.zone + "'");
      if (fault.at > plan().calm) {
        return Wrong("a fault '" + fault.kind + "' comes when the world is calm already");
      }
    }
    if (!looked_after_) return Status::Ok();
    const int64_t calm = plan().calm;
    plan().controllers.push_back({ControllerKind::kVerb, calm + 30'000, -1, 60'000});
    plan().controllers.push_back({ControllerKind::kTimer, calm + 3'700'000, -1, 600'000});
    return Status::Ok();
  }

  uint64_t seed_;
  Prng rng_;
  Scenario scenario_;
  int line_ = 0;
  bool begun_ = false;  // something but `swarm` was there
  bool has_zones_ = false;
  bool has_jobs_ = false;
  bool looked_after_ = true;
};

}  // namespace

Result<Scenario> ParseScenario(const std::string& text, const std::string& name, uint64_t seed) {
  Parser parser(seed);
  return parser.Parse(text, name);
}

}  // namespace stoker::sim
