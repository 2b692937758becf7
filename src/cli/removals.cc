// SPDX-License-Identifier: Apache-2.0
#include "cli/removals.h"

#include <sys/stat.h>

#include <set>

#include "base/text.h"
#include "cli/local_time.h"
#include "job/checkpoint_name.h"
#include "ledger/ancestors.h"
#include "ledger/collect/doomed.h"
#include "sys/file.h"

namespace stoker::cli {
namespace {

constexpr Duration kPause = Duration::Minutes(10);

std::string MarkOf(Context& context, const Ledger& ledger) {
  return context.places().state + "/swept/" + ledger.id() + ".doomed";
}

bool IsRecent(Context& context, const std::string& mark) {
  struct stat info {};
  if (::stat(mark.c_str(), &info) != 0) return false;
  const WallTime last{static_cast<int64_t>(info.st_mtim.tv_sec) * 1000};
  const Duration since = context.clock().Wall() - last;
  return since.ms >= 0 && since < kPause;
}

// Where it cannot be written, this costs some requests more.
void LeaveMark(Context& context, const std::string& mark) {
  (void)sys::MakeDirs(context.places().state + "/swept", 0700);
  (void)sys::WriteFileAtomic(mark, "");
}

void TellUnread(Context& context, const std::vector<OddKey>& unread) {
  for (const OddKey& one : unread) {
    context.Say("what " + Printable(one.key) + " lists stays: " + one.why.ToString() +
                (one.why.Is(Code::kCorrupt) ? ". Delete it, and say again what is to go" : ""));
  }
}

Status BeingRemoved(const std::string& id) {
  return Status(
      Code::kNotFound,
      "job " + id + " is being removed, with all that it saved: nothing can go on from it",
      "Start anew with 'stoker run'");
}

}  // namespace

Result<std::vector<std::string>> LineOf(Ledger& ledger, const Job& job) {
  STOKER_ASSIGN(const Ancestors ancestors, ReadAncestors(ledger, job));
  std::vector<std::string> line = {job.id};
  for (const Job& one : ancestors.jobs) line.push_back(one.id);
  if (!ancestors.unread.empty()) line.push_back(ancestors.unread);
  return line;
}

Status SpareLine(Context& context, const std::vector<std::string>& line, const std::string& begins,
                 UnreadLists unread) {
  if (line.empty()) return Status::Ok();
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const Spared spared, Spare(*ledger, {line.begin(), line.end()}));
  const std::string from = SplitCheckpointName(begins).job;
  for (const std::string& id : {line.front(), from}) {
    if (spared.late.contains(id)) return BeingRemoved(id);
  }
  for (const std::string& id : spared.spared) {
    context.Say("job " + id + " was to be removed; it stays, as something goes on from it");
  }
  if (unread == UnreadLists::kTold) TellUnread(context, spared.unread);
  return Status::Ok();
}

std::vector<std::string> RemoveDueAtTimes(Context& context) {
  const auto ledger = context.ledger();
  if (!ledger.ok()) return {};
  const std::string mark = MarkOf(context, **ledger);
  if (IsRecent(context, mark)) return {};
  Survey survey;
  const auto removed = RemoveDue(**ledger, {}, &survey);
  const bool stuck = !removed.ok() || !survey.blind.empty();
  if (stuck || !(*ledger)->store().traits().requests_are_free) LeaveMark(context, mark);
  if (!removed.ok()) {
    context.Say("what is to be removed stays for now: " + removed.status().ToString());
    return {};
  }
  if (!removed->jobs.empty()) {
    context.Say("removed jobs that were given up an hour ago: " + Join(removed->jobs, ", "));
  }
  TellStayed(context, *removed);
  return removed->jobs;
}

std::map<std::string, WallTime> WhatGoes(Context& context) {
  const auto ledger = context.ledger();
  if (!ledger.ok()) return {};
  const auto doomed = ReadDoomed(**ledger);
  if (!doomed.ok()) {
    context.Say("what is to be removed is not known: " + doomed.status().ToString());
    return {};
  }
  TellUnread(context, doomed->unread);
  return GoesAt(*doomed);
}

std::string GoesText(WallTime goes, WallTime now) {
  return now < goes ? "in " + HumanDuration(goes - now) + " (" + LocalTime(goes) + ")"
                    : "by the next 'stoker gc' or 'stoker controller'";
}

void TellStayed(Context& context, const Removed& removed) {
  TellUnread(context, removed.unread);
  for (const auto& [id, by] : removed.needed) {
    context.Say("job " + id + " was to be removed and stays: job " + by +
                " may still begin from it");
  }
  if (!removed.index.ok()) {
    context.Say("'stoker ls' may still list the removed jobs: " + removed.index.ToString());
  }
}

}  // namespace stoker::cli
