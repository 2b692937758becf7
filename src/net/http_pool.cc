// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <utility>

#include "net/http_client.h"

namespace stoker {
namespace {

constexpr size_t kMaxIdle = 256;  // of one origin
constexpr int64_t kPiece = 64 << 10;

MonoTime Now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

}  // namespace

class PooledAnswer : public HttpAnswer {
 public:
  PooledAnswer(HttpPool& pool, std::string origin, std::unique_ptr<HttpConnection> connection,
               HttpResponse head)
      : pool_(pool),
        origin_(std::move(origin)),
        connection_(std::move(connection)),
        head_(std::move(head)) {}
  ~PooledAnswer() override {
    if (connection_->Reusable()) pool_.GiveBack(origin_, std::move(connection_));
  }
  const HttpResponse& head() const override { return head_; }
  std::optional<int64_t> body_size() const override { return connection_->body_size(); }
  Result<int64_t> Read(char* buffer, int64_t size) override {
    auto got = connection_->ReadBody(buffer, size);
    return got.ok() ? got : Result<int64_t>(got.status().WithContext(origin_));
  }

 private:
  HttpPool& pool_;
  const std::string origin_;
  std::unique_ptr<HttpConnection> connection_;
  const HttpResponse head_;
};

HttpPool::HttpPool(HttpPoolOptions options) : options_(std::move(options)) {}
HttpPool::~HttpPool() = default;

Result<std::shared_ptr<TlsTrust>> HttpPool::Trust() {
  const std::lock_guard lock(mutex_);
  if (!trust_) {
    STOKER_ASSIGN(trust_, TlsTrust::Load(options_.ca_file));
  }
  return trust_;
}

Result<std::unique_ptr<HttpConnection>> HttpPool::Take(const HttpUrl& url) {
  const std::string origin = OriginText(url);
  while (true) {
    Idle last;
    {
      const std::lock_guard lock(mutex_);
      auto& idle = idle_[origin];
      if (idle.empty()) break;
      last = std::move(idle.back());
      idle.pop_back();
    }
    if (Now() - last.since < options_.idle && last.connection->Reusable()) {
      return std::move(last.connection);
    }
  }
  std::optional<HttpProxy> proxy;
  if (options_.environment) {
    STOKER_ASSIGN(proxy, ProxyFor(url, options_.environment));
  }
  std::shared_ptr<TlsTrust> trust;
  if (url.tls || (proxy && proxy->url.tls)) {
    STOKER_ASSIGN(trust, Trust());
  }
  return HttpConnection::Open(url, proxy, trust, options_.timeouts);
}

void HttpPool::GiveBack(const std::string& origin, std::unique_ptr<HttpConnection> connection) {
  std::vector<Idle> old;  // closed without the lock
  const MonoTime now = Now();
  const std::lock_guard lock(mutex_);
  auto& idle = idle_[origin];
  const auto fresh = std::find_if(
      idle.begin(), idle.end(), [&](const Idle& each) { return now - each.since < options_.idle; });
  std::move(idle.begin(), fresh, std::back_inserter(old));
  idle.erase(idle.begin(), fresh);
  if (idle.size() < kMaxIdle) idle.push_back({std::move(connection), now});
}

Result<std::unique_ptr<HttpAnswer>> HttpPool::Open(const HttpUrl& url, const HttpRequest& request,
                                                   const HttpFileBody& file) {
  STOKER_ASSIGN(std::unique_ptr<HttpConnection> connection, Take(url));
  const std::string origin = OriginText(url);
  auto head = connection->Exchange(request, file);
  if (!head.ok()) return head.status().WithContext(request.method + " " + origin);
  return std::unique_ptr<HttpAnswer>(
      std::make_unique<PooledAnswer>(*this, origin, std::move(connection), std::move(*head)));
}

Result<HttpResponse> HttpPool::Call(const HttpUrl& url, const HttpRequest& request,
                                    const HttpFileBody& file) {
  STOKER_ASSIGN(const std::unique_ptr<HttpAnswer> answer, Open(url, request, file));
  HttpResponse whole = answer->head();
  STOKER_ASSIGN(whole.body, ReadWhole(*answer, options_.max_body_bytes));
  return whole;
}

Result<std::string> ReadWhole(HttpAnswer& answer, int64_t max_bytes) {
  std::string body;
  const auto known = answer.body_size();
  if (known && *known > max_bytes) {
    return Status(Code::kNoSpace,
                  "the answer is over the limit of " + std::to_string(max_bytes) + " bytes");
  }
  while (true) {
    const size_t before = body.size();
    const int64_t want = known ? *known - static_cast<int64_t>(before) : kPiece;
    body.resize(before + static_cast<size_t>(std::max<int64_t>(want, 1)));
    auto got = answer.Read(body.data() + before, static_cast<int64_t>(body.size() - before));
    body.resize(before + static_cast<size_t>(got.ok() ? *got : 0));
    if (!got.ok()) return got.status();
    if (*got == 0) return body;
    if (static_cast<int64_t>(body.size()) > max_bytes) {
      return Status(Code::kNoSpace,
                    "the answer is over the limit of " + std::to_string(max_bytes) + " bytes");
    }
  }
}

}  // namespace stoker
