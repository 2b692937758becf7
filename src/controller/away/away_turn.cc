// SPDX-License-Identifier: Apache-2.0
#include "controller/away/away_turn.h"

#include <algorithm>
#include <utility>

#include "base/deliberate_bug.h"

namespace stoker {
namespace {

// After its time whoever runs it has ended it; the store's clock and a write on its way take some.
constexpr Duration kTurnSlack = Duration::Seconds(30);
// So long machines that were asked for count although no list shows them.
constexpr Duration kUnlisted = Duration::Minutes(10);
// A run that is cut off has noted which job it had come to, so long before at most.
constexpr Duration kNoteEvery = Duration::Seconds(20);

}  // namespace

AwayTurn::AwayTurn(Ledger& ledger, Clock& clock, std::string provider, AwayRead read)
    : ledger_(ledger),
      clock_(clock),
      provider_(std::move(provider)),
      read_(std::move(read)),
      written_(clock.Mono()) {}

Status AwayTurn::Take(const AwayCall& call) {
  const AwayNote& now = read_.note;
  const bool others = !now.turn.empty() && now.turn != call.id;
  if (others && read_.store_now < now.turn_until && !BugIsOn("away-turn-ignored")) {
    return Status(Code::kBusy, "another run looks after the jobs until " +
                                   FormatRfc3339(now.turn_until) + " at the latest");
  }
  read_.note.cut_off = std::clamp(now.cut_off, 0, 1'000) + (now.turn.empty() ? 0 : 1);
  read_.note.turn = call.id;
  read_.note.turn_until = read_.store_now + call.left() + kTurnSlack;
  std::erase_if(read_.note.asked,
                [&](const AwayAsked& one) { return read_.store_now - one.at > kUnlisted; });
  const Status taken = Write();
  if (taken.ok()) {
    id_ = call.id;
    until_ = read_.note.turn_until;
  }
  if (!taken.Is(Code::kConflict)) return taken;
  return Status(Code::kBusy, "another run was quicker to look after the jobs");
}

void AwayTurn::Reach(const std::string& job) {
  read_.note.after = job;
  if (clock_.Mono() - written_ >= kNoteEvery) (void)Write();
}

Status AwayTurn::Keep(const std::string& what, int machines) {
  auto& asked = read_.note.asked;
  std::erase_if(asked, [&](const AwayAsked& one) { return one.what == what; });
  asked.push_back({what, machines, read_.store_now});
  return Write().WithContext("noting what is about to be asked for");
}

void AwayTurn::Drop(const std::string& what) {
  std::erase_if(read_.note.asked, [&](const AwayAsked& one) { return one.what == what; });
}

Status AwayTurn::Finish(const AwayCall& call, const AwayReport& report, bool looked) {
  AwayNote& note = read_.note;
  note.turn.clear();
  // A look at one job says nothing of whether one at all of them would have been cut off.
  if (call.instance.empty() || report.after) note.cut_off = 0;
  note.version = call.version;
  if (looked) note.looked = read_.store_now;
  if (report.swept) note.swept = read_.store_now;
  if (report.after) note.after = *report.after;
  note.did = Told(report);
  return Write();
}

Status AwayTurn::Write() {
  written_ = clock_.Mono();
  if (BugIsOn("away-turn-ignored")) {
    STOKER_ASSIGN(const AwayRead newest, ReadAway(ledger_, provider_));
    read_.version = newest.version;
  }
  auto written = WriteAway(ledger_, provider_, read_);
  for (int time = 0; written.status().Is(Code::kConflict) && time < 3; ++time) {
    // An --install has noted something, and it is this run's turn all the same? A call that comes
    // twice has one id, and two runs then.
    STOKER_ASSIGN(const AwayRead newest, ReadAway(ledger_, provider_));
    const bool its = newest.note.turn == id_ && newest.note.turn_until == until_;
    if (id_.empty() || !its) break;
    read_.note.installed = newest.note.installed;
    read_.note.where = newest.note.where;
    read_.note.bound = newest.note.bound;
    read_.version = newest.version;
    read_.store_now = newest.store_now;
    written = WriteAway(ledger_, provider_, read_);
  }
  STOKER_ASSIGN(read_, std::move(written));
  return Status::Ok();
}

}  // namespace stoker
