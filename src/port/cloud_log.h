// SPDX-License-Identifier: Apache-2.0
// The log that a cloud itself keeps, as one node writes one attempt into it (`logs: {cloud:
// true}`).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "job/request.h"
#include "port/log_sink.h"
#include "port/object_store.h"

namespace stoker {

// Whose lines they are. `instance_id`: the machine's, as its platform calls it.
struct CloudLogPlace {
  std::string ledger, job;
  int attempt = 0, rank = 0;
  Place place;
  std::string instance_id;
  int days = 0;  // that lines are kept, where that can be said; > 0
};

// One line: UTF-8, not empty, at most three times kMaxRecordText (ledger/log/log_record.h) long.
struct CloudLine {
  int64_t number = 0;  // of the record
  WallTime time;       // by the node's clock; never before that of the line before it
  LogStream stream = LogStream::kOut;
  std::string text;
  bool operator==(const CloudLine&) const = default;
};

// Of one call. `each`: what a line counts beside its text.
struct CloudLogLimits {
  int64_t bytes = 0, each = 0;
  size_t lines = 0;
  Duration span;  // between the times of the first and the last
};

// One thread. Each call is sent once: whoever calls knows what may be repeated.
class CloudLog {
 public:
  virtual ~CloudLog() = default;
  virtual const char* title() const = 0;  // for people: "CloudWatch Logs"
  virtual CloudLogLimits limits() const = 0;
  // Makes what lines are put into, where it is not there. May be repeated. What the job's owner
  // should be told, "" = nothing.
  virtual Result<std::string> Prepare() = 0;
  // Within the limits. What of them is not kept, in words; "" = all are. kInvalid: these are never
  // taken; kNotFound: to be prepared again; other errors: they may have been taken, and Stands
  // tells.
  virtual Result<std::string> Append(const std::vector<CloudLine>& lines) = 0;
  // Whether `lines`, sent in one call that was not answered, are there and would be twice if they
  // were sent again.
  virtual Result<bool> Stands(const std::vector<CloudLine>& lines) = 0;
};

// Where people find a job's lines.
struct CloudLogQuery {
  std::string title;
  std::string command;  // for a shell
  std::string console;  // a URL
};

}  // namespace stoker
