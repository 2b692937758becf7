// SPDX-License-Identifier: Apache-2.0
#include "net/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace stoker {
namespace {

Status Await(int fd, short events, const Deadline& deadline, const char* what) {
  while (true) {
    pollfd p{fd, events, 0};
    const int n = poll(&p, 1, deadline.remaining_ms());
    if (n > 0) return Status::Ok();
    if (n == 0) return Status(Code::kTimeout, std::string(what) + ": no progress in time");
    if (errno != EINTR) return ErrnoStatus(what, errno);
  }
}

}  // namespace

Status AwaitSocket(const Socket& socket, short events, const Deadline& deadline, const char* what) {
  return Await(socket.fd(), events, deadline, what);
}

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this == &other) return *this;
  if (fd_ >= 0) close(fd_);
  fd_ = std::exchange(other.fd_, -1);
  return *this;
}

Deadline::Deadline(Duration from_now)
    : at_(std::chrono::steady_clock::now() + std::chrono::milliseconds(from_now.ms)) {}

int Deadline::remaining_ms() const {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      at_ - std::chrono::steady_clock::now() + std::chrono::microseconds(999));
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1'000'000'000));
}

Result<Socket> ListenTcp(const std::string& address, int port) {
  const std::string where = address + ":" + std::to_string(port);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<uint16_t>(port));
  if (inet_pton(AF_INET, address.c_str(), &at.sin_addr) != 1) {
    return Status(Code::kInvalid, "not an IPv4 address: " + address);
  }
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.fd() < 0) return ErrnoStatus("making a socket", errno);
  if (bind(socket.fd(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
    if (errno == EADDRINUSE) return Status(Code::kExists, where + " is in use");
    return ErrnoStatus("listening on " + where, errno);
  }
  if (listen(socket.fd(), 64) != 0) return ErrnoStatus("listening on " + where, errno);
  return socket;
}

Result<int> LocalPort(const Socket& socket) {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  if (getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    return ErrnoStatus("asking for a socket's port", errno);
  }
  return static_cast<int>(ntohs(at.sin_port));
}

Result<size_t> ReceiveSome(const Socket& socket, char* buffer, size_t size,
                           const Deadline& deadline) {
  while (true) {
    const ssize_t n = recv(socket.fd(), buffer, size, MSG_DONTWAIT);
    if (n >= 0) return static_cast<size_t>(n);
    if (errno == EINTR) continue;
    if (errno != EAGAIN)
      return Status(Code::kUnavailable, ErrnoStatus("receiving", errno).message());
    STOKER_TRY(Await(socket.fd(), POLLIN, deadline, "receiving"));
  }
}

Status SendAll(const Socket& socket, std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t n = send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) {
      return Status(Code::kUnavailable, ErrnoStatus("sending", errno).message());
    }
    STOKER_TRY(Await(socket.fd(), POLLOUT, deadline, "sending"));
  }
  return Status::Ok();
}

}  // namespace stoker
