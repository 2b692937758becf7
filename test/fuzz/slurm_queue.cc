// SPDX-License-Identifier: Apache-2.0
// What Slurm's programs print: squeue as JSON and as lines, sinfo, sacct, and what stoker itself
// has put into a job's name and comment.
#include "provider/slurm/slurm_queue.h"
#include "base/text.h"
#include "base/utf8.h"
#include "provider/slurm/slurm_accounting.h"
#include "provider/slurm/slurm_folder.h"
#include "provider/slurm/slurm_job.h"
#include "provider/slurm/slurm_judge.h"
#include "provider/slurm/slurm_places.h"
#include "test/fuzz/target.h"

namespace stoker::fuzz {
namespace {

void Use(const std::vector<SlurmJobSeen>& rows) {
  for (const SlurmJobSeen& row : rows) {
    FUZZ_EXPECT(row.job > 0 && !row.states.empty(), row.name);
    FUZZ_EXPECT(row.started.ms >= 0 && row.ends.ms >= 0 && row.restarts >= 0, row.name);
    FUZZ_EXPECT(SlurmNodes(row.nodes, 9).size() <= 9, row.nodes);
    const std::string reason = SlurmReasonInWords(row.reason);
    FUZZ_EXPECT(reason.size() < 400 && Printable(reason) == reason, reason);
    if (const auto request = ParseSlurmComment(row.comment)) {
      const auto again = ParseSlurmComment(SlurmComment(*request));
      FUZZ_EXPECT(again && again->token == request->token && again->launches == request->launches,
                  row.comment);
    }
    const std::string token = TokenOfSlurmName(row.name);
    FUZZ_EXPECT(token.empty() || IsSlurmToken(token), row.name);
  }
  for (const int64_t started : {int64_t{0}, int64_t{5}}) {
    SlurmFound found = FindSlurmJob(rows, started, 5);
    found.nodes = 2;
    for (const bool behind : {false, true}) {
      found.behind = behind;
      const SlurmVerdict verdict = JudgeSlurmJob(found);
      FUZZ_EXPECT(!verdict.refusal || verdict.state == InstanceState::kGone, verdict.why);
    }
  }
}

}  // namespace
}  // namespace stoker::fuzz

FUZZ_TARGET(slurm_queue) {
  using namespace stoker;
  using namespace stoker::fuzz;
  const std::string text(input);
  for (const auto& rows : {ParseSqueueJson(text), ParseSqueueLines(text)}) {
    FUZZ_EXPECT(rows.ok() || rows.status().Is(Code::kCorrupt), rows.status().ToString());
    if (rows.ok()) Use(*rows);
  }
  const auto places = ParseSlurmPlaces(text, text);
  FUZZ_EXPECT(places.ok() || places.status().Is(Code::kCorrupt), places.status().ToString());
  for (const PlaceInfo& place : places.ok() ? *places : std::vector<PlaceInfo>()) {
    FUZZ_EXPECT(place.machines >= 0 && place.free_cpus.value_or(0) >= 0, place.infra);
    for (const GpuShare& gpu : place.gpus) {
      FUZZ_EXPECT(gpu.total >= 0 && gpu.free.value_or(0) >= 0, gpu.name);
    }
  }
  const auto used = ParseSacct(text);
  FUZZ_EXPECT(used.ok() || used.status().Is(Code::kCorrupt), used.status().ToString());
  if (used.ok()) {
    for (const CountedRun& one : *used) {
      FUZZ_EXPECT(one.job > 0 && one.elapsed.ms >= 0 && one.gpus.value_or(0) >= 0, one.name);
    }
    const CountedHours hours = SumHours(*used, true);
    FUZZ_EXPECT(hours.runs <= used->size() && hours.cpus >= 0 && hours.nodes >= 0, text);
  }
  const auto request = ParseSlurmRequest(text);
  FUZZ_EXPECT(request.ok() || request.status().Is(Code::kCorrupt), request.status().ToString());
  if (request.ok()) {
    const auto again = ParseSlurmRequest(EncodeSlurmRequest(*request));
    FUZZ_EXPECT(again.ok() && EncodeSlurmRequest(*again) == EncodeSlurmRequest(*request), text);
  }
}
