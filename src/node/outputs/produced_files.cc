// SPDX-License-Identifier: Apache-2.0
#include "node/outputs/produced_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "pack/credentials.h"
#include "pack/exclusions.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

// Made by tools for themselves, and made again whenever they are missing. docs/outputs.md.
constexpr const char* kCaches[] = {
    ".cache",  "__pycache__", ".pytest_cache", ".mypy_cache",        ".ruff_cache",
    ".tox",    ".nox",        ".eggs",         ".ipynb_checkpoints", ".npm",
    ".triton", ".nv",         "node_modules",  ".virtualenvs"};
constexpr int64_t kTextBytes = 1 << 20;  // of a file that are looked through, as packing does
constexpr size_t kTextBegins = 8000;     // without a NUL: text, as git decides
constexpr size_t kNamed = 10;            // of each kind, to people
constexpr int64_t kIgnoreBytes = 4 << 20;

std::string LastPart(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool IsCache(const std::string& name) {
  return std::find(std::begin(kCaches), std::end(kCaches), name) != std::end(kCaches);
}

// "" when nothing in the file looks like a credential. What cannot be read is told when it is sent.
std::string CredentialIn(const std::string& file, const std::string& name) {
  const auto fd = sys::Open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd.ok()) return "";
  std::string text(kTextBegins, '\0');
  const auto read_on = [&](size_t from) {
    const ssize_t got =
        ::pread(fd->get(), text.data() + from, text.size() - from, static_cast<off_t>(from));
    text.resize(from + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  };
  read_on(0);
  if (text.find('\0') != std::string::npos) return "";
  if (text.size() == kTextBegins) {
    text.resize(kTextBytes);
    read_on(kTextBegins);
  }
  if (pack::MayHoldPrivateKey(name) && pack::HoldsPrivateKey(text)) return "it is a private key";
  const auto found = pack::FindCredential(text);
  if (!found) return "";
  return "line " + std::to_string(found->line) + " looks like " + found->what;
}

std::string GroupText(const ProducedGroup& group) {
  if (!group.folder) return Printable(group.path) + " (" + HumanSize(group.bytes) + ")";
  const std::string where = group.path.empty() ? "files in no folder" : group.path + "/";
  const std::string all = group.of > group.files ? " of " + std::to_string(group.of) : "";
  return Printable(where) + " (" + std::to_string(group.files) + all + " files, " +
         HumanSize(group.bytes) + ")";
}

std::string AndMore(size_t all) {
  return all > kNamed ? " and " + std::to_string(all - kNamed) + " more" : "";
}

}  // namespace

void ProducedFiles::Some::Add(const std::string& path) {
  if (first.size() < kNamed) first.push_back(Printable(path));
  ++count;
}

std::string ProducedFiles::Some::Names() const {
  return Join(first, ", ") + AndMore(static_cast<size_t>(count));
}

ProducedFiles::ProducedFiles(ProducedFilesConfig config)
    : config_(std::move(config)), downloads_(config_.workdir, config_.downloads) {}

void ProducedFiles::LoadIgnoreFile(const std::string& folder) {
  const std::string path =
      config_.workdir + "/" + (folder.empty() ? "" : folder + "/") + ".stokerignore";
  const auto text = sys::ReadFile(path, kIgnoreBytes);
  if (text.ok()) ignore_.Add(folder, *text);
}

bool ProducedFiles::Enters(const std::string& path, Passed* passed) {
  const auto& out = config_.leave_out;
  if (std::find(out.begin(), out.end(), path) != out.end()) return false;
  downloads_.Enter(path);
  // Only to be measured.
  if (bool cache = false; downloads_.Has(path, &cache) && cache) return true;
  const std::string name = LastPart(path);
  const pack::Exclusion exclusion = pack::ExcludedName(name);
  const bool secret = exclusion == pack::Exclusion::kSecret;
  const bool ignored = ignore_.IgnoresEntry(path, true);
  if (secret || ignored) {
    if (remembering_) passed_before_.insert(path);
    if (passed_before_.count(path) == 0) {
      (secret ? passed->secrets : passed->ignored).Add(path + "/");
    }
    return false;
  }
  if (exclusion != pack::Exclusion::kNone || IsCache(name)) return false;
  for (const char* mark : pack::kVenvMarks) {
    if (sys::FileExists(config_.workdir + "/" + path + "/" + mark)) return false;
  }
  LoadIgnoreFile(path);
  return true;
}

bool ProducedFiles::Counts(const FileFact& fact, Passed* passed) const {
  if (fact.kind == FileKind::kDirectory || before_.Has(fact)) return false;
  const auto& out = config_.leave_out;
  if (std::find(out.begin(), out.end(), fact.path) != out.end()) return false;
  const pack::Exclusion exclusion = pack::ExcludedName(LastPart(fact.path));
  if (exclusion == pack::Exclusion::kSecret) passed->secrets.Add(fact.path);
  if (exclusion != pack::Exclusion::kNone) return false;
  if (!ignore_.IgnoresEntry(fact.path, false)) return true;
  passed->ignored.Add(fact.path);
  return false;
}

Status ProducedFiles::Remember() {
  before_ = {};
  ignore_ = {};
  passed_before_.clear();
  Passed passed;
  TreeFilter filter;
  // The same folders as at the end, so that none of them is walked through for nothing.
  filter.enter = [&](const std::string& path) { return Enters(path, &passed); };
  filter.wanted = [&](const FileFact& fact) {
    before_.Add(fact);
    return false;
  };
  filter.closed = [](const std::string&, const Status&) {};
  LoadIgnoreFile("");
  downloads_.Begin();
  remembering_ = true;
  const Status walked = WalkTree(config_.workdir, filter);
  remembering_ = false;
  before_.Seal();
  return walked;
}

Status ProducedFiles::Walk(const std::function<bool()>& out_of_time, Passed* passed,
                           const Sight& sight) {
  *passed = {};
  ignore_ = {};
  LoadIgnoreFile("");
  downloads_.Begin();
  bool late = false;
  TreeFilter filter;
  filter.enter = [&](const std::string& path) {
    late = late || out_of_time();
    return !late && Enters(path, passed);
  };
  filter.wanted = [&](const FileFact& fact) {
    See(fact, passed, sight);
    return false;
  };
  filter.closed = [&](const std::string& path, const Status&) { passed->closed.Add(path); };
  STOKER_TRY(WalkTree(config_.workdir, filter));
  if (!late && !out_of_time()) return Status::Ok();
  return Status(Code::kTimeout, "there was no time left to look for what the program made");
}

void ProducedFiles::See(const FileFact& fact, Passed* passed, const Sight& sight) {
  bool cache = false;
  if (!downloads_.Has(fact.path, &cache)) {
    if (Counts(fact, passed)) sight(fact);
    return;
  }
  const bool made = fact.kind != FileKind::kDirectory && !before_.Has(fact);
  if (cache ? made : Counts(fact, passed)) downloads_.Add(fact.path, fact.size);
}

Status ProducedFiles::Choose(const std::function<bool()>& out_of_time) {
  if (!config_.keeps) return NameAll(out_of_time);
  Passed passed;
  std::optional<ProducedTally> tally;
  const Sight sight = [&](const FileFact& made) { tally->Add(made.path, made.size); };
  do {
    tally.emplace(config_.bounds);
    STOKER_TRY(Walk(out_of_time, &passed, sight));
  } while (downloads_.DropSmall());
  if (tally->Again()) STOKER_TRY(Walk(out_of_time, &passed, sight));
  choice_ = tally->Choose();
  left_out_.clear();
  DropCredentials();
  TellLeftOut(passed);
  return Status::Ok();
}

// No number of the node and no sizes: where every node made the same, one sentence tells it.
Status ProducedFiles::NameAll(const std::function<bool()>& out_of_time) {
  left_out_.clear();
  Passed passed;
  std::set<std::string> first;
  int64_t count = 0;
  do {
    first.clear();
    count = 0;
    STOKER_TRY(Walk(out_of_time, &passed, [&](const FileFact& made) {
      ++count;
      first.insert(made.path);
      if (first.size() > kNamed) first.erase(std::prev(first.end()));
    }));
  } while (downloads_.DropSmall());
  TellDownloads(false);
  if (count == 0) return Status::Ok();
  Some all;
  for (const std::string& path : first) all.Add(path);
  all.count = count;
  left_out_.push_back("not kept: " + all.Names() +
                      ": without 'outputs' in the job file only node 0's files are kept; write "
                      "into $STOKER_OUTPUT_DIR or name them under 'outputs'");
  return Status::Ok();
}

// What packing would stop at is no less of a secret where the program wrote it.
void ProducedFiles::DropCredentials() {
  for (auto file = choice_.keep.begin(); file != choice_.keep.end();) {
    const std::string& path = file->first;
    const std::string why = CredentialIn(config_.workdir + "/" + path, LastPart(path));
    if (!why.empty()) left_out_.push_back(Printable(path) + " was not kept: " + why);
    file = why.empty() ? std::next(file) : choice_.keep.erase(file);
  }
}

void ProducedFiles::TellDownloads(bool sizes) {
  const std::string told = downloads_.Sentence(sizes);
  if (!told.empty()) left_out_.push_back(told);
}

void ProducedFiles::TellLeftOut(const Passed& passed) {
  TellDownloads(true);
  if (!choice_.left_out.empty()) {
    std::vector<std::string> groups;
    for (const ProducedGroup& group : choice_.left_out) {
      if (groups.size() < kNamed) groups.push_back(GroupText(group));
    }
    left_out_.push_back(
        "not kept: " + Join(groups, ", ") + AndMore(choice_.left_out.size()) +
        ": the program made " + std::to_string(choice_.files) + " files, " +
        HumanSize(choice_.bytes) + ", and without 'outputs' in the job file at most " +
        std::to_string(config_.bounds.files) + " files and " + HumanSize(config_.bounds.bytes) +
        " are kept. Name what is to be kept under 'outputs', or write 'limits: {kept_size: " +
        std::to_string(choice_.bytes / 1'000'000'000 + 1) +
        "GB, kept_files: " + std::to_string(choice_.files) + "}'");
  }
  const auto tell = [this](const char* why, const Some& some) {
    if (some.count > 0) left_out_.push_back("not kept, as " + std::string(why) + some.Names());
  };
  tell("their names say that they hold secrets: ", passed.secrets);
  tell("they cannot be read: ", passed.closed);
  tell(".stokerignore names them: ", passed.ignored);
}

TreeFilter ProducedFiles::Chosen() const {
  TreeFilter filter;
  filter.enter = [this](const std::string& path) {
    const auto first = choice_.keep.lower_bound(path + "/");
    return first != choice_.keep.end() && StartsWith(first->first, path + "/");
  };
  filter.wanted = [this](const FileFact& fact) { return choice_.keep.count(fact.path) != 0; };
  return filter;
}

}  // namespace stoker::node
