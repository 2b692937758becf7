// SPDX-License-Identifier: Apache-2.0
#include "aws/canonical_request.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/letter_case.h"
#include "base/text.h"
#include "net/percent.h"

namespace stoker {
namespace {

// As botocore has them: a proxy may touch these.
constexpr std::array<std::string_view, 15> kUnsignedHeaders = {"authorization",
                                                               "baggage",
                                                               "connection",
                                                               "expect",
                                                               "keep-alive",
                                                               "proxy-authenticate",
                                                               "proxy-authorization",
                                                               "te",
                                                               "traceparent",
                                                               "tracestate",
                                                               "trailer",
                                                               "transfer-encoding",
                                                               "upgrade",
                                                               "user-agent",
                                                               "x-amzn-trace-id"};

// Without white space at the ends, and one space for any inside.
std::string Trimmed(std::string_view value) {
  std::string out;
  bool gap = false;
  for (const char c : value) {
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      gap = !out.empty();
    } else {
      if (gap) out += ' ';
      gap = false;
      out += c;
    }
  }
  return out;
}

// Values by lower-case name; those of a name that stands twice are joined by ','.
std::map<std::string, std::string> SignedHeaders(const HttpHeaders& headers) {
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : headers) {
    const std::string key = LowerCase(name);
    if (std::find(kUnsignedHeaders.begin(), kUnsignedHeaders.end(), key) !=
        kUnsignedHeaders.end()) {
      continue;
    }
    const auto [at, is_new] = out.try_emplace(key);
    at->second += (is_new ? "" : ",") + Trimmed(value);
  }
  return out;
}

// RFC 3986, 5.2.4, and no empty segments, as services other than S3 expect.
std::string Normalised(std::string_view path) {
  std::vector<std::string> kept;
  for (std::string& part : Split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (!kept.empty()) kept.pop_back();
    } else {
      kept.push_back(std::move(part));
    }
  }
  return "/" + Join(kept, "/") + (EndsWith(path, "/") && !kept.empty() ? "/" : "");
}

std::string CanonicalQuery(std::string_view query) {
  if (query.empty()) return "";
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& part : Split(query, '&')) {
    const size_t equals = part.find('=');
    const bool bare = equals == std::string::npos;  // "?uploads" is signed as "uploads="
    pairs.emplace_back(part.substr(0, equals), bare ? "" : part.substr(equals + 1));
  }
  std::sort(pairs.begin(), pairs.end());
  std::string out;
  for (const auto& [key, value] : pairs) {
    if (!out.empty()) out += '&';
    out += key;
    out += '=';
    out += value;
  }
  return out;
}

}  // namespace

std::string SignedHeaderNames(const HttpHeaders& headers) {
  std::string out;
  for (const auto& [name, value] : SignedHeaders(headers)) {
    out += (out.empty() ? "" : ";") + name;
  }
  return out;
}

std::string CanonicalRequest(const HttpRequest& request, bool as_is,
                             std::string_view payload_hash) {
  const size_t question = request.target.find('?');
  std::string path = request.target.substr(0, question);
  if (path.empty()) path = "/";
  if (!as_is) path = PercentEncodePath(Normalised(path));
  const std::string query =
      question == std::string::npos ? "" : CanonicalQuery(request.target.substr(question + 1));
  std::string out = request.method + "\n" + path + "\n" + query + "\n";
  for (const auto& [name, value] : SignedHeaders(request.headers)) {
    out += name;
    out += ':';
    out += value;
    out += '\n';
  }
  out += "\n" + SignedHeaderNames(request.headers) + "\n";
  out += payload_hash;
  return out;
}

}  // namespace stoker
