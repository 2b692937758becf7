// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_boxes.h"

#include "base/text.h"
#include "ledger/records.h"
#include "provider/ssh/box_notes.h"
#include "provider/ssh/ssh_command.h"
#include "spec/text/host_words.h"

namespace stoker::cli {

std::vector<Finding> ExamineBoxes(Context& context, const std::string& pool) {
  std::vector<Finding> out;
  const auto bad = [&out](const std::string& what, const Status& status) {
    out.push_back({what, "bad", status.ToString()});
    return out;
  };
  const auto ssh = context.ssh_provider();
  if (!ssh.ok()) return bad("pool " + pool, ssh.status());
  const auto boxes = (*ssh)->Ask(pool);
  if (!boxes.ok()) return bad("pool " + pool, boxes.status());
  const auto ledger = context.ledger();
  for (const BoxSeen& box : *boxes) {
    if (!box.status.ok()) {
      bad(box.word, box.status);
      continue;
    }
    const std::string at = box.hello.address.empty() ? "" : "at " + box.hello.address + ": ";
    out.push_back({box.word, "ok", at + box.hello.shared});
    if (!ledger.ok()) continue;
    const Status met = (*ssh)->Meet(box.word, (*ledger)->id(), "probe/" + (*ledger)->Nonce());
    if (!met.ok()) {
      bad(box.word + ", store", met);
    } else {
      out.push_back({box.word + ", store", "ok",
                     "sees this ledger, and what is written here or there at once"});
    }
  }
  return out;
}

Status GiveUpBoxOfPool(Context& context, const std::string& box) {
  if (!IsHostWord(box)) return Status(Code::kUsage, "--gone: " + Printable(box) + " is no host");
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const std::vector<std::string> jobs, ActiveJobs(*ledger));
  int requests = 0;
  for (const std::string& job : jobs) {
    STOKER_ASSIGN(const int some, GiveUpBox(ledger->store(), job, box, context.user()));
    requests += some;
  }
  context.Say(requests == 0
                  ? "no job that is looked after has a machine on " + box
                  : std::to_string(requests) + (requests == 1 ? " machine" : " machines") + " on " +
                        box + " will not be waited for: the next look at each job starts others");
  return Status::Ok();
}

}  // namespace stoker::cli
