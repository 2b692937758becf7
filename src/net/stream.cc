// SPDX-License-Identifier: Apache-2.0
#include "net/stream.h"

#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

namespace stoker {
namespace {

// The deadline is renewed after so many bytes at the latest.
constexpr size_t kStep = 256 << 10;

// sendfile(2) has no flag against SIGPIPE, which ends a program that has not asked for more.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    if (sigismember(&before_, SIGPIPE) == 0) {
      const timespec none{};
      while (sigtimedwait(&pipe_, nullptr, &none) < 0 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
};

class Plain : public Stream {
 public:
  explicit Plain(Socket socket) : socket_(std::move(socket)) {}

  Result<size_t> Read(char* buffer, size_t size, Duration stall) override {
    return ReceiveSome(socket_, buffer, size, Deadline(stall));
  }

  Status Write(std::string_view bytes, Duration stall) override {
    while (!bytes.empty()) {
      const std::string_view step = bytes.substr(0, kStep);
      STOKER_TRY(SendAll(socket_, step, Deadline(stall)));
      bytes.remove_prefix(step.size());
    }
    return Status::Ok();
  }

  Status WriteFile(int fd, int64_t offset, int64_t size, Duration stall) override {
    const NoSigpipe quiet;
    off_t at = offset;
    const int64_t end = offset + size;
    while (at < end) {
      const size_t step = static_cast<size_t>(std::min<int64_t>(end - at, kStep * 4));
      const ssize_t sent = sendfile(socket_.fd(), fd, &at, step);
      if (sent > 0) continue;
      if (sent == 0) return Status(Code::kCorrupt, "the file became shorter while it was sent");
      if (errno == EINTR) continue;
      if (errno != EAGAIN) {
        return Status(Code::kUnavailable, ErrnoStatus("sending", errno).message());
      }
      STOKER_TRY(AwaitSocket(socket_, POLLOUT, Deadline(stall), "sending"));
    }
    return Status::Ok();
  }

  bool Quiet() override {
    char byte = 0;
    return recv(socket_.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
  }

 private:
  Socket socket_;
};

}  // namespace

std::unique_ptr<Stream> PlainStream(Socket socket) {
  return std::make_unique<Plain>(std::move(socket));
}

}  // namespace stoker
