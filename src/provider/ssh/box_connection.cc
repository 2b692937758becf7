// SPDX-License-Identifier: Apache-2.0
#include "provider/ssh/box_connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "base/digest.h"
#include "base/json.h"
#include "base/text.h"
#include "spec/text/host_words.h"
#include "sys/child_process.h"
#include "sys/program_lookup.h"

extern char** environ;

namespace stoker {
namespace {

constexpr Duration kGreetWithin = Duration::Seconds(20);  // connect, log in, start a shell
constexpr Duration kBringWithin = Duration::Minutes(10);  // the binary, over a slow line
constexpr Duration kAnswerWithin = Duration::Seconds(20);
constexpr Duration kSweepWithin = Duration::Minutes(3);  // engines are asked, images removed
constexpr size_t kMostAnswer = size_t{64} << 20;
constexpr size_t kMostGreeting = 1 << 20;  // what a profile may say before us
constexpr size_t kMostError = 500;
constexpr int64_t kLastWordsMs = 2000;
constexpr int64_t kMostBinary = 256 << 20;

// The last of what ssh said, in one line.
std::string LastWords(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0 || info.st_size == 0) return "";
  const off_t from = std::max<off_t>(info.st_size - static_cast<off_t>(kMostError), 0);
  std::string text(static_cast<size_t>(info.st_size - from), '\0');
  const ssize_t got = pread(fd, text.data(), text.size(), from);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  std::vector<std::string> lines;
  for (const std::string& line : Split(text, '\n')) {
    const std::string plain = Printable(line);
    if (plain.find_first_not_of(" ?") != std::string::npos) lines.push_back(plain);
  }
  if (lines.size() > 3) lines.erase(lines.begin(), lines.end() - 3);
  return Join(lines, "; ");
}

std::vector<std::string> Environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) out.emplace_back(*entry);
  return out;
}

}  // namespace

Result<OwnBinary> ReadOwnBinary(const std::string& path) {
  OwnBinary own;
  own.path = path;
  STOKER_ASSIGN(const std::string data, sys::ReadFile(path, kMostBinary));
  own.what = {Sha256Hex(data), static_cast<int64_t>(data.size())};
  utsname name{};
  if (uname(&name) == 0) own.machine = name.machine;
  return own;
}

Result<std::unique_ptr<BoxConnection>> BoxConnection::Open(const std::string& word,
                                                           const OwnBinary& binary, Clock& clock) {
  if (!IsHostWord(word)) return Status(Code::kInvalid, Printable(word) + " is no host for ssh");
  std::unique_ptr<BoxConnection> box(new BoxConnection(word, clock));
  STOKER_TRY(box->Start(binary));
  STOKER_TRY(box->Greet(binary));
  STOKER_ASSIGN(const BoxJson answer, box->Ask({{"verb", "hello"}}));
  STOKER_TRY(FailureOf(answer, nullptr).WithContext(word));
  auto hello = TakeHello(answer);
  if (!hello.ok()) return hello.status().WithContext(word);
  box->hello_ = std::move(*hello);
  return box;
}

BoxConnection::~BoxConnection() { EndSsh(0); }

// Gives it so long to end by itself, and to say why.
void BoxConnection::EndSsh(int64_t patience_ms) {
  line_.Reset();
  for (int64_t waited = 0; ssh_ > 0; waited += 5) {
    const pid_t ended = waitpid(ssh_, nullptr, waited > patience_ms ? 0 : WNOHANG);
    if (ended == ssh_ || (ended < 0 && errno != EINTR)) break;
    if (waited >= patience_ms) kill(ssh_, waited > patience_ms ? SIGKILL : SIGTERM);
    usleep(5000);
  }
  ssh_ = -1;
}

Status BoxConnection::Start(const OwnBinary& binary) {
  const char* path = std::getenv("PATH");
  ChildCommand command;
  auto ssh = FindProgram("ssh", path != nullptr ? path : "/usr/bin:/bin", "/");
  if (!ssh.ok()) return ssh.status().WithNext("Install OpenSSH's client");
  command.program = std::move(*ssh);
  command.argv = SshWords(word_, BoxCommand(binary.what));
  command.env = Environment();
  command.cwd = "/";
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus("making a socket for ssh", errno);
  }
  line_.Reset(ends[0]);
  const sys::ScopedFd its(ends[1]);
  errors_.Reset(memfd_create("ssh", MFD_CLOEXEC));
  if (!errors_.valid()) return ErrnoStatus("making a place for what ssh says", errno);
  command.fds = {its.get(), its.get(), errors_.get()};
  STOKER_ASSIGN(ssh_, SpawnChild(command));
  return Status::Ok();
}

// Up to the line that says that stoker is there; lines before it are the box's own.
Status BoxConnection::Greet(const OwnBinary& binary) {
  MonoTime until = clock_.Mono() + kGreetWithin;
  size_t said = 0;
  for (;;) {
    auto line = NextLine(until);
    if (!line.ok()) return Broken(line.status());
    said += line->size();
    if (said > kMostGreeting) return Status(Code::kInvalid, word_ + " says too much at its login");
    if (!StartsWith(*line, kBoxSays)) continue;
    const std::vector<std::string> words = Split(line->substr(kBoxSays.size()), ' ');
    if (words[0] == "ready") return Status::Ok();
    if (words[0] == "failed") {
      return Status(Code::kInvalid, word_ + " cannot keep a stoker: " + Printable(*line),
                    "It needs room below ~/.local/share, and head, sha256sum and mktemp");
    }
    const std::string kind = words.size() == 3 ? words[1] + " " + words[2] : "?";
    if (kind != "Linux " + binary.machine) {
      return Status(
          Code::kInvalid,
          word_ + " is " + Printable(kind) + ", and this stoker runs on Linux " + binary.machine,
          "Submit from a machine of its kind");
    }
    STOKER_ASSIGN(const std::string data, sys::ReadFile(binary.path, kMostBinary));
    if (static_cast<int64_t>(data.size()) != binary.what.size) {
      return Status(Code::kInvalid, binary.path + " was replaced while it ran", "Do it again");
    }
    until = clock_.Mono() + kBringWithin;
    STOKER_TRY(Send(data, until));
  }
}

Status BoxConnection::Broken(const Status& how) {
  // ssh says why in the moment in which it ends.
  EndSsh(how.Is(Code::kUnavailable) ? kLastWordsMs : 0);
  const std::string words = LastWords(errors_.get());
  return Status(how.code(), word_ + " does not answer: " + (words.empty() ? how.message() : words));
}

Status BoxConnection::Send(std::string_view bytes, MonoTime until) {
  while (!bytes.empty()) {
    const int64_t left = (until - clock_.Mono()).ms;
    pollfd wait{line_.get(), POLLOUT, 0};
    if (left <= 0 || poll(&wait, 1, static_cast<int>(std::min<int64_t>(left, 1000))) < 0) {
      if (left <= 0) return Broken(Status(Code::kTimeout, "it takes nothing any more"));
      continue;
    }
    if ((wait.revents & (POLLOUT | POLLERR | POLLHUP)) == 0) continue;
    const ssize_t sent = send(line_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent < 0) return Broken(ErrnoStatus("writing to ssh", errno));
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return Status::Ok();
}

Result<std::string> BoxConnection::NextLine(MonoTime until) {
  size_t looked = 0;
  for (;;) {
    if (const size_t end = buffer_.find('\n', looked); end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return line;
    }
    looked = buffer_.size();
    if (looked > kMostAnswer) return Status(Code::kCorrupt, "an answer without an end");
    const int64_t left = (until - clock_.Mono()).ms;
    if (left <= 0) return Status(Code::kTimeout, "no answer in time");
    pollfd wait{line_.get(), POLLIN, 0};
    if (poll(&wait, 1, static_cast<int>(std::min<int64_t>(left, 1000))) <= 0) continue;
    char some[64 << 10];
    const ssize_t got = recv(line_.get(), some, sizeof some, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return Status(Code::kUnavailable, "ssh has ended");
    buffer_.append(some, static_cast<size_t>(got));
  }
}

Result<BoxJson> BoxConnection::Ask(const BoxJson& request) {
  if (!line_.valid()) return Status(Code::kUnavailable, word_ + " does not answer any more");
  const std::string verb = request.value("verb", "");
  const bool sweeps = verb == "sweep" || verb == "leftovers";
  const MonoTime until = clock_.Mono() + (sweeps ? kSweepWithin : kAnswerWithin);
  STOKER_TRY(Send(BoxAnswer(request) + "\n", until));
  auto line = NextLine(until);
  if (!line.ok()) return Broken(line.status());
  BoxJson answer = BoxJson::parse(*line, nullptr, false);
  if (answer.is_object()) return answer;
  return Broken(Status(Code::kCorrupt, "its answer is no JSON"));
}

}  // namespace stoker
