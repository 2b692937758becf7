// SPDX-License-Identifier: Apache-2.0
#include "sys/task/task_line.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"

namespace stoker {
namespace {

constexpr char kDefaultPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr int kPipeBytes = 1 << 20;

struct Pipe {
  sys::ScopedFd read, write;
};

Result<Pipe> MakePipe(bool large) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus("making a pipe", errno);
  // Past the user's quota for pipe memory the kernel refuses: then it stays at 64 KiB.
  if (large) (void)fcntl(fds[0], F_SETPIPE_SZ, kPipeBytes);
  Pipe out;
  out.read.Reset(fds[0]);
  out.write.Reset(fds[1]);
  return out;
}

// `read` is the shim's end. A socket, because a write to it can be kept from raising SIGPIPE.
Result<Pipe> MakeControl() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
    return ErrnoStatus("making a socket pair", errno);
  }
  Pipe out;
  out.read.Reset(fds[0]);
  out.write.Reset(fds[1]);
  return out;
}

Result<sys::ScopedFd> PayloadFile(const TaskPayload& payload) {
  sys::ScopedFd fd(memfd_create("stoker-task", MFD_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus("making a memory file", errno);
  STOKER_TRY(sys::WriteAll(fd.get(), EncodePayload(payload), "memory file"));
  if (lseek(fd.get(), 0, SEEK_SET) != 0) return ErrnoStatus("rewinding a memory file", errno);
  return fd;
}

}  // namespace

Status CheckCommand(const TaskCommand& command) {
  if (command.argv.empty()) return Status(Code::kInvalid, "the command is empty");
  for (const std::string& arg : command.argv) {
    if (arg.find('\0') != std::string::npos) {
      return Status(Code::kInvalid, "an argument holds a NUL byte: " + Printable(arg));
    }
  }
  for (const auto& [name, value] : command.env) {
    if (name.empty() || (name + value).find('\0') != std::string::npos ||
        name.find('=') != std::string::npos) {
      return Status(Code::kInvalid, "not an environment variable: " + Printable(name));
    }
  }
  struct stat info {};
  if (stat(command.cwd.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return Status(Code::kInvalid, "the working directory " + command.cwd + " is not there");
  }
  return Status::Ok();
}

std::string PathOf(const TaskCommand& command) {
  std::string path = kDefaultPath;
  for (const auto& [name, value] : command.env) {
    if (name == "PATH") path = value;
  }
  return path;
}

TaskPayload PayloadOf(const TaskCommand& command) {
  TaskPayload payload;
  for (const auto& [name, value] : command.env) {
    // Of what depends on the host name the shim decides: it knows whether there is one.
    const auto& others = command.host.env_without;
    const bool depends = std::any_of(others.begin(), others.end(),
                                     [&n = name](const auto& other) { return other.first == n; });
    (depends ? payload.env_with_host_name : payload.env).push_back(name + "=" + value);
  }
  for (const auto& [name, value] : command.host.env_without) {
    payload.env_without_host_name.push_back(name + "=" + value);
  }
  payload.host_name = command.host.name;
  payload.hosts_file = command.host.hosts_file;
  payload.argv = command.argv;
  payload.cwd = command.cwd;
  payload.lock = command.lock;
  return payload;
}

Status StartFailure(const TaskMessage& message, const TaskPayload& payload) {
  const int error = message.value;
  const std::string& program = payload.program.empty() ? payload.argv[0] : payload.program;
  if (message.stage == kStageLookup) {
    return error == EACCES
               ? Status(Code::kInvalid, program + ": is in the container, but not executable")
               : Status(Code::kNotFound, program + ": there is no such program in the container",
                        "Name one that the image has, or install it in 'setup'");
  }
  if (message.stage == kStageCwd) {
    return Status(Code::kInvalid, ErrnoStatus("working directory " + payload.cwd, error).message());
  }
  if (message.stage != kStageExec) return ErrnoStatus("starting " + program, error);
  switch (error) {
    case ENOENT:
      return Status(Code::kNotFound,
                    program +
                        ": is there, but the loader or interpreter that it names is "
                        "not on this machine",
                    "it was built for another system or C library");
    case ENOEXEC:
      return Status(Code::kInvalid,
                    program +
                        ": is not a program for this machine, nor a script with a "
                        "#! line",
                    "start it through its interpreter, for example: bash " + program);
    case E2BIG:
      return Status(Code::kInvalid, program +
                                        ": its arguments and environment together "
                                        "are longer than the kernel allows");
    default:
      return ErrnoStatus("executing " + program, error);
  }
}

Result<TaskLine> OpenTaskLine(const TaskPayload& payload) {
  TaskLine line;
  STOKER_ASSIGN(line.file_, PayloadFile(payload));
  STOKER_ASSIGN(line.null_, sys::Open("/dev/null", O_RDWR));
  STOKER_ASSIGN(Pipe out, MakePipe(true));
  STOKER_ASSIGN(Pipe err, MakePipe(true));
  STOKER_ASSIGN(Pipe control, MakeControl());
  STOKER_ASSIGN(Pipe status, MakePipe(false));
  for (const int fd : {out.read.get(), err.read.get(), status.read.get()}) {
    fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  const int lock = payload.lock >= 0 ? payload.lock : line.null_.get();
  const int fds[] = {line.null_.get(),   out.write.get(),    err.write.get(),
                     control.read.get(), status.write.get(), lock,
                     line.file_.get()};
  std::copy(std::begin(fds), std::end(fds), line.theirs);
  line.out_ = std::move(out.read);
  line.err_ = std::move(err.read);
  line.status_ = std::move(status.read);
  line.control_ = std::move(control.write);
  line.given_[0] = std::move(out.write);
  line.given_[1] = std::move(err.write);
  line.given_[2] = std::move(status.write);
  line.given_[3] = std::move(control.read);
  return line;
}

void TaskLine::HandOver(StartedTask* task) {
  for (sys::ScopedFd& fd : given_) fd.Reset();
  task->out = std::move(out_);
  task->err = std::move(err_);
  task->status = std::move(status_);
  task->control = std::move(control_);
}

}  // namespace stoker
