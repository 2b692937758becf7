// SPDX-License-Identifier: Apache-2.0
// The channels of a job: data that are copied to a node before its program starts, by the engine of
// transfer/transfer.h. docs/job-file.md has the rules in words.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "port/clock.h"
#include "spec/job_spec.h"

namespace stoker::node {

struct ChannelsConfig {
  std::string dir;      // absolute; each channel becomes the folder of its name in it
  std::string journal;  // absolute folder: what is remembered of earlier copies
  Clock& clock;
  // Asked often and by several threads: the node is told to stop.
  std::function<bool()> stopped;
  // A line for people; by any thread.
  std::function<void(const std::string&)> say;
};

// Makes the folder of each channel, one after the other, hold what its source holds now: what is
// there and the same is not copied again, what the source no longer has is deleted. The source
// itself is only read. Blocks; kCancelled soon after `stopped`. A failure names the channel and its
// source; the folder is then in between, and the next call goes on with it.
Status BringChannels(const std::vector<InputSpec>& inputs, const ChannelsConfig& config);

// True when a failure of BringChannels comes from the job file or from the data, so that another
// machine would meet it too: no such place, no right to read it, nothing in it, it changes all the
// time. A store that is away and a full disk are no such failures.
bool BlamesInputs(const Status& failure);

}  // namespace stoker::node
