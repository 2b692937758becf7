// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_boot.h"

#include <unistd.h>

#include <cerrno>

#include "base/json.h"
#include "base/text.h"
#include "sys/file.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMaxBytes = 1 << 20;
constexpr int64_t kMostNumber = 1'000'000'000;
constexpr int64_t kMostAllocation = 4'000'000'000;
constexpr int64_t kMostMs = int64_t{100'000'000'000'000};  // as in the job's record

std::string BootFile(const std::string& dir) { return dir + "/boot.json"; }
std::string MachineFile(const std::string& dir) { return dir + "/machine.json"; }
std::string LeaseFile(const std::string& dir) { return dir + "/lease.json"; }
std::string NoticeFile(const std::string& dir) { return dir + "/notice.json"; }

// Power cuts end the instance anyway, so nothing waits for the disk.
Status Write(const std::string& path, const Json& json) {
  return sys::WriteFileAtomic(path, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n",
                              0600, false);
}

Result<Json> Read(const std::string& path) {
  STOKER_ASSIGN(const std::string text, sys::ReadFile(path, kMaxBytes));
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Status(Code::kCorrupt, path + ": is not a JSON object");
  return json;
}

// Typed fields, with a failure that is remembered.
class Fields {
 public:
  Fields(const Json& json, std::string path) : json_(json), path_(std::move(path)) {}
  std::string Text(const char* key) {
    const auto it = json_.find(key);
    if (it != json_.end() && it->is_string()) return it->get<std::string>();
    Fail(key);
    return "";
  }
  // From 0 to `most`.
  int64_t Number(const char* key, int64_t most) {
    const auto it = json_.find(key);
    if (it != json_.end() && it->is_number_unsigned() &&
        it->get<uint64_t>() <= static_cast<uint64_t>(most)) {
      return it->get<int64_t>();
    }
    Fail(key);
    return 0;
  }
  WallTime Time(const char* key) {
    const auto time = ParseRfc3339(Text(key));
    if (!time.ok()) Fail(key);
    return time.value_or(WallTime{});
  }
  std::vector<std::string> List(const char* key) {
    std::vector<std::string> out;
    const auto it = json_.find(key);
    if (it == json_.end() || !it->is_array()) Fail(key);
    if (!status_.ok()) return out;
    for (const Json& item : *it) {
      if (!item.is_string()) Fail(key);
      out.push_back(item.is_string() ? item.get<std::string>() : "");
    }
    return out;
  }
  const Status& status() const { return status_; }

 private:
  void Fail(const char* key) {
    if (status_.ok()) status_ = Status(Code::kCorrupt, path_ + ": " + key + " is missing or wrong");
  }
  const Json& json_;
  const std::string path_;
  Status status_;
};

}  // namespace

Status WriteLocalBoot(const std::string& dir, const LocalBoot& boot) {
  const LaunchRequest& r = boot.request;
  return Write(BootFile(dir), {{"format", 1},
                               {"token", r.token},
                               {"ledger_id", r.ledger_id},
                               {"store_url", r.store_url},
                               {"job", r.job},
                               {"launch", boot.launch},
                               {"index", boot.index},
                               {"slot", boot.slot},
                               {"options", r.ask.options},
                               {"binary_digest", r.binary_digest},
                               {"limit_ms", r.limit.ms},
                               {"not_after", FormatRfc3339(r.not_after)},
                               {"ending", r.ending},
                               {"instance_id", boot.instance_id},
                               {"binary", boot.binary},
                               {"agent_argv", boot.agent_argv},
                               {"created", FormatRfc3339(boot.created)},
                               {"boot_id", boot.boot_id},
                               {"address", boot.address},
                               {"apart", boot.apart ? 1 : 0},
                               {"allocation", boot.allocation.job},
                               {"stepd", boot.allocation.stepd},
                               {"stepd_began", boot.allocation.stepd_began},
                               {"outlive", boot.allocation.outlive ? 1 : 0}});
}

Result<LocalBoot> ReadLocalBoot(const std::string& dir) {
  STOKER_ASSIGN(const Json json, Read(BootFile(dir)));
  Fields fields(json, BootFile(dir));
  if (fields.Number("format", kMostNumber) > 1) {
    return Status(Code::kTooNew, BootFile(dir) + ": was written by a newer stoker");
  }
  LocalBoot boot;
  LaunchRequest& r = boot.request;
  r.token = fields.Text("token");
  r.ledger_id = fields.Text("ledger_id");
  r.store_url = fields.Text("store_url");
  r.job = fields.Text("job");
  boot.launch = static_cast<int>(fields.Number("launch", kMostNumber));
  // Binaries before there were requests for several did not say it.
  if (json.contains("index")) boot.index = static_cast<int>(fields.Number("index", kMostNumber));
  if (json.contains("slot")) boot.slot = static_cast<int>(fields.Number("slot", kMostNumber));
  if (json.contains("options")) r.ask.options = fields.Text("options");
  r.binary_digest = fields.Text("binary_digest");
  r.limit = Duration::Ms(fields.Number("limit_ms", kMostMs));
  r.not_after = fields.Time("not_after");
  r.ending = fields.Text("ending");
  boot.instance_id = fields.Text("instance_id");
  boot.binary = fields.Text("binary");
  boot.agent_argv = fields.List("agent_argv");
  boot.created = fields.Time("created");
  boot.boot_id = fields.Text("boot_id");
  if (json.contains("address")) boot.address = fields.Text("address");
  if (json.contains("apart")) boot.apart = fields.Number("apart", 1) == 1;
  if (json.contains("allocation")) {
    boot.allocation.job = fields.Number("allocation", kMostAllocation);
    boot.allocation.stepd = static_cast<int>(fields.Number("stepd", kMostNumber));
    boot.allocation.stepd_began = static_cast<uint64_t>(fields.Number("stepd_began", kMostMs));
    boot.allocation.outlive = fields.Number("outlive", 1) == 1;
  }
  STOKER_TRY(fields.status());
  return boot;
}

Status WriteLocalMachineInfo(const std::string& dir, const LocalMachineInfo& info) {
  // "port" is for a stoker of before, still running, which takes a file without it for damaged and
  // the machine for one that never came up.
  return Write(MachineFile(dir), {{"pid", info.pid},
                                  {"address", info.address},
                                  {"started", FormatRfc3339(info.started)},
                                  {"port", 0}});
}

Result<LocalMachineInfo> ReadLocalMachineInfo(const std::string& dir) {
  STOKER_ASSIGN(const Json json, Read(MachineFile(dir)));
  Fields fields(json, MachineFile(dir));
  LocalMachineInfo info;
  info.pid = static_cast<int>(fields.Number("pid", kMostNumber));
  info.address = fields.Text("address");
  info.started = fields.Time("started");
  STOKER_TRY(fields.status());
  return info;
}

Result<WallTime> ReadLocalLease(const std::string& dir) {
  STOKER_ASSIGN(const Json json, Read(LeaseFile(dir)));
  Fields fields(json, LeaseFile(dir));
  const WallTime expires = fields.Time("expires");
  STOKER_TRY(fields.status());
  return expires;
}

Status RenewLocalLease(const std::string& dir, WallTime expires) {
  return Write(LeaseFile(dir), {{"expires", FormatRfc3339(expires)}});
}

Result<std::optional<Notice>> ReadLocalNotice(const std::string& dir) {
  auto json = Read(NoticeFile(dir));
  if (json.code() == Code::kNotFound) return std::optional<Notice>();
  if (!json.ok()) return json.status();
  Fields fields(*json, NoticeFile(dir));
  Notice notice;
  notice.action = fields.Text("action");
  notice.until = fields.Time("time");
  STOKER_TRY(fields.status());
  return std::optional<Notice>(notice);
}

Status GiveLocalNotice(const std::string& dir, const Notice& notice) {
  return Write(NoticeFile(dir), {{"action", notice.action}, {"time", FormatRfc3339(notice.until)}});
}

Status WithdrawLocalNotice(const std::string& dir) {
  if (unlink(NoticeFile(dir).c_str()) == 0 || errno == ENOENT) return Status::Ok();
  return ErrnoStatus("removing " + NoticeFile(dir), errno);
}

Status WriteLocalReason(const std::string& dir, const std::string& why) {
  return sys::WriteFileAtomic(dir + "/why", why, 0600, false);
}

bool HasLocalReason(const std::string& dir) { return sys::FileExists(dir + "/why"); }

}  // namespace stoker
