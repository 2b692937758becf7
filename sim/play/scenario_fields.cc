// SPDX-License-Identifier: Apache-2.0
#include "sim/play/scenario_fields.h"

#include <optional>
#include <type_traits>

namespace stoker::sim {
namespace {

using Numbers = std::vector<int64_t>;

template <typename V>
void Assign(V& member, int64_t value) {
  if constexpr (std::is_same_v<V, Duration>) {
    member = Duration::Ms(value);
  } else {
    member = static_cast<V>(value);
  }
}
void Assign(std::optional<Duration>& member, int64_t value) { member = Duration::Ms(value); }
void Assign(std::vector<int64_t>& member, int64_t value) { member.push_back(value); }
void Assign(std::vector<int>& member, int64_t value) { member.push_back(static_cast<int>(value)); }

template <typename V>
Numbers Read(const V& member) {
  if constexpr (std::is_same_v<V, Duration>) {
    return {member.ms};
  } else {
    return {static_cast<int64_t>(member)};
  }
}
Numbers Read(const std::optional<Duration>& member) {
  return member ? Numbers{member->ms} : Numbers{};
}
Numbers Read(const std::vector<int64_t>& member) { return member; }
Numbers Read(const std::vector<int>& member) { return {member.begin(), member.end()}; }

template <typename T, auto Member>
Field<T> Of(const char* name, Unit unit, std::vector<std::string> words = {}) {
  Field<T> field;
  field.name = name;
  field.unit = unit;
  field.words = std::move(words);
  field.set = [](T& of, int64_t value) { Assign(of.*Member, value); };
  field.get = [](const T& of) { return Read(of.*Member); };
  field.clear = [](T& of) { of.*Member = T().*Member; };
  return field;
}

template <auto Member>
Field<Plan> Whole(const char* name, Unit unit, std::vector<std::string> words = {}) {
  return Of<Plan, Member>(name, unit, std::move(words));
}
template <auto Member>
Field<JobPlan> OfJob(const char* name, Unit unit) {
  return Of<JobPlan, Member>(name, unit);
}
template <auto Member>
Field<ProgramPlan> OfProgram(const char* name, Unit unit, std::vector<std::string> words = {}) {
  return Of<ProgramPlan, Member>(name, unit, std::move(words));
}
template <auto Member>
Field<FaultPlan> OfFault(const char* name, Unit unit) {
  return Of<FaultPlan, Member>(name, unit);
}
template <auto Member>
Field<BucketFaults> OfBucket(const char* name, Unit unit = Unit::kNumber) {
  return Of<BucketFaults, Member>(name, unit);
}
template <auto Member>
Field<CloudFaults> OfCloud(const char* name, Unit unit = Unit::kNumber) {
  return Of<CloudFaults, Member>(name, unit);
}

template <typename T>
Field<T> AtLeast(int64_t least, Field<T> field) {
  field.least = least;
  return field;
}

}  // namespace

const std::vector<Field<Plan>>& PlanFields() {
  static const std::vector<Field<Plan>> fields = {
      Whole<&Plan::calm>("calm", Unit::kTime),
      Whole<&Plan::limit>("limit", Unit::kTime),
      Whole<&Plan::tier>("tier", Unit::kWord, {"all", "verbs", "agents", "departing", "timer"}),
      Whole<&Plan::logs>("logs", Unit::kYesNo),
      Whole<&Plan::garbage_collected>("garbage-collected", Unit::kYesNo),
      AtLeast(1, Whole<&Plan::page>("page", Unit::kNumber)),
      Whole<&Plan::past>("past", Unit::kNumber),
      Whole<&Plan::quota>("quota", Unit::kNumber),
      Whole<&Plan::describe_is_immediate>("describe-is-immediate", Unit::kYesNo),
      Whole<&Plan::takes_gangs>("takes-gangs", Unit::kYesNo),
      Whole<&Plan::ends_one_alone>("ends-one-alone", Unit::kYesNo),
      Whole<&Plan::can_start>("can-start", Unit::kYesNo),
      Whole<&Plan::restarts>("restarts", Unit::kYesNo),
      Whole<&Plan::limit_needs_boot>("limit-needs-boot", Unit::kYesNo),
      Whole<&Plan::lists_all>("lists-all", Unit::kYesNo),
      Whole<&Plan::nodes_ask_own>("nodes-ask-own", Unit::kYesNo),
      Whole<&Plan::neighbour>("neighbour", Unit::kNumber),
      Whole<&Plan::stale_ms>("stale", Unit::kTime),
      Whole<&Plan::token_memory_ms>("token-memory", Unit::kTime),
      Whole<&Plan::boot_low>("boot-low", Unit::kTime),
      Whole<&Plan::boot_high>("boot-high", Unit::kTime),
      Whole<&Plan::skew_ms>("skew", Unit::kTime),
      AtLeast(1, Whole<&Plan::notice_poll>("notice-poll", Unit::kTime)),
      AtLeast(1, Whole<&Plan::poll>("poll", Unit::kTime)),
      AtLeast(1, Whole<&Plan::flush>("flush", Unit::kTime)),
      AtLeast(1, Whole<&Plan::report>("report", Unit::kTime)),
      Whole<&Plan::latency_high>("latency-high", Unit::kTime),
  };
  return fields;
}

const std::vector<Field<JobPlan>>& JobFields() {
  static const std::vector<Field<JobPlan>> fields = {
      AtLeast(1, OfJob<&JobPlan::nodes>("nodes", Unit::kNumber)),
      AtLeast(0, OfJob<&JobPlan::any_zone>("any-zone", Unit::kNumber)),
      OfJob<&JobPlan::in_order>("in-order", Unit::kYesNo),
      AtLeast(0, OfJob<&JobPlan::ceiling>("ceiling", Unit::kNumber)),
      OfJob<&JobPlan::large>("large", Unit::kYesNo),
      OfJob<&JobPlan::submit_at>("submit-at", Unit::kTime),
      OfJob<&JobPlan::attached>("attached", Unit::kYesNo),
      OfJob<&JobPlan::leaves_after>("leaves-after", Unit::kTime),
      OfJob<&JobPlan::submit_dies_at>("submit-dies-at", Unit::kTime),
      OfJob<&JobPlan::cancel_at>("cancel-at", Unit::kTime),
      OfJob<&JobPlan::move_at>("move-at", Unit::kTime),
      OfJob<&JobPlan::retry_at>("retry-at", Unit::kTime),
      OfJob<&JobPlan::max_restarts_on_errors>("max-restarts-on-errors", Unit::kNumber),
      OfJob<&JobPlan::recover_on_exit_codes>("recover-on-exit-code", Unit::kNumber),
      OfJob<&JobPlan::max_duration>("max-duration", Unit::kTime),
      OfJob<&JobPlan::stall>("stall", Unit::kTime),
      OfJob<&JobPlan::keep_failed>("keep-failed", Unit::kTime),
      AtLeast(0, OfJob<&JobPlan::stale_points>("stale-points", Unit::kNumber)),
      OfJob<&JobPlan::stop_grace>("stop-grace", Unit::kTime),
      OfJob<&JobPlan::quiet>("quiet", Unit::kTime),
      AtLeast(1, OfJob<&JobPlan::keep>("keep", Unit::kNumber)),
  };
  return fields;
}

const std::vector<Field<ProgramPlan>>& ProgramFields() {
  static const std::vector<Field<ProgramPlan>> fields = {
      AtLeast(1, OfProgram<&ProgramPlan::steps>("steps", Unit::kNumber)),
      OfProgram<&ProgramPlan::step_ms>("step", Unit::kTime),
      OfProgram<&ProgramPlan::start_ms>("start", Unit::kTime),
      OfProgram<&ProgramPlan::checkpoint_every>("checkpoint-every", Unit::kNumber),
      OfProgram<&ProgramPlan::style>("style", Unit::kWord,
                                     {"in-place", "rename", "folders", "two-files"}),
      OfProgram<&ProgramPlan::write_ms>("write", Unit::kTime),
      OfProgram<&ProgramPlan::pause_ms>("pause", Unit::kTime),
      OfProgram<&ProgramPlan::bytes>("bytes", Unit::kNumber),
      OfProgram<&ProgramPlan::every_rank_saves>("every-rank-saves", Unit::kYesNo),
      OfProgram<&ProgramPlan::lines_per_step>("lines-per-step", Unit::kNumber),
      OfProgram<&ProgramPlan::line_bytes>("line-bytes", Unit::kNumber),
      OfProgram<&ProgramPlan::on_term>("on-term", Unit::kWord,
                                       {"dies", "ignores", "saves-and-succeeds", "saves-and-fails",
                                        "passes-on", "leaves-unsaved"}),
      OfProgram<&ProgramPlan::crash_at>("crash-at", Unit::kNumber),
      OfProgram<&ProgramPlan::crash_code>("crash-code", Unit::kNumber),
      OfProgram<&ProgramPlan::out_of_memory>("out-of-memory", Unit::kYesNo),
      OfProgram<&ProgramPlan::crash_once>("crash-once", Unit::kYesNo),
      OfProgram<&ProgramPlan::crash_one_rank>("crash-one-rank", Unit::kYesNo),
      OfProgram<&ProgramPlan::hang_at>("hang-at", Unit::kNumber),
      OfProgram<&ProgramPlan::hang_once>("hang-once", Unit::kYesNo),
      OfProgram<&ProgramPlan::poisoned_step>("poisoned-step", Unit::kNumber),
      OfProgram<&ProgramPlan::resume_fails>("resume-fails", Unit::kYesNo),
      OfProgram<&ProgramPlan::start_fails>("start-fails", Unit::kWord,
                                           {"never", "not-found", "denied", "invalid", "machine"}),
      OfProgram<&ProgramPlan::spawn_ms>("spawn", Unit::kTime),
      OfProgram<&ProgramPlan::setup_fails>("setup-fails", Unit::kYesNo),
      OfProgram<&ProgramPlan::setup_ms>("setup", Unit::kTime),
      OfProgram<&ProgramPlan::flat_from>("flat-from", Unit::kNumber),
  };
  return fields;
}

const std::vector<Field<ControllerPlan>>& ControllerFields() {
  static const std::vector<Field<ControllerPlan>> fields = {
      Of<ControllerPlan, &ControllerPlan::kind>(
          "kind", Unit::kWord,
          {"daemon", "timer", "verb", "housekeeper", "reader", "sweeper", "away"}),
      Of<ControllerPlan, &ControllerPlan::begin>("begin", Unit::kTime),
      Of<ControllerPlan, &ControllerPlan::end>("end", Unit::kTime),
      AtLeast(1, Of<ControllerPlan, &ControllerPlan::period>("period", Unit::kTime)),
      Of<ControllerPlan, &ControllerPlan::late>("late", Unit::kTime),
      Of<ControllerPlan, &ControllerPlan::missing>("missing", Unit::kNumber),
      Of<ControllerPlan, &ControllerPlan::doubled>("doubled", Unit::kNumber),
      Of<ControllerPlan, &ControllerPlan::lost>("lost", Unit::kNumber),
      AtLeast(1, Of<ControllerPlan, &ControllerPlan::at_once>("at-once", Unit::kNumber)),
      AtLeast(1, Of<ControllerPlan, &ControllerPlan::machines>("machines", Unit::kNumber)),
      AtLeast(0, Of<ControllerPlan, &ControllerPlan::price>("price", Unit::kNumber)),
  };
  return fields;
}

const std::vector<Field<FaultPlan>>& FaultFields() {
  static const std::vector<Field<FaultPlan>> fields = {
      OfFault<&FaultPlan::at>("at", Unit::kTime),
      OfFault<&FaultPlan::after_ms>("after", Unit::kTime),
      AtLeast(INT64_MIN, OfFault<&FaultPlan::amount>("amount", Unit::kTime)),
      OfFault<&FaultPlan::target>("target", Unit::kNumber),
      AtLeast(1, OfFault<&FaultPlan::count>("count", Unit::kNumber)),
      OfFault<&FaultPlan::every>("every", Unit::kTime),
  };
  return fields;
}

const std::vector<Field<BucketFaults>>& BucketFields() {
  static const std::vector<Field<BucketFaults>> fields = {
      OfBucket<&BucketFaults::before>("before"),
      OfBucket<&BucketFaults::after>("after"),
      OfBucket<&BucketFaults::late>("late"),
      OfBucket<&BucketFaults::throttled>("throttled"),
      OfBucket<&BucketFaults::slow>("slow"),
      OfBucket<&BucketFaults::torn>("torn"),
      OfBucket<&BucketFaults::denied>("denied"),
      OfBucket<&BucketFaults::late_ms>("late-by", Unit::kTime),
      OfBucket<&BucketFaults::slow_ms>("slow-by", Unit::kTime),
  };
  return fields;
}

const std::vector<Field<CloudFaults>>& CloudFields() {
  static const std::vector<Field<CloudFaults>> fields = {
      OfCloud<&CloudFaults::throttled>("throttled"),
      OfCloud<&CloudFaults::before>("before"),
      OfCloud<&CloudFaults::after>("after"),
      OfCloud<&CloudFaults::late>("late"),
      OfCloud<&CloudFaults::no_capacity>("no-capacity"),
      OfCloud<&CloudFaults::denied>("denied"),
      OfCloud<&CloudFaults::malformed>("malformed"),
      OfCloud<&CloudFaults::no_market>("no-market"),
      OfCloud<&CloudFaults::no_quota>("no-quota"),
      OfCloud<&CloudFaults::unsettled>("unsettled"),
      OfCloud<&CloudFaults::dead_births>("dead-births"),
      OfCloud<&CloudFaults::late_refusals>("late-refusals"),
      OfCloud<&CloudFaults::doubled>("doubled"),
      OfCloud<&CloudFaults::never_boots>("never-boots"),
      OfCloud<&CloudFaults::slow_boots>("slow-boots"),
      OfCloud<&CloudFaults::holes>("holes"),
      OfCloud<&CloudFaults::queues>("queues"),
      OfCloud<&CloudFaults::queue_ms>("queue-by", Unit::kTime),
      OfCloud<&CloudFaults::stops_early>("stops-early"),
      OfCloud<&CloudFaults::starts_fail>("starts-fail"),
      OfCloud<&CloudFaults::starts_mute>("starts-mute"),
      OfCloud<&CloudFaults::hole_ms>("hole-by", Unit::kTime),
      OfCloud<&CloudFaults::late_ms>("late-by", Unit::kTime),
      OfCloud<&CloudFaults::slow_boot_ms>("slow-boot-by", Unit::kTime),
  };
  return fields;
}

}  // namespace stoker::sim
