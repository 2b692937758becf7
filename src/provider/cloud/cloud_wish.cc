// SPDX-License-Identifier: Apache-2.0
#include "provider/cloud/cloud_wish.h"

#include <algorithm>

#include "base/text.h"
#include "net/http_message.h"
#include "sys/file.h"

namespace stoker::cloud {

Wish WishOf(const OfferAsk& ask) {
  const ResourcesSpec& asked = ask.spec.resources;
  Wish wish;
  wish.region = ask.where;
  wish.zone = ask.within;
  wish.type = asked.instance_type;
  wish.image = asked.image_id;
  wish.spot = asked.use_spot;
  wish.cpus = asked.cpus;
  wish.memory = asked.memory;
  wish.gpus = asked.gpus;
  wish.gpu_name = asked.gpu_name;
  wish.disk_gib = asked.disk_gib;
  wish.labels = asked.labels;
  wish.nodes = ask.spec.num_nodes;
  const std::string& workdir = ask.spec.workdir;
  wish.packages = !ask.spec.setup.empty() ||
                  (!workdir.empty() && sys::FileExists(workdir + "/requirements.txt"));
  return wish;
}

Status CheckReach(const OfferAsk& ask, const std::vector<std::string>& schemes,
                  const std::string& machines) {
  const std::string& scheme = schemes.front();
  const std::string store_url = ask.ledger.store->url();
  const auto reached = [&](const std::string& url) {
    return std::any_of(schemes.begin(), schemes.end(),
                       [&](const std::string& each) { return StartsWith(url, each); });
  };
  if (!reached(store_url)) {
    return Status(Code::kInvalid, machines + " cannot reach the store " + Printable(store_url),
                  "Give them a bucket: stoker config set store " + scheme + "bucket/prefix");
  }
  for (const InputSpec& input : ask.spec.inputs) {
    if (reached(input.source)) continue;
    return Status(
        Code::kInvalid,
        machines + " cannot reach the input '" + input.name + "': " + Printable(input.source),
        "Copy it first: stoker sync " + ShellQuote(Printable(input.source)) + " " + scheme +
            "bucket/" + input.name);
  }
  return Status::Ok();
}

Status CheckEndpoint(const std::string& what, const std::string& endpoint,
                     const std::string& variable) {
  if (endpoint.empty()) return Status::Ok();
  STOKER_ASSIGN(const HttpUrl url, ParseHttpUrl(endpoint));
  const bool here = url.host == "localhost" || url.host == "::1" || StartsWith(url.host, "127.");
  if (!here) return Status::Ok();
  return Status(Code::kInvalid,
                what + " is set to " + endpoint + ", which other machines cannot reach",
                "Unset " + variable + ", or give it an address that they reach");
}

}  // namespace stoker::cloud
