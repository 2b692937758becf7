// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "net/http_client.h"
#include "net/http_date.h"
#include "net/http_server.h"
#include "net/retry.h"

namespace stoker {
namespace {

// Gives every connection to `serve`, one after the other, with what the first read brought.
class Raw {
 public:
  explicit Raw(std::function<void(const Socket& peer, const std::string& request)> serve) {
    thread_ = std::thread([this, serve = std::move(serve)] {
      while (!over_) {
        pollfd waiting{listener_.fd(), POLLIN, 0};
        if (poll(&waiting, 1, 20) <= 0) continue;
        const Socket peer(accept(listener_.fd(), nullptr, nullptr));
        ++connections;
        std::string request(8192, '\0');
        const auto got =
            ReceiveSome(peer, request.data(), request.size(), Deadline(Duration::Seconds(5)));
        request.resize(got.ok() ? *got : 0);
        serve(peer, request);
      }
    });
  }
  ~Raw() {
    over_ = true;
    thread_.join();
  }
  HttpUrl url() const { return {"127.0.0.1", LocalPort(listener_).value(), "", false}; }
  std::atomic<int> connections = 0;

 private:
  Socket listener_ = ListenTcp("127.0.0.1", 0).value();
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

void Say(const Socket& peer, const std::string& bytes) {
  (void)SendAll(peer, bytes, Deadline(Duration::Seconds(5)));
}

TEST(HttpPool, KeepsConnectionsAndNoticesThoseThatEnded) {
  Raw server([](const Socket& peer, std::string request) {
    // Two requests a connection, then it hangs up without a word.
    for (int i = 0; i < 2 && !request.empty(); ++i) {
      Say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      request.resize(8192);
      if (i == 1) return;
      const auto got =
          ReceiveSome(peer, request.data(), request.size(), Deadline(Duration::Seconds(5)));
      request.resize(got.ok() ? *got : 0);
    }
  });
  HttpPool pool({});
  for (int i = 0; i < 6; ++i) {
    const auto answer = pool.Call(server.url(), {"GET", "/", {}, ""});
    ASSERT_TRUE(answer.ok()) << answer.status().ToString();
    EXPECT_EQ(answer->body, "ok");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(server.connections, 3);
}

TEST(HttpPool, BodiesOfEveryKindComeWhole) {
  std::string body(300'000, 'a');
  for (size_t i = 0; i < body.size(); i += 7) body[i] = static_cast<char>('a' + i % 26);
  const auto chunked = [&] {
    std::string out = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (size_t at = 0; at < body.size(); at += 1013) {
      const std::string piece = body.substr(at, 1013);
      char size[16];
      std::snprintf(size, sizeof size, "%zx;x=y\r\n", piece.size());
      out += size + piece + "\r\n";
    }
    return out + "0\r\nTrailer: x\r\n\r\n";
  }();
  const std::string known = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: " +
                            std::to_string(body.size()) + "\r\n\r\n" + body;
  const std::string closed = "HTTP/1.0 200 OK\r\n\r\n" + body;
  for (const std::string& answer : {chunked, known, closed}) {
    Raw server([&](const Socket& peer, const std::string&) { Say(peer, answer); });
    HttpPool pool({});
    const auto got = pool.Call(server.url(), {"GET", "/", {}, ""});
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ(got->body, body);
  }
}

TEST(HttpPool, WhatIsCutOffOrNoHttpIsNoAnswer) {
  const std::vector<std::string> answers = {
      "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc",
      "HTTP/1.1 200 OK\r\nContent-Le",
      "SSH-2.0-OpenSSH_9.2\r\n",
      "HTTP/1.1 200 OK\r\nX: " + std::string(200'000, 'x') + "\r\n\r\n",
      "",
  };
  for (const std::string& answer : answers) {
    Raw server([&](const Socket& peer, const std::string&) { Say(peer, answer); });
    HttpPool pool({});
    const auto got = pool.Call(server.url(), {"GET", "/", {}, ""});
    EXPECT_FALSE(got.ok()) << answer.substr(0, 60);
    EXPECT_TRUE(got.code() == Code::kCorrupt || got.code() == Code::kUnavailable ||
                got.code() == Code::kNoSpace)
        << got.status().ToString();
  }
}

// It has heard enough, says why, and hangs up while the rest is still on its way.
TEST(HttpPool, AnEarlyAnswerIsHeard) {
  Raw server([](const Socket& peer, const std::string&) {
    Say(peer, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
    shutdown(peer.fd(), SHUT_WR);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  });
  HttpPool pool({});
  HttpRequest request{"PUT", "/", {}, std::string(64 << 20, 'x')};
  const auto answer = pool.Call(server.url(), request);
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(answer->status, 403);
}

TEST(HttpPool, NothingMovesNothingWaitsForever) {
  Raw server([](const Socket& peer, const std::string& request) {
    if (request.find("/half") != std::string::npos) {
      Say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
  });
  HttpPoolOptions options;
  options.timeouts.first_byte = Duration::Ms(200);
  options.timeouts.stall = Duration::Ms(200);
  HttpPool pool(options);
  EXPECT_EQ(pool.Call(server.url(), {"GET", "/", {}, ""}).code(), Code::kTimeout);
  EXPECT_EQ(pool.Call(server.url(), {"GET", "/half", {}, ""}).code(), Code::kTimeout);
  options.timeouts.connect = Duration::Ms(300);
  HttpPool nobody(options);
  // An address that is routed nowhere (RFC 5737).
  const auto lost = nobody.Call({"192.0.2.1", 80, "", false}, {"GET", "/", {}, ""});
  EXPECT_TRUE(lost.status().transient()) << lost.status().ToString();
}

TEST(HttpPool, SendsPartsOfFiles) {
  auto server = HttpServer::Start({}, [](const HttpRequest& request) {
    return HttpResponse{200, {}, std::to_string(request.body.size()) + request.body.substr(0, 3)};
  });
  const int fd = memfd_create("body", 0);
  std::string text(200'000, 'x');
  text.replace(1000, 3, "abc");
  ASSERT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  HttpPool pool({});
  const HttpUrl url{"127.0.0.1", (*server)->port(), "", false};
  const auto answer = pool.Call(url, {"PUT", "/", {}, ""}, {fd, 1000, 150'000});
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(answer->body, "150000abc");
  EXPECT_EQ(pool.Call(url, {"PUT", "/", {}, ""}, {fd, 190'000, 20'000}).code(), Code::kCorrupt);
  close(fd);
}

TEST(HttpPool, GoesThroughAProxy) {
  std::string heard;
  Raw proxy([&](const Socket& peer, const std::string& request) {
    heard = request;
    Say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
  });
  HttpPoolOptions options;
  options.environment = [&](const std::string& name) -> std::optional<std::string> {
    if (name != "http_proxy" && name != "https_proxy") return std::nullopt;
    return "http://ann:pw@127.0.0.1:" + std::to_string(proxy.url().port);
  };
  HttpPool pool(options);
  ASSERT_TRUE(pool.Call({"bucket.example", 80, "", false}, {"GET", "/key", {}, ""}).ok());
  EXPECT_EQ(heard.substr(0, heard.find('\r')), "GET http://bucket.example/key HTTP/1.1");
  EXPECT_NE(heard.find("\r\nHost: bucket.example\r\n"), std::string::npos);
  EXPECT_NE(heard.find("\r\nProxy-Authorization: Basic YW5uOnB3\r\n"), std::string::npos);
  // Of TLS only the way is asked for.
  const auto tls = pool.Call({"bucket.example", 443, "", true}, {"GET", "/key", {}, ""});
  EXPECT_EQ(heard.substr(0, heard.find('\r')), "CONNECT bucket.example:443 HTTP/1.1");
  EXPECT_EQ(heard.find("/key"), std::string::npos);
  EXPECT_FALSE(tls.ok());  // what answers speaks no TLS
}

TEST(HttpUrl, HostsOfEveryKind) {
  const auto parsed = [](const std::string& text) {
    const auto url = ParseHttpUrl(text);
    if (!url.ok()) return std::string("no");
    return url->host + "|" + std::to_string(url->port) + "|" + url->prefix + "|" + HostHeader(*url);
  };
  EXPECT_EQ(parsed("https://s3.example/a/"), "s3.example|443|/a|s3.example");
  EXPECT_EQ(parsed("http://h:8080"), "h|8080||h:8080");
  EXPECT_EQ(parsed("http://[::1]:90/x"), "::1|90|/x|[::1]:90");
  EXPECT_EQ(parsed("https://[fd00::2]"), "fd00::2|443||[fd00::2]");
  for (const std::string bad :
       {"ftp://h", "https://", "http://u@h", "http://h:0", "http://h:99999", "http://a:b:c",
        "http://[::1", "http://[x y]", "http://h/a?b", "http://h\\x", "https://h:1x"}) {
    EXPECT_EQ(parsed(bad), "no") << bad;
  }
}

TEST(HttpDate, AsServersWriteIt) {
  EXPECT_EQ(FormatRfc3339(*ParseHttpDate("Sun, 06 Nov 1994 08:49:37 GMT")),
            "1994-11-06T08:49:37.000Z");
  for (const std::string bad :
       {"", "Sun, 06 Nov 1994 08:49:37 UTC", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun, 06 Nex 1994 08:49:37 GMT", "Sun, 36 Nov 1994 08:49:37 GMT"}) {
    EXPECT_EQ(ParseHttpDate(bad).code(), Code::kCorrupt) << bad;
  }
  const WallTime now = *ParseHttpDate("Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(ParseRetryAfter("7", now).ms, 7'000);
  EXPECT_EQ(ParseRetryAfter("Sun, 06 Nov 1994 08:49:47 GMT", now).ms, 10'000);
  EXPECT_EQ(ParseRetryAfter("Sun, 06 Nov 1994 08:49:27 GMT", now).ms, 0);
  EXPECT_EQ(ParseRetryAfter("-7", now).ms, 0);
  EXPECT_EQ(ParseRetryAfter("soon", now).ms, 0);
}

TEST(Retry, DelaysDoubleUpToTheirBound) {
  const RetryPolicy policy;
  Prng prng(7);
  for (int next = 2; next < 80; ++next) {
    const int64_t bound = next < 10 ? std::min<int64_t>(20'000, 200LL << (next - 2)) : 20'000;
    for (int i = 0; i < 20; ++i) {
      const Duration delay = RetryDelay(policy, next, prng);
      EXPECT_GE(delay.ms, bound / 4);
      EXPECT_LE(delay.ms, bound);
    }
  }
}

TEST(Retry, ABudgetIsSpentAndEarnedAgain) {
  RetryBudget budget(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(budget.Spend());
  EXPECT_FALSE(budget.Spend());
  for (int i = 0; i < 10; ++i) budget.Earn();
  EXPECT_TRUE(budget.Spend());
  EXPECT_FALSE(budget.Spend());
}

}  // namespace
}  // namespace stoker
