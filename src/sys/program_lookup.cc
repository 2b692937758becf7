// SPDX-License-Identifier: Apache-2.0
#include "sys/program_lookup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/text.h"

namespace stoker {
namespace {

std::string Under(const std::string& cwd, const std::string& path) {
  return StartsWith(path, "/") ? path : cwd + "/" + path;
}

enum class Found { kYes, kNo, kDirectory, kNotExecutable, kOutOfReach };

Found Look(const std::string& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0) {
    return errno == EACCES ? Found::kOutOfReach : Found::kNo;
  }
  if (S_ISDIR(info.st_mode)) return Found::kDirectory;
  return access(file.c_str(), X_OK) == 0 ? Found::kYes : Found::kNotExecutable;
}

Result<std::string> Search(const std::string& name, const std::string& path,
                           const std::string& cwd) {
  if (name.find('/') != std::string::npos) {
    const std::string file = Under(cwd, name);
    switch (Look(file)) {
      case Found::kYes:
        return file;
      case Found::kNotExecutable:
        return Status(Code::kDenied, name + ": is not an executable file", "chmod +x " + name);
      case Found::kDirectory:
        return Status(Code::kDenied, name + ": is a directory");
      case Found::kOutOfReach:
        return Status(Code::kDenied,
                      name + ": it, or what it links to, lies where this user may not enter");
      case Found::kNo:
        break;
    }
    return Status(Code::kNotFound,
                  name + ": no such file" + (file == name ? std::string() : " in " + cwd));
  }
  std::string refused;
  for (const std::string& entry : Split(path, ':')) {
    const std::string file = Under(cwd, entry.empty() ? "." : entry) + "/" + name;
    const Found found = Look(file);
    if (found == Found::kYes) return file;
    if (found == Found::kNotExecutable && refused.empty()) refused = file;
  }
  if (!refused.empty()) return Status(Code::kDenied, refused + ": is not an executable file");
  const bool python3 = name == "python" && Search("python3", path, cwd).ok();
  return Status(Code::kNotFound, name + ": not found in PATH=" + path +
                                     (python3 ? "; python3 is there: write python3" : ""));
}

// The words of a script's #! line; empty when the file is no script or cannot be read.
std::vector<std::string> ShebangOf(const std::string& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return {};
  char buffer[256];  // BINPRM_BUF_SIZE: the kernel looks no further
  const ssize_t n = read(fd, buffer, sizeof buffer);
  close(fd);
  if (n < 3 || buffer[0] != '#' || buffer[1] != '!') return {};
  std::string_view line(buffer + 2, static_cast<size_t>(n) - 2);
  line = line.substr(0, line.find('\n'));
  std::vector<std::string> words;
  while (true) {
    const size_t start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos) return words;
    line.remove_prefix(start);
    const size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

Status CheckInterpreter(const std::string& file, const std::string& path, const std::string& cwd) {
  const std::vector<std::string> words = ShebangOf(file);
  if (words.empty()) return Status::Ok();
  const std::string& interpreter = words[0];
  const bool windows = EndsWith(words.back(), "\r");
  const std::string next = windows ? "the file has Windows line ends: run dos2unix on it" : "";
  if (Look(Under(cwd, interpreter)) != Found::kYes) {
    return Status(Code::kNotFound,
                  file + ": its interpreter " + Printable(interpreter) +
                      " (from its #! line) does not exist or is not executable",
                  next);
  }
  const bool env = EndsWith(interpreter, "/env") && words.size() > 1;
  if (!env || StartsWith(words[1], "-") || words[1].find('=') != std::string::npos) {
    return Status::Ok();
  }
  const Status found = Search(words[1], path, cwd).status();
  if (found.ok()) return found;
  return Status(found.code(), file + ": its interpreter " + Printable(found.message()), next);
}

}  // namespace

Result<std::string> FindProgram(const std::string& name, const std::string& path,
                                const std::string& cwd) {
  if (name.empty()) return Status(Code::kInvalid, "the command is empty");
  STOKER_ASSIGN(std::string file, Search(name, path, cwd));
  STOKER_TRY(CheckInterpreter(file, path, cwd));
  return file;
}

}  // namespace stoker
