// SPDX-License-Identifier: Apache-2.0
#include "outputs/output_list.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "checkpoint/restore.h"
#include "checkpoint/rule/episode.h"
#include "ledger/paths.h"
#include "ledger/segments/read_again.h"
#include "outputs/replaced.h"
#include "transfer/fetch.h"

namespace stoker {
namespace {

constexpr int kReadTries = 3;

}  // namespace

bool IsMeant(const OutputInfo& output, const std::string& what) {
  if (what.empty()) return true;
  const bool folders_alone = EndsWith(what, "/");
  const std::string parts = "/" + what + (folders_alone ? "" : "/");
  const bool open_ended = folders_alone && output.file.kind != FileKind::kDirectory;
  return ("/" + output.path + (open_ended ? "" : "/")).find(parts) != std::string::npos;
}

Result<std::vector<OutputInfo>> ListOutputs(ObjectStore& store, const std::string& job,
                                            int attempt) {
  std::vector<CheckpointId> ids;
  const std::string prefix = paths::Artifacts(job) + kOutputsManifest;
  STOKER_TRY(ListAll(store, prefix, [&](const ObjectInfo& info) {
    if (auto id = IdOfOutputsManifest(info.key.substr(paths::Artifacts(job).size()))) {
      ids.push_back(*id);
    }
    return Status::Ok();
  }));
  std::sort(ids.begin(), ids.end());
  std::map<std::string, OutputInfo> newest;
  OldOutputs old_outputs;
  if (attempt > 0) STOKER_TRY(old_outputs.Look(store, job));
  for (const CheckpointId& id : ids) {
    const int rank = static_cast<int>(id.seq);
    auto part = GetJudged(store, OutputsManifestKey(job, id.attempt, rank),
                          [](const Object& object) { return DecodePart(object.data); });
    if (part.code() == Code::kNotFound) continue;
    if (!part.ok()) return part.status().WithContext("outputs of attempt " + id.ToString());
    for (const ManifestFile& file : part->files) {
      old_outputs.Add(id.attempt, file);
      if (attempt > 0 && id.attempt != attempt) continue;
      const auto kind_of = [](const OutputInfo& info) { return info.file.kind; };
      for (const auto& old : Superseded(newest, file.path, file.kind, kind_of)) newest.erase(old);
      const auto before = newest.find(file.path);
      const bool replaces =
          before != newest.end() &&
          (before->second.replaces_earlier ||
           (before->second.attempt < id.attempt && before->second.file.sha256 != file.sha256));
      const std::string key = paths::Artifacts(job) + file.object;
      newest[file.path] = OutputInfo{file.path, id.attempt, rank, file, key, replaces};
    }
  }
  std::vector<OutputInfo> out;
  for (auto& [path, info] : newest) {
    const bool old = attempt > 0 && info.file.kind == FileKind::kFile;
    if (old) info.key = old_outputs.KeyOf(attempt, info.file);
    out.push_back(std::move(info));
  }
  return out;
}

namespace {

using MayFetch = std::function<Result<bool>(const OutputInfo&)>;

Status FetchWanted(ObjectStore& store, const std::vector<OutputInfo>& all, const std::string& what,
                   DirectoryWriter& into, const Movers& movers, const MayFetch& may,
                   Downloaded* done) {
  std::vector<WantedFile> wanted;
  std::vector<const OutputInfo*> links;
  for (const OutputInfo& output : all) {
    if (!IsMeant(output, what)) continue;
    ++done->files;
    if (may) {
      STOKER_ASSIGN(const bool fetched, may(output));
      if (!fetched) continue;
    }
    if (output.file.kind == FileKind::kLink) links.push_back(&output);
    if (output.file.kind == FileKind::kDirectory) STOKER_TRY(into.MakeDirectory(output.path));
    if (output.file.kind != FileKind::kFile || output.key.empty()) continue;
    wanted.push_back(Wanted(output.key, output.file, output.path));
    done->bytes += output.file.size;
  }
  STOKER_TRY(FetchFiles(store, movers, wanted, into));
  for (const OutputInfo* link : links) {
    STOKER_TRY(into.MakeLink(link->path, link->file.target));
  }
  return Status::Ok();
}

}  // namespace

Result<Downloaded> DownloadOutputs(ObjectStore& store, const std::string& job,
                                   const std::string& what, DirectoryWriter& into,
                                   const Movers& movers, const MayFetch& may, int attempt) {
  for (int tries = 1;; ++tries) {
    STOKER_ASSIGN(std::vector<OutputInfo> all, ListOutputs(store, job, attempt));
    Downloaded done;
    const Status status = FetchWanted(store, all, what, into, movers, may, &done);
    // Being replaced just now: the list that names the new one follows.
    const bool moving = status.Is(Code::kCorrupt) || status.Is(Code::kConflict);
    if (moving && tries < kReadTries) continue;
    if (!status.ok()) return status;
    if (done.files > 0 || what.empty()) return done;
    std::set<std::string> tops;
    for (const OutputInfo& output : all) tops.insert(Spelled(TopOf(output.path)));
    const std::vector<std::string> names(tops.begin(), tops.end());
    return Status(Code::kNotFound, "the job has no output '" + Spelled(what) + "'",
                  names.empty() ? "it has no outputs (yet)"
                                : "It has: " + Join(names, ", ") +
                                      "; a name is whole parts of a path, and no pattern");
  }
}

}  // namespace stoker
