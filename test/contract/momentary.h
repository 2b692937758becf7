// SPDX-License-Identifier: Apache-2.0
// A store whose answers are damaged on their way, as over plain HTTP: what is stored is whole.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "store/forwarding.h"

namespace stoker {

class MomentaryStore : public ForwardingStore {
 public:
  explicit MomentaryStore(ObjectStore& inner) : ForwardingStore(inner) {}

  // The next `times` answers to Get of keys that hold `part` pass through `damage`.
  void DamageGets(std::string part, int times, std::function<void(std::string*)> damage) {
    part_ = std::move(part);
    gets_ = times;
    damage_ = std::move(damage);
  }
  // The next `times` lists have lost the keys that hold `part`.
  void CutLists(std::string part, int times) {
    lost_ = std::move(part);
    lists_ = times;
  }
  const StoreTraits& traits() const override { return traits_; }

  Result<Object> Get(const std::string& key) override {
    auto object = inner_.Get(key);
    if (!object.ok() || gets_ == 0 || key.find(part_) == std::string::npos) return object;
    --gets_;
    damage_(&object->data);
    return object;
  }
  Result<Listing> List(const std::string& prefix, const std::string& after = "",
                       int limit = 1000) override {
    auto listing = inner_.List(prefix, after, limit);
    if (!listing.ok() || lists_ == 0) return listing;
    --lists_;
    std::erase_if(listing->objects, [this](const ObjectInfo& info) {
      return info.key.find(lost_) != std::string::npos;
    });
    return listing;
  }
  void Pause(Duration time) override { rested.ms += time.ms; }

  Duration rested;

 private:
  StoreTraits traits_;  // those of a bucket
  std::string part_, lost_;
  int gets_ = 0, lists_ = 0;
  std::function<void(std::string*)> damage_;
};

}  // namespace stoker
