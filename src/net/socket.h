// SPDX-License-Identifier: Apache-2.0
// Plain TCP sockets with deadlines. Nothing here raises SIGPIPE or blocks past its deadline.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/time.h"

namespace stoker {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket();
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

// A point of the steady clock after which waiting is given up.
class Deadline {
 public:
  explicit Deadline(Duration from_now);
  int remaining_ms() const;  // for poll(2); 0 when it has passed

 private:
  std::chrono::steady_clock::time_point at_;
};

// `address` is an IPv4 number; `port` 0 takes a free one. kExists when it is taken.
Result<Socket> ListenTcp(const std::string& address, int port);
Result<int> LocalPort(const Socket& socket);

// Waits for `events` of poll(2). kTimeout names `what`.
Status AwaitSocket(const Socket& socket, short events, const Deadline& deadline, const char* what);

// 0 at the end of the stream.
Result<size_t> ReceiveSome(const Socket& socket, char* buffer, size_t size,
                           const Deadline& deadline);
Status SendAll(const Socket& socket, std::string_view bytes, const Deadline& deadline);

}  // namespace stoker
