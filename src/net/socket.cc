// SPDX-License-Identifier: Apache-2.0
#include "net/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace stoker {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Result<AddressList> Resolve(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string service = std::to_string(port);
  int error = 0;
  for (const int flags : {AI_NUMERICHOST | AI_NUMERICSERV, AI_NUMERICSERV}) {
    hints.ai_flags = flags;
    error = getaddrinfo(host.c_str(), service.c_str(), &hints, &found);
    if (error == 0) return AddressList(found, &freeaddrinfo);
  }
  return Status(Code::kUnavailable, "looking up " + host + ": " + gai_strerror(error));
}

Status Await(int fd, short events, const Deadline& deadline, const char* what) {
  while (true) {
    pollfd p{fd, events, 0};
    const int n = poll(&p, 1, deadline.remaining_ms());
    if (n > 0) return Status::Ok();
    if (n == 0) return Status(Code::kTimeout, std::string(what) + ": no progress in time");
    if (errno != EINTR) return ErrnoStatus(what, errno);
  }
}

Status Connect(const Socket& socket, const addrinfo& to, const Deadline& deadline) {
  if (connect(socket.fd(), to.ai_addr, to.ai_addrlen) == 0) return Status::Ok();
  if (errno != EINPROGRESS && errno != EINTR) return ErrnoStatus("connecting", errno);
  STOKER_TRY(Await(socket.fd(), POLLOUT, deadline, "connecting"));
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? Status::Ok() : ErrnoStatus("connecting", error);
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

Result<Socket> ConnectTcp(const std::string& host, int port, const Deadline& deadline) {
  const std::string where = host + ":" + std::to_string(port);
  STOKER_ASSIGN(const AddressList list, Resolve(host, port));
  Status last(Code::kUnavailable, "no address");
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    Socket socket(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.fd() < 0) return ErrnoStatus("making a socket", errno);
    last = Connect(socket, *at, deadline);
    if (!last.ok()) continue;
    const int one = 1;
    setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return socket;
  }
  return last.WithContext(where);
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
