// SPDX-License-Identifier: Apache-2.0
#include "client/clear/removals.h"

#include <sys/stat.h>

#include <set>

#include "base/text.h"
#include "job/checkpoint_name.h"
#include "ledger/ancestors.h"
#include "ledger/collect/doomed.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

constexpr Duration kPause = Duration::Minutes(10);

std::string MarkOf(Client& client, const Ledger& ledger) {
  return client.places().state + "/swept/" + ledger.id() + ".doomed";
}

bool IsRecent(Client& client, const std::string& mark) {
  struct stat info {};
  if (::stat(mark.c_str(), &info) != 0) return false;
  const WallTime last{static_cast<int64_t>(info.st_mtim.tv_sec) * 1000};
  const Duration since = client.clock().Wall() - last;
  return since.ms >= 0 && since < kPause;
}

// Where it cannot be written, this costs some requests more.
void LeaveMark(Client& client, const std::string& mark) {
  (void)sys::MakeDirs(client.places().state + "/swept", 0700);
  (void)sys::WriteFileAtomic(mark, "");
}

void TellUnread(Client& client, const std::vector<OddKey>& unread) {
  for (const OddKey& one : unread) {
    client.Say("what " + Printable(one.key) + " lists stays: " + one.why.ToString() +
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

Status SpareLine(Client& client, const std::vector<std::string>& line, const std::string& begins,
                 UnreadLists unread) {
  if (line.empty()) return Status::Ok();
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  STOKER_ASSIGN(const Spared spared, Spare(*ledger, {line.begin(), line.end()}));
  const std::string from = SplitCheckpointName(begins).job;
  for (const std::string& id : {line.front(), from}) {
    if (spared.late.contains(id)) return BeingRemoved(id);
  }
  for (const std::string& id : spared.spared) {
    client.Say("job " + id + " was to be removed; it stays, as something goes on from it");
  }
  if (unread == UnreadLists::kTold) TellUnread(client, spared.unread);
  return Status::Ok();
}

std::vector<std::string> RemoveDueAtTimes(Client& client) {
  const auto ledger = client.ledger();
  if (!ledger.ok()) return {};
  const std::string mark = MarkOf(client, **ledger);
  if (IsRecent(client, mark)) return {};
  Survey survey;
  const auto removed = RemoveDue(**ledger, {}, &survey);
  const bool stuck = !removed.ok() || !survey.blind.empty();
  if (stuck || !(*ledger)->store().traits().requests_are_free) LeaveMark(client, mark);
  if (!removed.ok()) {
    client.Say("what is to be removed stays for now: " + removed.status().ToString());
    return {};
  }
  if (!removed->jobs.empty()) {
    client.Say("removed jobs that were given up an hour ago: " + Join(removed->jobs, ", "));
  }
  TellStayed(client, *removed);
  return removed->jobs;
}

std::map<std::string, WallTime> WhatGoes(Client& client) {
  const auto ledger = client.ledger();
  if (!ledger.ok()) return {};
  const auto doomed = ReadDoomed(**ledger);
  if (!doomed.ok()) {
    client.Say("what is to be removed is not known: " + doomed.status().ToString());
    return {};
  }
  TellUnread(client, doomed->unread);
  return GoesAt(*doomed);
}

void TellStayed(Client& client, const Removed& removed) {
  TellUnread(client, removed.unread);
  for (const auto& [id, by] : removed.needed) {
    client.Say("job " + id + " was to be removed and stays: job " + by +
               " may still begin from it");
  }
  if (!removed.index.ok()) {
    client.Say("'stoker ls' may still list the removed jobs: " + removed.index.ToString());
  }
}

}  // namespace stoker::client
