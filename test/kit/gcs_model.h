// SPDX-License-Identifier: Apache-2.0
// A bucket of Google Cloud Storage for tests, with what an emulator does not do: it forgets
// answers, stores parts of chunks, is busy, and takes a token only for a while. By the
// documentation of resumable uploads and preconditions.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "base/json.h"
#include "base/text.h"
#include "net/http_message.h"
#include "net/percent.h"

namespace stoker {

class GcsModel {
 public:
  enum class Fault {
    kNone,
    kRefused,   // 503, without effect
    kBusy,      // 429, without effect
    kForgotten  // 500, with all effect; of a chunk in the middle, a part of it
  };
  struct Stored {
    std::string data;
    int64_t generation = 0;
    std::string created = "2026-11-22T09:00:00.750Z";
    nlohmann::json metadata = {};
  };

  // Which fault the next request meets.
  std::function<Fault(const HttpRequest&)> fault = [](const HttpRequest&) { return Fault::kNone; };
  std::string token;  // what requests must carry; "" = nothing
  int damaged = 0;    // so many downloads have a wrong byte
  int damaged_compositions = 0;
  int damaged_sums = 0;  // so many answers to a write have another checksum than the object
  bool says_modified = true;
  std::string storage_class = "STANDARD";
  size_t cut_after = 0;     // bytes of a whole download that are sent; 0 = all
  int64_t writes = 0;       // objects made
  int64_t chunk_bytes = 0;  // of chunks, as they came
  std::map<std::string, Stored> objects;
  std::vector<HttpRequest> requests;

  HttpResponse Serve(const HttpRequest& request) {
    const std::lock_guard lock(mutex_);
    requests.push_back(request);
    const std::string* given = FindHeader(request.headers, "Authorization");
    if (!token.empty() && (given == nullptr || *given != "Bearer " + token)) {
      return Refusal(401, "authError");
    }
    const Fault what = fault(request);
    if (what == Fault::kRefused) return Refusal(503, "backendError");
    if (what == Fault::kBusy) return Refusal(429, "rateLimitExceeded");
    forgotten_ = what == Fault::kForgotten;
    HttpResponse answer = Do(request);
    if (forgotten_) return Refusal(500, "internalError");
    answer.headers.emplace_back("Date", kDate);
    return answer;
  }

  static constexpr char kDate[] = "Sun, 22 Nov 2026 10:00:00 GMT";

 private:
  struct Session {
    std::string name, condition, data;
    int64_t made = 0;  // the generation, once there is one
  };

  static HttpResponse Refusal(int status, const std::string& reason) {
    const nlohmann::json error = {{"code", status},
                                  {"message", "made up"},
                                  {"errors", {{{"reason", reason}, {"domain", "global"}}}}};
    return {status, {{"Date", kDate}}, nlohmann::json{{"error", error}}.dump()};
  }

  static std::string Query(const std::string& target, const std::string& name) {
    const size_t begin = target.find('?');
    if (begin == std::string::npos) return "";
    for (const std::string& pair : Split(target.substr(begin + 1), '&')) {
      if (StartsWith(pair, name + "=")) return PercentDecode(pair.substr(name.size() + 1));
    }
    return "";
  }

  bool Holds(const std::string& name, const std::string& condition) const {
    const auto at = objects.find(name);
    const int64_t there = at == objects.end() ? 0 : at->second.generation;
    return condition.empty() || std::to_string(there) == condition;
  }

  nlohmann::json Described(const std::string& name) const {
    const Stored& stored = objects.at(name);
    nlohmann::json described = {{"name", name},
                                {"generation", std::to_string(stored.generation)},
                                {"size", std::to_string(stored.data.size())},
                                {"timeCreated", stored.created},
                                {"storageClass", storage_class},
                                {"crc32c", Crc32cText(Crc32c(stored.data))}};
    if (!stored.metadata.is_null()) described["metadata"] = stored.metadata;
    return described;
  }

  HttpResponse Made(const std::string& name) {
    nlohmann::json made = Described(name);
    if (damaged_sums > 0 && damaged_sums-- > 0) made["crc32c"] = Crc32cText(0x12345678);
    return {200, {}, made.dump()};
  }

  // A page has three entries, so that there are several.
  HttpResponse List(const HttpRequest& request) const {
    const std::string prefix = Query(request.target, "prefix");
    const std::string from = Query(request.target, "pageToken");
    nlohmann::json page = {{"items", nlohmann::json::array()}};
    for (auto at = objects.lower_bound(std::max(prefix, from)); at != objects.end(); ++at) {
      if (!StartsWith(at->first, prefix)) break;
      if (page["items"].size() == 3) {
        page["nextPageToken"] = at->first;
        break;
      }
      page["items"].push_back(Described(at->first));
    }
    return {200, {}, page.dump()};
  }

  // Source: "Objects: compose".
  HttpResponse Compose(const std::string& name, const HttpRequest& request) {
    const auto asked = nlohmann::json::parse(request.body);
    std::string data;
    if (asked["sourceObjects"].empty() || asked["sourceObjects"].size() > 32) {
      return Refusal(400, "invalid");
    }
    for (const auto& source : asked["sourceObjects"]) {
      const auto at = objects.find(source["name"].get<std::string>());
      if (at == objects.end() || source["generation"] != std::to_string(at->second.generation)) {
        return Refusal(404, "notFound");
      }
      data += at->second.data;
    }
    if (damaged_compositions > 0 && damaged_compositions-- > 0) data[0] ^= 1;
    return Write(name, Query(request.target, "ifGenerationMatch"), std::move(data),
                 asked["destination"].value("metadata", nlohmann::json()));
  }

  HttpResponse Write(const std::string& name, const std::string& condition, std::string data,
                     const nlohmann::json& metadata = {}) {
    if (!Holds(name, condition)) return Refusal(412, "conditionNotMet");
    objects[name].data = std::move(data);
    objects[name].generation = ++generation_;
    objects[name].metadata = metadata;
    ++writes;
    return Made(name);
  }

  HttpResponse Do(const HttpRequest& request) {
    if (StartsWith(request.target, "/upload/")) {
      if (request.method == "PUT") return Continue(request);
      if (request.method == "DELETE") return {499, {}, ""};
      const std::string name = Query(request.target, "name");
      const std::string condition = Query(request.target, "ifGenerationMatch");
      if (Query(request.target, "uploadType") == "resumable") return Begin(name, condition);
      return Multipart(name, condition, request.body);
    }
    const std::string begin = "/storage/v1/b/bucket/o/";
    if (StartsWith(request.target, "/storage/v1/b/bucket/o?")) return List(request);
    if (!StartsWith(request.target, begin)) return Refusal(404, "notFound");
    const std::string path = request.target.substr(0, request.target.find('?'));
    const std::string name = path.substr(begin.size());
    if (request.method == "POST" && EndsWith(name, "/compose")) {
      return Compose(PercentDecode(name.substr(0, name.size() - 8)), request);
    }
    const auto at = objects.find(PercentDecode(name));
    if (at == objects.end()) return Refusal(404, "notFound");
    if (request.method == "DELETE") {
      objects.erase(at);
      return {204, {}, ""};
    }
    const std::string generation = Query(request.target, "generation");
    if (!generation.empty() && generation != std::to_string(at->second.generation)) {
      return Refusal(404, "notFound");
    }
    if (Query(request.target, "alt") == "media") return Media(request, at->second);
    return Made(at->first);
  }

  // The body is JSON and bytes, between lines of the boundary.
  HttpResponse Multipart(const std::string& name, const std::string& condition,
                         const std::string& body) {
    const std::string line = body.substr(0, body.find("\r\n"));
    const size_t second = body.find("\r\n" + line + "\r\n");
    const size_t last = body.rfind("\r\n" + line + "--\r\n");
    const size_t data = body.find("\r\n\r\n", second + 2) + 4;
    const size_t json = body.find("\r\n\r\n") + 4;
    std::string bytes = body.substr(data, last - data);
    const auto metadata = nlohmann::json::parse(body.substr(json, second - json));
    if (metadata["crc32c"] != Crc32cText(Crc32c(bytes))) return Refusal(400, "invalid");
    return Write(name, condition, std::move(bytes), metadata.value("metadata", nlohmann::json()));
  }

  HttpResponse Begin(const std::string& name, const std::string& condition) {
    if (!Holds(name, condition)) return Refusal(412, "conditionNotMet");
    const std::string id = std::to_string(sessions_.size() + 1);
    sessions_[id] = {name, condition, "", 0};
    return {200, {{"Location", "https://storage.googleapis.com/upload/s?upload_id=" + id}}, ""};
  }

  HttpResponse Continue(const HttpRequest& request) {
    const auto at = sessions_.find(Query(request.target, "upload_id"));
    if (at == sessions_.end()) return Refusal(404, "notFound");
    Session& session = at->second;
    if (session.made > 0) return Made(session.name);
    const std::string* range = FindHeader(request.headers, "Content-Range");
    const std::string text = range == nullptr ? "" : range->substr(6);
    const std::string total = text.substr(text.find('/') + 1);
    if (!StartsWith(text, "*")) {
      chunk_bytes += static_cast<int64_t>(request.body.size());
      const size_t from = std::stoul(text);
      if (from != session.data.size()) return Refusal(400, "notWhereItIs");
      const bool part = forgotten_ && total == "*";
      session.data += request.body.substr(0, part ? request.body.size() / 2 : std::string::npos);
    }
    if (total != "*" && session.data.size() == std::stoul(total)) {
      const std::string* hash = FindHeader(request.headers, "X-Goog-Hash");
      const std::string wanted = "crc32c=" + Crc32cText(Crc32c(session.data));
      if (hash == nullptr || *hash != wanted) return Refusal(400, "invalid");
      HttpResponse made = Write(session.name, session.condition, session.data);
      if (made.status == 200) session.made = generation_;
      return made;
    }
    HttpResponse more{308, {}, ""};
    if (!session.data.empty()) {
      more.headers.emplace_back("Range", "bytes=0-" + std::to_string(session.data.size() - 1));
    }
    return more;
  }

  HttpResponse Media(const HttpRequest& request, const Stored& stored) {
    HttpResponse answer{200, {}, stored.data};
    answer.headers = {{"x-goog-generation", std::to_string(stored.generation)},
                      {"x-goog-hash", "crc32c=" + Crc32cText(Crc32c(stored.data)) + ",md5=x"},
                      {"x-goog-stored-content-length", std::to_string(stored.data.size())}};
    if (says_modified) {
      answer.headers.emplace_back("Last-Modified", "Sun, 22 Nov 2026 09:00:00 GMT");
    }
    if (damaged > 0 && damaged-- > 0) answer.body[0] ^= 1;
    const std::string* range = FindHeader(request.headers, "Range");
    if (range != nullptr) {
      const size_t from = std::stoul(range->substr(6));
      const std::string last = range->substr(range->find('-') + 1);
      const size_t end = last.empty() ? stored.data.size() : std::stoul(last) + 1;
      answer.status = 206;
      answer.body = answer.body.substr(from, end - from);
      answer.headers.emplace_back("Content-Range", "bytes " + std::to_string(from) + "-" +
                                                       std::to_string(end - 1) + "/" +
                                                       std::to_string(stored.data.size()));
    } else if (cut_after > 0 && cut_after < stored.data.size()) {
      // The rest never comes: the server closes what is idle.
      answer.headers.emplace_back("Content-Length", std::to_string(stored.data.size()));
      answer.body.resize(cut_after);
    }
    return answer;
  }

  std::mutex mutex_;
  bool forgotten_ = false;
  int64_t generation_ = 1'795'341'600'000'000;
  std::map<std::string, Session> sessions_;
};

}  // namespace stoker
