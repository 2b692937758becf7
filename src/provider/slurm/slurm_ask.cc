// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/slurm_ask.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "spec/places/slurm/words.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostText = 16 << 10;
constexpr int64_t kMostCount = 1'000'000;
constexpr int64_t kMostMs = int64_t{10} * 366 * 24 * 3'600'000;

bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) != 0x7f;
  });
}

bool IsAbsolute(const std::string& path) {
  return path.size() > 1 && path[0] == '/' && path.size() < 4096 && IsPrintable(path) &&
         path.find('%') == std::string::npos &&  // sbatch replaces patterns in names of files
         IsSafeRelativePath(path.substr(1));
}

// Typed members of one object, with the first thing wrong.
class Members {
 public:
  explicit Members(const Json& json) : json_(json) {}

  void Word(const char* key, std::string* out) {
    const Json* member = Find(key);
    if (member == nullptr) return;
    if (!member->is_string() || !IsSlurmWord(member->get<std::string>())) return Fail(key);
    *out = member->get<std::string>();
  }
  void Text(const char* key, std::string* out) {
    const Json* member = Find(key);
    if (member == nullptr) return;
    if (!member->is_string() || !IsPrintable(member->get<std::string>())) return Fail(key);
    *out = member->get<std::string>();
  }
  template <typename T>
  void Number(const char* key, int64_t low, int64_t high, std::optional<T>* out) {
    const Json* member = Find(key);
    if (member == nullptr) return;
    const bool fits = member->is_number_integer() && member->get<int64_t>() >= low &&
                      member->get<int64_t>() <= high;
    if (!fits) return Fail(key);
    *out = static_cast<T>(member->get<int64_t>());
  }
  void Time(const char* key, std::optional<Duration>* out) {
    std::optional<int64_t> ms;
    Number(key, 1, kMostMs, &ms);
    if (ms) *out = Duration::Ms(*ms);
  }
  void Flag(const char* key, bool* out) {
    const Json* member = Find(key);
    if (member == nullptr) return;
    if (!member->is_boolean()) return Fail(key);
    *out = member->get<bool>();
  }
  void Options(const char* key, std::vector<std::string>* out) {
    const Json* member = Find(key);
    if (member == nullptr) return;
    if (!member->is_array()) return Fail(key);
    for (const Json& item : *member) {
      if (!item.is_string() || !WhyNoSlurmOption(item.get<std::string>()).empty()) {
        return Fail(key);
      }
      out->push_back(item.get<std::string>());
    }
  }
  Status Done() const {
    if (!wrong_.empty()) return Status(Code::kInvalid, "what is asked of Slurm: " + wrong_);
    if (seen_ != json_.size()) {
      return Status(Code::kInvalid, "what is asked of Slurm has parts that this stoker knows not",
                    "A newer stoker asked: use that one");
    }
    return Status::Ok();
  }
  void Fail(const char* key) {
    if (wrong_.empty()) wrong_ = "'" + std::string(key) + "' is wrong";
  }

 private:
  const Json* Find(const char* key) {
    const auto it = json_.find(key);
    if (it == json_.end()) return nullptr;
    ++seen_;
    return &*it;
  }
  const Json& json_;
  size_t seen_ = 0;
  std::string wrong_;
};

}  // namespace

std::string EncodeSlurmAsk(const SlurmAsk& ask) {
  Json json = Json::object();
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) json[key] = value;
  };
  text("state", ask.state);
  text("path", ask.path);
  text("account", ask.account);
  text("qos", ask.qos);
  text("constraint", ask.constraint);
  text("reservation", ask.reservation);
  text("gpu_name", ask.gpu_name);
  if (ask.exclusive) json["exclusive"] = true;
  if (ask.time) json["time_ms"] = ask.time->ms;
  if (ask.notice) json["notice_ms"] = ask.notice->ms;
  if (ask.cpus) json["cpus"] = *ask.cpus;
  if (ask.memory) json["memory"] = *ask.memory;
  if (ask.gpus) json["gpus"] = *ask.gpus;
  if (!ask.options.empty()) json["options"] = ask.options;
  return json.empty() ? "" : json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<SlurmAsk> ParseSlurmAsk(const std::string& text) {
  SlurmAsk ask;
  if (text.empty()) return ask;
  const Json json = Json::parse(text.substr(0, kMostText), nullptr, false);
  if (!json.is_object()) return Status(Code::kInvalid, "what is asked of Slurm is no JSON object");
  Members members(json);
  members.Text("state", &ask.state);
  members.Text("path", &ask.path);
  members.Word("account", &ask.account);
  members.Word("qos", &ask.qos);
  members.Word("constraint", &ask.constraint);
  members.Word("reservation", &ask.reservation);
  members.Word("gpu_name", &ask.gpu_name);
  members.Flag("exclusive", &ask.exclusive);
  members.Time("time_ms", &ask.time);
  members.Time("notice_ms", &ask.notice);
  members.Number("cpus", 1, kMostCount, &ask.cpus);
  members.Number("memory", 1, int64_t{1} << 60, &ask.memory);
  members.Number("gpus", 0, kMostCount, &ask.gpus);
  members.Options("options", &ask.options);
  if (!ask.state.empty() && !IsAbsolute(ask.state)) members.Fail("state");
  STOKER_TRY(members.Done());
  return ask;
}

}  // namespace stoker
