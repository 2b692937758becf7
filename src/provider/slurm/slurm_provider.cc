// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/slurm_provider.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "base/text.h"
#include "provider/slurm/slurm_ask.h"
#include "provider/slurm/slurm_folder.h"
#include "provider/slurm/slurm_job.h"
#include "provider/slurm/slurm_judge.h"
#include "provider/slurm/slurm_places.h"
#include "provider/slurm/slurm_refusal.h"
#include "provider/slurm/slurm_tools.h"
#include "spec/text/host_words.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr Duration kSendLimit = Duration::Seconds(90);
constexpr Duration kAskLimit = Duration::Seconds(20);
constexpr Duration kSendingCounts = Duration::Minutes(3);
constexpr Duration kRemembered = Duration::Minutes(5);  // MinJobAge, as Slurm has it by default
constexpr Duration kSkew = Duration::Seconds(5);        // of a file server's clock
constexpr Duration kDefaultLimit = Duration::Hours(24);

LaunchAnswer Refuse(RefusalClass what, RefusalScope scope, std::string message) {
  Refusal refusal;
  refusal.what = what;
  refusal.scope = scope;
  refusal.message = std::move(message);
  return refusal;
}

LaunchAnswer Over() {
  return Refuse(RefusalClass::kOver, RefusalScope::kRequest,
                "Slurm's job of this request is over; it is not sent again");
}

std::vector<std::string> IdsOf(const LaunchRequest& request, int64_t job) {
  std::vector<std::string> ids;
  for (size_t index = 0; index < request.launches.size(); ++index) {
    ids.push_back(SlurmInstanceId(job, index, request.token));
  }
  return ids;
}

class Slurm : public Provider {
 public:
  Slurm(SlurmOptions options, Clock& clock)
      : options_(std::move(options)),
        state_(options_.state_dir),
        tools_(options_.login),
        clock_(clock) {
    traits_.name = kSlurmProvider;
    // Its folder is there before it is asked for.
    traits_.describe_is_immediate = true;
    traits_.takes_gangs = true;
    traits_.ends_one_alone = false;
    traits_.may_stop = true;
  }

  const ProviderTraits& traits() const override { return traits_; }

  LaunchAnswer Launch(const LaunchRequest& request) override {
    if (!IsSlurmToken(request.token) || !IsSafeName(request.job) ||
        !IsSafeName(request.ledger_id) || request.launches.empty()) {
      return Refuse(RefusalClass::kInvalid, RefusalScope::kRequest,
                    "not a request: " + Printable(request.token));
    }
    const auto ask = ParseSlurmAsk(request.ask.options);
    if (!ask.ok()) {
      return Refuse(RefusalClass::kInvalid, RefusalScope::kRequest, ask.status().ToString());
    }
    if (!ask->state.empty() && ask->state != options_.state_dir) {
      return Status(Code::kUnavailable, "job " + request.job +
                                            " was submitted with the state folder " + ask->state +
                                            ", and only who has that can ask for it");
    }
    if (state_.IsOver(request)) return Over();
    STOKER_ASSIGN(const Looked all, Ask());
    const SlurmFolder folder = state_.Of(request);
    const SlurmFound found = Find(folder, request, Of(all, request.token));
    if (found.live != 0) return IdsOf(request, found.live);
    if (found.IsOver()) return Over();
    if (request.not_after.ms > 0 && clock_.Wall() > request.not_after) {
      return Refuse(RefusalClass::kOver, RefusalScope::kRequest,
                    "the time to send this request is over");
    }
    // Whoever asks may know of a notice alone, which a scancel is, too.
    STOKER_ASSIGN(const bool cancelled, IsCancelled(request, all));
    if (cancelled) {
      return Status(Code::kUnavailable,
                    "a person has ended a job of " + request.job + " with scancel");
    }
    return Send(request, *ask, folder);
  }

  Result<InstancesSeen> Describe(const std::string& ledger_id, const std::string& job) override {
    if (!job.empty() && !IsOurs(ledger_id, job)) {
      return Status(Code::kUnavailable,
                    "job " + job +
                        " was submitted by another user, or from another machine, and "
                        "Slurm shows its nodes only there");
    }
    const std::vector<SlurmFolder> folders = state_.List(ledger_id, job);
    STOKER_ASSIGN(const Looked looked, Queue(folders));
    InstancesSeen out;
    std::map<std::string, std::vector<SlurmJobSeen>> by_token;
    for (const SlurmJobSeen& row : looked.rows) {
      if (const std::string token = TokenOfSlurmName(row.name); !token.empty()) {
        by_token[token].push_back(row);
      }
    }
    for (const SlurmFolder& folder : folders) {
      const auto request = folder.Request();
      if (!request.ok() || request->ledger_id != ledger_id) continue;
      if (!job.empty() && request->job != job) continue;
      STOKER_TRY(Tell(folder, *request, {by_token[request->token], looked.at}, &out));
      by_token.erase(request->token);
    }
    // What lives of other state folders of this user; what ended there is theirs to remember. And
    // what was cleared away here, and lives: a controller that died had forgotten that it ended.
    for (const auto& [token, mine] : by_token) {
      const auto request = mine.empty() ? std::nullopt : ParseSlurmComment(mine.front().comment);
      if (!request || request->token != token || request->ledger_id != ledger_id) continue;
      if (!job.empty() && request->job != job) continue;
      if (state_.IsOver(*request) && !state_.WasOver(*request, looked.at - kSkew)) continue;
      if (FindSlurmJob(mine, 0, 0).live == 0) continue;
      STOKER_TRY(Tell(state_.Of(*request), *request, {mine, looked.at}, &out));
    }
    return out;
  }

  Status Terminate(const std::string& id) override {
    const int64_t job = JobOfSlurmInstance(id);
    if (job == 0) return Status(Code::kInvalid, "not an instance: " + Printable(id));
    STOKER_ASSIGN(const Looked looked, Ask());
    std::string token;
    std::optional<LaunchRequest> request;
    for (const LaunchRequest& one : RequestsOf(id)) {
      request = one;
      token = one.token;
      STOKER_TRY(state_.Of(one).KeepEnd({SlurmEnder::kSelf, "ended by stoker"}));
    }
    // A number that Slurm has given to another job since is not ours: its name tells.
    std::vector<int64_t> running;
    for (const SlurmJobSeen& row : looked.rows) {
      const std::string its = TokenOfSlurmName(row.name);
      const bool its_own = row.job == job && !its.empty() && IsOfSlurmInstance(id, its);
      const bool ours = token.empty() ? its_own : its == token;
      if (ours && !row.Ended()) running.push_back(row.job);
    }
    if (!running.empty()) {
      Forget();
      return tools_.Cancel(running);
    }
    return request ? state_.Remove(*request) : Status::Ok();
  }

  // A preemption takes all nodes of a job.
  Status Interrupt(const std::string& id, Duration lead) override {
    const Status none(Code::kNotFound, "instance " + Printable(id) + " does not run");
    const int64_t job = JobOfSlurmInstance(id);
    if (job == 0) return none;
    STOKER_ASSIGN(const Looked looked, Ask());
    for (const SlurmJobSeen& row : looked.rows) {
      if (row.job != job || !row.Has("RUNNING")) continue;
      for (const LaunchRequest& one : RequestsOf(id)) {
        const SlurmFolder folder = state_.Of(one);
        if (TokenOfSlurmName(row.name) != one.token || folder.End()) continue;
        return folder.GiveNotice({"terminate", clock_.Wall() + lead});
      }
    }
    return none;
  }

 private:
  // What Slurm said, and when it was asked.
  struct Looked {
    std::vector<SlurmJobSeen> rows;
    WallTime at;
  };

  struct Known {
    std::vector<SlurmJobSeen> rows;
    MonoTime taken;
    WallTime at;
    MonoTime changed;
  };

  // Of this state folder: what was submitted from it leaves what is private there first.
  bool IsOurs(const std::string& ledger, const std::string& job) const {
    return sys::FileExists(options_.state_dir + "/private/" + ledger + "-" + job) ||
           state_.Knows(ledger, job);
  }

  std::vector<LaunchRequest> RequestsOf(const std::string& id) const {
    const int64_t job = JobOfSlurmInstance(id);
    std::vector<LaunchRequest> out;
    for (const SlurmFolder& folder : state_.ListAll()) {
      if (folder.Job() != job && folder.Started() != job) continue;
      auto request = folder.Request();
      if (request.ok() && IsOfSlurmInstance(id, request->token)) out.push_back(*request);
    }
    return out;
  }

  Result<Looked> Ask() {
    const std::lock_guard lock(mutex_);
    return AskLocked();
  }

  Result<Looked> AskLocked() {
    const WallTime at = clock_.Wall();
    STOKER_ASSIGN(std::vector<SlurmJobSeen> rows, tools_.Queue());
    const MonoTime now = clock_.Mono();
    const bool same = known_ && known_->rows == rows;
    known_ = Known{std::move(rows), now, at, same ? known_->changed : now};
    return Looked{known_->rows, known_->at};
  }

  void Forget() {
    const std::lock_guard lock(mutex_);
    known_.reset();
  }

  // Agents look many times a second; Slurm's controller is the whole cluster's.
  Result<Looked> Queue(const std::vector<SlurmFolder>& folders) {
    const std::lock_guard lock(mutex_);
    if (known_) {
      const MonoTime now = clock_.Mono();
      const Duration quiet = now - known_->changed;
      const Duration may = std::clamp(quiet / 8, options_.look_least, options_.look_most);
      const bool old = now - known_->taken > may;
      const bool news = std::any_of(folders.begin(), folders.end(), [&](const SlurmFolder& one) {
        return one.SignalledSince(known_->at - kSkew);
      });
      if (!old && !news) return Looked{known_->rows, known_->at};
    }
    return AskLocked();
  }

  static Looked Of(Looked looked, const std::string& token) {
    std::erase_if(looked.rows,
                  [&](const auto& row) { return TokenOfSlurmName(row.name) != token; });
    return looked;
  }

  // Some other machine of its job, by its owner.
  Result<bool> IsCancelled(const LaunchRequest& request, const Looked& all) {
    for (const SlurmFolder& folder : state_.List(request.ledger_id, request.job)) {
      const auto other = folder.Request();
      if (!other.ok() || other->token == request.token) continue;
      STOKER_ASSIGN(const SlurmFound found, FindOut(folder, *other, Of(all, other->token)));
      if (JudgeSlurmJob(found).ended_by == EndedBy::kOwner) return true;
    }
    return false;
  }

  SlurmFound Find(const SlurmFolder& folder, const LaunchRequest& request,
                  const Looked& looked) const {
    SlurmFound found = FindSlurmJob(looked.rows, folder.Started(), folder.Job());
    found.end = folder.End();
    found.traces = folder.Traces();
    found.sending = folder.IsSending(clock_.Wall() - kSendingCounts);
    found.behind = folder.LearntAt() >= looked.at - kSkew;
    found.young = folder.LearntAt() >= clock_.Wall() - kRemembered;
    found.nodes = request.launches.size();
    return found;
  }

  // The same, and what Slurm is to be asked besides.
  Result<SlurmFound> FindOut(const SlurmFolder& folder, const LaunchRequest& request,
                             const Looked& looked) const {
    SlurmFound found = Find(folder, request, looked);
    if (MayBeRefusedByNodes(found)) {
      STOKER_ASSIGN(found.controller, tools_.Began());
    }
    return found;
  }

  Status Tell(const SlurmFolder& folder, const LaunchRequest& request, const Looked& looked,
              InstancesSeen* out) {
    STOKER_ASSIGN(const SlurmFound found, FindOut(folder, request, looked));
    const SlurmVerdict verdict = JudgeSlurmJob(found);
    if (!verdict.there) return Status::Ok();
    if (verdict.end && folder.Exists()) (void)folder.KeepEnd(*verdict.end);
    // Who sent it died before it had written this down. Once Slurm has forgotten the number, nobody
    // could say which instance it is that may be cleared away.
    if (found.row && folder.Exists() && folder.Job() == 0) (void)state_.KeepJob(request, found.job);
    if (verdict.state == InstanceState::kRunning && folder.Exists()) {
      folder.KeepBegun(found.row->started);
    }
    const std::vector<std::string> names =
        SlurmNodes(found.row ? found.row->nodes : "", request.launches.size());
    const Duration limit = request.limit.ms > 0 ? request.limit : kDefaultLimit;
    for (size_t index = 0; index < request.launches.size(); ++index) {
      InstanceSeen seen = SeenOf(request, static_cast<int>(index),
                                 SlurmInstanceId(found.job, index, request.token));
      seen.state = verdict.state;
      seen.why = verdict.why;
      seen.refusal = verdict.refusal;
      seen.ended_by = verdict.ended_by;
      const std::string said = seen.refusal ? folder.LastWords(found.job) : "";
      if (!said.empty()) {
        seen.refusal->message =
            "Slurm's job " + std::to_string(found.job) + " did not begin: " + said;
      }
      seen.freed = verdict.state == InstanceState::kGone && !folder.Exists();
      seen.expires = clock_.Wall() + limit;
      const bool up =
          verdict.state == InstanceState::kRunning || verdict.state == InstanceState::kBooting;
      if (up && found.row && found.row->started.ms > 0) {
        seen.up_for = std::max(clock_.Wall() - found.row->started, Duration());
        seen.expires = found.row->started + limit;
      }
      if (index < names.size()) seen.address = names[index];
      if (const auto node = folder.Node(static_cast<int>(index))) {
        seen.address = node->address;
        seen.expires = node->expires;
      }
      out->push_back(std::move(seen));
    }
    return Status::Ok();
  }

  Result<std::string> BinaryFor(const std::string& digest) const {
    const std::string kept = options_.state_dir + "/bin/" + digest + "/stoker";
    if (IsSlurmToken(digest) && access(kept.c_str(), X_OK) == 0) return kept;
    if (!options_.binary.empty() && access(options_.binary.c_str(), X_OK) == 0) {
      return options_.binary;
    }
    return Status(Code::kDenied, kept + " is not there",
                  "Whoever submits leaves it there; submit the job again");
  }

  LaunchAnswer Send(const LaunchRequest& request, const SlurmAsk& ask, const SlurmFolder& folder) {
    const auto binary = BinaryFor(request.binary_digest);
    if (!binary.ok()) {
      return Refuse(RefusalClass::kDenied, RefusalScope::kAccount, binary.status().ToString());
    }
    const SlurmPaths paths{folder.path(), *binary};
    SlurmAsk named = ask;
    if (!ask.gpu_name.empty()) named.gpu_name = GpuNameThere(AskSlurmPlaces(tools_), ask.gpu_name);
    const auto words = SbatchWords(request, named, paths);
    if (!words.ok()) {
      return Refuse(RefusalClass::kInvalid, RefusalScope::kRequest, words.status().ToString());
    }
    state_.ClearUnsent(clock_.Wall());
    STOKER_TRY(state_.Make(request));
    const std::string script = folder.path() + "/script";
    STOKER_TRY(sys::WriteFileAtomic(script, BatchScript(request, ask, paths), 0600, false));
    STOKER_ASSIGN(const std::string sending, folder.BeginSending());
    std::string said;
    const auto sent = tools_.Submit(*words, kSendLimit, script, &said);
    Forget();
    if (!sent.ok()) return Refused(request, folder, sending, sent.status(), said);
    // "1234" or "1234;cluster"
    const std::string number = sent->substr(0, sent->find_first_of(";\n"));
    const auto job = WholeNumber(number, 1, kMostSlurmJob);
    if (!job) {
      return Status(Code::kUnavailable, "sbatch gives no number of a job: " + Printable(*sent));
    }
    LaunchAnswer answer = Sent(request, folder, *job);
    folder.EndSending(sending);
    return answer;
  }

  LaunchAnswer Refused(const LaunchRequest& request, const SlurmFolder& folder,
                       const std::string& sending, const Status& failed, const std::string& said) {
    if (failed.Is(Code::kDenied)) {
      folder.EndSending(sending);
      return Refuse(RefusalClass::kDenied, RefusalScope::kAccount, failed.ToString());
    }
    if (failed.Is(Code::kTimeout)) return failed;
    LaunchAnswer answer = SlurmRefusal(said);
    // "Unable to contact" was not heard by anybody.
    if (answer.refusal() || answer.status().Is(Code::kUnavailable)) folder.EndSending(sending);
    if (!answer.refusal()) return answer;
    Refusal refusal = *answer.refusal();
    if (said.find("nvalid partition") != std::string::npos) {
      refusal.message += WhichPartitions(AskSlurmPlaces(tools_), request.ask.place.region);
    }
    return refusal;
  }

  // Somebody else may have sent the same at the same time: of the jobs of one request the first
  // counts, which Slurm numbers in the order that it takes them.
  LaunchAnswer Sent(const LaunchRequest& request, const SlurmFolder& folder, int64_t job) {
    (void)state_.KeepJob(request, job);
    const auto all = Ask();
    if (!all.ok()) return IdsOf(request, job);  // who looks next sees to it
    const SlurmFound found = Find(folder, request, Of(*all, request.token));
    if (found.live == 0 && found.IsOver()) return Over();
    const int64_t first = found.live != 0 ? found.live : job;
    (void)state_.KeepJob(request, first);
    if (first != job) (void)tools_.Cancel({job});
    return IdsOf(request, first);
  }

  const SlurmOptions options_;
  const SlurmState state_;
  SlurmTools tools_;
  Clock& clock_;
  ProviderTraits traits_;
  std::mutex mutex_;
  std::optional<Known> known_;
};

}  // namespace

Result<std::unique_ptr<Provider>> MakeSlurmProvider(const SlurmOptions& options, Clock& clock) {
  if (!options.login.empty() && !IsHostWord(options.login)) {
    return Status(Code::kInvalid, "not a host for ssh: " + Printable(options.login));
  }
  STOKER_TRY(sys::MakeDirs(options.state_dir, 0700));
  SlurmOptions own = options;
  STOKER_ASSIGN(own.state_dir, sys::RealPath(options.state_dir));
  return std::unique_ptr<Provider>(std::make_unique<Slurm>(std::move(own), clock));
}

}  // namespace stoker
