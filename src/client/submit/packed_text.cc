// SPDX-License-Identifier: Apache-2.0
#include "client/submit/packed_text.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "spec/parse.h"
#include "spec/text/script_end.h"

namespace stoker::client {
namespace {

constexpr size_t kTextSample = 8000;    // as git decides what is text
constexpr size_t kPointerBytes = 1024;  // git-lfs: a pointer file is smaller
constexpr size_t kPointersNamed = 3;

std::string PipeText(const std::string& what, const PipeEnd& end) {
  return what + " ends in a pipe: its exit code is that of '" + Printable(end.last) +
         "' alone, and the job succeeds even if '" + Printable(end.hidden) +
         "' fails. 'set -o pipefail' before it makes both count";
}

// The script that the spec starts out of its work directory.
std::string ScriptOf(const JobSpec& spec) {
  std::vector<std::string> words = spec.argv.empty() ? LastCommand(spec.run) : spec.argv;
  for (std::string& word : words) {
    if (word == "pipefail") return "";
    if (spec.argv.empty()) std::erase_if(word, [](char c) { return c == '"' || c == '\''; });
  }
  std::string path = ProgramFileOf(words);
  if (!spec.workdir.empty() && StartsWith(path, spec.workdir + "/")) {
    path = path.substr(spec.workdir.size() + 1);
  }
  while (StartsWith(path, "./")) path = path.substr(2);
  return path;
}

// https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md; -1 = it is none.
int64_t PointsTo(std::string_view head) {
  const bool pointer = StartsWith(head, "version https://git-lfs.github.com/spec/") ||
                       StartsWith(head, "version https://hawser.github.com/spec/");
  constexpr std::string_view kSize = "\nsize ";
  const size_t at = head.find(kSize);
  if (!pointer || head.size() >= kPointerBytes || at == std::string_view::npos) return -1;
  const std::string_view rest = head.substr(at + kSize.size());
  return WholeNumber(rest.substr(0, rest.find_first_of("\r\n")), 0, INT64_MAX).value_or(-1);
}

// torch.save("ckpt.pt") fails where ckpt.pt is a folder.
bool LooksLikeAFile(const std::string& path) {
  static constexpr std::string_view kEndings[] = {
      ".pt",  ".pth", ".ckpt",  ".bin",  ".safetensors", ".pkl", ".h5",  ".keras",
      ".npz", ".npy", ".model", ".json", ".joblib",      ".tar", ".zip", ".onnx"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](std::string_view ending) { return EndsWith(path, ending); });
}

}  // namespace

PackedText::PackedText(const JobSpec& spec, NamedHere* named)
    : named_(named), program_(ScriptOf(spec)) {
  const auto look = [this](const std::string& what, const std::string& script) {
    if (const auto end = EndsInPipe(script)) pipes_[what] = PipeText(what, *end);
  };
  if (spec.checkpoints.path_given && LooksLikeAFile(spec.checkpoints.path)) {
    file_ = spec.checkpoints.path;
  }
  look("'setup'", spec.setup);
  look("'run'", spec.run);
  look("the script of the command", ScriptInCommand(spec.argv));
}

void PackedText::Look(const std::string& path, std::string_view head) {
  if (std::memchr(head.data(), 0, std::min(head.size(), kTextSample)) != nullptr) return;
  named_->Read(head);
  if (const int64_t bytes = PointsTo(head); bytes >= 0) pointers_[path] = bytes;
  if (path != program_ || !IsShellScript(path, head)) return;
  pipes_.erase(path);
  if (const auto end = EndsInPipe(head)) pipes_[path] = PipeText(Printable(path), *end);
}

void PackedText::Say(Client& client) const {
  if (!file_.empty()) {
    client.Say(
        "note: 'checkpoints' is a folder, which is made before the program begins: if the "
        "program writes a file " +
        Printable(file_) + ", give the folder that it lies in");
  }
  for (const auto& [what, text] : pipes_) client.Say(text);
  if (pointers_.empty()) return;
  int64_t bytes = 0;
  std::vector<std::string> names;
  for (const auto& [path, size] : pointers_) {
    bytes += std::min(size, INT64_MAX - bytes);
    if (names.size() < kPointersNamed) names.push_back(Printable(path));
  }
  if (pointers_.size() > kPointersNamed) {
    names.push_back("and " + std::to_string(pointers_.size() - kPointersNamed) + " more");
  }
  const bool one = pointers_.size() == 1;
  client.Say("packed without " + std::string(one ? "its" : "their") + " content, " +
             HumanSize(bytes) + ": " + HumanFiles(static_cast<int64_t>(pointers_.size())) +
             (one ? " is only a pointer" : " are only pointers") +
             " of git LFS: " + Join(names, ", ") + ". 'git lfs pull' fetches it");
}

}  // namespace stoker::client
