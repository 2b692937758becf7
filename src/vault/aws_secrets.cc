// SPDX-License-Identifier: Apache-2.0
// Source: "GetSecretValue" (Secrets Manager API reference).
#include "vault/aws_secrets.h"

#include "vault/aws_calls.h"

namespace stoker::vault {
namespace {

Status OnlyRead() {
  return Status(Code::kInvalid, "Secrets Manager keeps no secrets of jobs: it is only read");
}

class AwsSecrets : public Vault {
 public:
  AwsSecrets(std::shared_ptr<ec2::AwsApi> api, std::string region)
      : api_(std::move(api)), region_(std::move(region)) {}

  Result<std::string> Read(const SecretReference& reference) override {
    const std::string what = "the secret " + reference.name + " of Secrets Manager";
    const std::string region = RegionOfName(reference.name, region_);
    STOKER_ASSIGN(
        const Json got,
        AskAws(*api_,
               {"secretsmanager", region, "GetSecretValue", {{"SecretId", reference.name}}, what}));
    const auto text = got.find("SecretString");
    if (text != got.end() && text->is_string()) return text->get<std::string>();
    return Status(Code::kInvalid, what + " in " + region + " holds bytes, no text",
                  "Store it as a string");
  }

  SecretReference PlaceOf(const SecretKey& key) const override {
    return {kAwsSecret, key.name, ""};
  }
  Status Check(const SecretKey&, const std::string&) const override { return OnlyRead(); }
  Status Put(const SecretKey&, const std::string&, WallTime) override { return OnlyRead(); }
  Result<std::vector<KeptSecret>> List(const std::string&) override { return OnlyRead(); }
  Status Remove(const std::string&) override { return OnlyRead(); }

 private:
  const std::shared_ptr<ec2::AwsApi> api_;
  const std::string region_;
};

}  // namespace

std::unique_ptr<Vault> MakeAwsSecrets(std::shared_ptr<ec2::AwsApi> api, const std::string& region) {
  return std::make_unique<AwsSecrets>(std::move(api), region);
}

Result<std::unique_ptr<Vault>> OpenAwsSecrets(const std::string& region) {
  STOKER_ASSIGN(auto in, AwsIn(region));
  return MakeAwsSecrets(std::move(in.first), in.second);
}

}  // namespace stoker::vault
