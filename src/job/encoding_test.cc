// SPDX-License-Identifier: Apache-2.0
#include "job/encoding.h"

#include <gtest/gtest.h>

#include "base/json_fields.h"
#include "base/prng.h"
#include "test/kit/rounds.h"

namespace stoker {
namespace {

// Any text: empty, long, quotes, controls, non-ASCII, NUL.
std::string AnyText(Prng& prng) {
  static const std::vector<std::string> kPieces = {"a",
                                                   "\"",
                                                   "\\",
                                                   "\n",
                                                   "\t",
                                                   "\x01",
                                                   "\x1b[0m",
                                                   "é",
                                                   "漢",
                                                   "😀",
                                                   "{",
                                                   "]",
                                                   std::string(1, '\0'),
                                                   "0"};
  std::string out;
  for (uint64_t n = prng.Below(6); n > 0; --n) out += kPieces[prng.Below(kPieces.size())];
  return out;
}
WallTime AnyTime(Prng& prng) { return WallTime{prng.Between(0, 4'000'000'000'000)}; }
std::optional<WallTime> MaybeTime(Prng& prng) {
  return prng.Chance(1, 2) ? std::optional(AnyTime(prng)) : std::nullopt;
}
std::string AnyId(Prng& prng) { return prng.Chance(1, 4) ? "" : prng.Base32(1 + prng.Below(20)); }
std::string AnyExtra(Prng& prng) {
  return prng.Chance(1, 2) ? "" : R"({"zz_new":{"a":[1,2.5,null,"x"]},"zz_too":true})";
}

Ending AnyEnding(Prng& prng) {
  Ending e;
  e.reason = static_cast<EndReason>(prng.Below(13));
  e.exit_code = static_cast<int>(prng.Between(-1, 255));
  e.signal = static_cast<int>(prng.Below(65));
  e.out_of_memory = prng.Chance(1, 2);
  e.rank = static_cast<int>(prng.Between(-1, 100));
  e.why = AnyText(prng);
  return e;
}

Refusal AnyRefusal(Prng& prng) {
  Refusal r;
  r.what = static_cast<RefusalClass>(prng.Below(8));
  r.scope = static_cast<RefusalScope>(prng.Below(5));
  r.wait = Duration{prng.Between(0, 100'000'000'000'000)};
  r.at = AnyTime(prng);
  r.final = prng.Chance(1, 2);
  r.message = AnyText(prng);
  return r;
}

void FillAsk(Prng& prng, Ask* ask) {
  ask->place.account = AnyText(prng);
  ask->place.region = AnyText(prng);
  ask->place.zone = AnyText(prng);
  ask->type = AnyText(prng);
  ask->image = AnyText(prng);
  ask->market = AnyText(prng);
  if (prng.Chance(1, 2)) ask->ceiling = prng.Between(0, 1 << 30);
  ask->options = AnyText(prng);
}

Offer AnyOffer(Prng& prng) {
  Offer c;
  FillAsk(prng, &c.ask);
  c.rank = static_cast<int>(prng.Below(4));
  if (prng.Chance(1, 2)) c.price = prng.Between(0, 1 << 30);
  c.extra = AnyExtra(prng);
  return c;
}

void FillRequest(Prng& prng, Request* r) {
  if (prng.Chance(1, 2)) r->ask.place.provider = "ec2";
  r->token = AnyId(prng);
  r->opened = AnyTime(prng);
  r->not_after = AnyTime(prng);
  r->limit = Duration{prng.Between(0, 100'000'000'000'000)};
  r->tries = static_cast<int>(prng.Below(9));
  r->next_try = MaybeTime(prng);
  if (prng.Chance(1, 3)) r->refusal = AnyRefusal(prng);
  FillAsk(prng, &r->ask);
  r->reason = AnyText(prng);
  r->store_url = AnyText(prng);
  r->extra = AnyExtra(prng);
}

void FillLaunch(Prng& prng, Launch* l) {
  l->instance_id = AnyText(prng);
  l->own_id = AnyText(prng);
  l->absent_since = MaybeTime(prng);
  l->stopped_since = MaybeTime(prng);
  if (prng.Chance(1, 2)) l->starts = static_cast<int>(prng.Below(9));
  l->next_start = MaybeTime(prng);
  if (prng.Chance(1, 3)) l->start_refusal = AnyRefusal(prng);
  l->closed = prng.Chance(1, 2);
  if (l->closed) l->close_reason = static_cast<CloseReason>(prng.Below(7));
  l->close_why = AnyText(prng);
  l->closed_at = MaybeTime(prng);
  if (l->closed) l->kept_until = MaybeTime(prng);
  l->extra = AnyExtra(prng);
}

void AddRequests(Prng& prng, Job* job) {
  for (uint64_t n = prng.Below(4); n > 0; --n) job->offers.push_back(AnyOffer(prng));
  for (uint64_t n = prng.Below(5); n > 0; --n) {
    std::vector<int> slots = {static_cast<int>(prng.Below(9))};
    while (prng.Chance(1, 2)) slots.push_back(static_cast<int>(prng.Below(9)));
    FillRequest(prng, &AppendRequest(*job, slots));
  }
  for (Launch& launch : job->launches) FillLaunch(prng, &launch);
}

Attempt AnyAttempt(Prng& prng, int number) {
  Attempt a;
  a.number = number;
  a.state = static_cast<AttemptState>(prng.Below(5));
  for (uint64_t n = prng.Below(4); n > 0; --n) a.launches.push_back(static_cast<int>(n));
  a.restore = AnyId(prng);
  a.opened = AnyTime(prng);
  a.running = MaybeTime(prng);
  a.ended = MaybeTime(prng);
  a.drain_until = MaybeTime(prng);
  if (prng.Chance(1, 2)) a.ending = AnyEnding(prng);
  a.run_ms = static_cast<int64_t>(prng.Below(1 << 30));
  a.newest_checkpoint = AnyId(prng);
  a.as_left = AnyId(prng);
  a.trouble = AnyText(prng);
  a.unkept = static_cast<int64_t>(prng.Below(9));
  a.unkept_in = AnyText(prng);
  a.noticed = prng.Chance(1, 2);
  a.not_needed = prng.Chance(1, 5);
  a.unsaved_at_term = prng.Chance(1, 3);
  a.extra = AnyExtra(prng);
  return a;
}

Move AnyMove(Prng& prng) {
  Move m;
  m.state = static_cast<MoveState>(prng.Below(5));
  m.attempt = static_cast<int>(prng.Below(9));
  m.request = static_cast<int>(prng.Below(9));
  m.at = AnyTime(prng);
  m.by = AnyText(prng);
  m.to = AnyText(prng);
  m.lead = Duration{prng.Between(0, 1 << 30)};
  m.waits = prng.Chance(1, 2);
  m.why = AnyText(prng);
  m.offers.push_back(AnyOffer(prng));
  return m;
}

Job AnyJob(Prng& prng) {
  Job job;
  job.rev = static_cast<int64_t>(prng.Below(1u << 31));
  job.writer = AnyText(prng);
  job.id = prng.Base32(10);
  job.name = AnyText(prng);
  job.user = AnyText(prng);
  job.spec_digest = AnyId(prng);
  job.code_digest = AnyId(prng);
  job.binary_digest = AnyId(prng);
  job.workdir_note = AnyText(prng);
  job.command = AnyText(prng);
  job.downloads = AnyText(prng);
  if (prng.Below(2) == 0) job.git = GitOrigin{"1a2b", AnyText(prng), prng.Below(2) == 0};
  for (uint64_t i = prng.Below(3); i > 0; --i) {
    job.pins.push_back({AnyText(prng), prng.Below(2) == 0 ? "" : "3c4d"});
  }
  if (prng.Chance(1, 2)) job.left_behind = {{AnyText(prng), kByGit}, {"data/", kByRule}};
  if (prng.Chance(1, 2)) job.shell = {AnyText(prng)};
  if (prng.Chance(1, 2)) job.secrets_in = {{AnyText(prng), AnyText(prng), AnyText(prng), ""}};
  job.image = AnyText(prng);
  job.image_blob = AnyId(prng);
  job.image_bytes = static_cast<int64_t>(prng.Below(1u << 31));
  job.path = AnyText(prng);
  job.host = AnyId(prng);
  job.me = AnyId(prng);
  job.user_host = AnyText(prng);
  job.retry_of = AnyId(prng);
  job.from = AnyId(prng);
  job.promised = AnyId(prng);
  job.created = AnyTime(prng);
  job.num_nodes = static_cast<int>(prng.Between(1, 64));
  job.state = static_cast<JobState>(prng.Below(7));
  AddRequests(prng, &job);
  for (int n = 1; n <= static_cast<int>(prng.Below(5)); ++n) {
    job.attempts.push_back(AnyAttempt(prng, n));
  }
  if (prng.Chance(1, 4)) job.folded = Folded{3, 3, 2, AnyTime(prng), AnyTime(prng)};
  if (prng.Chance(1, 2)) job.cancel = CancelRequest{AnyTime(prng), AnyText(prng)};
  job.movable = prng.Chance(1, 2);
  if (prng.Chance(1, 2)) job.move = AnyMove(prng);
  for (uint64_t n = prng.Below(3); n > 0; --n) job.suspects.push_back(prng.Base32(4));
  job.error_restarts = static_cast<int>(prng.Below(9));
  job.retry_after = MaybeTime(prng);
  job.ended = MaybeTime(prng);
  if (prng.Chance(1, 2)) job.result = AnyEnding(prng);
  job.extra = AnyExtra(prng);
  return job;
}

NodeReport AnyReport(Prng& prng) {
  NodeReport r;
  r.job = prng.Base32(10);
  r.attempt = static_cast<int>(prng.Between(1, 9));
  r.rank = static_cast<int>(prng.Below(9));
  r.launch = static_cast<int>(prng.Below(9));
  r.instance_id = AnyText(prng);
  r.incarnation = AnyText(prng);
  r.seq = static_cast<int64_t>(prng.Below(1 << 30));
  r.phase = static_cast<NodePhase>(prng.Below(7));
  r.address = AnyText(prng);
  r.master_port = static_cast<int>(prng.Below(65536));
  r.mechanism = AnyText(prng);
  if (prng.Chance(1, 2)) r.notice = Notice{AnyText(prng), AnyTime(prng), prng.Chance(1, 2)};
  if (prng.Chance(1, 2)) r.end = AnyEnding(prng);
  r.stopped = prng.Chance(1, 2);
  r.end_checked = prng.Chance(1, 2);
  r.stderr_tail = AnyText(prng);
  r.restored = AnyId(prng);
  r.restore_error = AnyText(prng);
  r.newest_checkpoint = AnyId(prng);
  r.run_ms = 12;
  r.log_lines = static_cast<int64_t>(prng.Next() >> 1);
  r.cpu_seconds = static_cast<double>(prng.Below(1000)) / 7;
  r.resident_bytes = static_cast<int64_t>(prng.Below(1ULL << 40));
  r.peak_resident_bytes = 5;
  r.disk_bytes = 6;
  r.gpu = prng.Chance(1, 2) ? "" : R"([{"util":0.5}])";
  r.trouble = AnyText(prng);
  r.unkept = static_cast<int64_t>(prng.Below(9));
  r.unkept_in = AnyText(prng);
  r.at_term = prng.Chance(1, 2) ? "saved" : "";
  r.host_keys = {AnyText(prng)};
  r.ssh_user = AnyText(prng);
  r.doing = AnyText(prng);
  r.extra = AnyExtra(prng);
  return r;
}

// Equality by the encoding: it writes every field, which SetsEveryField below makes sure of.
TEST(Encoding, JobsRoundTrip) {
  Prng prng(11);
  for (int i = 0; i < 500; ++i) {
    const Job job = AnyJob(prng);
    const std::string text = EncodeJob(job);
    const auto back = DecodeJob("records/x.json", text);
    ASSERT_TRUE(back.ok()) << back.status().ToString() << text;
    ASSERT_EQ(EncodeJob(*back), text);
    EXPECT_EQ(back->extra, job.extra);
    EXPECT_EQ(back->name, job.name);
    EXPECT_EQ(back->result.has_value(), job.result.has_value());
    ASSERT_EQ(back->launches.size(), job.launches.size());
    ASSERT_EQ(back->attempts.size(), job.attempts.size());
    for (size_t k = 0; k < job.launches.size(); ++k) {
      const Request& request = RequestOf(*back, back->launches[k]);
      EXPECT_EQ(request.limit, RequestOf(job, job.launches[k]).limit);
      EXPECT_EQ(request.ask, RequestOf(job, job.launches[k]).ask);
      EXPECT_EQ(request.slots, RequestOf(job, job.launches[k]).slots);
      EXPECT_EQ(RequestToken("l", *back, request),
                RequestToken("l", job, RequestOf(job, job.launches[k])));
      EXPECT_EQ(back->launches[k].closed_at, job.launches[k].closed_at);
      EXPECT_EQ(back->launches[k].kept_until, job.launches[k].kept_until);
      EXPECT_EQ(back->launches[k].extra, job.launches[k].extra);
    }
    for (size_t k = 0; k < job.attempts.size(); ++k) {
      EXPECT_EQ(back->attempts[k].drain_until, job.attempts[k].drain_until);
      EXPECT_EQ(back->attempts[k].noticed, job.attempts[k].noticed);
      EXPECT_EQ(back->attempts[k].unsaved_at_term, job.attempts[k].unsaved_at_term);
      EXPECT_EQ(back->attempts[k].not_needed, job.attempts[k].not_needed);
    }
  }
}

json::Value Backwards(const json::Value& value) {
  json::Value out = value;
  if (value.is_array()) {
    for (json::Value& one : out) one = Backwards(one);
  } else if (value.is_object()) {
    out = json::Value::object();
    for (auto at = value.end(); at != value.begin();) {
      --at;
      out[at.key()] = Backwards(at.value());
    }
  }
  return out;
}

// Whoever else writes a record may order its members as it likes.
TEST(Encoding, ReadsMembersInAnyOrder) {
  Prng prng(13);
  for (int i = 0; i < 100; ++i) {
    const std::string text = EncodeJob(AnyJob(prng));
    const json::Value value = json::Value::parse(text);
    const auto back = DecodeJob("records/x.json", Backwards(value).dump());
    ASSERT_TRUE(back.ok()) << back.status().ToString() << text;
    // This kind of JSON sorts its members.
    ASSERT_EQ(nlohmann::json::parse(EncodeJob(*back)), nlohmann::json::parse(text));
  }
}

TEST(Encoding, ReportsRoundTrip) {
  Prng prng(12);
  for (int i = 0; i < 500; ++i) {
    const NodeReport report = AnyReport(prng);
    const std::string text = EncodeReport(report);
    const auto back = DecodeReport("reports/x/1-0.json", text);
    ASSERT_TRUE(back.ok()) << back.status().ToString() << text;
    ASSERT_EQ(EncodeReport(*back), text);
    EXPECT_EQ(back->gpu, report.gpu);
    EXPECT_EQ(back->notice, report.notice);
    EXPECT_EQ(back->cpu_seconds, report.cpu_seconds);
    EXPECT_EQ(back->log_lines, report.log_lines);
    EXPECT_EQ(back->stderr_tail, report.stderr_tail);
  }
}

struct Anything {
  template <typename T>
  operator T() const {  // NOLINT: implicit on purpose; never called, only its type is used
    std::abort();
  }
};
// How many members an aggregate has.
template <typename T, typename... Members>
constexpr size_t CountMembers() {
  if constexpr (requires { T{Members{}..., Anything{}}; }) {
    return CountMembers<T, Members..., Anything>();
  } else {
    return sizeof...(Members);
  }
}

// Not a test of the sizes but a reminder: a member that is added to a noun and forgotten in
// Fields() of encoding.cc would be lost without a word. Add it there, to docs/ledger.md, and then
// here.
TEST(Encoding, KnowsEveryMember) {
  EXPECT_EQ(CountMembers<Ending>(), 6u);
  EXPECT_EQ(CountMembers<Notice>(), 3u);
  EXPECT_EQ(CountMembers<CancelRequest>(), 2u);
  EXPECT_EQ(CountMembers<GitOrigin>(), 3u);
  EXPECT_EQ(CountMembers<Pin>(), 2u);
  EXPECT_EQ(CountMembers<Move>(), 10u);
  EXPECT_EQ(CountMembers<Refusal>(), 6u);
  EXPECT_EQ(CountMembers<Folded>(), 5u);
  EXPECT_EQ(CountMembers<Place>(), 4u);
  EXPECT_EQ(CountMembers<Ask>(), 6u);
  EXPECT_EQ(CountMembers<Offer>(), 4u);
  EXPECT_EQ(CountMembers<Request>(), 13u);
  EXPECT_EQ(CountMembers<Launch>(), 19u);
  EXPECT_EQ(CountMembers<Attempt>(), 21u);
  EXPECT_EQ(CountMembers<Job>(), 45u);
  EXPECT_EQ(CountMembers<NodeReport>(), 37u);
}

TEST(Encoding, RefusesNewerFormats) {
  Prng prng(1);
  Job job = AnyJob(prng);
  job.format = kRecordFormat + 1;
  const auto back = DecodeJob("records/abc.json", EncodeJob(job));
  ASSERT_EQ(back.code(), Code::kTooNew);
  EXPECT_NE(back.status().message().find("records/abc.json"), std::string::npos);
  EXPECT_FALSE(back.status().next().empty());
  // Also when the rest has changed beyond recognition.
  EXPECT_EQ(DecodeJob("k", R"({"format":18446744073709551615,"id":[1]})").code(), Code::kTooNew);
  EXPECT_EQ(DecodeReport("k", R"({"format":2})").code(), Code::kTooNew);
}

void ExpectBad(const std::string& text, const std::string& field) {
  const auto back = DecodeJob("records/j.json", text);
  ASSERT_EQ(back.code(), Code::kCorrupt) << text;
  EXPECT_NE(back.status().message().find("records/j.json: " + field), std::string::npos)
      << back.status().message();
}

// Each launch is one slot of a request, and each slot has its launch.
TEST(Encoding, LaunchesAreThoseOfTheRequests) {
  const std::string head = R"({"format":2,"id":"abcd","rev":3,"state":"Running","num_nodes":2,)"
                           R"("requests":[{"number":1,"slots":[0,1]}],"launches":[)";
  const std::string one = R"({"number":1,"slot":0,"request":1})";
  ASSERT_TRUE(
      DecodeJob("k", head + one + R"(,{"number":2,"slot":1,"request":1,"index":1}]})").ok());
  ExpectBad(head + one + "]}", "launches");
  for (const char* second :
       {R"({"number":2,"slot":0,"request":1})", R"({"number":2,"slot":0,"request":1,"index":1})",
        R"({"number":2,"slot":1,"request":2,"index":1})",
        R"({"number":2,"slot":1,"request":1,"index":2})",
        R"({"number":2,"slot":1,"request":1,"index":-1})"}) {
    ExpectBad(head + one + "," + second + "]}", "launches");
  }
  const std::string bare = R"({"format":2,"id":"a","rev":3,"state":"Running","num_nodes":1,)";
  ExpectBad(bare + R"("requests":[{"number":1,"slots":[]}]})", "requests[0].slots");
  ExpectBad(bare + R"("requests":[{"number":1}]})", "requests[0].slots");
  ExpectBad(bare + R"("launches":[{"number":1,"slot":0}]})", "launches[0].request");
}

// A name that this stoker does not know is not guessed at, nor lost: the record is left alone.
TEST(Encoding, AnUnknownClassOfRefusalIsNotGuessed) {
  const auto record = [](const std::string& what) {
    return R"({"format":2,"id":"abcd","rev":3,"state":"Running","num_nodes":1,"requests":[)"
           R"({"number":1,"slots":[0],"refusal":{"scope":"zone","at":"2026-11-23T01:00:01.000Z",)"
           R"("what":")" +
           what + R"("}}],"launches":[{"number":1,"slot":0,"request":1}]})";
  };
  ExpectBad(record("unheard-of"), "requests[0].refusal.what");
  EXPECT_TRUE(DecodeJob("k", record("not-yet-consistent")).ok());
}

// It was never released.
TEST(Encoding, ARecordOfTheFirstFormatIsSaidAndNotRead) {
  const auto back = DecodeJob(
      "records/abcd.json",
      R"({"format":1,"id":"abcd","rev":3,"state":"Running","num_nodes":1,"launches":[]})");
  ASSERT_EQ(back.code(), Code::kCorrupt);
  EXPECT_TRUE(StartsWith(back.status().message(), "records/abcd.json: was written before"))
      << back.status().message();
  EXPECT_TRUE(StartsWith(back.status().next(), "Nothing of it was touched"));
}

TEST(Encoding, SaysWhichFieldIsWrong) {
  const std::string good = R"("format":2,"id":"abcd","rev":3,"state":"Running","num_nodes":1)";
  ASSERT_TRUE(DecodeJob("k", "{" + good + "}").ok());
  const std::pair<const char*, const char*> kBad[] = {
      {R"("name":7)", "name"},
      {R"("state":"Dancing")", "state"},
      {R"("rev":1.5)", "rev"},
      {R"("rev":99999999999999999999)", "rev"},
      {R"("rev":9223372036854775808)", "rev"},
      {R"("num_nodes":0)", "num_nodes"},
      {R"("num_nodes":4294967297)", "num_nodes"},
      {R"("id":"../x")", "id"},
      {R"("created":"yesterday")", "created"},
      {R"("code_digest":"a/b")", "code_digest"},
      {R"("launches":{})", "launches"},
      {R"("launches":[{"number":1}])", "launches[0].slot"},
      {R"("launches":[{"number":2,"slot":0,"request":1},{"number":2,"slot":0,"request":1}])",
       "launches"},
      {R"("attempts":[{"number":1,"state":"Ended","ending":{"reason":"x"}}])",
       "attempts[0].ending.reason"},
      {R"("attempts":[{"number":1,"state":"Ended","restore":"../../etc"}])", "attempts[0].restore"},
      {R"("cancel":{"by":"x"})", "cancel.at"},
  };
  for (const auto& [text, field] : kBad) ExpectBad("{" + good + "," + text + "}", field);
  for (const char* text :
       {"", "{", "[]", "null", "{}", "\xff\xfe", R"({"format":"1"})", R"({"format":0})"}) {
    EXPECT_EQ(DecodeJob("k", text).code(), Code::kCorrupt) << text;
  }
}

TEST(Encoding, RefusesTheHuge) {
  const std::string deep =
      R"({"format":2,"x":)" + std::string(200'000, '[') + std::string(200'000, ']') + "}";
  EXPECT_EQ(DecodeJob("k", deep).code(), Code::kCorrupt);
  EXPECT_EQ(DecodeJob("k", std::string(kMaxRecordBytes + 1, ' ')).code(), Code::kCorrupt);
}

// What a pass would do for two thousand million nodes, or with the number after the largest.
TEST(Encoding, NumbersOfRecordsStayFarFromOverflow) {
  const std::string head = R"({"format":2,"id":"a","rev":0,"state":"Pending","num_nodes":)";
  const std::string time = R"("2026-11-23T01:00:00.000Z")";
  EXPECT_TRUE(DecodeJob("k", head + "1024}").ok());
  const std::string launch = R"(1,"launches":[{"number":)";
  const std::string attempt = R"(1,"attempts":[{"state":"Ended","number":)";
  for (const std::string& tail :
       {std::string("2147483647}"), launch + R"(2147483647,"slot":0}]})",
        launch + R"(1,"slot":2147483647}]})", launch + R"(1,"slot":0,"limit_ms":9e15}]})",
        launch + R"(1,"slot":0,"limit_ms":9223372036854775807}]})",
        attempt + R"(2147483647,"opened":)" + time + "}]}",
        attempt + R"(1,"run_ms":9223372036854775807}]})", attempt + R"(1,"run_ms":-1}]})",
        std::string(R"(1,"error_restarts":2147483647})")}) {
    EXPECT_EQ(DecodeJob("k", head + tail).code(), Code::kCorrupt) << tail;
  }
}

// JSON inside of a text is no way around the depth that a record may have.
TEST(Encoding, DeepTextStaysText) {
  Prng prng(11);
  NodeReport report = AnyReport(prng);
  for (const size_t depth : {size_t{40}, size_t{1'000'000}}) {
    report.gpu = std::string(depth, '[') + std::string(depth, ']');
    const auto back = DecodeReport("k", EncodeReport(report));
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(back->gpu, report.gpu);
  }
}

TEST(Encoding, BadUtf8AndNonNumbersAreStillWritten) {
  NodeReport report;
  report.job = "abcd";
  report.stderr_tail = "a\xff\xfe";
  report.cpu_seconds = std::numeric_limits<double>::quiet_NaN();
  report.gpu = "not json";
  report.extra = "neither";
  const auto back = DecodeReport("k", EncodeReport(report));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->stderr_tail, "a\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(back->gpu, "not json");
}

// Any damage gives a job or one of the two errors; never a crash, and never another job's fields.
TEST(Encoding, DamageIsAnErrorNeverACrash) {
  Prng prng(13);
  int refused = 0;
  for (int i = 0; i < Rounds(3000); ++i) {
    std::string text = EncodeJob(AnyJob(prng));
    for (uint64_t n = 1 + prng.Below(4); n > 0; --n) {
      const size_t at = prng.Below(text.size());
      switch (prng.Below(4)) {
        case 0:
          text[at] = static_cast<char>(prng.Below(256));
          break;
        case 1:
          text.erase(at, 1 + prng.Below(20));
          break;
        case 2:
          text.insert(at, text.substr(prng.Below(text.size()), prng.Below(30)));
          break;
        default:
          text.resize(at);
          break;
      }
      if (text.empty()) break;
    }
    const auto back = DecodeJob("k", text);
    if (back.ok()) {
      EXPECT_TRUE(DecodeJob("k", EncodeJob(*back)).ok());
    } else {
      ++refused;
      EXPECT_TRUE(back.code() == Code::kCorrupt || back.code() == Code::kTooNew);
    }
    (void)DecodeReport("k", text);
  }
  EXPECT_GT(refused, Rounds(1000));
}

}  // namespace
}  // namespace stoker
