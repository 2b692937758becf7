// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/restore.h"

#include <set>
#include <vector>

#include "base/text.h"
#include "checkpoint/checkpoint_store.h"
#include "checkpoint/restore.h"
#include "checkpoint/rule/episode.h"
#include "job/checkpoint_name.h"
#include "node/outputs/set_aside.h"
#include "sys/file.h"
#include "sys/watch/checkpoint_files.h"

namespace stoker::node {
namespace {

void TellWhatIsThere(AttemptContext& here, const std::string& lasting) {
  if (lasting.empty()) return;
  const auto there = sys::ListDir(lasting);
  if (!there.ok() || there->empty()) return;
  here.log.Say("stoker: the checkpoint folder " + Printable(lasting) +
               " is not empty, and no checkpoint is restored: the program finds what lies there");
}

// What is in no checkpoint of the job, nor of the one that it goes on from, is somebody's, or a
// save that was never whole: the program must not find it, and nobody loses it.
Status MoveStrangersAside(AttemptContext& here, const std::string& folder, const std::string& job,
                          const std::string& checkpoint) {
  std::set<std::string> ours;
  const auto add = [&](const std::string& of, const std::string& id) {
    const auto manifest = LoadManifest(here.store, of, id);
    if (!manifest.ok()) return;  // the restore says why
    for (const auto& part : manifest->parts) {
      for (const ManifestFile& file : part.files) ours.insert(file.path);
    }
  };
  add(job, checkpoint);
  for (const std::string& of : std::set<std::string>{job, here.config.job.id}) {
    STOKER_ASSIGN(const auto infos, ListCheckpoints(here.store, of));
    for (const CheckpointInfo& info : infos) add(of, info.id);
  }
  if (!sys::DirExists(folder)) return Status::Ok();
  // What comes for another node that restores into the same folder.
  STOKER_ASSIGN(const auto there, sys::ListDir(folder));
  for (const sys::DirEntry& entry : there) {
    if (StartsWith(entry.name, kRestoring)) ours.insert(entry.name);
  }
  const std::vector<std::string> places = {here.config.state_dir + "/aside",
                                           folder + ".stoker-aside"};
  STOKER_ASSIGN(const SetAside moved,
                MoveOthersAside(folder, ours, places, here.PlaceOfUnsaved().name));
  for (const std::string& to : moved.to) {
    here.log.Say("stoker: what lay in the checkpoint folder " + Printable(folder) +
                 " and is in no checkpoint was moved to " + Printable(to) + ", where it stays");
  }
  return Status::Ok();
}

}  // namespace

Status CheckCheckpointFolder(const AttemptContext& here, StagingEnded* result) {
  const std::string folder = here.LastingCheckpointFolder();
  if (folder.empty()) return Status::Ok();
  const auto real = [](const std::string& path) {
    const auto found = sys::RealPath(path);
    return found.ok() ? *found : path;
  };
  const std::string why =
      WhyNotForCheckpoints(folder, real(sys::HomeDir()), real(here.config.state_dir));
  if (why.empty()) return Status::Ok();
  result->setup_failed = true;
  result->setup_code = 1;
  return Status(Code::kInvalid, "the checkpoint folder " + Printable(folder) + " " + why,
                "Name a folder for checkpoints alone: --checkpoints DIR");
}

Status RestoreInto(AttemptContext& here, const std::string& id, StagingEnded* result) {
  const std::string lasting = here.LastingCheckpointFolder();
  // Of a restore that was cut short: in no checkpoint, and the program must not find it.
  const auto there = sys::ListDir(here.CheckpointDir());
  for (const sys::DirEntry& entry : there.ok() ? *there : std::vector<sys::DirEntry>()) {
    if (!IsCutRestore(entry.name, here.config.rank, here.config.job.num_nodes)) continue;
    STOKER_TRY(sys::RemoveTree(here.CheckpointDir() + "/" + entry.name));
  }
  if (id.empty()) {
    TellWhatIsThere(here, lasting);
    return Status::Ok();
  }
  const CheckpointName name = SplitCheckpointName(id);
  const std::string job = name.job.empty() ? here.config.job.id : name.job;
  const std::string& checkpoint = name.name;
  if (!lasting.empty()) STOKER_TRY(MoveStrangersAside(here, lasting, job, checkpoint));
  if (sys::FileExists(here.CheckpointDir()) && !sys::DirExists(here.CheckpointDir())) {
    result->setup_failed = true;
    result->setup_code = 1;
    return Status(Code::kInvalid,
                  Printable(here.config.spec.checkpoints.path) + " is no folder: checkpoint " + id +
                      " cannot be restored there",
                  "Rename what lies there, or name another folder: --checkpoints DIR");
  }
  here.log.Say("stoker: restoring " + (IsAsLeft(id)
                                           ? id + ", as a program left it: not known to be whole"
                                           : "checkpoint " + id));
  STOKER_ASSIGN(const auto writer, OpenDirectoryWriter(here.CheckpointDir()));
  const Status restored =
      RestoreCheckpoint(here.store, job, checkpoint, here.config.rank, *writer, here.movers);
  result->restored = id;
  if (!restored.ok()) {
    if (BlamesCheckpoint(restored)) result->restore_error = restored.ToString();
    return restored.WithContext("restoring checkpoint " + id);
  }
  return Status::Ok();
}

}  // namespace stoker::node
