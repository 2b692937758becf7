// SPDX-License-Identifier: Apache-2.0
#include "page/server.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "base/json.h"
#include "base/text.h"
#include "net/http_server.h"
#include "net/percent.h"
#include "page/acts.h"
#include "page/events.h"
#include "page/files.h"
#include "page/gate.h"
#include "page/jobs_book.h"
#include "page/json_text.h"
#include "page/refresher.h"
#include "sys/file.h"

namespace stoker::page {
namespace {

using nlohmann::json;

constexpr size_t kMostPixels = 4000;
constexpr int64_t kPiece = 64 << 10;  // of a download
constexpr size_t kMostNames = 64;

std::string Secret() {
  std::string out;
  for (int i = 0; i < 4; ++i) out += Hex64(sys::RandomU64());
  return out;
}

HttpResponse Json(std::string text, int status = 200) {
  return {status, {{"Content-Type", "application/json; charset=utf-8"}}, std::move(text)};
}

HttpResponse Failure(const Status& status) {
  const int code = status.Is(Code::kNotFound)                             ? 404
                   : status.Is(Code::kInvalid) || status.Is(Code::kUsage) ? 400
                                                                          : 502;
  return Json(JsonText({{"error", status.message()}, {"next", status.next()}}), code);
}

HttpResponse Answer(const Result<json>& result) {
  return result.ok() ? Json(JsonText(*result)) : Failure(result.status());
}

SeriesRange RangeOf(const std::string& target) {
  SeriesRange range;
  range.by_time = QueryOf(target, "by") == "time";
  range.from = WholeNumber(QueryOf(target, "from"), INT64_MIN, INT64_MAX).value_or(INT64_MIN);
  range.to = WholeNumber(QueryOf(target, "to"), INT64_MIN, INT64_MAX).value_or(INT64_MAX);
  range.pixels =
      static_cast<size_t>(WholeNumber(QueryOf(target, "px"), 1, kMostPixels).value_or(1000));
  return range;
}

// A JSON list of texts.
Result<std::vector<std::string>> NamesOf(const std::string& target) {
  const std::string text = QueryOf(target, "names");
  if (text.empty()) return std::vector<std::string>();
  const json list = json::parse(text, nullptr, false);
  std::vector<std::string> names;
  const bool fits =
      list.is_array() && list.size() <= kMostNames &&
      std::all_of(list.begin(), list.end(), [](const json& e) { return e.is_string(); });
  if (!fits) return Status(Code::kInvalid, "names: a list of at most 64 texts is expected");
  for (const json& each : list) names.push_back(each.get<std::string>());
  return names;
}

class Server : public PageServer {
 public:
  Server(PageConfig config, JobReader& jobs)
      : config_(std::move(config)), jobs_(jobs), book_(jobs.ledger()) {}

  ~Server() override {
    events_.End();
    http_.reset();  // no handler runs any more
    refresher_.reset();
  }

  Status Begin() {
    HttpServerOptions options;
    options.port = config_.port;
    options.max_body_bytes = 64 << 10;
    options.evict_idle = true;
    options.max_streams = 16;
    once_ = Secret();
    STOKER_TRY(book_.Refresh(0).status());
    refresher_ = std::make_unique<Refresher>(jobs_, book_, events_);
    // It answers when the gate knows the port that the kernel chose.
    auto http = HttpServer::Start(options, [this](const HttpRequest& request) -> HttpReply {
      std::unique_lock<std::mutex> lock(mutex_);
      ready_.wait(lock, [this] { return gate_ != nullptr; });
      lock.unlock();
      return Handle(request);
    });
    if (!http.ok()) return http.status();
    http_ = *std::move(http);
    std::lock_guard<std::mutex> lock(mutex_);
    gate_ = std::make_unique<Gate>(
        http_->port(), GateSecrets{once_, Secret(), Secret(), [this](const std::string& token) {
                                     return config_.spend_later &&
                                            config_.spend_later(http_->port(), token);
                                   }});
    ready_.notify_all();
    return Status::Ok();
  }

  size_t acting() override { return acts_.Running(); }
  int port() const override { return http_->port(); }
  std::string url() const override {
    return "http://127.0.0.1:" + std::to_string(port()) + "/?token=" + once_;
  }

 private:
  HttpReply Handle(const HttpRequest& request) {
    const auto path = PathOf(request.target);
    const bool change = path && *path == "/api/act";
    HttpReply answer = [&]() -> HttpReply {
      if (auto stopped = gate_->Stop(request, change)) return *std::move(stopped);
      return Route(*path, request);
    }();
    AddSafeHeaders(&answer.head.headers);
    return answer;
  }

  HttpReply Route(const std::string& path, const HttpRequest& request) {
    const std::string& target = request.target;
    for (const File& file : Files()) {
      if (path == "/" + std::string(file.name) || (path == "/" && file.name == "index.html")) {
        return HttpResponse{200, {{"Content-Type", std::string(file.type)}}, file.text};
      }
    }
    if (path == "/api/session") return Session();
    if (path == "/api/jobs") {
      const auto since = WholeNumber(QueryOf(target, "since"), 0, INT64_MAX);
      return Json(book_.Since(since.value_or(0)));
    }
    if (path == "/api/events") {
      return HttpReply({200, {{"Content-Type", "text/event-stream"}}, ""},
                       [this](const WriteBytes& write) {
                         refresher_->Hurry();
                         events_.Send(write);
                       });
    }
    const std::string id = QueryOf(target, "id");
    const bool of_job = StartsWith(path, "/api/") || path == "/download";
    if (!of_job) return HttpResponse{404, {{"Content-Type", "text/plain"}}, "not found\n"};
    if (!IsSafeName(id)) return Failure(Status(Code::kInvalid, "id: a job's id is expected"));
    if (path == "/download") return Send(id, target);
    if (path == "/api/act") return Act(QueryOf(target, "verb"), id);
    refresher_->Interest(id);
    return OfJob(path, id, target);
  }

  HttpReply OfJob(const std::string& path, const std::string& id, const std::string& target) {
    if (path == "/api/job") return Answer(jobs_.Job(id));
    if (path == "/api/usage") return Answer(jobs_.Usage(id));
    if (path == "/api/kept") return Answer(jobs_.KeptFiles(id));
    if (path == "/api/code") return Answer(jobs_.Code(id));
    if (path == "/api/compared") return Answer(jobs_.Compared(id));
    if (path == "/api/log") {
      LogPage page;
      page.cursor = QueryOf(target, "cursor");
      page.tail = WholeNumber(QueryOf(target, "tail"), 0, 1 << 20).value_or(0);
      return Answer(jobs_.Log(id, page));
    }
    if (path == "/api/series") {
      const auto names = NamesOf(target);
      if (!names.ok()) return Failure(names.status());
      const int node = static_cast<int>(WholeNumber(QueryOf(target, "node"), 0, 65535).value_or(0));
      return Answer(jobs_.Series(id, node, *names, RangeOf(target)));
    }
    return Failure(Status(Code::kNotFound, "there is no such thing to ask for"));
  }

  HttpResponse Session() {
    return Json(JsonText({{"token", gate_->change_token()},
                          {"store", jobs_.ledger().store().url()},
                          {"user", config_.user},
                          {"version", config_.version}}));
  }

  HttpReply Act(const std::string& verb, const std::string& id) {
    if (verb != "cancel" && verb != "retry" && verb != "preempt") {
      return Failure(Status(Code::kInvalid, "verb: cancel, retry or preempt is expected"));
    }
    const Acted acted = acts_.Do(verb, id);
    refresher_->Hurry();
    return Json(JsonText({{"done", acted.done}, {"text", acted.text}, {"made", acted.made}}),
                acted.done ? 200 : 409);
  }

  HttpReply Send(const std::string& id, const std::string& target) {
    const std::string path = QueryOf(target, "path");
    int64_t size = 0;
    auto opened = jobs_.Open(id, QueryOf(target, "of"), path, &size);
    if (!opened.ok()) return Failure(opened.status());
    std::shared_ptr<Download> download = *std::move(opened);
    if (download->info().size != size) {
      return Failure(Status(Code::kConflict, "the file was replaced meanwhile: try again"));
    }
    const std::string name = path.substr(path.find_last_of("/:") + 1);
    HttpResponse head{
        200,
        {{"Content-Type", "application/octet-stream"},
         {"Content-Length", std::to_string(size)},
         {"Content-Disposition", "attachment; filename*=UTF-8''" + PercentEncode(name)}},
        ""};
    return HttpReply(std::move(head), [download](const WriteBytes& write) {
      std::string piece(kPiece, '\0');
      for (;;) {
        const auto got = download->Read(piece.data(), kPiece);
        // Cut off before the length that was promised: the browser says that it failed.
        if (!got.ok() || *got == 0) return;
        if (!write(std::string_view(piece).substr(0, static_cast<size_t>(*got))).ok()) return;
      }
    });
  }

  const PageConfig config_;
  JobReader& jobs_;
  Acts acts_;
  JobsBook book_;
  Events events_;
  std::string once_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<Refresher> refresher_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace

Result<std::unique_ptr<PageServer>> PageServer::Start(PageConfig config, JobReader& jobs) {
  auto server = std::make_unique<Server>(std::move(config), jobs);
  STOKER_TRY(server->Begin());
  return std::unique_ptr<PageServer>(std::move(server));
}

}  // namespace stoker::page
