// SPDX-License-Identifier: Apache-2.0
#include "cli/slurm_offers.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/text.h"
#include "provider/slurm/slurm_ask.h"
#include "provider/slurm/slurm_provider.h"
#include "spec/choices.h"
#include "spec/text/slurm_words.h"
#include "sys/file.h"

namespace stoker::cli {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// What sbatch itself would take from the shell, where the job file does not say it.
std::string Given(const std::string& said, const char* variable) {
  const std::string other = said.empty() ? Variable(variable) : "";
  return said.empty() && IsSlurmWord(other) ? other : said;
}

}  // namespace

bool IsOnSlurm(const JobSpec& spec) { return AnyChoiceIs(spec, kSlurmProvider); }

Result<std::vector<Offer>> ResolveSlurmOffers(Context& context, const JobSpec& spec,
                                              const std::string& partition) {
  const ResourcesSpec& resources = spec.resources;
  if (!resources.gpu_numbers.empty()) {
    return Status(Code::kInvalid, "Slurm chooses which GPUs a job gets; the job names them itself",
                  "Write how many: --gpus 2");
  }
  STOKER_TRY(sys::MakeDirs(context.places().state, 0700));
  SlurmAsk ask;
  STOKER_ASSIGN(ask.state, sys::RealPath(context.places().state));
  ask.path = Printable(Variable("PATH"));
  ask.account = Given(spec.slurm.account, "SBATCH_ACCOUNT");
  ask.qos = Given(spec.slurm.qos, "SBATCH_QOS");
  ask.constraint = spec.slurm.constraint;
  ask.reservation = spec.slurm.reservation;
  ask.exclusive = spec.slurm.exclusive;
  ask.time = spec.slurm.time;
  ask.notice = spec.slurm.notice;
  ask.options = spec.slurm.options;
  if (resources.cpus) ask.cpus = static_cast<int>((*resources.cpus + 999) / 1000);
  ask.memory = resources.memory;
  ask.gpus = resources.gpus;
  ask.gpu_name = resources.gpu_name;
  Offer offer;
  offer.ask.place.provider = kSlurmProvider;
  offer.ask.place.region = Given(partition, "SBATCH_PARTITION");
  offer.ask.options = EncodeSlurmAsk(ask);
  STOKER_TRY(ParseSlurmAsk(offer.ask.options).status());
  return std::vector<Offer>{offer};
}

}  // namespace stoker::cli
