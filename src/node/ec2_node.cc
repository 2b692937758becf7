// SPDX-License-Identifier: Apache-2.0
#include "node/ec2_node.h"

#include <chrono>
#include <future>
#include <utility>

#include "ledger/places.h"
#include "ledger/records.h"
#include "provider/cloud/cloud_launch.h"
#include "provider/ec2/ec2_host.h"
#include "provider/ec2/ec2_metadata.h"

namespace stoker::node {

namespace {

constexpr std::chrono::seconds kAskWhoEnds{2};

// What stoker ends itself is of a closed launch.
Status CancelByOwner(Ledger& ledger, const HostIdentity& me) {
  STOKER_ASSIGN(const JobRead asked, ReadJob(ledger, me.request.job));
  return MutateJob(ledger, me.request.job,
                   [&](Job& record) -> Result<bool> {
                     const Launch* const launch = FindLaunch(record, me.launch);
                     const bool open = launch != nullptr && !launch->closed;
                     if (!open || IsFinal(record.state) || record.cancel) return false;
                     record.cancel =
                         CancelRequest{asked.store_now, "who ended " + me.instance_id + " at ec2"};
                     return true;
                   })
      .status();
}

}  // namespace

Result<std::unique_ptr<HostPlatform>> Ec2Node::FindHost(const std::string& dir, Clock& clock) {
  STOKER_ASSIGN(const LaunchRequest request, ReadEc2Launch(dir));
  Ec2HostOptions options;
  options.dir = dir;
  options.instance_dir = cloud::kInstanceDir;
  options.boot_id_file = "/run/stoker/boot-id";
  STOKER_ASSIGN(options.metadata, MakeEc2Metadata({}, clock));
  STOKER_ASSIGN(const MachineIdentity me, options.metadata->Identity());
  options.drill = [this, id = me.instance_id,
                   job = request.job]() -> Result<std::optional<Duration>> {
    const std::lock_guard lock(mutex_);
    if (store_ == nullptr) return std::optional<Duration>();
    return ReadDrill(*store_, job, id);
  };
  options.tag = [this, region = request.ask.place.region](const std::string& id,
                                                          WallTime deadline) -> Status {
    ec2::AwsApi* const api = api_;
    if (api == nullptr) return Status(Code::kUnavailable, "it is still starting");
    return TagExpiry(*api, region, id, deadline);
  };
  options.power_off = PowerOffBySystemd;
  return MakeEc2Host(std::move(options), clock);
}

Status Ec2Node::Use(Providers& providers, ObjectStore& store) {
  STOKER_ASSIGN(owned_, providers.Aws());
  api_ = owned_.get();
  const std::lock_guard lock(mutex_);
  store_ = &store;
  return Status::Ok();
}

void Ec2Node::HeedOwner(Ledger& ledger, const HostIdentity& me) {
  const auto asked = std::make_shared<std::promise<void>>();
  auto done = asked->get_future();
  {
    const std::lock_guard lock(mutex_);
    if (store_ == nullptr || owner_.joinable()) return;
    owner_ = std::thread([api = owned_, asked, &ledger, me] {
      const auto ends = IsEndedByOwner(*api, me.request.ask.place.region, me.instance_id);
      if (ends.ok() && *ends) (void)CancelByOwner(ledger, me);
      asked->set_value();
    });
  }
  (void)done.wait_for(kAskWhoEnds);
}

void Ec2Node::Leave() {
  std::thread owner;
  {
    const std::lock_guard lock(mutex_);
    store_ = nullptr;
    owner = std::move(owner_);
  }
  if (owner.joinable()) owner.join();
}

}  // namespace stoker::node
