// SPDX-License-Identifier: Apache-2.0
#include "provider/ssh/box_serve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "ledger/ledger.h"
#include "ledger/records.h"
#include "policy/local_queue.h"
#include "provider/local/local_boot.h"
#include "provider/local/local_engines.h"
#include "provider/local/local_prospect.h"
#include "provider/local/local_provider.h"
#include "provider/local/local_state.h"
#include "provider/ssh/box_share.h"
#include "provider/ssh/box_store.h"
#include "provider/ssh/box_words.h"
#include "sys/container/engines.h"
#include "sys/container/enter.h"
#include "sys/file.h"
#include "sys/real_clock.h"

namespace stoker {
namespace {

constexpr size_t kMostRequest = size_t{160} << 20;  // twice what may be private
// What is younger is not taken for that of a job that was removed.
constexpr Duration kRemovedAge = Duration::Minutes(10);
constexpr Duration kUnusedAge = Duration::Hours(24 * 30);

// "10.0.0.9 51234 10.0.0.7 22": whence, and whereto. sshd says it; sshd(8).
std::string AddressOfBox() {
  const char* connection = std::getenv("SSH_CONNECTION");
  if (connection == nullptr) return "";
  const std::vector<std::string> parts = Split(connection, ' ');
  if (parts.size() != 4) return "";
  std::string address = parts[2];
  constexpr std::string_view kMapped = "::ffff:";
  if (StartsWith(address, kMapped)) address = address.substr(kMapped.size());
  const bool plain = address.find_first_not_of("0123456789abcdefABCDEF.:") == std::string::npos;
  return plain ? address : "";
}

class BoxServer {
 public:
  BoxServer(std::string state, std::string address, std::vector<std::string> agent_argv)
      : state_(std::move(state)), address_(std::move(address)), agent_(std::move(agent_argv)) {}

  std::string Answer(const std::string& line) {
    const BoxJson request = BoxJson::parse(line, nullptr, false);
    const std::string verb = BoxText(request, "verb");
    std::optional<Refusal> refusal;
    const auto answer = Do(verb, request, &refusal);
    return answer.ok() ? BoxAnswer(*answer) : BoxAnswer(answer.status(), refusal);
  }

 private:
  Result<BoxJson> Do(const std::string& verb, const BoxJson& in, std::optional<Refusal>* refusal) {
    STOKER_ASSIGN(LocalProvider * local, Local());
    if (verb == "hello") return Hello(*local);
    if (verb == "prospect") return Prospect(*local, in);
    if (verb == "launch") return Launch(*local, in, refusal);
    if (verb == "describe") return Describe(*local, in);
    if (verb == "terminate") return Done(local->Terminate(BoxText(in, "id")));
    if (verb == "withdraw") return Done(local->Withdraw(BoxText(in, "id")));
    if (verb == "enter") return Enter(in);
    if (verb == "interrupt") {
      const auto lead = in.find("lead_ms");
      const int64_t ms = lead != in.end() && lead->is_number_integer() ? lead->get<int64_t>() : -1;
      if (ms < 0 || ms > kMostLead.ms) return Status(Code::kInvalid, "a notice of no length");
      return Done(local->Interrupt(BoxText(in, "id"), Duration::Ms(ms)));
    }
    if (verb == "forget") {
      const std::string ledger = BoxText(in, "ledger_id");
      const std::string job = BoxText(in, "job");
      if (!IsSafeName(ledger) || !IsSafeName(job)) return Status(Code::kInvalid, "not a job");
      return Done(RemoveLocalPrivate(state_, ledger, job));
    }
    if (verb == "meet") return Meet(in);
    if (verb == "share") return Share(*local);
    if (verb == "engines") return Engines();
    if (verb == "sweep" || verb == "leftovers") {
      STOKER_ASSIGN(const auto ids, verb == "sweep" ? local->Sweep() : local->Leftovers());
      const auto left = SweepEngines(state_, clock_.Wall(), verb == "leftovers");
      return BoxJson{{"ids", ids}, {kBoxOfEngines, left}};
    }
    return Status(Code::kInvalid, "a request that is none: " + Printable(verb));
  }

  Result<BoxJson> Enter(const BoxJson& in) {
    EnterAsk ask;
    ask.state_dir = state_;
    ask.owner = state_ + "/instances/" + BoxText(in, "id");
    if (!IsInstanceToken(BoxText(in, "id"))) return Status(Code::kInvalid, "not an instance");
    ask.command = BoxText(in, "command");
    const auto terminal = in.find("terminal");
    ask.terminal = terminal != in.end() && *terminal == true;
    STOKER_ASSIGN(const std::vector<std::string> words, EnterWords(ask));
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + ShellQuote(word);
    return BoxJson{{"line", line}};
  }

  static Result<BoxJson> Done(const Status& status) {
    STOKER_TRY(status);
    return BoxJson::object();
  }

  Result<LocalProvider*> Local() {
    if (!local_) {
      LocalProviderOptions options;
      options.state_dir = state_;
      options.agent_argv = agent_;
      options.address = address_;
      options.apart = true;
      STOKER_ASSIGN(local_, MakeLocalProvider(options, clock_));
      STOKER_ASSIGN(state_, sys::RealPath(state_));
    }
    return local_.get();
  }

  // Copies of stoker that no machine here runs, and none was made from for a month. Whoever needs
  // one brings it again.
  void ClearBinaries() {
    const LocalState state(state_);
    std::set<std::string> used;
    if (const auto own = sys::RealPath("/proc/self/exe"); own.ok()) used.insert(*own);
    for (const std::string& token : state.Tokens()) {
      const auto boot = ReadLocalBoot(state.Dir(token));
      if (!boot.ok()) return;  // it may run any of them
      used.insert(sys::RealPath(boot->binary).value_or(boot->binary));
    }
    const auto copies = sys::ListDir(state_ + "/bin");
    for (const sys::DirEntry& copy : copies.value_or({})) {
      const std::string folder = state_ + "/bin/" + copy.name;
      struct stat info {};
      if (used.contains(folder + "/stoker") || lstat(folder.c_str(), &info) != 0) continue;
      const WallTime last{static_cast<int64_t>(info.st_mtim.tv_sec) * 1000};
      if (clock_.Wall() - last > kUnusedAge) (void)sys::RemoveTree(folder);
    }
  }

  Result<BoxJson> Hello(LocalProvider& local) {
    ClearBinaries();
    BoxJson out;
    PutHello({local.host(), address_, local.Shared()}, &out);
    return out;
  }

  static Result<BoxJson> Share(LocalProvider& local) {
    STOKER_ASSIGN(const std::vector<PlaceInfo> places, local.Places());
    BoxJson out = BoxJson::object();
    PutShare(places.front(), &out);
    return out;
  }

  // Apart: they take their time to answer.
  static Result<BoxJson> Engines() {
    const std::vector<std::string> engines = TellEngines(FindEngines());
    return BoxJson{{kBoxEngines, engines.empty() ? "none" : Join(engines, ", ")}};
  }

  Result<BoxJson> Prospect(LocalProvider& local, const BoxJson& in) {
    STOKER_ASSIGN(const LaunchRequest request, TakeRequest(in));
    STOKER_ASSIGN(const LocalWants wants, ParseWants(request.ask.options));
    const std::string slot = request.slots.empty() ? "" : std::to_string(request.slots[0]);
    const LocalProspect ahead =
        LookAhead(LocalState(state_), local.host(), request.ledger_id + "/" + request.job, slot,
                  wants, clock_.Wall());
    BoxProspect prospect{ahead.never,  ahead.starts, ahead.place, ahead.running,
                         ahead.of_job, ahead.room,   ""};
    if (const Status store = Usable(request); !store.ok()) prospect.store = store.ToString();
    BoxJson out;
    PutProspect(prospect, &out);
    return out;
  }

  // The agent would come up and find nothing.
  Status Usable(const LaunchRequest& request) {
    if (request.store_url.empty() || request.store_url == usable_) return Status::Ok();
    STOKER_ASSIGN(const auto store, OpenBoxStore(request.store_url, request.ledger_id, clock_));
    usable_ = request.store_url;
    ForgetEnded(*store, request.ledger_id);
    return Status::Ok();
  }

  // What is private to jobs whose last node was on another box, or that are removed. Whoever comes
  // by takes it away.
  void ForgetEnded(ObjectStore& store, const std::string& ledger_id) {
    const auto ledger = Ledger::Open(store, clock_, sys::RandomU64(), NewLedger::kNever);
    if (!ledger.ok()) return;
    for (const LocalPrivateSeen& seen : ListLocalPrivate(state_, ledger_id)) {
      const auto read = ReadJob(**ledger, seen.job);
      const bool removed =
          read.status().Is(Code::kNotFound) && clock_.Wall() - seen.changed > kRemovedAge;
      if (!removed && (!read.ok() || !IsFinal(read->job.state))) continue;
      (void)RemoveLocalPrivate(state_, ledger_id, seen.job);
    }
  }

  Result<BoxJson> Launch(LocalProvider& local, const BoxJson& in, std::optional<Refusal>* refusal) {
    STOKER_ASSIGN(const LaunchRequest request, TakeRequest(in));
    const auto own = in.find("private");
    if (own != in.end() && !IsSafeName(request.ledger_id + "-" + request.job)) {
      return Status(Code::kInvalid, "a job of no name");
    }
    if (own != in.end()) {
      STOKER_ASSIGN(const LocalPrivate content, TakePrivate(*own));
      STOKER_TRY(WriteLocalPrivate(state_, request.ledger_id, request.job, content));
    }
    // When it was used last.
    const std::string copy = state_ + "/bin/" + request.binary_digest;
    if (IsInstanceToken(request.binary_digest)) {
      (void)utimensat(AT_FDCWD, copy.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    }
    const LaunchAnswer answer = local.Launch(request);
    *refusal = answer.refusal();
    STOKER_TRY(answer.status());
    return BoxJson{{"ids", *answer}};
  }

  static Result<BoxJson> Describe(LocalProvider& local, const BoxJson& in) {
    STOKER_ASSIGN(const auto seen, local.Describe(BoxText(in, "ledger_id"), BoxText(in, "job")));
    BoxJson machines;
    PutSeen(seen, &machines);
    return BoxJson{{"machines", std::move(machines)}};
  }

  Result<BoxJson> Meet(const BoxJson& in) {
    STOKER_ASSIGN(const auto store,
                  OpenBoxStore(BoxText(in, "store_url"), BoxText(in, "ledger_id"), clock_));
    STOKER_TRY(MeetInStore(*store, BoxText(in, "key")));
    return BoxJson::object();
  }

  RealClock clock_;
  std::string state_;
  const std::string address_;
  const std::vector<std::string> agent_;
  std::unique_ptr<LocalProvider> local_;
  std::string usable_;  // a store that could be used
};

// One line of standard input; nullopt at its end.
std::optional<std::string> NextLine(std::string* buffer) {
  for (;;) {
    if (const size_t end = buffer->find('\n'); end != std::string::npos) {
      std::string line = buffer->substr(0, end);
      buffer->erase(0, end + 1);
      return line;
    }
    char some[64 << 10];
    const ssize_t got = read(STDIN_FILENO, some, sizeof some);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || buffer->size() > kMostRequest) return std::nullopt;
    buffer->append(some, static_cast<size_t>(got));
  }
}

}  // namespace

int BoxMain(const std::string& state, const std::vector<std::string>& agent_argv) {
  const std::string address = AddressOfBox();
  // Of this connection; machines that are started through it outlive it.
  for (const char* name :
       {"SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "SSH_AUTH_SOCK", "SSH_ORIGINAL_COMMAND"}) {
    unsetenv(name);
  }
  std::signal(SIGPIPE, SIG_IGN);
  (void)!chdir("/");
  BoxServer server(state, address, agent_argv);
  std::string buffer;
  while (const auto line = NextLine(&buffer)) {
    if (!sys::WriteAll(STDOUT_FILENO, server.Answer(*line) + "\n", "the answer").ok()) return 1;
  }
  return 0;
}

}  // namespace stoker
