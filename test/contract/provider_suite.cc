// SPDX-License-Identifier: Apache-2.0
#include "test/contract/provider_suite.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"

namespace stoker::contract_test {
namespace {

using Problems = std::vector<std::string>;

// The questions of all cases, and what was wrong with the answers.
class Case {
 public:
  explicit Case(ProviderSubject& subject) : subject_(subject) {}

  void Expect(bool holds, const std::string& what) {
    if (!holds) problems_.push_back(what);
  }
  // The machines' ids; too few are a problem already.
  std::vector<std::string> LaunchAll(const LaunchRequest& request) {
    const auto ids = subject_.provider().Launch(request);
    Expect(ids.ok(), "launch: " + ids.status().ToString());
    const size_t given = ids.ok() ? ids->size() : 0;
    Expect(given == request.launches.size(), std::to_string(given) + " machines are given");
    return given == request.launches.size() ? *ids
                                            : std::vector<std::string>(request.launches.size());
  }
  // The only machine's id; "" is a problem already.
  std::string Launch(const LaunchRequest& request) { return LaunchAll(request).front(); }
  InstancesSeen Listed(const std::string& ledger = "ledger", const std::string& job = "") {
    auto all = subject_.provider().Describe(ledger, job);
    Expect(all.ok(), "describe: " + all.status().ToString());
    return all.value_or({});
  }
  std::optional<InstanceSeen> Look(const std::string& id) {
    for (const InstanceSeen& seen : Listed()) {
      if (seen.id == id) return seen;
    }
    return std::nullopt;
  }
  bool Is(const std::string& id, InstanceState state) {
    const auto seen = Look(id);
    return seen && seen->state == state;
  }
  // What the platform makes of it in the end: a no may come late, and is told then to whoever sends
  // the same again.
  LaunchAnswer Asked(const LaunchRequest& request) {
    LaunchAnswer answer = subject_.provider().Launch(request);
    (void)Until([&] {
      if (!answer.ok() || CountRunning(request.token) == request.launches.size()) return true;
      answer = subject_.another().Launch(request);
      return !answer.ok();
    });
    return answer;
  }
  size_t CountRunning(const std::string& token) {
    const auto all = Listed();
    return static_cast<size_t>(std::count_if(all.begin(), all.end(), [&](const auto& seen) {
      return seen.token == token && seen.state == InstanceState::kRunning;
    }));
  }
  static bool IsRefused(const LaunchAnswer& answer, RefusalClass what) {
    return answer.refusal() && answer.refusal()->what == what;
  }
  bool Gone(const std::string& id) {
    const auto seen = Look(id);
    return !seen || seen->state == InstanceState::kGone;
  }
  bool Until(const std::function<bool()>& there) { return subject_.Until(there); }
  std::string Running(const std::string& name) {
    const std::string id = Launch(subject_.Request(name));
    Expect(Until([&] { return Is(id, InstanceState::kRunning); }), id + " does not come to run");
    return id;
  }
  void End(const std::string& id) {
    const Status ended = subject_.provider().Terminate(id);
    Expect(ended.ok(), "terminate: " + ended.ToString());
    Expect(Until([&] { return Gone(id); }), id + " is there although it was ended");
  }

  ProviderSubject& subject() { return subject_; }
  Problems Told() { return std::move(problems_); }

 private:
  ProviderSubject& subject_;
  Problems problems_;
};

Problems OneTokenIsOneMachine(ProviderSubject& subject) {
  Case c(subject);
  const LaunchRequest request = subject.Request("one");
  const std::string first = c.Launch(request);
  const auto again = subject.another().Launch(request).value_or({""});
  c.Expect(again.front() == first, "the same token gives '" + again.front() + "' after " + first);
  c.Expect(c.Until([&] { return c.Is(first, InstanceState::kRunning); }), "it does not run");
  const auto late = subject.provider().Launch(request);
  c.Expect(late.ok() && late->front() == first, "a running one is not given again");
  c.Expect(c.Listed().size() == 1, "more than one machine is there");
  return c.Told();
}

Problems AskedForBySeveralAtOnce(ProviderSubject& subject) {
  Case c(subject);
  const LaunchRequest request = subject.Request("race");
  std::vector<std::string> ids(6);
  std::vector<std::function<void()>> calls;
  for (size_t i = 0; i < ids.size(); ++i) {
    calls.push_back([&, i] {
      Provider& provider = i % 2 == 0 ? subject.provider() : subject.another();
      ids[i] = provider.Launch(request).value_or({""}).front();
    });
  }
  subject.AtOnce(calls);
  std::set<std::string> distinct(ids.begin(), ids.end());
  distinct.erase("");
  c.Expect(distinct.size() == 1, std::to_string(distinct.size()) + " machines of one token");
  c.Expect(c.Until([&] { return c.Listed().size() == 1; }), "the list does not have exactly one");
  return c.Told();
}

Problems AnEndIsForGood(ProviderSubject& subject) {
  Case c(subject);
  const LaunchRequest request = subject.Request("ended");
  const std::string id = c.Running("ended");
  c.End(id);
  const auto again = subject.provider().Launch(request);
  c.Expect(c.IsRefused(again, RefusalClass::kOver),
           "a token whose machine has ended gives " + again.status().ToString());
  c.Expect(c.Gone(id), "it was started a second time");
  return c.Told();
}

Problems EndedTwice(ProviderSubject& subject) {
  Case c(subject);
  const std::string id = c.Running("twice");
  c.End(id);
  c.Expect(subject.provider().Terminate(id).ok(), "ending what is gone is an error");
  c.Expect(subject.another().Terminate(id).ok(), "and to another process");
  return c.Told();
}

Problems NothingIsSentTooLate(ProviderSubject& subject) {
  Case c(subject);
  LaunchRequest request = subject.Request("late");
  request.not_after = subject.Now() - Duration::Minutes(1);
  const auto late = subject.provider().Launch(request);
  c.Expect(c.IsRefused(late, RefusalClass::kOver),
           "what was to be sent a minute ago gives " + late.status().ToString());
  c.Expect(c.Listed().empty(), "and makes a machine");
  return c.Told();
}

Problems ListsAreOfOneLedgerAndJob(ProviderSubject& subject) {
  Case c(subject);
  const std::string mine = c.Running("mine");
  LaunchRequest foreign = subject.Request("foreign");
  foreign.ledger_id = "other";
  const std::string theirs = c.Launch(foreign);
  LaunchRequest second = subject.Request("second");
  second.job = "job2";
  const std::string beside = c.Launch(second);
  c.Expect(c.Until([&] { return c.Listed().size() == 2; }), "the ledger's list does not have two");
  for (const InstanceSeen& seen : c.Listed()) {
    c.Expect(seen.ledger_id == "ledger", seen.id + " is of another ledger");
  }
  const auto of_job = c.Listed("ledger", "job2");
  c.Expect(of_job.size() == 1 && of_job[0].id == beside, "the job's list is not its one machine");
  const auto others = c.Listed("other");
  c.Expect(others.size() == 1 && others[0].id == theirs, "the other ledger's list is not its own");
  c.Expect(!c.Gone(mine), "the first is gone");
  return c.Told();
}

Problems AMachineSaysWhoseItIs(ProviderSubject& subject) {
  Case c(subject);
  const LaunchRequest request = subject.Request("tags");
  const std::string id = c.Running("tags");
  const auto seen = c.Look(id);
  if (!seen) return c.Told();
  c.Expect(seen->token == request.token, "its token is '" + seen->token + "'");
  c.Expect(seen->job == request.job, "its job is '" + seen->job + "'");
  c.Expect(seen->launch == request.launches.front(),
           "its launch is " + std::to_string(seen->launch));
  c.Expect(!seen->address.empty(), "it has no address");
  const Duration left = seen->expires - subject.Now();
  c.Expect(left.ms > 0 && left <= request.limit + Duration::Minutes(1),
           "it ends itself in " + HumanDuration(left) + ", not within its limit");
  return c.Told();
}

Problems BadTokensAreRefused(ProviderSubject& subject) {
  Case c(subject);
  for (const char* token : {"", "../x", "a/b", "a b", "$(touch x)"}) {
    LaunchRequest request = subject.Request("bad");
    request.token = token;
    const auto id = subject.provider().Launch(request);
    c.Expect(c.IsRefused(id, RefusalClass::kInvalid),
             "token '" + std::string(token) + "' is taken");
  }
  c.Expect(c.Listed().empty(), "something was made");
  return c.Told();
}

Problems AFireDrillTakesTheMachine(ProviderSubject& subject) {
  Case c(subject);
  const std::string id = c.Running("drill");
  const std::string other = c.Running("bystander");
  const Status drill = subject.provider().Interrupt(id, Duration::Seconds(1));
  c.Expect(drill.ok(), "interrupt: " + drill.ToString());
  c.Expect(c.Until([&] { return c.Gone(id); }), "it is not taken");
  c.Expect(c.Is(other, InstanceState::kRunning), "another one was taken, too");
  c.Expect(!subject.provider().Interrupt(id, Duration::Seconds(1)).ok(),
           "one that is gone can be interrupted");
  return c.Told();
}

// How many machines of the token are listed, in whatever state.
// A machine of it, and not the word alone that none came.
bool IsOf(const InstanceSeen& seen, const std::string& token) {
  const bool word = seen.state == InstanceState::kGone && seen.freed && seen.refusal;
  return seen.token == token && !word;
}

size_t Count(Case& c, const std::string& token) {
  const auto all = c.Listed();
  return static_cast<size_t>(
      std::count_if(all.begin(), all.end(), [&](const auto& seen) { return IsOf(seen, token); }));
}

// What any provider's platform may say, in classes, scopes and waits.
std::vector<Refusal> AllRefusals() {
  using Class = RefusalClass;
  using Scope = RefusalScope;
  const auto no = [](Class what, Scope scope, Duration wait = {}) {
    return Refusal{what, scope, wait, {}, false, "the platform's words"};
  };
  return {no(Class::kCapacity, Scope::kZone),
          no(Class::kCapacity, Scope::kMarket),
          no(Class::kQuota, Scope::kRegion),
          no(Class::kThrottled, Scope::kAccount),
          no(Class::kThrottled, Scope::kAccount, Duration::Seconds(20)),
          no(Class::kNotYetConsistent, Scope::kAccount),
          no(Class::kDenied, Scope::kAccount),
          no(Class::kInvalid, Scope::kRequest)};
}

std::string RefusalText(const Refusal& refusal) {
  static const char* const kClasses[] = {"capacity", "quota", "throttled",  "denied",
                                         "invalid",  "over",  "unanswered", "not yet consistent"};
  static const char* const kScopes[] = {"request", "zone", "market", "region", "account"};
  return std::string(kClasses[static_cast<size_t>(refusal.what)]) + " of the " +
         kScopes[static_cast<size_t>(refusal.scope)] + ", wait " + HumanDuration(refusal.wait);
}

// As a part of a request's name.
std::string RefusalToken(const Refusal& refusal) {
  return std::to_string(static_cast<int>(refusal.what)) + "-" +
         std::to_string(static_cast<int>(refusal.scope)) + "-" + std::to_string(refusal.wait.ms);
}

void ExpectRefused(Case& c, const LaunchAnswer& answer, const Refusal& how) {
  const std::string said = RefusalText(how);
  const auto& told = answer.refusal();
  c.Expect(!answer.ok(), said + " is not refused");
  c.Expect(told.has_value(), said + " is told as no answer: " + answer.status().ToString());
  if (!told) return;
  c.Expect(RefusalText(*told) == said, said + " is told as " + RefusalText(*told));
  c.Expect(!told->message.empty(), said + " is told without a word");
}

Problems ItIsToldWhatARefusalIs(ProviderSubject& subject) {
  Case c(subject);
  int seen = 0;
  for (const Refusal& how : AllRefusals()) {
    if (!subject.Refuse(how)) continue;
    const LaunchRequest request = subject.Request("refused-" + std::to_string(++seen));
    ExpectRefused(c, c.Asked(request), how);
    c.Expect(Count(c, request.token) == 0, "what was refused is there");
    (void)subject.Refuse(std::nullopt);
    // Refused is not over: the same request is given once nothing is in its way, and what is told
    // late has been told for a while.
    (void)c.Until([&] { return subject.provider().Launch(request).ok(); });
    c.End(c.Launch(request));
  }
  c.Expect(seen > 0, "nobody has seen it refuse anything");
  return c.Told();
}

// That it was refused after all is told by its entry, to whoever asks.
Problems AMachineThatIsBornDeadSaysOfWhat(ProviderSubject& subject) {
  Case c(subject);
  const auto said = [&](const std::string& id) {
    const auto seen = c.Look(id);
    return seen ? seen->refusal : std::nullopt;
  };
  for (const Refusal& how : AllRefusals()) {
    if (!subject.Doom(how)) break;
    const std::string id = c.Launch(subject.Request("doomed-" + RefusalToken(how)));
    (void)subject.Doom(std::nullopt);
    c.Expect(c.Until([&] { return c.Is(id, InstanceState::kGone); }), id + " is not listed Gone");
    const auto told = said(id);
    c.Expect(told.has_value(), "it does not say that it died of " + RefusalText(how));
    if (told) c.Expect(RefusalText(*told) == RefusalText(how), "it says " + RefusalText(*told));
  }
  const std::string id = c.Running("lives");
  c.Expect(!said(id), "what runs says that it was refused");
  c.End(id);
  c.Expect(!said(id), "what was ended says that it was refused");
  return c.Told();
}

Problems AStoppedMachineIsThere(ProviderSubject& subject) {
  Case c(subject);
  const std::string id = c.Running("off");
  if (!subject.Stop(id)) {
    c.Expect(!subject.provider().traits().can_start, "it starts what it never stops");
    c.Expect(!subject.provider().traits().may_stop, "nothing of it stops, although it may");
    return c.Told();
  }
  c.Expect(subject.provider().traits().may_stop, "it stops what it says it never stops");
  c.Expect(c.Until([&] { return c.Is(id, InstanceState::kStopped); }), "it is not listed Stopped");
  const auto seen = c.Look(id);
  c.Expect(seen && !seen->freed, "what costs is called freed");
  c.Expect(seen && !seen->up_for, "what is off is said to be up");
  const auto again = subject.another().Launch(subject.Request("off"));
  c.Expect(again.ok() && again->front() == id,
           "asked for again, it is " + (again.ok() ? again->front() : "over"));
  c.End(id);
  return c.Told();
}

Problems AStoppedMachineStartsAgain(ProviderSubject& subject) {
  Case c(subject);
  const LaunchRequest request = subject.Request("again");
  const std::string id = c.Running("again");
  const bool starts = subject.provider().traits().can_start;
  const auto start = [&](Provider& provider) { return provider.Start(id); };
  if (!starts) {
    c.Expect(start(subject.provider()).Is(Code::kInvalid), "it starts what it says it cannot");
    c.Expect(c.Is(id, InstanceState::kRunning), "and does something to it");
    return c.Told();
  }
  c.Expect(start(subject.provider()).ok(), "starting what runs is an error");
  c.Expect(subject.Stop(id), "it starts what it never stops");
  c.Expect(c.Until([&] { return c.Is(id, InstanceState::kStopped); }), "it is not listed Stopped");
  c.Expect(start(subject.provider()).ok() && start(subject.another()).ok(), "it is not started");
  c.Expect(c.Until([&] { return c.Is(id, InstanceState::kRunning); }), "it does not come up");
  c.Expect(Count(c, request.token) == 1 && c.Listed().size() == 1, "another machine is there");
  const auto seen = c.Look(id);
  c.Expect(seen && (!seen->up_for || *seen->up_for < Duration::Minutes(5)),
           "it is said to have been up while it was off");
  c.End(id);
  c.Expect(start(subject.provider()).Is(Code::kNotFound), "what is gone can be started");
  c.Expect(c.Gone(id) && c.Listed().size() <= 1, "what is gone has come up");
  return c.Told();
}

Problems AQueuedMachineIsSaidToQueue(ProviderSubject& subject) {
  Case c(subject);
  const LaunchRequest request = subject.Request("queue");
  const bool queues = subject.Queue(true);
  const std::string id = c.Launch(request);
  c.Expect(c.Until([&] { return c.Look(id).has_value(); }), "it is never listed");
  c.Expect(c.Is(id, InstanceState::kQueued) == queues,
           queues ? "what queues is not listed as Queued" : "what comes is listed as Queued");
  if (!queues) return c.Told();
  // It waits, and nothing of it changes.
  c.Expect(!c.Until([&] { return !c.Is(id, InstanceState::kQueued); }), "it does not wait");
  const auto seen = c.Look(id);
  c.Expect(seen && !seen->up_for && !seen->freed, "it is said to be up, or freed");
  c.Expect(seen && !seen->why.empty(), "nobody says what it waits for");
  const auto again = subject.another().Launch(request);
  c.Expect(again.ok() && again->front() == id, "asked for again, it is another");
  const std::string other = c.Launch(subject.Request("given-up"));
  c.End(other);
  subject.Queue(false);
  c.Expect(c.Until([&] { return c.Is(id, InstanceState::kRunning); }), "its turn does not come");
  const auto up = c.Look(id);
  c.Expect(up && (!up->up_for || *up->up_for < Duration::Minutes(5)),
           "the time in the queue counts as time that it was up");
  const Duration left = up ? up->expires - subject.Now() : Duration{};
  c.Expect(left + Duration::Minutes(5) > request.limit, "its limit ran while it queued");
  c.Expect(c.Gone(other), "what was ended in the queue has come");
  return c.Told();
}

LaunchRequest Gang(ProviderSubject& subject, const std::string& name) {
  LaunchRequest request = subject.Request(name);
  request.launches = {11, 12, 13};
  return request;
}

bool AllRun(Case& c, const std::vector<std::string>& ids) {
  return c.Until([&] {
    return std::all_of(ids.begin(), ids.end(),
                       [&](const std::string& id) { return c.Is(id, InstanceState::kRunning); });
  });
}

Problems AGangIsAllOrNone(ProviderSubject& subject) {
  Case c(subject);
  const LaunchRequest request = Gang(subject, "gang");
  const auto ids = c.LaunchAll(request);
  c.Expect(std::set<std::string>(ids.begin(), ids.end()).size() == 3, "they are not three");
  c.Expect(AllRun(c, ids), "they do not all come to run");
  for (int index = 0; index < 3; ++index) {
    const auto seen = c.Look(ids[static_cast<size_t>(index)]);
    if (!seen) continue;
    c.Expect(seen->token == request.token, seen->id + " has the token '" + seen->token + "'");
    c.Expect(seen->index == index, seen->id + " says index " + std::to_string(seen->index));
    c.Expect(seen->launch == 11 + index, seen->id + " is of " + std::to_string(seen->launch));
  }
  const auto again = subject.another().Launch(request);
  c.Expect(again.ok() && *again == ids, "asked for again, they are others");
  const LaunchRequest much = subject.TooMuch(3);
  const auto refused = c.Asked(much);
  c.Expect(!refused.ok(), "what there is no room for is given");
  c.Expect(refused.refusal().has_value(), "and nobody says no");
  const auto all = c.Listed();
  const auto of_it = [&](const InstanceSeen& seen) { return IsOf(seen, much.token); };
  c.Expect(std::none_of(all.begin(), all.end(), of_it), "a part of what was refused is there");
  return c.Told();
}

Problems OneOfAGangIsEndedAlone(ProviderSubject& subject) {
  Case c(subject);
  const LaunchRequest request = Gang(subject, "gang");
  auto ids = c.LaunchAll(request);
  c.Expect(AllRun(c, ids), "they do not all come to run");
  c.End(ids[1]);
  const bool alone = subject.provider().traits().ends_one_alone;
  for (const size_t other : {size_t{0}, size_t{2}}) {
    if (alone) c.Expect(c.Is(ids[other], InstanceState::kRunning), ids[other] + " was ended, too");
    if (!alone) c.Expect(c.Gone(ids[other]), ids[other] + " is left although they end together");
  }
  const auto again = subject.provider().Launch(request);
  ids[1].clear();
  if (alone) c.Expect(again.ok() && *again == ids, "what is left is not given again as it is");
  if (!alone) c.Expect(c.IsRefused(again, RefusalClass::kOver), "what is over is given again");
  return c.Told();
}

Problems WhatTheTraitsPromise(ProviderSubject& subject) {
  Case c(subject);
  const ProviderTraits& traits = subject.provider().traits();
  c.Expect(!traits.name.empty(), "it has no name");
  const std::string id = c.Launch(subject.Request("seen"));
  if (traits.describe_is_immediate) {
    c.Expect(c.Look(id).has_value(), "lists are said to be immediate, and leave it out");
  }
  c.Expect(c.Until([&] { return c.Look(id).has_value(); }), "it is never listed");
  return c.Told();
}

}  // namespace

const std::vector<ProviderCase>& ProviderCases() {
  static const std::vector<ProviderCase> cases = {
      {"OneTokenIsOneMachine", OneTokenIsOneMachine},
      {"AskedForBySeveralAtOnce", AskedForBySeveralAtOnce},
      {"AnEndIsForGood", AnEndIsForGood},
      {"EndedTwice", EndedTwice},
      {"NothingIsSentTooLate", NothingIsSentTooLate},
      {"ListsAreOfOneLedgerAndJob", ListsAreOfOneLedgerAndJob},
      {"AMachineSaysWhoseItIs", AMachineSaysWhoseItIs},
      {"BadTokensAreRefused", BadTokensAreRefused},
      {"AFireDrillTakesTheMachine", AFireDrillTakesTheMachine},
      {"ItIsToldWhatARefusalIs", ItIsToldWhatARefusalIs},
      {"AMachineThatIsBornDeadSaysOfWhat", AMachineThatIsBornDeadSaysOfWhat},
      {"AStoppedMachineIsThere", AStoppedMachineIsThere},
      {"AStoppedMachineStartsAgain", AStoppedMachineStartsAgain},
      {"AQueuedMachineIsSaidToQueue", AQueuedMachineIsSaidToQueue},
      {"AGangIsAllOrNone", AGangIsAllOrNone},
      {"OneOfAGangIsEndedAlone", OneOfAGangIsEndedAlone},
      {"WhatTheTraitsPromise", WhatTheTraitsPromise},
  };
  return cases;
}

}  // namespace stoker::contract_test
