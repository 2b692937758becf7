// SPDX-License-Identifier: Apache-2.0
#include "net/http_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include "net/http_codec.h"
#include "net/http_head.h"
#include "net/socket.h"

namespace stoker {
namespace {

class ThreadedServer : public HttpServer {
 public:
  ThreadedServer(const HttpServerOptions& options, HttpHandler handler, Socket listener, int port)
      : options_(options),
        handler_(std::move(handler)),
        listener_(std::move(listener)),
        port_(port),
        wake_(eventfd(0, EFD_CLOEXEC)) {
    acceptor_ = std::thread([this] { AcceptLoop(); });
  }

  ~ThreadedServer() override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
      for (const int fd : open_) shutdown(fd, SHUT_RDWR);
    }
    const uint64_t one = 1;
    (void)!write(wake_.fd(), &one, sizeof one);
    changed_.notify_all();
    acceptor_.join();
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return threads_ == 0; });
  }

  int port() const override { return port_; }

 private:
  void AcceptLoop() {
    while (options_.evict_idle || AwaitRoom()) {
      pollfd fds[2] = {{listener_.fd(), POLLIN, 0}, {wake_.fd(), POLLIN, 0}};
      if (poll(fds, 2, -1) < 0) continue;
      if (fds[1].revents != 0) return;
      if (options_.evict_idle) {
        Evict();
        if (!AwaitRoom()) return;
      }
      Socket socket(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (socket.fd() >= 0) {
        Serve(std::move(socket));
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        poll(&fds[1], 1, 50);  // until a connection has closed
      }
    }
  }

  bool AwaitRoom() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || threads_ < options_.max_connections; });
    return !stopping_;
  }

  // Somebody waits: if all are taken, the one that has been idle for longest goes.
  void Evict() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (threads_ < options_.max_connections || idle_.empty()) return;
    const auto oldest =
        std::min_element(idle_.begin(), idle_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    shutdown(oldest->first, SHUT_RDWR);
    idle_.erase(oldest);
  }

  // Waits for the first byte of a request.
  bool AwaitRequest(int fd) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (stopping_) return false;
      idle_[fd] = ++turn_;
    }
    pollfd readable{fd, POLLIN, 0};
    const int ready = poll(&readable, 1, static_cast<int>(options_.idle_timeout.ms));
    std::lock_guard<std::mutex> lock(mutex_);
    return idle_.erase(fd) > 0 && ready > 0;
  }

  // False: so many are being sent that this one is refused.
  bool BeginStream() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (streams_ >= options_.max_streams) return false;
    ++streams_;
    return true;
  }

  void SendStream(const Socket& socket, const HttpReply& answer) {
    if (!BeginStream()) {
      const HttpResponse busy{503, {{"Retry-After", "5"}}, "too many downloads and streams\n"};
      (void)SendAll(socket, EncodeHttpResponse(busy, "GET", false),
                    Deadline(options_.request_timeout));
      return;
    }
    const auto write = [&](std::string_view bytes) {
      return SendAll(socket, bytes, Deadline(options_.request_timeout));
    };
    if (write(EncodeHttpResponseHead(answer.head)).ok()) answer.stream(write);
    std::lock_guard<std::mutex> lock(mutex_);
    --streams_;
  }

  void Serve(Socket socket) {
    const int one = 1;
    setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (stopping_) return;
      ++threads_;
      open_.insert(socket.fd());
    }
    auto shared = std::make_shared<Socket>(std::move(socket));
    try {
      std::thread([this, shared]() mutable {
        Converse(*shared);
        Forget(std::move(shared));
      }).detach();
    } catch (const std::system_error&) {  // no more threads: the client sees a closed connection
      Forget(std::move(shared));
    }
  }

  void Forget(std::shared_ptr<Socket> socket) {
    std::lock_guard<std::mutex> lock(mutex_);
    open_.erase(socket->fd());
    socket.reset();  // under the lock: the number may not be shut down once it is another's
    --threads_;
    changed_.notify_all();
  }

  void Converse(const Socket& socket) {
    std::string ahead;
    bool keep_alive = true;
    while (keep_alive) {
      if (ahead.empty() && !AwaitRequest(socket.fd())) return;
      const Deadline deadline(options_.request_timeout);
      const auto read = [&](char* buffer, size_t size) {
        return ReceiveSome(socket, buffer, size, deadline);
      };
      const auto write = [&](std::string_view bytes) { return SendAll(socket, bytes, deadline); };
      auto received =
          ReadHttpRequest(read, write, ahead, {options_.max_header_bytes, options_.max_body_bytes});
      if (!received.ok()) {
        Refuse(socket, received.status());
        return;
      }
      if (!*received) return;
      const HttpReply answer = handler_((*received)->request);
      if (answer.stream && (*received)->request.method != "HEAD") {
        SendStream(socket, answer);
        return;
      }
      keep_alive = (*received)->keep_alive;
      const std::string bytes =
          EncodeHttpResponse(answer.head, (*received)->request.method, keep_alive);
      if (!SendAll(socket, bytes, Deadline(options_.request_timeout)).ok()) return;
    }
  }

  void Refuse(const Socket& socket, const Status& status) {
    if (!status.Is(Code::kInvalid) && !status.Is(Code::kNoSpace)) return;
    const HttpResponse response{status.Is(Code::kInvalid) ? 400 : 413, {}, status.message() + "\n"};
    (void)SendAll(socket, EncodeHttpResponse(response, "GET", false),
                  Deadline(options_.request_timeout));
    shutdown(socket.fd(), SHUT_WR);
    // Closing with unread bytes would reset the connection and take the answer with it.
    char rest[4096];
    const Deadline deadline(Duration::Ms(200));
    for (int i = 0; i < 256; ++i) {
      if (ReceiveSome(socket, rest, sizeof rest, deadline).value_or(0) == 0) return;
    }
  }

  const HttpServerOptions options_;
  const HttpHandler handler_;
  const Socket listener_;
  const int port_;
  const Socket wake_;  // an eventfd
  std::thread acceptor_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<int> open_;
  std::map<int, int64_t> idle_;  // between two requests: since which turn
  int64_t turn_ = 0;
  int threads_ = 0;
  int streams_ = 0;
  bool stopping_ = false;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options,
                                                      HttpHandler handler) {
  STOKER_ASSIGN(Socket listener, ListenTcp(options.address, options.port));
  STOKER_ASSIGN(const int port, LocalPort(listener));
  return std::unique_ptr<HttpServer>(
      std::make_unique<ThreadedServer>(options, std::move(handler), std::move(listener), port));
}

}  // namespace stoker
