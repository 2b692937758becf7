// SPDX-License-Identifier: Apache-2.0
#include "net/connect.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace stoker {
namespace {

// More than so many are waited for at once by a process whose name servers do not answer.
constexpr int kMostLookUps = 64;

// `numeric`: of a number alone, which asks nobody.
Result<std::vector<TcpAddress>> LookUp(const std::string& host, int port, bool numeric) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (numeric ? AI_NUMERICHOST : 0);
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return Status(Code::kUnavailable, "looking up " + host + ": " + gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, &freeaddrinfo);
  std::vector<TcpAddress> out;
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    TcpAddress address;
    if (at->ai_addrlen > sizeof address.at) continue;
    std::memcpy(&address.at, at->ai_addr, at->ai_addrlen);
    address.size = at->ai_addrlen;
    out.push_back(address);
  }
  return out;
}

// The system's look-up knows no deadline, so it has a thread of its own, which is left to itself
// where it takes too long: it ends when the resolver gives up.
Result<std::vector<TcpAddress>> LookUpWithin(const std::string& host, int port,
                                             const Deadline& deadline) {
  auto number = LookUp(host, port, true);
  if (number.ok()) return number;
  struct Shared {
    std::mutex mutex;
    std::condition_variable bell;
    std::optional<Result<std::vector<TcpAddress>>> found;
  };
  static std::atomic<int> waiting{0};
  const Status late(Code::kTimeout, "looking up " + host + ": no name server answered in time");
  if (waiting >= kMostLookUps) return late;
  const auto shared = std::make_shared<Shared>();
  ++waiting;
  std::thread([shared, host, port] {
    auto found = LookUp(host, port, false);
    --waiting;
    const std::lock_guard lock(shared->mutex);
    shared->found = std::move(found);
    shared->bell.notify_all();
  }).detach();
  std::unique_lock lock(shared->mutex);
  shared->bell.wait_for(lock, std::chrono::milliseconds(deadline.remaining_ms()),
                        [&] { return shared->found.has_value(); });
  return shared->found ? std::move(*shared->found) : late;
}

// All attempts to reach one host.
class Race {
 public:
  Race(const std::vector<TcpAddress>& addresses, const Deadline& deadline)
      : addresses_(addresses), deadline_(deadline) {}

  Result<Socket> Run() {
    while (winner_.fd() < 0) {
      const bool more = next_ < addresses_.size();
      if (more && (running_.empty() || head_start_.remaining_ms() == 0)) {
        Start(addresses_[next_++]);
        continue;
      }
      if (running_.empty()) return failed_;
      const int left = deadline_.remaining_ms();
      STOKER_TRY(Wait(more ? std::min(left, head_start_.remaining_ms()) : left));
      if (left == 0 && winner_.fd() < 0) {
        return Status(Code::kTimeout, "connecting: no progress in time");
      }
    }
    return std::move(winner_);
  }

 private:
  void Start(const TcpAddress& to) {
    // Also where there is no such family on this machine, another may do.
    Socket socket(::socket(to.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.fd() < 0) {
      failed_ = ErrnoStatus("making a socket", errno);
      return;
    }
    head_start_ = Deadline(kHeadStart);
    if (connect(socket.fd(), reinterpret_cast<const sockaddr*>(&to.at), to.size) == 0) {
      winner_ = std::move(socket);
    } else if (errno == EINPROGRESS || errno == EINTR) {
      running_.push_back(std::move(socket));
    } else {
      failed_ = ErrnoStatus("connecting", errno);
      head_start_ = Deadline(Duration{});
    }
  }

  // Until one of them has connected or failed.
  Status Wait(int ms) {
    std::vector<pollfd> polled;
    for (const Socket& socket : running_) polled.push_back({socket.fd(), POLLOUT, 0});
    if (poll(polled.data(), polled.size(), ms) < 0) {
      return errno == EINTR ? Status::Ok() : ErrnoStatus("connecting", errno);
    }
    for (size_t i = polled.size(); i-- > 0;) {
      if (polled[i].revents == 0) continue;
      int error = 0;
      socklen_t size = sizeof error;
      getsockopt(polled[i].fd, SOL_SOCKET, SO_ERROR, &error, &size);
      if (error == 0) {
        winner_ = std::move(running_[i]);
        return Status::Ok();
      }
      failed_ = ErrnoStatus("connecting", error);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      head_start_ = Deadline(Duration{});
    }
    return Status::Ok();
  }

  const std::vector<TcpAddress>& addresses_;
  const Deadline& deadline_;
  size_t next_ = 0;
  Deadline head_start_{Duration{}};  // of the one that was begun last
  std::vector<Socket> running_;
  Socket winner_;
  Status failed_{Code::kUnavailable, "no address"};  // the last
};

}  // namespace

std::vector<TcpAddress> TakeTurns(const std::vector<TcpAddress>& addresses) {
  std::vector<TcpAddress> first, other, out;
  for (const TcpAddress& each : addresses) {
    const bool of_first = each.at.ss_family == addresses.front().at.ss_family;
    (of_first ? first : other).push_back(each);
  }
  for (size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
    if (i < first.size()) out.push_back(first[i]);
    if (i < other.size()) out.push_back(other[i]);
  }
  return out;
}

Result<Socket> ConnectToAny(const std::vector<TcpAddress>& addresses, const Deadline& deadline) {
  auto socket = Race(addresses, deadline).Run();
  if (!socket.ok()) return socket;
  const int one = 1;
  setsockopt(socket->fd(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return socket;
}

Result<Socket> ConnectTcp(const std::string& host, int port, const Deadline& deadline) {
  STOKER_ASSIGN(const std::vector<TcpAddress> addresses, LookUpWithin(host, port, deadline));
  auto socket = ConnectToAny(TakeTurns(addresses), deadline);
  if (!socket.ok()) return socket.status().WithContext(host + ":" + std::to_string(port));
  return socket;
}

}  // namespace stoker
