// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/slurm_broker.h"

#include <unistd.h>

#include <cstdlib>
#include <set>
#include <utility>

#include "base/text.h"
#include "provider/slurm/slurm_accounting.h"
#include "provider/slurm/slurm_ask.h"
#include "provider/slurm/slurm_doctor.h"
#include "provider/slurm/slurm_folder.h"
#include "provider/slurm/slurm_places.h"
#include "provider/slurm/slurm_provider.h"
#include "provider/slurm/slurm_queue.h"
#include "provider/slurm/slurm_shell.h"
#include "provider/slurm/slurm_tools.h"
#include "spec/places/slurm/section.h"
#include "spec/places/slurm/words.h"
#include "sys/file.h"
#include "sys/program_lookup.h"

namespace stoker {
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

// "12.0": the numbers that Slurm has given to the job's requests.
std::vector<int64_t> JobsOf(const Job& job) {
  std::set<int> requests;
  for (const Request& request : job.requests) {
    if (request.ask.place.provider == kSlurmProvider) requests.insert(request.number);
  }
  std::set<int64_t> numbers;
  for (const Launch& launch : job.launches) {
    if (!requests.contains(launch.request)) continue;
    const std::string text = launch.instance_id.substr(0, launch.instance_id.find('.'));
    if (const auto number = WholeNumber(text, 1, kMostSlurmJob)) numbers.insert(*number);
  }
  return {numbers.begin(), numbers.end()};
}

class SlurmBroker : public Broker {
 public:
  SlurmBroker(const ProviderOptions& options, Clock& clock)
      : options_(options), clock_(clock), tools_(options.settings.Of(kSlurmLogin)) {}

  const BrokerTraits& traits() const override { return kSlurmBroker; }

  Result<Provider*> Machines() override {
    if (!provider_) {
      SlurmOptions slurm;
      slurm.state_dir = options_.state_dir;
      slurm.login = options_.settings.Of(kSlurmLogin);
      STOKER_ASSIGN(provider_, MakeSlurmProvider(slurm, clock_));
    }
    return provider_.get();
  }

  Result<std::vector<Offer>> Resolve(const OfferAsk& job) override {
    const ResourcesSpec& resources = job.spec.resources;
    if (!resources.gpu_numbers.empty()) {
      return Status(Code::kInvalid,
                    "Slurm chooses which GPUs a job gets; the job names them itself",
                    "Write how many: --gpus 2");
    }
    STOKER_TRY(sys::MakeDirs(options_.state_dir, 0700));
    SlurmAsk ask;
    STOKER_ASSIGN(ask.state, sys::RealPath(options_.state_dir));
    ask.path = Printable(Variable("PATH"));
    ask.account = Given(job.spec.sections.slurm.account, "SBATCH_ACCOUNT");
    ask.qos = Given(job.spec.sections.slurm.qos, "SBATCH_QOS");
    ask.constraint = job.spec.sections.slurm.constraint;
    ask.reservation = job.spec.sections.slurm.reservation;
    ask.exclusive = job.spec.sections.slurm.exclusive;
    ask.time = job.spec.sections.slurm.time;
    ask.notice = job.spec.sections.slurm.notice;
    ask.options = job.spec.sections.slurm.options;
    if (resources.cpus) ask.cpus = static_cast<int>((*resources.cpus + 999) / 1000);
    ask.memory = resources.memory;
    ask.gpus = resources.gpus;
    ask.gpu_name = resources.gpu_name;
    Offer offer;
    offer.ask.place.provider = kSlurmProvider;
    offer.ask.place.region = Given(job.where, "SBATCH_PARTITION");
    offer.ask.options = EncodeSlurmAsk(ask);
    STOKER_TRY(ParseSlurmAsk(offer.ask.options).status());
    return std::vector<Offer>{offer};
  }

  Result<Shell> Enter(const ShellAsk& ask) override {
    if (ask.inside) {
      STOKER_ASSIGN(const std::string state, sys::RealPath(options_.state_dir));
      STOKER_ASSIGN(std::vector<std::string> words,
                    SlurmShellWords({options_.settings.Of(kSlurmLogin), state, ask.instance_id,
                                     ask.command, isatty(STDIN_FILENO) != 0}));
      Shell shell{std::move(words)};
      shell.inside = true;
      return shell;
    }
    return Status(Code::kInvalid, "nodes of Slurm are not lent by ssh",
                  "Slurm lets you in beside a job of yours: srun --overlap --pty --jobid=ID bash; "
                  "'stoker show " +
                      ask.job + "' names its ID");
  }

  std::vector<std::string> Words() override {
    const bool there = !options_.settings.Of(kSlurmLogin).empty() ||
                       FindProgram("sbatch", Variable("PATH"), "/").ok();
    return there ? std::vector<std::string>{kSlurmProvider} : std::vector<std::string>();
  }

  Result<std::vector<PlaceInfo>> Places() override {
    STOKER_ASSIGN(auto places, AskSlurmPlaces(tools_));
    for (PlaceInfo& place : places) {
      place.engines =
          SlurmEngines(options_.state_dir, place.infra.substr(place.infra.find('/') + 1));
    }
    return places;
  }

  Result<std::optional<CountedUse>> Count(const Job& job, bool gpus_asked) override {
    const std::vector<int64_t> numbers = JobsOf(job);
    if (numbers.empty()) return std::optional<CountedUse>();
    STOKER_ASSIGN(auto used, AskSacct(tools_, numbers, job.id));
    if (!used || used->empty()) return std::optional<CountedUse>();
    CountedUse counted{std::move(*used), {}};
    counted.hours = SumHours(counted.runs, gpus_asked);
    return std::optional<CountedUse>(std::move(counted));
  }

  Status AddBinaries(std::set<std::string>* digests) override {
    for (const SlurmFolder& folder : SlurmState(options_.state_dir).ListAll()) {
      const auto request = folder.Request();
      if (!request.ok() && !folder.Exists()) continue;
      if (!request.ok()) return request.status().WithContext("a request may run any of them");
      digests->insert(request->binary_digest);
    }
    return Status::Ok();
  }

  Result<Findings> Examine(const std::string& where, const Result<LedgerRef>& /*ledger*/) override {
    const Status made = sys::MakeDirs(options_.state_dir, 0700);
    const auto state = sys::RealPath(options_.state_dir);
    if (!made.ok() || !state.ok()) {
      return Findings{{{"slurm", "bad", (made.ok() ? state.status() : made).ToString()}}};
    }
    return Findings{ExamineSlurm(tools_, *state, where)};
  }

 private:
  const ProviderOptions options_;
  Clock& clock_;
  SlurmTools tools_;
  std::unique_ptr<Provider> provider_;
};

}  // namespace

std::unique_ptr<Broker> MakeSlurmBroker(const ProviderOptions& options, Clock& clock) {
  return std::make_unique<SlurmBroker>(options, clock);
}

}  // namespace stoker
