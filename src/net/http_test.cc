// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "base/text.h"
#include "net/connect.h"
#include "net/http_client.h"
#include "net/http_codec.h"
#include "net/http_server.h"
#include "net/socket.h"

namespace stoker {
namespace {

std::unique_ptr<HttpServer> Echo(const HttpServerOptions& options = {}) {
  auto server = HttpServer::Start(options, [](const HttpRequest& request) {
    const std::string* id = FindHeader(request.headers, "x-id");
    return HttpResponse{request.target == "/missing" ? 404 : 200,
                        {{"X-Id", id != nullptr ? *id : "none"}},
                        request.method + " " + request.target + " " + request.body};
  });
  EXPECT_TRUE(server.ok()) << server.status().ToString();
  return std::move(*server);
}

HttpUrl Url(const HttpServer& server) { return {"127.0.0.1", server.port(), ""}; }

// Sends bytes as they are and returns all that comes back.
std::string Answer(const HttpServer& server, const std::string& bytes) {
  const Deadline deadline(Duration::Seconds(5));
  auto socket = ConnectTcp("127.0.0.1", server.port(), deadline);
  EXPECT_TRUE(SendAll(*socket, bytes, deadline).ok());
  std::string out;
  char buffer[4096];
  while (true) {
    auto n = ReceiveSome(*socket, buffer, sizeof buffer, deadline);
    if (!n.ok() || *n == 0) return out;
    out.append(buffer, *n);
  }
}

// A server that answers every connection with `bytes`, then closes or stays silent.
class Canned {
 public:
  Canned(const std::string& bytes, bool hang) : listener_(ListenTcp("127.0.0.1", 0).value()) {
    thread_ = std::thread([this, bytes, hang] {
      pollfd p{listener_.fd(), POLLIN, 0};
      poll(&p, 1, 5000);
      Socket s(accept(listener_.fd(), nullptr, nullptr));
      char buffer[4096];
      (void)ReceiveSome(s, buffer, sizeof buffer, Deadline(Duration::Seconds(1)));
      (void)SendAll(s, bytes, Deadline(Duration::Seconds(1)));
      if (hang) (void)ReceiveSome(s, buffer, sizeof buffer, Deadline(Duration::Seconds(3)));
    });
  }
  ~Canned() { thread_.join(); }
  HttpUrl url() const { return {"127.0.0.1", LocalPort(listener_).value(), ""}; }

 private:
  Socket listener_;
  std::thread thread_;
};

TEST(Http, CallAndAnswer) {
  auto server = Echo();
  auto response = HttpCall(Url(*server), {"PUT", "/a?b=c", {{"X-ID", "7"}}, "body"});
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "PUT /a?b=c body");
  EXPECT_EQ(*FindHeader(response->headers, "x-id"), "7");
  EXPECT_EQ(HttpCall(Url(*server), {"GET", "/missing", {}, ""})->status, 404);
  const auto head = HttpCall(Url(*server), {"HEAD", "/", {}, ""});
  ASSERT_TRUE(head.ok()) << head.status().ToString();
  EXPECT_EQ(head->body, "");
}

TEST(Http, SomebodyListensOrNot) {
  auto server = Echo();
  const std::string base = "http://127.0.0.1:" + std::to_string(server->port());
  EXPECT_TRUE(Listens(base));
  server.reset();
  EXPECT_FALSE(Listens(base));
  EXPECT_FALSE(Listens("no address"));
}

TEST(Http, KeepsAliveAndPipelines) {
  auto server = Echo();
  const std::string out = Answer(*server,
                                 "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n"
                                 "Connection: close\r\n\r\n");
  EXPECT_NE(out.find("GET /1"), std::string::npos);
  EXPECT_NE(out.find("GET /2"), std::string::npos);
}

TEST(Http, ServerRefusesGarbageAndExcess) {
  HttpServerOptions options;
  options.max_body_bytes = 1000;
  auto server = Echo(options);
  EXPECT_TRUE(StartsWith(Answer(*server, "\x16\x03\x01 garbage\r\n\r\n"), "HTTP/1.1 400"));
  EXPECT_TRUE(
      StartsWith(Answer(*server, "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), "HTTP/1.1 400"));
  EXPECT_TRUE(StartsWith(Answer(*server, "GET /" + std::string(40'000, 'a') + " HTTP/1.1\r\n\r\n"),
                         "HTTP/1.1 413"));
  const auto big = HttpCall(Url(*server), {"POST", "/", {}, std::string(2000, 'x')});
  ASSERT_TRUE(big.ok()) << big.status().ToString();
  EXPECT_EQ(big->status, 413);
  EXPECT_EQ(HttpCall(Url(*server), {"POST", "/", {}, std::string(1000, 'x')})->status, 200);
}

TEST(Http, SlowClientIsCutOff) {
  HttpServerOptions options;
  options.request_timeout = Duration::Ms(100);
  options.idle_timeout = Duration::Ms(200);
  options.max_connections = 2;
  auto server = Echo(options);
  EXPECT_EQ(Answer(*server, "GET / HTT"), "");
  std::vector<std::thread> slow;
  for (int i = 0; i < 6; ++i) slow.emplace_back([&] { Answer(*server, "GET"); });
  const auto fine = HttpCall(Url(*server), {"GET", "/", {}, ""});
  for (std::thread& t : slow) t.join();
  EXPECT_TRUE(fine.ok()) << fine.status().ToString();
}

TEST(Http, ManyAtOnceAndStopsWhileOpen) {
  auto server = Echo();
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) good += HttpCall(Url(*server), {"GET", "/", {}, ""}).ok();
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(good, 200);
  auto open = ConnectTcp("127.0.0.1", server->port(), Deadline(Duration::Seconds(1)));
  ASSERT_TRUE(open.ok());
  usleep(20'000);
  server.reset();  // does not wait for the idle connection
  char byte;
  EXPECT_EQ(ReceiveSome(*open, &byte, 1, Deadline(Duration::Seconds(1))).value_or(9), 0u);
}

TEST(Http, ClientDistrustsServers) {
  const HttpClientOptions quick{Duration::Ms(300), Duration::Ms(300), 4096, 4096};
  const struct {
    std::string bytes;
    bool hang;
    Code code;
  } cases[] = {
      {"", false, Code::kCorrupt},
      {"SSH-2.0-OpenSSH\r\n", false, Code::kCorrupt},
      {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", false, Code::kCorrupt},
      {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", true, Code::kTimeout},
      {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", false, Code::kNoSpace},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + std::string(5000, 'x'), false,
       Code::kNoSpace},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n" + std::string(5000, 'x') +
           "\r\n0\r\n\r\n",
       false, Code::kNoSpace},
      {"HTTP/1.1 200 OK\r\n\r\n" + std::string(9000, 'x'), false, Code::kNoSpace},
      {"HTTP/1.1 200 OK\r\nX: " + std::string(9000, 'x') + "\r\n\r\n", false, Code::kNoSpace},
      {"", true, Code::kTimeout},
  };
  for (const auto& c : cases) {
    Canned server(c.bytes, c.hang);
    const auto response = HttpCall(server.url(), {"GET", "/", {}, ""}, quick);
    ASSERT_FALSE(response.ok()) << c.bytes.substr(0, 60);
    EXPECT_EQ(response.code(), c.code)
        << c.bytes.substr(0, 60) << " " << response.status().ToString();
  }
  {
    Canned chunked(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nin p\r\n5;x=y\r\nieces\r\n"
        "0\r\nTrailer: t\r\n\r\n",
        false);
    EXPECT_EQ(HttpCall(chunked.url(), {"GET", "/", {}, ""}, quick)->body, "in pieces");
  }
  Canned unbounded("HTTP/1.0 200 OK\r\n\r\nto the end", false);
  EXPECT_EQ(HttpCall(unbounded.url(), {"GET", "/", {}, ""}, quick)->body, "to the end");
  EXPECT_EQ(HttpCall({"127.0.0.1", 1, ""}, {"GET", "/", {}, ""}, quick).code(), Code::kUnavailable);
}

// Of one request no name from elsewhere makes two.
TEST(Http, TheTargetIsOneWord) {
  const HttpRequest good{"GET", "/a%20b?c=d&e=\xc3\xa9", {}, ""};
  EXPECT_EQ(EncodeHttpRequest(good, "h").value_or(""),
            "GET " + good.target + " HTTP/1.1\r\nHost: h\r\n\r\n");
  const auto server = Echo();
  for (const std::string& bad :
       {std::string("/a b"), std::string("/a\r\nX: y"), std::string("/a\nb"), std::string("/a\tb"),
        std::string("/a\0b", 4), std::string("/a\x7f")}) {
    const auto answer = HttpCall(Url(*server), {"DELETE", bad, {}, ""});
    EXPECT_TRUE(answer.status().Is(Code::kInvalid)) << bad;
    const auto head = EncodeHttpRequestHead({"GET", bad, {}, ""}, "h", 0);
    EXPECT_TRUE(head.status().Is(Code::kInvalid)) << bad;
  }
}

TEST(Http, ParsesUrls) {
  const auto url = ParseHttpUrl("http://127.0.0.1:8080/a/b/");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->host, "127.0.0.1");
  EXPECT_EQ(url->port, 8080);
  EXPECT_EQ(url->prefix, "/a/b");
  EXPECT_EQ(ParseHttpUrl("http://h")->port, 80);
  for (const char* bad :
       {"", "ftp://x", "http://", "http://:80", "http://x:", "http://x:0", "http://x:99999",
        "http://x:8a", "http://a b/", "http://u@h/", "http://h/a b"}) {
    EXPECT_FALSE(ParseHttpUrl(bad).ok()) << bad;
  }
}

TEST(Http, CurlAgrees) {
  if (std::system("command -v curl >/dev/null") != 0) GTEST_SKIP() << "no curl here";
  auto server = Echo();
  const std::string base = "http://127.0.0.1:" + std::to_string(server->port());
  const auto curl = [](const std::string& arguments) {
    std::string out;
    FILE* pipe = popen(("curl --noproxy '*' -sS -m 5 " + arguments).c_str(), "r");
    char buffer[4096];
    size_t n;
    while ((n = fread(buffer, 1, sizeof buffer, pipe)) > 0) out.append(buffer, n);
    pclose(pipe);
    return out;
  };
  EXPECT_EQ(curl("-X PUT -d hello " + base + "/p"), "PUT /p hello");
  EXPECT_EQ(curl("-H 'Expect: 100-continue' -d hi " + base + "/e"), "POST /e hi");
  EXPECT_EQ(curl(base + "/1 " + base + "/2"), "GET /1 GET /2 ");
  EXPECT_EQ(curl("-o /dev/null -w '%{http_code}' " + base + "/missing"), "404");
  EXPECT_EQ(curl("-H 'Transfer-Encoding: chunked' -d chunks " + base + "/c"), "POST /c chunks");
}

}  // namespace
}  // namespace stoker
