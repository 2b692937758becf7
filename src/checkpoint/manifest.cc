// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/manifest.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/deliberate_bug.h"
#include "base/json.h"
#include "base/json_depth.h"
#include "base/remembered.h"
#include "base/text.h"
#include "base/utf8.h"
#include "checkpoint/rule/episode.h"
#include "checkpoint/rule/step_number.h"
#include "ledger/paths.h"
#include "transfer/object_name.h"

namespace stoker {
namespace {

constexpr int kOfNoNode = -1;
constexpr int kDeepest = 32;  // ours have six levels
constexpr char kEncoded[] = "_encoded";

using nlohmann::json;

constexpr int64_t kNanosOfMs = 1'000'000;
constexpr int64_t kMaxNumber = 1'000'000'000'000'000;

std::string_view KindName(FileKind kind) {
  switch (kind) {
    case FileKind::kFile:
      return "file";
    case FileKind::kLink:
      return "link";
    case FileKind::kDirectory:
      return "directory";
  }
  return "file";
}

// What the keys of manifests have digits for, so that they come in order.
constexpr int64_t kMostAttempt = 999'999;
constexpr int64_t kMostSequence = 999'999'999'999'999;

// JSON is UTF-8, names are bytes. Who does not know the second member finds the file under a name
// that says which bytes they are.
void WriteName(json& out, const std::string& member, const std::string& name) {
  const bool plain = IsUtf8(name);
  out[member] = plain ? name : EncodeName(name);
  if (!plain) out[member + kEncoded] = out[member];
}

std::string ReadName(const json& in, const std::string& member) {
  const std::string encoded = in.value(member + kEncoded, "");
  return encoded.empty() ? in.at(member).get<std::string>() : DecodeName(encoded);
}

json FileJson(const ManifestFile& file) {
  json out;
  WriteName(out, "path", file.path);
  if (file.kind != FileKind::kFile) out["kind"] = KindName(file.kind);
  if (file.kind == FileKind::kLink) WriteName(out, "target", file.target);
  if (file.kind == FileKind::kFile) {
    out["size"] = file.size;
    out["sha256"] = file.sha256;
    out["object"] = file.object;
    out["mtime_ms"] = file.mtime_ns / kNanosOfMs;
    out["mtime_ns"] = file.mtime_ns;
    if (!file.same_as.empty()) WriteName(out, "same_as", file.same_as);
  }
  out["mode"] = file.mode;
  if (file.ctime_ns != 0) out["ctime_ns"] = file.ctime_ns;
  if (file.restored) out["restored"] = true;
  return out;
}

json PartJson(const Part& part) {
  json files = json::array();
  for (const ManifestFile& file : part.files) files.push_back(FileJson(file));
  json out = {{"rank", part.rank}, {"done", part.done}, {"step", part.step}, {"files", files}};
  if (part.none) out["none"] = true;
  if (part.late) out["late"] = true;
  if (part.rests) out["rests"] = true;
  if (part.ended) out["ended"] = true;
  if (part.wish != 0) out["wish"] = part.wish;
  return out;
}

Status Bad(const std::string& what) { return Status(Code::kCorrupt, "checkpoint record: " + what); }

// A link must stay below the directory wherever it is restored.
bool TargetStaysInside(const std::string& path, const std::string& target) {
  if (target.empty() || target[0] == '/' || target.find('\0') != std::string::npos) return false;
  auto depth = static_cast<int>(Split(path, '/').size()) - 1;
  for (const std::string& part : Split(target, '/')) {
    if (part.empty() || part == ".") continue;
    depth += part == ".." ? -1 : 1;
    if (depth < 0) return false;
  }
  return true;
}

bool IsSha256(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// A member that is a whole number from `low` to `high`; `otherwise` where there is none. Throws, as
// `at` does: a number of another kind would be cut, or worse, and is no number of ours.
int64_t Number(const json& in, const char* name, int64_t low, int64_t high,
               std::optional<int64_t> otherwise = std::nullopt) {
  const auto found = in.find(name);
  if (found == in.end() && otherwise) return *otherwise;
  const json& value = in.at(name);
  const bool whole = value.is_number_integer();
  const bool large = value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX;
  if (whole && !large && value.get<int64_t>() >= low && value.get<int64_t>() <= high) {
    return value.get<int64_t>();
  }
  throw json::other_error::create(501, std::string(name) + " is no whole number in range", &in);
}

Result<ManifestFile> ReadFileJson(const json& in) {
  ManifestFile file;
  file.path = ReadName(in, "path");
  if (!IsSafeRelativePath(file.path)) return Bad("unsafe path '" + Printable(file.path) + "'");
  const std::string kind = in.value("kind", "file");
  file.mode = static_cast<int>(Number(in, "mode", 0, kMaxNumber, 0644)) & 0777;
  file.restored = in.value("restored", false);
  file.ctime_ns = Number(in, "ctime_ns", INT64_MIN, INT64_MAX, 0);
  if (kind == "link") {
    file.kind = FileKind::kLink;
    file.target = ReadName(in, "target");
    if (!TargetStaysInside(file.path, file.target)) {
      return Bad("link '" + Printable(file.path) + "' leads out of the checkpoint");
    }
    return file;
  }
  if (kind == "directory") {
    file.kind = FileKind::kDirectory;
    return file;
  }
  if (kind != "file") return Bad("'" + Printable(file.path) + "' is of an unknown kind");
  file.size = Number(in, "size", 0, kMaxNumber);
  file.sha256 = in.at("sha256").get<std::string>();
  file.object = in.at("object").get<std::string>();
  const int64_t most_ms = INT64_MAX / kNanosOfMs;
  const int64_t ms = Number(in, "mtime_ms", -most_ms, most_ms, 0);
  file.mtime_ns = Number(in, "mtime_ns", INT64_MIN, INT64_MAX, ms * kNanosOfMs);
  if (in.contains("same_as")) file.same_as = ReadName(in, "same_as");
  if (!IsSha256(file.sha256) || !IsSafeRelativePath(file.object)) {
    return Bad("wrong size, hash or object of '" + Printable(file.path) + "'");
  }
  return file;
}

Result<Part> ReadPartJson(const json& in) {
  Part part;
  part.rank = static_cast<int>(Number(in, "rank", 0, INT32_MAX));
  part.none = in.value("none", false);
  part.late = in.value("late", false);
  part.done = Number(in, "done", 0, INT64_MAX, 0);
  part.step = Number(in, "step", INT64_MIN, INT64_MAX, -1);
  part.rests = in.value("rests", false);
  part.ended = in.value("ended", false);
  part.wish = Number(in, "wish", 0, INT64_MAX, 0);
  std::set<std::string> paths;
  for (const json& item : in.at("files")) {
    STOKER_ASSIGN(ManifestFile file, ReadFileJson(item));
    if (!paths.insert(file.path).second) return Bad("'" + Printable(file.path) + "' twice");
    part.files.push_back(std::move(file));
  }
  return part;
}

template <typename Read>
auto Decode(const std::string& text, Read read) -> decltype(read(json())) {
  try {
    if (NestedDeeper(text, kDeepest)) return Bad("is nested too deeply");
    const json in = json::parse(text);
    if (!in.is_object()) return Bad("not an object");
    if (Number(in, "format", 1, INT64_MAX) > kManifestFormat) {
      return Status(Code::kTooNew, "this checkpoint was written by a newer stoker",
                    "use that version, or a later one");
    }
    return read(in);
  } catch (const json::parse_error& e) {
    return Bad("not JSON from byte " + std::to_string(e.byte) + " on");
  } catch (const json::exception&) {
    return Bad("a field is missing, or of another kind");
  }
}

}  // namespace

std::string CheckpointId::ToString() const {
  return std::to_string(attempt) + "-" + std::to_string(seq);
}

std::optional<CheckpointId> ParseCheckpointId(const std::string& text) {
  const size_t dash = text.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const auto attempt = WholeNumber(std::string_view(text).substr(0, dash), 0, kMostAttempt);
  const auto seq = WholeNumber(std::string_view(text).substr(dash + 1), 0, kMostSequence);
  if (!attempt || !seq || text[dash + 1] == '-') return std::nullopt;
  return CheckpointId{static_cast<int>(*attempt), *seq};
}

std::string EncodeManifest(const Manifest& manifest) {
  json parts = json::array();
  for (const Part& part : manifest.parts) parts.push_back(PartJson(part));
  json out({{"format", kManifestFormat},
            {"job", manifest.job},
            {"id", manifest.id.ToString()},
            {"created", FormatRfc3339(manifest.created)},
            {"writer", manifest.writer},
            {"reason", manifest.reason},
            {"step", manifest.step},
            {"bytes", manifest.bytes},
            {"parts", parts}});
  return out.dump(1);
}

Result<Manifest> DecodeManifest(const std::string& text) {
  thread_local Remembered<Manifest> decoded;
  if (const Manifest* known = decoded.Find(text)) return *known;
  auto manifest = Decode(text, [](const json& in) -> Result<Manifest> {
    Manifest out;
    out.job = in.at("job").get<std::string>();
    const auto id = ParseCheckpointId(in.at("id").get<std::string>());
    if (!id) return Bad("wrong id");
    out.id = *id;
    const auto created = ParseRfc3339(in.at("created").get<std::string>());
    if (!created.ok()) return Bad(Printable(created.status().message()));
    out.created = *created;
    out.writer = in.value("writer", "");
    out.reason = in.value("reason", "");
    out.step = Number(in, "step", INT64_MIN, INT64_MAX, -1);
    out.bytes = Number(in, "bytes", 0, kMaxNumber, 0);
    for (const json& item : in.at("parts")) {
      STOKER_ASSIGN(Part part, ReadPartJson(item));
      out.parts.push_back(std::move(part));
    }
    return out;
  });
  if (manifest.ok()) decoded.Keep(text, *manifest);
  return manifest;
}

std::string EncodePart(const Part& part) {
  json out = PartJson(part);
  out["format"] = kManifestFormat;
  return out.dump(1);
}

Result<Part> DecodePart(const std::string& text) {
  return Decode(text, [](const json& in) { return ReadPartJson(in); });
}

std::string EncodeRound(const Round& round) {
  const json out = {{"format", kManifestFormat}, {"seq", round.seq}, {"done", round.done},
                    {"step", round.step},        {"any", round.any}, {"wish", round.wish},
                    {"ended", round.ended}};
  return out.dump(1);
}

Result<Round> DecodeRound(const std::string& text) {
  return Decode(text, [](const json& in) -> Result<Round> {
    return Round{Number(in, "seq", INT64_MIN, INT64_MAX),      Number(in, "done", 0, INT64_MAX, 0),
                 Number(in, "step", INT64_MIN, INT64_MAX, -1), in.value("any", false),
                 Number(in, "wish", 0, INT64_MAX, 0),          in.value("ended", false)};
  });
}

// What a node has beside, and what it restored of others' files, is no content of its own.
std::string ContentOf(const Manifest& manifest) {
  const auto text = [](const ManifestFile& file) {
    return file.path + "\n" + std::to_string(static_cast<int>(file.kind)) + file.sha256 +
           file.target + "\n";
  };
  std::string content;
  std::map<std::string, const ManifestFile*> common;
  const std::vector<ManifestFile> all = UnionFor(manifest, kOfNoNode);
  for (const ManifestFile& file : all) {
    content += text(file);
    common[file.path] = &file;
  }
  for (const Part& part : manifest.parts) {
    for (const ManifestFile& file : part.files) {
      const auto it = common.find(file.path);
      const bool its_own = it == common.end() || !file.restored || it->second->restored;
      if (!its_own || (it != common.end() && text(file) == text(*it->second))) continue;
      content += std::to_string(part.rank) + "\n" + text(file);
    }
  }
  return content;
}

bool Matches(const Round& round, const Part& part) {
  if (part.none || BugIsOn("parts-unmatched")) return true;
  if (round.any) return round.ended ? part.ended : part.rests;
  if (round.step >= 0 && part.step >= 0) return round.step == part.step;
  return round.done > 0 && round.done == part.done;
}

int64_t StepOf(const std::vector<Part>& parts) {
  std::tuple<bool, StepNumber::Of, int64_t, int64_t> best = {false, StepNumber::Of::kNothing, 0,
                                                             -1};
  for (const Part& part : parts) {
    for (const ManifestFile& file : part.files) {
      if (file.kind != FileKind::kFile || IsStream(file.path)) continue;
      const StepNumber step = StepInPath(file.path);
      if (step.value < 0) continue;
      best = std::max(best, {!file.restored, step.of, file.mtime_ns, step.value});
    }
  }
  return std::get<3>(best);
}

std::string ManifestsPrefix(const std::string& job) {
  return paths::Checkpoints(job) + "manifests/";
}

std::string ManifestKey(const std::string& job, const CheckpointId& id) {
  return ManifestsPrefix(job) + Padded(id.attempt, 6) + "-" + Padded(id.seq, 6) + ".json";
}

std::optional<CheckpointId> IdOfManifestKey(const std::string& key) {
  const size_t slash = key.rfind('/');
  std::string name = slash == std::string::npos ? key : key.substr(slash + 1);
  if (!EndsWith(name, ".json")) return std::nullopt;
  return ParseCheckpointId(name.substr(0, name.size() - 5));
}

std::string PartKey(const std::string& job, const CheckpointId& id, int rank) {
  return paths::Checkpoints(job) + "parts/" + id.ToString() + "-" + std::to_string(rank) + ".json";
}

std::string RoundKey(const std::string& job, const CheckpointId& id) {
  return paths::Checkpoints(job) + "rounds/" + id.ToString() + ".json";
}

std::string FinalPartKey(const std::string& job, int attempt, int rank) {
  return paths::Checkpoints(job) + "finals/" + std::to_string(attempt) + "-" +
         std::to_string(rank) + ".json";
}

std::string WishKey(const std::string& job, int attempt, int rank) {
  return paths::Checkpoints(job) + "wishes/" + std::to_string(attempt) + "-" +
         std::to_string(rank) + ".json";
}

std::string DataFolder(const CheckpointId& id, int rank, int again) {
  std::string folder = "data/" + std::to_string(id.attempt) + "-" + std::to_string(rank) + "-" +
                       std::to_string(id.seq);
  if (again > 0) folder += "." + std::to_string(again);
  return folder + "/";
}

std::optional<CheckpointId> IdOfData(const std::string& name) {
  const std::vector<std::string> parts = Split(TopOf(name), '-');
  if (parts.size() != 3) return std::nullopt;
  return ParseCheckpointId(parts[0] + "-" + parts[2].substr(0, parts[2].find('.')));
}

std::string WhyNotKept(const std::string& job, const std::string& path) {
  (void)job;
  return IsSafeRelativePath(path) ? "" : "its name is not safe";
}

std::vector<ManifestFile> UnionFor(const Manifest& manifest, int rank) {
  struct Choice {
    const ManifestFile* file;
    int worth;
  };
  std::map<std::string, Choice> chosen;
  for (const Part& part : manifest.parts) {
    for (const ManifestFile& file : part.files) {
      const int worth = (file.restored ? 0 : 4) + (part.rank == rank ? 2 : part.rank == 0 ? 1 : 0);
      auto [it, added] = chosen.try_emplace(file.path, Choice{&file, worth});
      if (!added && worth > it->second.worth) it->second = {&file, worth};
    }
  }
  std::vector<ManifestFile> out;
  // A file and a folder of one name on two nodes: the folder's contents could not be made. `above`
  // are the files whose names this one begins with: in this order they come before it, and none
  // comes back. Each name is looked at once, however long and deep a hostile one is.
  std::vector<const std::string*> above;
  for (const auto& [path, choice] : chosen) {
    while (!above.empty() && !StartsWith(path, *above.back())) above.pop_back();
    const bool inside_a_file =
        std::any_of(above.begin(), above.end(),
                    [&name = path](const std::string* file) { return name[file->size()] == '/'; });
    if (choice.file->kind != FileKind::kDirectory) above.push_back(&path);
    if (!inside_a_file) out.push_back(*choice.file);
  }
  return out;
}

}  // namespace stoker
