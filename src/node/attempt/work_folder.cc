// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/work_folder.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "ledger/blobs.h"
#include "ledger/records.h"
#include "pack/extract.h"
#include "sys/file.h"
#include "sys/watch/checkpoint_files.h"
#include "transfer/blob_transfer.h"

namespace stoker::node {
namespace {

constexpr int64_t kCodeInMemory = 4 << 20;
constexpr Duration kForPlace = Duration::Seconds(15);
constexpr auto kBetweenTakes = std::chrono::milliseconds(50);

// As a rule it is small, and needs no file.
Status FetchCode(AttemptContext& here) {
  const std::string& digest = here.config.job.code_digest;
  std::string held;
  const auto hold = [&](std::string_view piece) {
    held += piece;
    return Status::Ok();
  };
  const Status fetched = FetchBlob(here.ledger, digest, hold, kCodeInMemory);
  if (fetched.ok()) return pack::ExtractText(held, here.WorkDir());
  // What came damaged may be whole in the store: that is for who asks again.
  const bool large = fetched.Is(Code::kInvalid);
  if (!large && !fetched.Is(Code::kCorrupt)) return fetched;
  const std::string archive = here.config.dir + "/code.tar.zst";
  STOKER_ASSIGN(const auto writer, OpenDirectoryWriter(here.config.dir));
  STOKER_TRY(FetchBlobFile(here.ledger, here.movers, digest, "code.tar.zst", *writer));
  STOKER_TRY(pack::ExtractFile(archive, here.WorkDir()));
  return sys::RemoveTree(archive);
}

// Who had it before has ended, as the record says; what it started may take a moment longer, at
// most as long as its notice.
Duration ForPlace(AttemptContext& here) {
  Duration wait = kForPlace;
  const auto read = ReadJob(here.ledger, here.config.job.id);
  if (!read.ok()) return wait;
  for (const Attempt& attempt : read->job.attempts) {
    if (attempt.drain_until) wait = std::max(wait, *attempt.drain_until - here.clock.Wall());
  }
  return wait;
}

// All attempts of a job have one absolute path here, one after the other: programs write it into
// their checkpoints.
void TakePlace(AttemptContext& here, ShellStep& step) {
  const AttemptConfig& config = here.config;
  if (here.place || here.no_place || config.work_dir.empty()) return;
  const std::string path =
      config.work_dir + "/" + config.job.id + "-" + std::to_string(config.rank);
  std::optional<MonoTime> until;
  while (!step.cancelled()) {
    auto place = sys::WorkPlace::Take(path, config.dir);
    if (place.ok()) {
      here.place = std::move(*place);
      return;
    }
    const bool busy = place.status().Is(Code::kBusy);
    if (!until) until = here.clock.Mono() + ForPlace(here);
    if (!busy || here.clock.Mono() >= *until) {
      here.no_place = true;
      return here.log.Say("stoker: this attempt runs in " + here.WorkDir() + ", not in " + path +
                          ": absolute paths in its checkpoints may lead nowhere. " +
                          place.status().ToString());
    }
    here.log.Does("waiting for the attempt before it to leave " + path);
    std::this_thread::sleep_for(kBetweenTakes);
  }
}

}  // namespace

Status PrepareWorkFolder(AttemptContext& here, ShellStep& step) {
  TakePlace(here, step);
  STOKER_TRY(sys::RemoveTree(here.WorkDir()));
  if (here.config.job.code_digest.empty()) return sys::MakeDirs(here.WorkDir(), 0755);
  return FetchCode(here);
}

}  // namespace stoker::node
