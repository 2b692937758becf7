// SPDX-License-Identifier: Apache-2.0
// `stoker logs -f`: a user who follows a job's lines, is killed, and goes on where they stopped.
// every-line, as a reader sees it: of each node every line once, in order, and a word where some
// are missing.
#include <map>

#include "base/text.h"
#include "ledger/log/log_reader.h"
#include "ledger/records.h"
#include "sim/people/actor.h"

namespace stoker::sim {
namespace {

constexpr const char* kNoCursors[] = {"1",
                                      "1.0",
                                      "x.0:1",
                                      "1.0:0",
                                      "1.0:1 ",
                                      "1.0:1x",
                                      "0.0:1",
                                      "2000000000.0:1",
                                      "1.-1:5",
                                      "1.2000000000:1",
                                      "1:0.5",
                                      "1.0:99999999999999999999",
                                      "1.0:9999999999999"};

// What has been shown so far.
class Shown {
 public:
  Shown(World& world, std::string job, bool whole)
      : world_(world), job_(std::move(job)), whole_(whole) {}

  void Take(const LogRecord& record) {
    const std::pair<int, int> node{record.attempt, record.rank};
    const auto before = last_.find(node);
    const int64_t last = before == last_.end() ? 0 : before->second;
    const std::string name = "line " + std::to_string(record.attempt) + "." +
                             std::to_string(record.rank) + ":" + std::to_string(record.line);
    if (record.line <= last) {
      world_.Breach("every-line", name + " is shown after " + std::to_string(last), job_);
    } else if (whole_ && !record.note && record.line != last + 1 && gaps_.count(node) == 0) {
      world_.Breach("every-line", name + " follows " + std::to_string(last) + " without a word",
                    job_);
    }
    last_[node] = record.line;
    gaps_.erase(node);
    if (record.note) gaps_[node] = true;
  }

 private:
  World& world_;
  const std::string job_;
  const bool whole_;
  std::map<std::pair<int, int>, int64_t> last_;
  std::map<std::pair<int, int>, bool> gaps_;
};

// What it says for itself: half of all look at everything.
LogFilter DrawFilter(World& world) {
  LogFilter filter;
  Prng& rng = world.rng();
  const bool whole = rng.Chance(1, 2);
  if (whole) return filter;
  const uint64_t kind = rng.Below(6);
  if (kind == 0 || kind == 1) filter.attempt = static_cast<int>(rng.Between(1, 3));
  if (kind == 1 || kind == 2) filter.rank = static_cast<int>(rng.Between(0, 2));
  if (kind == 3) filter.stream = rng.Chance(1, 2) ? LogStream::kErr : LogStream::kOut;
  if (kind == 4) {
    // Also such that whole segments need not be read.
    const int64_t ago = rng.Between(-26 * 3'600'000LL, 600'000);
    filter.since = WallTime{world.bucket().Now().ms - ago};
  }
  if (kind == 5) filter.tail = rng.Between(1, 40);
  return filter;
}

bool Whole(const LogFilter& filter) {
  return !filter.attempt && !filter.rank && !filter.stream && !filter.since && filter.tail == 0;
}

struct Following {
  std::string job;
  std::string cursor;
  LogFilter filter;
  std::unique_ptr<Shown> shown;
};

// The user types it again.
bool MayFail(const World& world, const Status& status) {
  return status.transient() || (status.Is(Code::kDenied) && world.plan().bucket.denied > 0);
}

bool JobEnded(Session& session, const std::string& job) {
  const auto read = ReadJob(*session.ledger, job);
  return read.ok() ? IsFinal(read->job.state) : !read.status().transient();
}

void Begin(Session& session, Following* place) {
  World& world = session.world;
  const uint64_t number = world.rng().Below(world.plan().jobs.size());
  place->job = FindJob(session, "j" + std::to_string(number));
  place->cursor.clear();
  place->filter = DrawFilter(world);
  place->shown = std::make_unique<Shown>(world, place->job, Whole(place->filter));
}

void ReadToTheEnd(Session& session, LogReader& reader, Following* place) {
  int empty = 0;
  while (empty < 3) {
    const auto records = reader.Next();
    if (!records.ok()) {
      if (!MayFail(session.world, records.status())) {
        session.world.Breach("every-line", records.status().ToString(), place->job);
        return;
      }
      session.Sleep(session.store.traits().poll.ms);
      continue;
    }
    for (const LogRecord& record : *records) place->shown->Take(record);
    place->cursor = reader.Cursor();
    if (!records->empty()) continue;
    if (JobEnded(session, place->job)) ++empty;
    session.Sleep(session.store.traits().poll.ms);
  }
}

}  // namespace

std::function<void(Session&)> ReaderBody() {
  return [place = std::make_shared<Following>()](Session& session) {
    if (place->job.empty()) Begin(session, place.get());
    if (place->job.empty()) return;
    const uint64_t wrong = session.world.rng().Below(std::size(kNoCursors));
    auto reader = LogReader::Open(session.store, place->job, {}, kNoCursors[wrong]);
    if (reader.ok()) {
      session.world.Breach("every-line", std::string(kNoCursors[wrong]) + " is taken for a place",
                           place->job);
    }
    reader = LogReader::Open(session.store, place->job, place->filter, place->cursor);
    if (!reader.ok() && MayFail(session.world, reader.status())) return;
    if (!reader.ok()) {
      session.world.Breach("every-line", reader.status().ToString(), place->job);
      return;
    }
    ReadToTheEnd(session, **reader, place.get());
    place->job.clear();
  };
}

}  // namespace stoker::sim
