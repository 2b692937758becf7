// SPDX-License-Identifier: Apache-2.0
// What the page asks of a job, as JSON: read from the ledger as the verbs read it, by the facts of
// view/. The server and the export both stand on this.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/open/client.h"
#include "controller/controller.h"
#include "ledger/ledger.h"
#include "ledger/metrics/segments.h"
#include "page/series.h"
#include "spec/job_spec.h"

namespace stoker::page {

struct LogPage {
  std::string cursor;  // of an earlier page; "" = begin
  int64_t tail = 0;    // > 0: at the beginning, about so many lines before the end
};

// Thread-safe: what is not (passes, the client) has a lock of its own. Errors are the store's, and
// kNotFound: there is no such job, or no such thing of it.
class JobReader {
 public:
  // All must outlive it; ledger and controller are of `client`.
  JobReader(client::Client& client, Ledger& ledger, Controller& controller)
      : client_(client), ledger_(ledger), controller_(controller) {}

  // As `show --json`, with what metrics there are. Runs a pass, as `show` does.
  Result<nlohmann::json> Job(const std::string& id);
  // Series by name, of one node; with `names` empty all.
  Result<nlohmann::json> Series(const std::string& id, int rank,
                                const std::vector<std::string>& names, const SeriesRange& range);
  Result<nlohmann::json> Usage(const std::string& id);
  // The next lines, about 1 MiB at most, and the cursor that goes on behind them.
  Result<nlohmann::json> Log(const std::string& id, const LogPage& page);
  // Checkpoints and outputs, with what each is called in Open.
  Result<nlohmann::json> KeptFiles(const std::string& id);
  // The job file and the diff that its code had, both as text.
  Result<nlohmann::json> Code(const std::string& id);
  // What `compare` says of a job, but for its metrics: of what it was made, and where it ran.
  Result<nlohmann::json> Compared(const std::string& id);
  // A file of a checkpoint or output: `of` is "output" or the name of a checkpoint. Sets its size.
  Result<std::unique_ptr<Download>> Open(const std::string& id, const std::string& of,
                                         const std::string& path, int64_t* size);
  Ledger& ledger() { return ledger_; }
  // One pass over all jobs, at most for so long.
  void LookAfterAll(Duration budget);

 private:
  Result<std::shared_ptr<const RunMetrics>> Metrics(const std::string& id, int rank);

  client::Client& client_;
  Ledger& ledger_;
  Controller& controller_;
  std::mutex passes_;
  struct Known {
    std::string key;        // job and rank
    std::string signature;  // of its segments
    std::shared_ptr<const RunMetrics> metrics;
  };
  std::mutex known_mutex_;
  std::list<Known> known_;  // newest first
};

// Changes whenever a job has more metrics (or log lines) than before; one listing.
Result<std::string> MetricsSignature(ObjectStore& store, const std::string& id, int rank);
Result<std::string> LogSignature(ObjectStore& store, const std::string& id);

}  // namespace stoker::page
