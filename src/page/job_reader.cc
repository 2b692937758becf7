// SPDX-License-Identifier: Apache-2.0
#include "page/job_reader.h"

#include <algorithm>

#include "base/json.h"
#include "base/profiles.h"
#include "client/tiers.h"
#include "controller/all_jobs.h"
#include "ledger/index.h"
#include "ledger/log/log_reader.h"
#include "ledger/paths.h"
#include "ledger/records.h"
#include "outputs/output_list.h"
#include "spec/parse.h"
#include "view/compared.h"
#include "view/facts.h"
#include "view/job_row.h"
#include "view/kept_outputs.h"
#include "view/lineage.h"
#include "view/metrics.h"
#include "view/ran.h"

namespace stoker::page {
namespace {

using nlohmann::json;

constexpr size_t kKnown = 8;               // jobs whose metrics are kept in memory
constexpr int64_t kMostDiff = 1 << 20;     // bytes of a diff that are shown
constexpr size_t kMostFilesListed = 5000;  // of a checkpoint or of the outputs

std::string Signature(const Result<LogMap>& map) {
  std::string out;
  for (const auto& [of, segments] : *map) {
    out += std::to_string(of.first) + "." + std::to_string(of.second) + ":" +
           std::to_string(segments.end()) + "/" + std::to_string(segments.segments().size()) + " ";
  }
  return out;
}

json RecordJson(const LogRecord& record) {
  return {{"a", record.attempt},
          {"n", record.rank},
          {"l", record.line},
          {"t", record.time.ms},
          {"s", std::string(1, static_cast<char>(record.stream))},
          {"x", record.text},
          {"c", record.continues ? 1 : 0},
          {"o", record.note ? 1 : 0}};
}

Result<std::string> ReadText(ObjectStore& store, const std::string& key, int64_t most) {
  STOKER_ASSIGN(const auto download, store.OpenDownload(key));
  std::string text(static_cast<size_t>(std::min(most, download->info().size)), '\0');
  size_t got = 0;
  while (got < text.size()) {
    STOKER_ASSIGN(const int64_t n,
                  download->Read(text.data() + got, static_cast<int64_t>(text.size() - got)));
    if (n == 0) break;
    got += static_cast<size_t>(n);
  }
  text.resize(got);
  return text;
}

json FileJson(const ManifestFile& file, int rank) {
  return {{"path", file.path}, {"node", rank}, {"bytes", file.size}, {"sha256", file.sha256}};
}

// The files of a checkpoint, each once a node.
json FilesOf(ObjectStore& store, const KnownCheckpoint& known) {
  json files = json::array();
  const auto manifest = LoadManifest(store, known.of, known.info.id);
  if (!manifest.ok()) return files;
  for (const Part& part : manifest->parts) {
    for (const ManifestFile& file : part.files) {
      if (file.kind != FileKind::kFile || files.size() >= kMostFilesListed) continue;
      files.push_back(FileJson(file, part.rank));
    }
  }
  return files;
}

}  // namespace

Result<std::string> MetricsSignature(ObjectStore& store, const std::string& id, int rank) {
  const auto map = ListMetricSegments(store, id, -1, rank);
  if (!map.ok()) return map.status();
  return Signature(map);
}

Result<std::string> LogSignature(ObjectStore& store, const std::string& id) {
  const auto map = ListLogSegments(store, id);
  if (!map.ok()) return map.status();
  return Signature(map);
}

Result<json> JobReader::Job(const std::string& id) {
  PassResult pass;
  std::vector<std::string> tiers;
  std::optional<JobSpec> spec;
  std::string text;
  {
    std::lock_guard<std::mutex> lock(passes_);
    STOKER_ASSIGN(pass, controller_.Pass(id));
    const auto stored = ReadSpec(ledger_, pass.job);
    const auto parsed = stored.ok() ? ParseStoredSpec(*stored) : Result<JobSpec>(stored.status());
    if (parsed.ok()) spec = *parsed;
    if (stored.ok()) text = *stored;
    tiers = client::RecoveryTiers(client_, pass.job, spec ? &*spec : nullptr);
  }
  ObjectStore& store = ledger_.store();
  Status trouble;
  const auto said = SaidOf(ledger_, id);
  const StoryInput input{pass.job,
                         spec ? &*spec : nullptr,
                         pass.reports,
                         pass.store_now,
                         std::move(tiers),
                         ReadUsage(store, pass.job, &trouble),
                         said.ok() ? *said : Labels()};
  json out = StoryJson(input);
  out["usage"] = UsageJson(input.usage);
  out["kept"] = KeptJson(ReadKeptOutputs(store, id));
  if (const auto facts = NewestRunFacts(store, pass.job)) out["ran_with"] = RanLine(*facts);
  out["queued"] = Queued(pass.job, pass.machines);
  out["now"] = FormatRfc3339(pass.store_now);
  out["reason_text"] = ReasonText(pass.job);
  for (json& attempt : out["job"]["attempts"]) {
    for (const Attempt& known : pass.job.attempts) {
      if (attempt.value("number", 0) != known.number || !known.ending) continue;
      attempt["ending_text"] = EndingText(*known.ending);
    }
  }
  // Of the submitting shell, and what machines are asked for by: nothing for a page.
  out["job"].erase("path");
  for (const char* list : {"launches", "requests"}) {
    for (json& each : out["job"][list]) each.erase("token");
  }
  const auto totals = ReadMetricTotals(store, id);
  if (totals.ok()) out["metrics"] = TotalsJson(*totals);
  if (totals.ok()) out["metrics_found_in"] = totals->found_in;
  json hyperparameters = json::object();
  for (const auto& [name, value] : HyperparametersOf(
           spec ? &*spec : nullptr,
           totals.ok() ? totals->hyperparameters : std::map<std::string, std::string>())) {
    hyperparameters[name] = value;
  }
  out["hyperparameters"] = std::move(hyperparameters);
  if (pass.trouble) out["trouble"] = pass.trouble->ToString();
  return out;
}

Result<std::shared_ptr<const RunMetrics>> JobReader::Metrics(const std::string& id, int rank) {
  STOKER_ASSIGN(const std::string signature, MetricsSignature(ledger_.store(), id, rank));
  const std::string key = id + "/" + std::to_string(rank);
  {
    std::lock_guard<std::mutex> lock(known_mutex_);
    const auto found = std::find_if(known_.begin(), known_.end(),
                                    [&](const Known& each) { return each.key == key; });
    if (found != known_.end() && found->signature == signature) {
      known_.splice(known_.begin(), known_, found);
      return known_.front().metrics;
    }
    if (found != known_.end()) known_.erase(found);
  }
  STOKER_ASSIGN(RunMetrics read, ReadMetrics(ledger_.store(), id, rank, {}));
  auto metrics = std::make_shared<const RunMetrics>(std::move(read));
  std::lock_guard<std::mutex> lock(known_mutex_);
  std::erase_if(known_, [&](const Known& each) { return each.key == key; });
  known_.push_front({key, signature, metrics});
  if (known_.size() > kKnown) known_.pop_back();
  return metrics;
}

Result<json> JobReader::Series(const std::string& id, int rank,
                               const std::vector<std::string>& names, const SeriesRange& range) {
  STOKER_ASSIGN(const auto known, Metrics(id, rank));
  json series = json::array();
  for (const auto& [name, parts] : known->series) {
    if (!names.empty() && std::find(names.begin(), names.end(), name) == names.end()) continue;
    const auto curve = metrics::MakeCurve(parts);
    json one = SeriesJson(name, Condense(curve, range));
    one["ordered"] = std::all_of(parts.begin(), parts.end(),
                                 [](const metrics::AttemptPart& part) { return part.ordered; });
    series.push_back(std::move(one));
  }
  return json{{"job", id}, {"node", rank}, {"series", series}, {"troubles", known->troubles}};
}

Result<json> JobReader::Usage(const std::string& id) {
  STOKER_ASSIGN(const JobRead read, ReadJob(ledger_, id));
  json courses = json::array();
  for (const Attempt& attempt : read.job.attempts) {
    for (int rank = 0; rank < static_cast<int>(attempt.launches.size()); ++rank) {
      const auto object = ledger_.store().Get(paths::Usage(id, attempt.number, rank));
      if (!object.ok()) continue;  // none was written
      json course = UsageColumns(object->data, attempt.number, rank);
      if (course.is_null()) continue;
      // Its times count from its first sample; it was written when its last one was taken.
      const auto& at = course["at_ms"];
      const double span = at.empty() ? 0 : at.back().get<double>();
      course["begun"] = object->info.last_modified.ms - static_cast<int64_t>(span);
      courses.push_back(std::move(course));
    }
  }
  return json{{"job", id}, {"courses", courses}};
}

Result<json> JobReader::Log(const std::string& id, const LogPage& page) {
  LogFilter filter;
  if (page.cursor.empty()) filter.tail = page.tail;
  filter.tail_of_all = true;
  STOKER_ASSIGN(const auto reader, LogReader::Open(ledger_.store(), id, filter, page.cursor));
  STOKER_ASSIGN(const auto records, reader->Next());
  json lines = json::array();
  for (const LogRecord& record : records) lines.push_back(RecordJson(record));
  return json{{"lines", std::move(lines)}, {"cursor", reader->Cursor()}};
}

Result<json> JobReader::KeptFiles(const std::string& id) {
  ObjectStore& store = ledger_.store();
  STOKER_ASSIGN(const JobRead read, ReadJob(ledger_, id));
  STOKER_ASSIGN(const Lineage lineage, ReadLineage(ledger_, read.job));
  json checkpoints = json::array();
  for (const KnownCheckpoint& known : lineage.all) {
    checkpoints.push_back(CheckpointJson(known));
    if (known.of == id) checkpoints.back()["listed"] = FilesOf(store, known);
  }
  STOKER_ASSIGN(const auto outputs, ListOutputs(store, id));
  json files = json::array();
  for (const OutputInfo& output : outputs) {
    if (files.size() >= kMostFilesListed) break;
    if (output.file.kind != FileKind::kFile) continue;
    files.push_back(FileJson(output.file, output.rank));
    files.back()["path"] = output.path;
    files.back()["attempt"] = output.attempt;
    if (IsProfile(output.path)) files.back()["profile"] = true;
  }
  return json{{"checkpoints", checkpoints},
              {"outputs", files},
              {"outputs_in_all", outputs.size()},
              {"cut", lineage.cut}};
}

Result<json> JobReader::Code(const std::string& id) {
  STOKER_ASSIGN(const JobRead read, ReadJob(ledger_, id));
  json out = {{"note", read.job.workdir_note}, {"digest", read.job.code_digest}};
  const auto text = ReadSpec(ledger_, read.job);
  out["spec"] = text.ok() ? json(*text) : json(nullptr);
  const auto diff = ReadText(ledger_.store(), paths::Diff(id), kMostDiff);
  if (!diff.ok() && !diff.status().Is(Code::kNotFound)) return diff.status();
  out["diff"] = diff.ok() ? json(*diff) : json(nullptr);
  return out;
}

Result<json> JobReader::Compared(const std::string& id) {
  STOKER_ASSIGN(const auto compared, ReadCompared(ledger_, id, ledger_.clock().Wall()));
  json out = ComparedJson(compared);
  out.erase("metrics");  // the table of jobs has them
  return out;
}

Result<std::unique_ptr<Download>> JobReader::Open(const std::string& id, const std::string& of,
                                                  const std::string& path, int64_t* size) {
  ObjectStore& store = ledger_.store();
  if (of == "output") {
    STOKER_ASSIGN(const auto outputs, ListOutputs(store, id));
    for (const OutputInfo& output : outputs) {
      if (output.path != path) continue;
      *size = output.file.size;
      return store.OpenDownload(output.key);
    }
    return Status(Code::kNotFound, "the job has no such output");
  }
  const size_t colon = path.find(':');
  const auto rank = WholeNumber(path.substr(0, colon), 0, INT32_MAX);
  if (colon == path.npos || !rank) return Status(Code::kInvalid, "NODE:PATH is expected");
  if (!IsSafeName(of)) return Status(Code::kInvalid, "that is no checkpoint's name");
  STOKER_ASSIGN(const Manifest manifest, LoadManifest(store, id, of));
  for (const Part& part : manifest.parts) {
    for (const ManifestFile& file : part.files) {
      if (part.rank != *rank || file.path != path.substr(colon + 1)) continue;
      *size = file.size;
      return store.OpenDownload(paths::Checkpoints(id) + file.object);
    }
  }
  return Status(Code::kNotFound, "the checkpoint has no such file");
}

void JobReader::LookAfterAll(Duration budget) {
  std::lock_guard<std::mutex> lock(passes_);
  const MonoTime end = ledger_.clock().Mono() + budget;
  (void)PassAll(ledger_, controller_, {},
                [&](const auto&) { return ledger_.clock().Mono() >= end; });
}

}  // namespace stoker::page
