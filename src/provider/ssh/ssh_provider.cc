// SPDX-License-Identifier: Apache-2.0
#include "provider/ssh/ssh_provider.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "ledger/paths.h"
#include "provider/local/local_private.h"
#include "provider/local/local_state.h"
#include "provider/ssh/box_notes.h"
#include "provider/ssh/box_share.h"
#include "provider/ssh/box_store.h"
#include "provider/ssh/boxes.h"
#include "spec/text/host_words.h"

namespace stoker {
namespace {

using Prospect = std::pair<std::string, Result<BoxProspect>>;

Refusal Refuse(RefusalClass what, RefusalScope scope, std::string message) {
  Refusal refusal;
  refusal.what = what;
  refusal.scope = scope;
  refusal.message = std::move(message);
  return refusal;
}

bool Names(const std::string& options, std::string_view word) {
  const std::vector<std::string> words = Split(options, ' ');
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct InstanceWord {
  std::string box;
  std::string id;  // on the box
};

Result<InstanceWord> ParseInstance(const std::string& instance) {
  const size_t slash = instance.find('/');
  InstanceWord out;
  if (slash != std::string::npos) out = {instance.substr(0, slash), instance.substr(slash + 1)};
  if (IsHostWord(out.box) && IsInstanceToken(out.id)) return out;
  return Status(Code::kInvalid, "not an instance: " + Printable(instance));
}

class Ssh : public SshProvider {
 public:
  Ssh(SshOptions options, Clock& clock)
      : options_(std::move(options)), clock_(clock), boxes_(options_.binary, clock) {
    traits_.name = kSshProvider;
    traits_.describe_is_immediate = true;
    traits_.appear_within = Duration::Seconds(30);
  }

  const ProviderTraits& traits() const override { return traits_; }

  LaunchAnswer Launch(const LaunchRequest& request) override {
    if (!IsInstanceToken(request.token) || !IsSafeName(request.job)) {
      return Refuse(RefusalClass::kInvalid, RefusalScope::kRequest,
                    "not a launch token: " + Printable(request.token));
    }
    const auto pool = PoolOf(request.ask.place.account);
    if (!pool.ok()) {
      return Refuse(RefusalClass::kDenied, RefusalScope::kAccount, pool.status().ToString());
    }
    STOKER_ASSIGN(ObjectStore * store, options_.store());
    STOKER_ASSIGN(std::optional<BoxNote> note, ReadBoxNote(*store, request.job, request.token));
    if (note && !note->gone.empty()) {
      return Refuse(RefusalClass::kOver, RefusalScope::kRequest,
                    note->word + " will not come back, " + note->gone + " said");
    }
    if (!note) {
      if (request.not_after.ms > 0 && clock_.Wall() > request.not_after) {
        return Refuse(RefusalClass::kOver, RefusalScope::kRequest,
                      "the time to send this request is over");
      }
      const LaunchAnswer chosen = Choose(request, *pool);
      if (!chosen.ok()) return chosen;
      const std::string& word = chosen->front();
      STOKER_ASSIGN(const BoxHello hello, boxes_.Hello(word));
      STOKER_ASSIGN(note, WriteBoxNote(*store, request.job,
                                       {request.token, hello.host, word, request.launches, ""}));
    }
    return Send(request, *note);
  }

  Result<InstancesSeen> Describe(const std::string& ledger_id, const std::string& job) override {
    STOKER_ASSIGN(ObjectStore * store, options_.store());
    if (!job.empty()) return DescribeJob(*store, ledger_id, job);
    return DescribeAll(*store, ledger_id);
  }

  Status Terminate(const std::string& instance_id) override {
    STOKER_ASSIGN(const InstanceWord where, ParseInstance(instance_id));
    return AskOf(where.box, {{"verb", "terminate"}, {"id", where.id}});
  }

  Status Interrupt(const std::string& instance_id, Duration lead) override {
    STOKER_ASSIGN(const InstanceWord where, ParseInstance(instance_id));
    return AskOf(where.box, {{"verb", "interrupt"}, {"id", where.id}, {"lead_ms", lead.ms}});
  }

  Result<std::string> Inside(const std::string& instance, const std::string& command,
                             bool terminal) override {
    STOKER_ASSIGN(const InstanceWord where, ParseInstance(instance));
    STOKER_ASSIGN(const BoxJson answer, boxes_.Ask(where.box, {{"verb", "enter"},
                                                               {"id", where.id},
                                                               {"command", command},
                                                               {"terminal", terminal}}));
    std::string line = BoxText(answer, "line");
    if (line.empty()) return Status(Code::kCorrupt, where.box + " does not say how to enter");
    return line;
  }

  Result<std::vector<PlaceInfo>> Places() override {
    std::vector<PlaceInfo> out;
    for (const auto& [pool, words] : options_.pools) {
      for (auto& [word, answer] : boxes_.AskAll(words, {{"verb", "share"}})) {
        const auto share = answer.ok() ? TakeShare(*answer) : Result<PlaceInfo>(answer.status());
        PlaceInfo& place = out.emplace_back(share.ok() ? *share : PlaceInfo());
        place.infra = std::string(kSshProvider) + "/" + pool;
        place.part = word;
        if (!share.ok()) place.trouble = share.status().ToString();
      }
    }
    return out;
  }

  Result<std::vector<BoxSeen>> Ask(const std::string& name) override {
    STOKER_ASSIGN(const std::vector<std::string> words, PoolOf(name));
    std::vector<BoxSeen> out;
    for (auto& [word, hello] : boxes_.HelloAll(words)) {
      out.push_back({word, hello.status(), hello.ok() ? *hello : BoxHello()});
    }
    return out;
  }

  Result<std::vector<std::pair<std::string, Result<std::string>>>> Engines(
      const std::string& name) override {
    STOKER_ASSIGN(const std::vector<std::string> words, PoolOf(name));
    std::vector<std::pair<std::string, Result<std::string>>> out;
    for (auto& [word, answer] : boxes_.AskAll(words, {{"verb", "engines"}})) {
      out.emplace_back(word, answer.ok() ? Result<std::string>(BoxText(*answer, kBoxEngines))
                                         : Result<std::string>(answer.status()));
    }
    return out;
  }

  Result<std::vector<Prospect>> Prospects(const LaunchRequest& request) override {
    STOKER_ASSIGN(const std::vector<std::string> words, PoolOf(request.ask.place.account));
    BoxJson ask;
    PutRequest(request, &ask);
    ask["verb"] = "prospect";
    std::vector<Prospect> out;
    for (auto& [word, answer] : boxes_.AskAll(words, ask)) {
      out.emplace_back(word, answer.ok() ? TakeProspect(*answer) : answer.status());
    }
    return out;
  }

  std::vector<std::pair<std::string, Result<std::vector<std::string>>>> Sweep(
      bool dry_run) override {
    std::vector<std::pair<std::string, Result<std::vector<std::string>>>> out;
    const BoxJson ask = {{"verb", dry_run ? "leftovers" : "sweep"}};
    for (const auto& [word, answer] : boxes_.AskAll(AllWords(), ask)) {
      out.emplace_back(word, answer.ok() ? IdsOf(*answer, word)
                                         : Result<std::vector<std::string>>(answer.status()));
      if (out.back().second.ok()) AddOfEngines(*answer, word, &*out.back().second);
    }
    return out;
  }

  void Forget(const std::string& ledger_id, const std::string& job) override {
    const auto store = options_.store();
    if (!store.ok()) return;
    const auto notes = ListBoxNotes(**store, job);
    std::set<std::string> words;
    for (const BoxNote& note : notes.value_or({})) {
      const auto word = boxes_.WordOf(note.host, note.word, AllWords());
      if (word.ok()) words.insert(*word);
    }
    const BoxJson ask = {{"verb", "forget"}, {"ledger_id", ledger_id}, {"job", job}};
    (void)boxes_.AskAll({words.begin(), words.end()}, ask);
  }

  Status Meet(const std::string& box, const std::string& ledger_id,
              const std::string& key) override {
    STOKER_ASSIGN(ObjectStore * store, options_.store());
    STOKER_ASSIGN(const Version begun, BeginMeeting(*store, key));
    const auto met = boxes_.Ask(
        box,
        {{"verb", "meet"}, {"store_url", store->url()}, {"ledger_id", ledger_id}, {"key", key}});
    if (!met.ok()) {
      (void)store->Delete(key);
      return met.status();
    }
    return EndMeeting(*store, key, begun).WithContext(box);
  }

 private:
  Result<std::vector<std::string>> PoolOf(const std::string& name) const {
    const auto found = options_.pools.find(name);
    if (found != options_.pools.end() && !found->second.empty()) return found->second;
    return Status(Code::kDenied, "the settings here have no pool " + Printable(name),
                  "Write it into them: pools: {" + Printable(name) + ": {hosts: [box1, box2]}}");
  }

  // Of all pools.
  std::vector<std::string> AllWords() const {
    std::set<std::string> words;
    for (const auto& [name, hosts] : options_.pools) words.insert(hosts.begin(), hosts.end());
    return {words.begin(), words.end()};
  }

  Status AskOf(const std::string& box, const BoxJson& request) {
    const std::vector<std::string> words = AllWords();
    if (std::find(words.begin(), words.end(), box) == words.end()) {
      return Status(Code::kUnavailable, box + " is in no pool of the settings here");
    }
    return boxes_.Ask(box, request).status();
  }

  // The word of the box that takes it: {word}.
  LaunchAnswer Choose(const LaunchRequest& request, const std::vector<std::string>& pool) {
    STOKER_ASSIGN(const auto prospects, Prospects(request));
    const Prospect* best = nullptr;
    std::vector<std::string> never, broken, silent;
    size_t of_itself = 0;
    for (const Prospect& each : prospects) {
      if (!each.second.ok()) {
        silent.push_back(each.second.status().ToString());
      } else if (!each.second->never.empty()) {
        never.push_back(each.first + ": " + each.second->never);
      } else if (!each.second->store.empty()) {
        broken.push_back(each.first + ": " + each.second->store);
      } else if (each.second->of_job > 0 && each.second->of_job >= each.second->room) {
        // It would wait for its own job's other nodes, and these for it.
        never.push_back(each.first + " has as many of the job's nodes as it can run");
        ++of_itself;
      } else if (best == nullptr || IsBetter(*each.second, *best->second)) {
        best = &each;
      }
    }
    if (best != nullptr) return std::vector<std::string>{best->first};
    if (never.size() == pool.size() && of_itself == 0) {
      return Refuse(RefusalClass::kInvalid, RefusalScope::kRequest,
                    "no box of the pool could ever run it: " + Join(never, "; "));
    }
    if (!broken.empty()) {
      return Refuse(RefusalClass::kDenied, RefusalScope::kAccount, Join(broken, "; "));
    }
    std::vector<std::string> all = never;
    all.insert(all.end(), silent.begin(), silent.end());
    return Status(Code::kUnavailable, Join(all, "; "));
  }

  // Where it starts now, apart from its job's other machines, and where the least runs; else where
  // the line is shortest.
  static bool IsBetter(const BoxProspect& a, const BoxProspect& b) {
    const auto key = [](const BoxProspect& p) {
      return std::tuple(!p.starts, p.of_job > 0, p.starts ? 0 : p.place, p.running);
    };
    return key(a) < key(b);
  }

  LaunchAnswer Send(const LaunchRequest& request, const BoxNote& note) {
    STOKER_ASSIGN(const std::string word, boxes_.WordOf(note.host, note.word, AllWords()));
    BoxJson ask;
    PutRequest(request, &ask);
    ask["verb"] = "launch";
    if (Names(request.ask.options, kHasPrivate)) {
      auto own = ReadLocalPrivate(options_.state_dir, request.ledger_id, request.job);
      if (own.status().Is(Code::kNotFound)) {
        return Status(Code::kUnavailable,
                      "the secrets and variables of job " + request.job +
                          " are on the machine that it was submitted from, which alone can ask "
                          "for its machines");
      }
      STOKER_TRY(own.status());
      PutPrivate(*own, &ask["private"]);
    }
    STOKER_TRY(boxes_.Bring(word, request.binary_digest, options_.state_dir));
    std::optional<Refusal> refusal;
    const auto answer = boxes_.Ask(word, ask, &refusal);
    if (refusal) {
      refusal->message = word + ": " + refusal->message;
      return *refusal;
    }
    STOKER_TRY(answer.status());
    STOKER_ASSIGN(std::vector<std::string> ids, IdsOf(*answer, word));
    if (ids.size() == std::max<size_t>(request.launches.size(), 1)) return ids;
    return Status(Code::kCorrupt, word + " answers with nonsense");
  }

  static void AddOfEngines(const BoxJson& answer, const std::string& word,
                           std::vector<std::string>* ids) {
    const auto names = answer.find(kBoxOfEngines);
    if (names == answer.end() || !names->is_array()) return;
    for (const BoxJson& name : *names) {
      if (name.is_string()) ids->push_back(Printable(name.get<std::string>()) + " of " + word);
    }
  }

  // As they are known here; "" for one that is over.
  static Result<std::vector<std::string>> IdsOf(const BoxJson& answer, const std::string& word) {
    const Status nonsense(Code::kCorrupt, word + " answers with nonsense");
    const auto ids = answer.find("ids");
    if (ids == answer.end() || !ids->is_array()) return nonsense;
    std::vector<std::string> out;
    for (const BoxJson& id : *ids) {
      const std::string text = id.is_string() ? id.get<std::string>() : "?";
      if (!text.empty() && !IsInstanceToken(text)) return nonsense;
      out.push_back(text.empty() ? "" : word + "/" + text);
    }
    return out;
  }

  Result<InstancesSeen> DescribeJob(ObjectStore& store, const std::string& ledger_id,
                                    const std::string& job) {
    STOKER_ASSIGN(const std::vector<BoxNote> notes, ListBoxNotes(store, job));
    std::vector<std::string> words;
    std::map<std::string, std::string> missing;  // by host: why
    for (const BoxNote& note : notes) {
      if (!note.gone.empty() || missing.contains(note.host)) continue;
      const auto word = boxes_.WordOf(note.host, note.word, AllWords());
      if (!word.ok()) {
        missing[note.host] = word.status().ToString();
      } else if (std::find(words.begin(), words.end(), *word) == words.end()) {
        words.push_back(*word);
      }
    }
    InstancesSeen out;
    for (auto& [word, seen] : Machines(words, ledger_id, job)) {
      if (!seen.ok()) {
        missing[boxes_.KnownHost(word)] = seen.status().ToString();
        continue;
      }
      out.insert(out.end(), seen->begin(), seen->end());
    }
    AddMissing(notes, missing, ledger_id, job, &out);
    return out;
  }

  Result<InstancesSeen> DescribeAll(ObjectStore& store, const std::string& ledger_id) {
    InstancesSeen out;
    std::set<std::string> answered;  // hosts
    for (auto& [word, seen] : Machines(AllWords(), ledger_id, "")) {
      // Two words for one box.
      if (!seen.ok() || !answered.insert(boxes_.KnownHost(word)).second) continue;
      out.insert(out.end(), seen->begin(), seen->end());
    }
    std::vector<std::string> jobs;
    STOKER_TRY(ListAll(store, paths::Active(""), [&](const ObjectInfo& info) {
      jobs.push_back(info.key.substr(paths::Active("").size()));
      return Status::Ok();
    }));
    for (const std::string& job : jobs) {
      if (!IsSafeName(job)) continue;
      STOKER_ASSIGN(const std::vector<BoxNote> notes, ListBoxNotes(store, job));
      std::map<std::string, std::string> missing;
      for (const BoxNote& note : notes) {
        if (!answered.contains(note.host)) missing[note.host] = note.word + " does not answer";
      }
      AddMissing(notes, missing, ledger_id, job, &out);
    }
    return out;
  }

  // Box by box, with their ids as they are known here.
  std::vector<std::pair<std::string, Result<InstancesSeen>>> Machines(
      const std::vector<std::string>& words, const std::string& ledger_id, const std::string& job) {
    std::vector<std::pair<std::string, Result<InstancesSeen>>> out;
    const BoxJson ask = {{"verb", "describe"}, {"ledger_id", ledger_id}, {"job", job}};
    for (auto& [word, answer] : boxes_.AskAll(words, ask)) {
      auto seen = answer.ok() ? TakeSeen(*answer) : Result<InstancesSeen>(answer.status());
      if (seen.ok()) {
        std::erase_if(*seen, [](const InstanceSeen& each) { return !IsInstanceToken(each.id); });
        for (InstanceSeen& each : *seen) {
          each.id = word + "/" + each.id;
          each.why = Printable(each.why);
          if (each.state == InstanceState::kQueued) each.why = word + ": " + each.why;
        }
      }
      out.emplace_back(word, std::move(seen));
    }
    return out;
  }

  // Nobody knows what became of them.
  static void AddMissing(const std::vector<BoxNote>& notes,
                         const std::map<std::string, std::string>& missing,
                         const std::string& ledger_id, const std::string& job, InstancesSeen* out) {
    for (const BoxNote& note : notes) {
      const auto why = missing.find(note.host);
      if (!note.gone.empty() || why == missing.end()) continue;
      for (size_t index = 0; index < note.launches.size(); ++index) {
        InstanceSeen seen;
        seen.id = note.word + "/" + note.token + (index > 0 ? "-" + std::to_string(index) : "");
        seen.token = note.token;
        seen.ledger_id = ledger_id;
        seen.job = job;
        seen.launch = note.launches[index];
        seen.index = static_cast<int>(index);
        seen.state = InstanceState::kQueued;
        seen.why = why->second;
        out->push_back(std::move(seen));
      }
    }
  }

  const SshOptions options_;
  Clock& clock_;
  ProviderTraits traits_;
  Boxes boxes_;
};

}  // namespace

std::unique_ptr<SshProvider> MakeSshProvider(SshOptions options, Clock& clock) {
  return std::make_unique<Ssh>(std::move(options), clock);
}

}  // namespace stoker
