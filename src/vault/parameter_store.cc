// SPDX-License-Identifier: Apache-2.0
// Sources: "PutParameter", "GetParameter", "GetParametersByPath", "DeleteParameter" (SSM API
// reference); "Managing parameter tiers", "Assigning parameter policies" (SSM user guide).
#include "vault/parameter_store.h"

#include <cmath>

#include "base/text.h"
#include "base/utf8.h"
#include "vault/aws_calls.h"

namespace stoker::vault {
namespace {

constexpr size_t kStandardBytes = 4096;
constexpr size_t kAdvancedBytes = 8192;
constexpr int kMostPages = 1000;

std::string Folder(const std::string& ledger) { return "/stoker/" + ledger; }

class ParameterStore : public Vault {
 public:
  ParameterStore(std::shared_ptr<ec2::AwsApi> api, std::string region)
      : api_(std::move(api)), region_(std::move(region)) {}

  Result<std::string> Read(const SecretReference& reference) override {
    const std::string what = "the parameter " + reference.name;
    const std::string region = RegionOfName(reference.name, region_);
    STOKER_ASSIGN(const Json got,
                  AskAws(*api_, {"ssm",
                                 region,
                                 "GetParameter",
                                 {{"Name", reference.name}, {"WithDecryption", true}},
                                 what}));
    const Json parameter = got.value("Parameter", Json::object());
    const auto value = parameter.find("Value");
    if (value != parameter.end() && value->is_string()) return value->get<std::string>();
    return Status(Code::kUnavailable, what + " in " + region + ": the answer has no value");
  }

  SecretReference PlaceOf(const SecretKey& key) const override {
    return {kParameterStore, Folder(key.ledger) + "/" + key.job + "/" + key.name, ""};
  }

  Status Check(const SecretKey& key, const std::string& value) const override {
    if (value.size() > kAdvancedBytes) {
      return Status(Code::kNoSpace,
                    "the secret " + key.name + " has " +
                        HumanSize(static_cast<int64_t>(value.size())) +
                        ", and a parameter of SSM holds 8 KiB",
                    "Put it into Secrets Manager, which holds 64 KiB, and write " + key.name +
                        ": aws-secret:NAME");
    }
    if (!IsUtf8(value)) {
      return Status(
          Code::kInvalid,
          "the secret " + key.name + " is no UTF-8 text, which a parameter of SSM must be",
          "Encode it, e.g. by base64, and let the program decode it");
    }
    return Status::Ok();
  }

  Status Put(const SecretKey& key, const std::string& value, WallTime expires) override {
    STOKER_TRY(Check(key, value));
    const std::string name = PlaceOf(key).name;
    Json body = {{"Name", name}, {"Value", value}, {"Type", "SecureString"}};
    if (value.size() > kStandardBytes) {
      // The tier that can, for which Amazon asks cents, also ends it by itself.
      body["Tier"] = "Advanced";
      const Json policy = {{"Type", "Expiration"},
                           {"Version", "1.0"},
                           {"Attributes", {{"Timestamp", FormatRfc3339(expires)}}}};
      body["Policies"] = Json::array({policy}).dump();
    }
    Json first = body;
    first["Tags"] = {{{"Key", "stoker-ledger"}, {"Value", key.ledger}},
                     {{"Key", "stoker-job"}, {"Value", key.job}},
                     {{"Key", "stoker-expires"}, {"Value", FormatRfc3339(expires)}}};
    Status put = PutOnce(std::move(first), name);
    if (!put.Is(Code::kExists)) return put;
    body["Overwrite"] = true;  // its tags stay: they cannot be given again with it
    return PutOnce(std::move(body), name);
  }

  // Values are not decrypted for it, and let go at once: the list that has none cannot be bound to
  // a prefix by a policy.
  Result<std::vector<KeptSecret>> List(const std::string& ledger) override {
    std::vector<KeptSecret> out;
    Json body = {{"Path", Folder(ledger)}, {"Recursive", true}, {"WithDecryption", false}};
    for (int page = 0; page < kMostPages; ++page) {
      STOKER_ASSIGN(const Json got, AskAws(*api_, {"ssm", region_, "GetParametersByPath", body,
                                                   "the parameters below " + Folder(ledger)}));
      for (const Json& one : got.value("Parameters", Json::array())) Take(one, ledger, &out);
      const auto next = got.find("NextToken");
      if (next == got.end() || !next->is_string() || next->get_ref<const std::string&>().empty())
        break;
      body["NextToken"] = *next;
    }
    return out;
  }

  Status Remove(const std::string& id) override {
    const auto gone = AskAws(
        *api_, {"ssm", region_, "DeleteParameter", {{"Name", id}}, "removing the parameter " + id});
    return gone.ok() || gone.status().Is(Code::kNotFound) ? Status::Ok() : gone.status();
  }

 private:
  Status PutOnce(Json body, const std::string& name) {
    return AskAws(*api_, {"ssm", region_, "PutParameter", std::move(body),
                          "putting the parameter " + name, true})
        .status();
  }

  static void Take(const Json& one, const std::string& ledger, std::vector<KeptSecret>* out) {
    const auto name = one.find("Name");
    if (name == one.end() || !name->is_string()) return;
    KeptSecret kept;
    kept.id = name->get<std::string>();
    const std::vector<std::string> parts = Split(kept.id, '/');  // "", stoker, ledger, job, name
    if (parts.size() != 5 || parts[2] != ledger) return;
    kept.job = parts[3];
    const auto changed = one.find("LastModifiedDate");
    if (changed != one.end() && changed->is_number()) {
      kept.since = WallTime{static_cast<int64_t>(changed->get<double>() * 1000)};
    }
    out->push_back(std::move(kept));
  }

  const std::shared_ptr<ec2::AwsApi> api_;
  const std::string region_;
};

}  // namespace

std::unique_ptr<Vault> MakeParameterStore(std::shared_ptr<ec2::AwsApi> api,
                                          const std::string& region) {
  return std::make_unique<ParameterStore>(std::move(api), region);
}

Result<std::unique_ptr<Vault>> OpenParameterStore(const std::string& region) {
  STOKER_ASSIGN(auto in, AwsIn(region));
  return MakeParameterStore(std::move(in.first), in.second);
}

}  // namespace stoker::vault
