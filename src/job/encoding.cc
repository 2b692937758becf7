// SPDX-License-Identifier: Apache-2.0
#include "job/encoding.h"

#include <set>
#include <utility>

#include "base/json_fields.h"
#include "base/remembered.h"
#include "base/text.h"

namespace stoker {
namespace {

bool SafeOrEmpty(const std::string& text) { return text.empty() || IsSafeName(text); }
// Whoever reads a record or a report calculates with what stands there: sums and successors of
// these stay far from overflow, and the work of a pass bounded.
constexpr int kMostNumber = 1'000'000'000;                 // of a launch, an attempt, restarts
constexpr int kMostNodes = 4096;                           // four times what a job file may ask for
constexpr int64_t kMostMs = int64_t{100'000'000'000'000};  // three thousand years
bool Sane(int number) { return number >= 0 && number <= kMostNumber; }
bool Sane(int64_t ms) { return ms >= 0 && ms <= kMostMs; }

bool PathOrEmpty(const std::string& text) { return text.empty() || IsSafeRelativePath(text); }

// Numbers of launches and attempts rise from 1: a number is looked up, stored in names, never
// reused.
template <typename List>
bool NumbersRise(const List& list) {
  int last = 0;
  for (const auto& item : list) {
    if (item.number <= last || !Sane(item.number)) return false;
    last = item.number;
  }
  return true;
}

// Each launch is one slot of one request, and each slot of each request one launch.
bool RequestsFit(const Job& job) {
  size_t slots = 0;
  for (const Request& request : job.requests) slots += request.slots.size();
  std::set<std::pair<int, int>> taken;
  for (const Launch& launch : job.launches) {
    const Request* request = FindRequest(job, launch.request);
    const auto index = static_cast<size_t>(launch.index);
    if (request == nullptr || launch.index < 0 || index >= request->slots.size() ||
        request->slots[index] != launch.slot ||
        !taken.insert({launch.request, launch.index}).second) {
      return false;
    }
  }
  return taken.size() == slots;
}

// How records said it before they had a member for it.
bool SaidToBeNotNeeded(const Attempt& attempt) {
  return attempt.state == AttemptState::kEnded && attempt.ending &&
         attempt.ending->reason == EndReason::kCancelled &&
         StartsWith(attempt.ending->why, "not needed: ");
}

// T or const T.
template <typename T, typename Noun>
concept Is = std::is_same_v<std::remove_const_t<T>, Noun>;

}  // namespace

// Not in the anonymous namespace: json_fields.h finds these by argument-dependent lookup.

template <class A, Is<Ending> T>
void Fields(A& a, T& t) {
  a.Need("reason", t.reason);
  a("exit_code", t.exit_code);
  a("signal", t.signal);
  a("out_of_memory", t.out_of_memory);
  a("rank", t.rank);
  a("why", t.why);
}

template <class A, Is<Place> T>
void Fields(A& a, T& t) {
  a.Need("provider", t.provider);
  a("account", t.account);
  a("region", t.region);
  a("zone", t.zone);
}

template <class A, Is<Notice> T>
void Fields(A& a, T& t) {
  a("action", t.action);
  a.Need("until", t.until);
  a("unexplained", t.unexplained);
}

template <class A, Is<CancelRequest> T>
void Fields(A& a, T& t) {
  a.Need("at", t.at);
  a("by", t.by);
}

template <class A, Is<Move> T>
void Fields(A& a, T& t) {
  a.Need("state", t.state);
  a.Need("attempt", t.attempt);
  a.Need("request", t.request);
  a.Need("at", t.at);
  a("by", t.by);
  a("to", t.to);
  a("lead_ms", t.lead);
  a("waits", t.waits);
  a("why", t.why);
  a("offers", t.offers);
  const bool open = t.state == MoveState::kAsked || t.state == MoveState::kTold;
  a.Check(!open || !t.offers.empty(), "offers", "are missing");
  a.Check(t.offers.size() <= kMostOffers, "offers", "are too many");
  a.Check(Sane(t.attempt), "attempt", "is out of range");
  a.Check(Sane(t.request), "request", "is out of range");
  a.Check(Sane(t.lead.ms), "lead_ms", "is out of range");
}

template <class A, Is<GitOrigin> T>
void Fields(A& a, T& t) {
  a.Need("commit", t.commit);
  a("branch", t.branch);
  a("dirty", t.dirty);
  a.Check(IsSafeName(t.commit), "commit", "is no commit");
}

template <class A, Is<Pin> T>
void Fields(A& a, T& t) {
  a.Need("source", t.source);
  a("commit", t.commit);
  a.Check(SafeOrEmpty(t.commit), "commit", "is no commit");
}

template <class A, Is<LeftOut> T>
void Fields(A& a, T& t) {
  a.Need("path", t.path);
  a("by", t.by);
}

template <class A, Is<Folded> T>
void Fields(A& a, T& t) {
  a("requests", t.requests);
  a("launches", t.launches);
  a("attempts", t.attempts);
  a("since", t.since);
  a("until", t.until);
  a.Check(Sane(t.requests), "requests", "is out of range");
  a.Check(Sane(t.launches), "launches", "is out of range");
  a.Check(Sane(t.attempts), "attempts", "is out of range");
}

template <class A, Is<Refusal> T>
void Fields(A& a, T& t) {
  a.Need("what", t.what);
  a.Need("scope", t.scope);
  a("wait_ms", t.wait);
  a.Need("at", t.at);
  a("final", t.final);
  a("message", t.message);
  a.Check(Sane(t.wait.ms), "wait_ms", "is out of range");
}

template <class A, Is<Ask> T>
void AskFields(A& a, T& t) {
  a("provider", t.place.provider);
  a("account", t.place.account);
  a("region", t.place.region);
  a("zone", t.place.zone);
  a("type", t.type);
  a("image", t.image);
  a("market", t.market);
  a("ceiling_micros", t.ceiling);
  a("options", t.options);
}

template <class A, Is<Offer> T>
void Fields(A& a, T& t) {
  AskFields(a, t.ask);
  a("rank", t.rank);
  a("price_micros", t.price);
  a.Check(Sane(t.rank), "rank", "is out of range");
  a.Extra(t.extra);
}

template <class A, Is<Request> T>
void Fields(A& a, T& t) {
  a.Need("number", t.number);
  AskFields(a, t.ask);
  a.Need("slots", t.slots);
  a("store_url", t.store_url);
  a("token", t.token);
  a("opened", t.opened);
  a("not_after", t.not_after);
  a("limit_ms", t.limit);
  a("reason", t.reason);
  a("tries", t.tries);
  a("next_try", t.next_try);
  a("refusal", t.refusal);
  a.Check(!t.slots.empty(), "slots", "is empty");
  a.Check(t.slots.size() <= size_t{kMostNodes}, "slots", "are more than any job has");
  a.Check(Sane(t.tries), "tries", "is out of range");
  a.Check(Sane(t.limit.ms), "limit_ms", "is out of range");
  a.Extra(t.extra);
}

template <class A, Is<Launch> T>
void Fields(A& a, T& t) {
  a.Need("number", t.number);
  a.Need("slot", t.slot);
  a.Need("request", t.request);
  a("index", t.index);
  a("instance_id", t.instance_id);
  a("own_id", t.own_id);
  a("absent_since", t.absent_since);
  a("stopped_since", t.stopped_since);
  a("starts", t.starts);
  a("next_start", t.next_start);
  a("start_refusal", t.start_refusal);
  a("closed", t.closed);
  a("close_reason", t.close_reason);
  a("close_why", t.close_why);
  a("closed_at", t.closed_at);
  a("boot_lasts", t.boot_lasts);
  a("boot_outage", t.boot_outage);
  a("kept_until", t.kept_until);
  a.Check(!t.closed || t.close_reason.has_value(), "close_reason", "is missing");
  a.Check(!t.kept_until || t.closed, "kept_until", "is of an open launch");
  a.Check(Sane(t.slot), "slot", "is out of range");
  a.Check(Sane(t.starts.value_or(0)), "starts", "is out of range");
  a.Extra(t.extra);
}

template <class A, Is<Attempt> T>
void Fields(A& a, T& t) {
  a.Need("number", t.number);
  a.Need("state", t.state);
  a("launches", t.launches);
  a("restore", t.restore);
  a("opened", t.opened);
  a("running", t.running);
  a("ended", t.ended);
  a("drain_until", t.drain_until);
  a("ending", t.ending);
  a("run_ms", t.run_ms);
  a("newest_checkpoint", t.newest_checkpoint);
  a("as_left", t.as_left);
  a("noticed", t.noticed);
  a("not_needed", t.not_needed);
  if constexpr (!std::is_const_v<T>) t.not_needed |= SaidToBeNotNeeded(t);
  a("missing_outputs", t.missing_outputs);
  a("trouble", t.trouble);
  a("unkept", t.unkept);
  a("unkept_in", t.unkept_in);
  a("unsaved_at_term", t.unsaved_at_term);
  a("left_newer_ms", t.left_newer_ms);
  a.Check(t.unkept >= 0, "unkept", "is negative");
  a.Check(Sane(t.run_ms), "run_ms", "is out of range");
  a.Check(Sane(t.left_newer_ms), "left_newer_ms", "is out of range");
  a.Check(PathOrEmpty(t.restore), "restore", "is not a checkpoint's name");
  a.Check(PathOrEmpty(t.newest_checkpoint), "newest_checkpoint", "is not a checkpoint's name");
  a.Check(PathOrEmpty(t.as_left), "as_left", "is not a checkpoint's name");
  a.Extra(t.extra);
}

template <class A, Is<Job> T>
void LaunchFields(A& a, T& t) {
  a("offers", t.offers);
  a("requests", t.requests);
  a("launches", t.launches);
  a.Check(t.offers.size() <= kMostOffers, "offers", "are too many");
  a.Check(NumbersRise(t.requests), "requests", "are not numbered upwards from 1");
  a.Check(RequestsFit(t), "launches", "are not those of the requests, slot by slot");
}

template <class A, Is<Job> T>
void Fields(A& a, T& t) {
  a.Need("format", t.format);
  a.Need("id", t.id);
  a.Need("rev", t.rev);
  a("writer", t.writer);
  a("name", t.name);
  a("user", t.user);
  a("me", t.me);
  a("user_host", t.user_host);
  a.Need("state", t.state);
  a.Need("num_nodes", t.num_nodes);
  a("created", t.created);
  a("spec_digest", t.spec_digest);
  a("code_digest", t.code_digest);
  a("binary_digest", t.binary_digest);
  a("workdir_note", t.workdir_note);
  a("command", t.command);
  a("git", t.git);
  a("pins", t.pins);
  a("left_behind", t.left_behind);
  a("image", t.image);
  a("image_bytes", t.image_bytes);
  a("image_blob", t.image_blob);
  a("shell", t.shell);
  a("secrets_in", t.secrets_in);
  a("downloads", t.downloads);
  a("path", t.path);
  a("host", t.host);
  a("retry_of", t.retry_of);
  a("from", t.from);
  a("promised", t.promised);
  LaunchFields(a, t);
  a("attempts", t.attempts);
  a("folded", t.folded);
  a("cancel", t.cancel);
  a("movable", t.movable);
  a("move", t.move);
  a("suspects", t.suspects);
  a("booted", t.booted);
  a("error_restarts", t.error_restarts);
  a("retry_after", t.retry_after);
  a("ended", t.ended);
  a("result", t.result);
  a.Check(IsSafeName(t.id), "id", "is not a job id");
  a.Check(t.rev >= 0, "rev", "is negative");
  a.Check(t.num_nodes >= 1, "num_nodes", "is less than 1");
  a.Check(t.num_nodes <= kMostNodes, "num_nodes", "is more than any job has");
  a.Check(Sane(t.error_restarts), "error_restarts", "is out of range");
  a.Check(SafeOrEmpty(t.spec_digest), "spec_digest", "is not a digest");
  a.Check(SafeOrEmpty(t.code_digest), "code_digest", "is not a digest");
  a.Check(SafeOrEmpty(t.binary_digest), "binary_digest", "is not a digest");
  a.Check(SafeOrEmpty(t.image_blob), "image_blob", "is not a digest");
  a.Check(t.image_bytes >= 0, "image_bytes", "is negative");
  a.Check(t.pins.size() <= kMostPins, "pins", "are too many");
  a.Check(SafeOrEmpty(t.me), "me", "is not the id of a person");
  a.Check(SafeOrEmpty(t.host), "host", "is not the id of a machine");
  a.Check(SafeOrEmpty(t.retry_of), "retry_of", "is not a job id");
  a.Check(PathOrEmpty(t.from), "from", "is not a checkpoint's name");
  a.Check(PathOrEmpty(t.promised), "promised", "is not a checkpoint's name");
  a.Check(NumbersRise(t.launches), "launches", "are not numbered upwards from 1");
  a.Check(NumbersRise(t.attempts), "attempts", "are not numbered upwards from 1");
  a.Extra(t.extra);
}

template <class A, Is<NodeReport> T>
void Fields(A& a, T& t) {
  a.Need("format", t.format);
  a.Need("job", t.job);
  a.Need("attempt", t.attempt);
  a.Need("rank", t.rank);
  a.Need("launch", t.launch);
  a.Need("seq", t.seq);
  a.Need("phase", t.phase);
  a("instance_id", t.instance_id);
  a("incarnation", t.incarnation);
  a("address", t.address);
  a("master_port", t.master_port);
  a("mechanism", t.mechanism);
  a("notice", t.notice);
  a("end", t.end);
  a("stopped", t.stopped);
  a("end_checked", t.end_checked);
  a("stderr_tail", t.stderr_tail);
  a("restored", t.restored);
  a("restore_error", t.restore_error);
  a("newest_checkpoint", t.newest_checkpoint);
  a("run_ms", t.run_ms);
  a("log_lines", t.log_lines);
  a("cpu_seconds", t.cpu_seconds);
  a("resident_bytes", t.resident_bytes);
  a("peak_resident_bytes", t.peak_resident_bytes);
  a("disk_bytes", t.disk_bytes);
  a.Raw("gpu", t.gpu);
  a("trouble", t.trouble);
  a("missing_outputs", t.missing_outputs);
  a("unkept", t.unkept);
  a("unkept_in", t.unkept_in);
  a("at_term", t.at_term);
  a("left_newer_ms", t.left_newer_ms);
  a("host_keys", t.host_keys);
  a("ssh_user", t.ssh_user);
  a("doing", t.doing);
  a.Check(t.unkept >= 0, "unkept", "is negative");
  a.Check(Sane(t.left_newer_ms), "left_newer_ms", "is out of range");
  a.Check(IsSafeName(t.job), "job", "is not a job id");
  a.Check(Sane(t.rank), "rank", "is out of range");
  a.Check(Sane(t.run_ms), "run_ms", "is out of range");
  a.Check(t.master_port >= 0 && t.master_port <= 65535, "master_port", "is not a port");
  a.Check(PathOrEmpty(t.restored), "restored", "is not a checkpoint's name");
  a.Check(PathOrEmpty(t.newest_checkpoint), "newest_checkpoint", "is not a checkpoint's name");
  a.Extra(t.extra);
}

namespace {

template <typename T>
std::string Encode(const T& noun, int indent) {
  json::JsonOut out;
  Fields(out, noun);
  return json::Dump(out.Take(), indent) + "\n";
}

Status OfBefore(const std::string& key) {
  return Status(Code::kCorrupt,
                key +
                    ": was written before stoker's first release, in a format that this one does "
                    "not read",
                "Nothing of it was touched. The stoker that wrote it still runs it; once it has "
                "ended, delete the record, or the store");
}

template <typename T>
Result<T> Decode(const std::string& key, std::string_view text, int oldest, int newest) {
  thread_local Remembered<T> decoded;
  if (const T* known = decoded.Find(text)) return *known;
  STOKER_ASSIGN(const json::Value object, json::ParseObject(key, text, kMaxRecordBytes));
  STOKER_TRY(json::CheckFormat(key, object, newest));
  if (object["format"].get<int>() < oldest) return OfBefore(key);
  T noun;
  json::JsonIn in(object, key + ": ");
  Fields(in, noun);
  if (!in.status().ok()) return in.status();
  decoded.Keep(text, noun);
  return noun;
}

}  // namespace

std::string EncodeJob(const Job& job) { return Encode(job, 1); }
std::string EncodeReport(const NodeReport& report) { return Encode(report, -1); }

Result<Job> DecodeJob(const std::string& key, std::string_view text) {
  return Decode<Job>(key, text, kRecordFormat, kRecordFormat);
}
Result<NodeReport> DecodeReport(const std::string& key, std::string_view text) {
  return Decode<NodeReport>(key, text, kReportFormat, kReportFormat);
}

}  // namespace stoker
