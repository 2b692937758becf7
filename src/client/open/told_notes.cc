// SPDX-License-Identifier: Apache-2.0
#include "client/open/told_notes.h"

#include <utility>

#include "base/text.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

constexpr size_t kMost = 1000;
constexpr int64_t kMostBytes = 1 << 20;

std::string FolderOf(const Client& client) {
  const std::string& settings = client.places().config_file;
  return settings.substr(0, settings.rfind('/'));
}

}  // namespace

ToldNotes::ToldNotes(const Client& client, std::string ledger_id)
    : file_(FolderOf(client) + "/told-notes"), ledger_id_(std::move(ledger_id)) {
  for (std::string& line : Split(sys::ReadFile(file_, kMostBytes).value_or(""), '\n')) {
    if (!line.empty() && known_.insert(line).second) lines_.push_back(std::move(line));
  }
}

bool ToldNotes::Has(const std::string& job) const { return known_.count(LineOf(job)) > 0; }

void ToldNotes::Add(const std::string& job) {
  if (!known_.insert(LineOf(job)).second) return;
  lines_.push_back(LineOf(job));
  changed_ = true;
}

void ToldNotes::Write() const {
  if (!changed_) return;
  std::string text;
  const size_t first = lines_.size() > kMost ? lines_.size() - kMost : 0;
  for (size_t i = first; i < lines_.size(); ++i) text += lines_[i] + "\n";
  (void)sys::MakeDirs(file_.substr(0, file_.rfind('/')), 0700);
  (void)sys::WriteFileAtomic(file_, text, 0600, false);
}

}  // namespace stoker::client
