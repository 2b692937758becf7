// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_rights.h"

#include "base/json.h"
#include "spec/text/infra.h"
#include "store/rights.h"

namespace stoker::cli {
namespace {

// With `infra`, those of the places that it names, too.
Result<Rights> RightsOf(Context& context, const std::string& infra) {
  STOKER_ASSIGN(const stoker::Settings* settings, context.settings());
  STOKER_ASSIGN(Rights rights, RightsFor(settings->store, RegionOfRights(settings->store)));
  if (infra.empty()) return rights;
  const Infra parts = ParseInfra(infra);
  STOKER_ASSIGN(Broker * broker, context.broker(parts.provider));
  return broker->AddRights(std::move(rights), settings->store, parts.where);
}

}  // namespace

Status PrintRights(Context& context, const std::string& infra) {
  STOKER_ASSIGN(const Rights rights, RightsOf(context, infra));
  if (context.json) {
    const nlohmann::ordered_json both = {
        {"submitter", nlohmann::ordered_json::parse(rights.submitter)},
        {"node", nlohmann::ordered_json::parse(rights.node)}};
    context.Print(both.dump() + "\n");
    return Status::Ok();
  }
  context.Print("submitter.json, for whoever submits and looks:\n" + rights.submitter +
                "\n\nnode.json, for machines that run jobs:\n" + rights.node + "\n\n" + rights.how);
  return Status::Ok();
}

}  // namespace stoker::cli
