// SPDX-License-Identifier: Apache-2.0
#include "provider/ssh/box_words.h"

#include "base/digest.h"
#include "base/json.h"
#include "base/text.h"
#include "job/job.h"

namespace stoker {
namespace {

constexpr int64_t kMostNumber = 1'000'000'000;
constexpr int64_t kMostMs = int64_t{100'000'000'000'000};
constexpr size_t kMostText = 4096;
constexpr size_t kMostList = 10'000;

// Typed fields of what came from elsewhere, with a failure that is remembered.
class Taker {
 public:
  explicit Taker(const BoxJson& in) : in_(in) {}
  std::string Text(const char* key, size_t most = kMostText) {
    const BoxJson* value = Find(key);
    if (value != nullptr && value->is_string() &&
        value->get_ref<const std::string&>().size() <= most) {
      return value->get<std::string>();
    }
    Fail(key);
    return "";
  }
  int64_t Number(const char* key, int64_t low, int64_t high) {
    const BoxJson* value = Find(key);
    if (value != nullptr && value->is_number_integer()) {
      const int64_t number = value->get<int64_t>();
      if (number >= low && number <= high) return number;
    }
    Fail(key);
    return low;
  }
  int Count(const char* key) { return static_cast<int>(Number(key, 0, kMostNumber)); }
  bool Flag(const char* key) { return Number(key, 0, 1) == 1; }
  std::vector<int> Counts(const char* key) {
    std::vector<int> out;
    const BoxJson* list = Find(key);
    if (list == nullptr || !list->is_array() || list->size() > kMostList) Fail(key);
    if (!status_.ok()) return out;
    for (const BoxJson& item : *list) {
      const int64_t number = item.is_number_integer() ? item.get<int64_t>() : -1;
      if (number < 0 || number > kMostNumber) Fail(key);
      out.push_back(static_cast<int>(number));
    }
    return out;
  }
  const BoxJson* List(const char* key) {
    const BoxJson* list = Find(key);
    if (list != nullptr && list->is_array() && list->size() <= kMostList) return list;
    Fail(key);
    return nullptr;
  }
  const BoxJson* Find(const char* key) const {
    const auto found = in_.is_object() ? in_.find(key) : in_.end();
    return in_.is_object() && found != in_.end() ? &*found : nullptr;
  }
  void Fail(const std::string& key) {
    if (status_.ok()) status_ = Status(Code::kCorrupt, "its answer's " + key + " makes no sense");
  }
  const Status& status() const { return status_; }

 private:
  const BoxJson& in_;
  Status status_;
};

// Any bytes.
BoxJson PutBytes(const std::string& bytes) { return HexOf(bytes); }

std::optional<std::string> BytesOf(const BoxJson& in) {
  if (!in.is_string()) return std::nullopt;
  const auto& hex = in.get_ref<const std::string&>();
  if (hex.size() % 2 != 0) return std::nullopt;
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string out;
  out.reserve(hex.size() / 2);
  for (size_t i = 0; i < hex.size(); i += 2) {
    const int high = digit(hex[i]);
    const int low = digit(hex[i + 1]);
    if (high < 0 || high > 15 || low < 0 || low > 15) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}

BoxJson PutPairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
  BoxJson list = BoxJson::array();
  for (const auto& [name, value] : pairs) list.push_back({PutBytes(name), PutBytes(value)});
  return list;
}

void TakePairs(Taker& in, const char* key, std::vector<std::pair<std::string, std::string>>* out) {
  const BoxJson* list = in.List(key);
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const BoxJson& pair = (*list)[i];
    const bool two = pair.is_array() && pair.size() == 2;
    const auto name = two ? BytesOf(pair[0]) : std::nullopt;
    const auto value = two ? BytesOf(pair[1]) : std::nullopt;
    if (!name || !value) return in.Fail(key);
    out->emplace_back(*name, *value);
  }
}

BoxJson PutRefusal(const Refusal& refusal) {
  return {{"what", std::string(Name(refusal.what))},
          {"scope", std::string(Name(refusal.scope))},
          {"wait_ms", refusal.wait.ms},
          {"message", refusal.message}};
}

std::optional<Refusal> TakeRefusal(const BoxJson& in) {
  Taker take(in);
  const auto what = ParseName<RefusalClass>(take.Text("what"));
  const auto scope = ParseName<RefusalScope>(take.Text("scope"));
  Refusal refusal;
  refusal.wait = Duration::Ms(take.Number("wait_ms", 0, kMostMs));
  refusal.message = take.Text("message", 1 << 16);
  if (!what || !scope || !take.status().ok()) return std::nullopt;
  refusal.what = *what;
  refusal.scope = *scope;
  return refusal;
}

Result<InstanceSeen> TakeOneSeen(const BoxJson& in) {
  Taker take(in);
  InstanceSeen seen;
  seen.id = take.Text("id");
  seen.token = take.Text("token");
  seen.ledger_id = take.Text("ledger_id");
  seen.job = take.Text("job");
  seen.launch = take.Count("launch");
  seen.index = take.Count("index");
  seen.state = static_cast<InstanceState>(
      take.Number("state", 0, static_cast<int64_t>(InstanceState::kGone)));
  seen.address = take.Text("address");
  seen.why = take.Text("why", 1 << 16);
  seen.expires.ms = take.Number("expires_ms", 0, kMostMs);
  if (take.Find("up_for_ms") != nullptr) {
    seen.up_for = Duration::Ms(take.Number("up_for_ms", 0, kMostMs));
  }
  seen.freed = take.Flag("freed");
  if (!take.status().ok()) return take.status();
  return seen;
}

}  // namespace

std::string BoxText(const BoxJson& in, const char* key) {
  const auto found = in.is_object() ? in.find(key) : in.end();
  return in.is_object() && found != in.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string BoxAnswer(const Status& failed, const std::optional<Refusal>& refusal) {
  BoxJson out = {{"failed", static_cast<int>(failed.code())},
                 {"message", failed.message()},
                 {"next", failed.next()}};
  if (refusal) out["refusal"] = PutRefusal(*refusal);
  return BoxAnswer(out);
}

std::string BoxAnswer(const BoxJson& value) {
  return value.dump(-1, ' ', false, BoxJson::error_handler_t::replace);
}

Status FailureOf(const BoxJson& answer, std::optional<Refusal>* refusal) {
  Taker take(answer);
  if (take.Find("failed") == nullptr) return Status::Ok();
  const auto code = static_cast<Code>(take.Number("failed", static_cast<int64_t>(Code::kInvalid),
                                                  static_cast<int64_t>(Code::kInternal)));
  const Status failed(code, Printable(take.Text("message", 1 << 16)),
                      Printable(take.Text("next", 1 << 16)));
  STOKER_TRY(take.status());
  if (const BoxJson* told = take.Find("refusal"); told != nullptr && refusal != nullptr) {
    *refusal = TakeRefusal(*told);
  }
  return failed;
}

void PutRequest(const LaunchRequest& r, BoxJson* out) {
  *out = {{"token", r.token},         {"ledger_id", r.ledger_id},
          {"store_url", r.store_url}, {"job", r.job},
          {"options", r.ask.options}, {"launches", r.launches},
          {"slots", r.slots},         {"binary_digest", r.binary_digest},
          {"limit_ms", r.limit.ms},   {"not_after_ms", r.not_after.ms},
          {"ending", r.ending}};
}

Result<LaunchRequest> TakeRequest(const BoxJson& in) {
  Taker take(in);
  LaunchRequest r;
  r.token = take.Text("token");
  r.ledger_id = take.Text("ledger_id");
  r.store_url = take.Text("store_url");
  r.job = take.Text("job");
  r.ask.options = take.Text("options", 1 << 16);
  r.launches = take.Counts("launches");
  r.slots = take.Counts("slots");
  r.binary_digest = take.Text("binary_digest");
  r.limit = Duration::Ms(take.Number("limit_ms", 0, kMostMs));
  r.not_after.ms = take.Number("not_after_ms", 0, kMostMs);
  r.ending = take.Text("ending");
  STOKER_TRY(take.status());
  return r;
}

void PutPrivate(const LocalPrivate& content, BoxJson* out) {
  *out = {{"shell", PutPairs(content.shell)},
          {"secrets", PutPairs(content.secrets)},
          {"workdir", PutBytes(content.workdir)}};
}

Result<LocalPrivate> TakePrivate(const BoxJson& in) {
  Taker take(in);
  LocalPrivate content;
  TakePairs(take, "shell", &content.shell);
  TakePairs(take, "secrets", &content.secrets);
  const BoxJson* workdir = take.Find("workdir");
  const auto bytes = workdir != nullptr ? BytesOf(*workdir) : std::nullopt;
  if (!bytes) take.Fail("workdir");
  STOKER_TRY(take.status());
  content.workdir = *bytes;
  return content;
}

void PutSeen(const InstancesSeen& seen, BoxJson* out) {
  *out = BoxJson::array();
  for (const InstanceSeen& each : seen) {
    BoxJson one = {{"id", each.id},
                   {"token", each.token},
                   {"ledger_id", each.ledger_id},
                   {"job", each.job},
                   {"launch", each.launch},
                   {"index", each.index},
                   {"state", static_cast<int>(each.state)},
                   {"address", each.address},
                   {"why", each.why},
                   {"expires_ms", std::max<int64_t>(each.expires.ms, 0)},
                   {"freed", each.freed ? 1 : 0}};
    if (each.up_for) one["up_for_ms"] = std::max<int64_t>(each.up_for->ms, 0);
    out->push_back(std::move(one));
  }
}

Result<InstancesSeen> TakeSeen(const BoxJson& in) {
  Taker take(in);
  InstancesSeen out;
  const BoxJson* list = take.List("machines");
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    STOKER_ASSIGN(InstanceSeen seen, TakeOneSeen((*list)[i]));
    out.push_back(std::move(seen));
  }
  STOKER_TRY(take.status());
  return out;
}

void PutHello(const BoxHello& hello, BoxJson* out) {
  *out = {{"host", hello.host}, {"address", hello.address}, {"shared", hello.shared}};
}

Result<BoxHello> TakeHello(const BoxJson& in) {
  Taker take(in);
  BoxHello hello;
  hello.host = take.Text("host");
  hello.address = take.Text("address");
  hello.shared = Printable(take.Text("shared"));
  STOKER_TRY(take.status());
  if (!IsSafeName(hello.host)) return Status(Code::kCorrupt, "it has no id that makes sense");
  return hello;
}

void PutProspect(const BoxProspect& prospect, BoxJson* out) {
  *out = {{"never", prospect.never},   {"starts", prospect.starts ? 1 : 0},
          {"place", prospect.place},   {"running", prospect.running},
          {"of_job", prospect.of_job}, {"room", prospect.room},
          {"store", prospect.store}};
}

Result<BoxProspect> TakeProspect(const BoxJson& in) {
  Taker take(in);
  BoxProspect prospect;
  prospect.never = Printable(take.Text("never", 1 << 16));
  prospect.starts = take.Flag("starts");
  prospect.place = take.Count("place");
  prospect.running = take.Count("running");
  prospect.of_job = take.Count("of_job");
  prospect.room = take.Count("room");
  prospect.store = Printable(take.Text("store", 1 << 16));
  STOKER_TRY(take.status());
  return prospect;
}

}  // namespace stoker
