// SPDX-License-Identifier: Apache-2.0
// A topic of a cloud, to which events of jobs are published (`notify`).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "port/notifier.h"

namespace stoker {

class Topic {
 public:
  virtual ~Topic() = default;
  // Whether this process has credentials of that cloud; may ask for them, for seconds.
  virtual bool Knows() = 0;
  // Once. `json`: the event as webhooks get it. kDenied: these credentials may not.
  virtual Status Publish(const Notification& what, const std::string& json) = 0;
};

// By the kind of an entry of `notify` and its name; null: this process publishes to none of that
// kind.
using OpenTopic =
    std::function<Result<std::unique_ptr<Topic>>(const std::string& kind, const std::string& name)>;

}  // namespace stoker
