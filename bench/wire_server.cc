// SPDX-License-Identifier: Apache-2.0
// As much of S3 as transfers need, at the speed of the socket: what is uploaded is counted and
// thrown away by the kernel (MSG_TRUNC), what is downloaded comes out of memory with sendfile. So
// a client is measured and not the server. Signatures are not looked at; objects keep only their
// sizes, and their bytes are those of one pattern (bench/lib/pattern.h): byte i of every object is
// the same. Only what is named ".json" is kept as it is: lists that clients read again.
//
//   wire_server [PORT [MS]]     prints its address; ends when standard input ends. Each answer
//                               comes MS milliseconds late, as from far away.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "bench/lib/pattern.h"

namespace {

constexpr int64_t kPattern = bench::kPattern;
constexpr int64_t kMostKept = 4 << 20;
constexpr char kTime[] = "2026-01-01T00:00:00.000Z";
constexpr char kDate[] = "Thu, 01 Jan 2026 00:00:00 GMT";
constexpr char kXml[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

int g_pattern = -1;
std::chrono::milliseconds g_late{0};
std::mutex g_mutex;
std::map<std::string, int64_t> g_objects;                 // "bucket/key" -> size
std::map<std::string, std::string> g_lists;               // the bytes of those that are kept
std::map<std::string, std::map<int, int64_t>> g_uploads;  // by id: part -> size
std::atomic<int64_t> g_next = 0;

struct Request {
  std::string method, path, query;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string Header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
  std::string Query(const std::string& name) const {
    size_t at = 0;
    while (at < query.size()) {
      const size_t end = std::min(query.find('&', at), query.size());
      const std::string word = query.substr(at, end - at);
      const size_t equal = std::min(word.find('='), word.size());
      if (word.substr(0, equal) == name) return equal < word.size() ? word.substr(equal + 1) : "";
      at = end + 1;
    }
    return "";
  }
  bool Asks(const std::string& name) const {
    return ("&" + query + "&").find("&" + name + "&") != std::string::npos ||
           ("&" + query).find("&" + name + "=") != std::string::npos;
  }
};

std::string Decode(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// As encoding-type=url wants it, which is also fit for XML.
std::string Encode(const std::string& text) {
  std::string out;
  char hex[4];
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("-._~/", c) != nullptr) {
      out += c;
    } else {
      std::snprintf(hex, sizeof hex, "%%%02X", static_cast<unsigned char>(c));
      out += hex;
    }
  }
  return out;
}

class Connection {
 public:
  explicit Connection(int fd) : fd_(fd) {}
  ~Connection() { close(fd_); }

  void Serve() {
    Request request;
    while (ReadHead(&request)) {
      if (!Answer(request)) return;
    }
  }

 private:
  bool ReadHead(Request* request) {
    size_t end = ahead_.find("\r\n\r\n");
    while (end == std::string::npos) {
      char buffer[16 << 10];
      const ssize_t got = recv(fd_, buffer, sizeof buffer, 0);
      if (got <= 0) return false;
      ahead_.append(buffer, static_cast<size_t>(got));
      end = ahead_.find("\r\n\r\n");
    }
    *request = {};
    const std::string head = ahead_.substr(0, end + 2);
    ahead_.erase(0, end + 4);
    size_t at = head.find("\r\n");
    const std::string first = head.substr(0, at);
    const size_t one = first.find(' ');
    const size_t two = first.find(' ', one + 1);
    request->method = first.substr(0, one);
    const std::string target = first.substr(one + 1, two - one - 1);
    const size_t mark = std::min(target.find('?'), target.size());
    request->path = Decode(target.substr(1, mark - 1));
    request->query = mark < target.size() ? target.substr(mark + 1) : "";
    for (at += 2; at < head.size();) {
      const size_t line = head.find("\r\n", at);
      const size_t colon = head.find(':', at);
      std::string name = head.substr(at, colon - at);
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      size_t value = colon + 1;
      while (value < line && head[value] == ' ') ++value;
      request->headers[name] = head.substr(value, line - value);
      at = line + 2;
    }
    if (request->Header("expect") == "100-continue") Send("HTTP/1.1 100 Continue\r\n\r\n");
    return true;
  }

  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  static bool Kept(const Request& request, int64_t size) {
    if (request.method == "POST") return size <= (1 << 20);
    return size <= kMostKept && request.path.size() > 5 &&
           request.path.compare(request.path.size() - 5, 5, ".json") == 0;
  }

  // The body, as far as it is kept.
  bool TakeBody(const Request& request, int64_t* size, std::string* kept) {
    int64_t left = std::atoll(request.Header("content-length").c_str());
    *size = left;
    const std::string decoded = request.Header("x-amz-decoded-content-length");
    if (!decoded.empty()) *size = std::atoll(decoded.c_str());
    const auto ready = std::min<size_t>(ahead_.size(), static_cast<size_t>(left));
    *kept = ahead_.substr(0, ready);
    ahead_.erase(0, ready);
    left -= static_cast<int64_t>(ready);
    const bool keep = Kept(request, *size);
    char buffer[16 << 10];
    while (left > 0) {
      const auto want =
          static_cast<size_t>(std::min<int64_t>(left, keep ? sizeof buffer : 4 << 20));
      const ssize_t got = keep ? recv(fd_, buffer, want, 0) : recv(fd_, nullptr, want, MSG_TRUNC);
      if (got <= 0) return false;
      if (keep) kept->append(buffer, static_cast<size_t>(got));
      left -= got;
    }
    return true;
  }

  bool Reply(int status, const std::string& headers, const std::string& body = "") {
    return Send("HTTP/1.1 " + std::to_string(status) + " X\r\nDate: " + kDate +
                "\r\nServer: wire\r\n" + headers +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  bool ReplyXml(const std::string& body) {
    return Reply(200, "Content-Type: application/xml\r\n", kXml + body);
  }
  static std::string Etag(const std::string& path, int64_t size) {
    char text[64];
    std::snprintf(text, sizeof text, "%016zx%016llx-1", std::hash<std::string>()(path),
                  static_cast<unsigned long long>(size));
    return text;
  }

  bool Answer(const Request& request) {
    int64_t size = 0;
    std::string body;
    if (request.method == "PUT" || request.method == "POST") {
      if (!TakeBody(request, &size, &body)) return false;
    }
    if (g_late.count() > 0) std::this_thread::sleep_for(g_late);
    if (request.method == "PUT") return Put(request, size, body);
    if (request.method == "POST") return Post(request, body);
    if (request.method == "DELETE") return Delete(request);
    std::string bucket = request.path;
    while (!bucket.empty() && bucket.back() == '/') bucket.pop_back();
    if (bucket.find('/') != std::string::npos) return Get(request);
    if (request.method == "HEAD") return Reply(200, "x-amz-bucket-region: us-east-1\r\n");
    if (request.Asks("location")) return ReplyXml("<LocationConstraint/>");
    return List(request, bucket);
  }

  bool Put(const Request& request, int64_t size, const std::string& body) {
    const std::string id = request.Query("uploadId");
    {
      const std::lock_guard lock(g_mutex);
      if (Kept(request, size)) g_lists[request.path] = body;
      if (!id.empty())
        g_uploads[id][std::atoi(request.Query("partNumber").c_str())] = size;
      else
        g_objects[request.path] = size;
    }
    return Reply(200, "ETag: \"" + Etag(request.path, size) + "\"\r\n");
  }

  bool Post(const Request& request, const std::string& body) {
    const size_t slash = std::min(request.path.find('/'), request.path.size());
    const std::string key = request.path.substr(std::min(slash + 1, request.path.size()));
    const std::string where =
        "<Bucket>" + request.path.substr(0, slash) + "</Bucket><Key>" + Encode(key) + "</Key>";
    if (request.Asks("uploads")) {
      return ReplyXml("<InitiateMultipartUploadResult>" + where + "<UploadId>u" +
                      std::to_string(++g_next) + "</UploadId></InitiateMultipartUploadResult>");
    }
    if (request.Asks("delete")) {
      const std::lock_guard lock(g_mutex);
      for (size_t at = body.find("<Key>"); at != std::string::npos; at = body.find("<Key>", at)) {
        at += 5;
        g_objects.erase(request.path.substr(0, slash) + "/" +
                        body.substr(at, body.find("</Key>", at) - at));
      }
      return ReplyXml("<DeleteResult/>");
    }
    int64_t size = 0;
    {
      const std::lock_guard lock(g_mutex);
      for (const auto& [part, bytes] : g_uploads[request.Query("uploadId")]) size += bytes;
      g_uploads.erase(request.Query("uploadId"));
      g_objects[request.path] = size;
    }
    return ReplyXml("<CompleteMultipartUploadResult>" + where + "<ETag>&quot;" +
                    Etag(request.path, size) + "&quot;</ETag></CompleteMultipartUploadResult>");
  }

  bool Delete(const Request& request) {
    const std::lock_guard lock(g_mutex);
    if (request.Asks("uploadId"))
      g_uploads.erase(request.Query("uploadId"));
    else
      g_objects.erase(request.path);
    return Reply(204, "");
  }

  bool List(const Request& request, const std::string& bucket) {
    const std::string prefix = bucket + "/" + Decode(request.Query("prefix"));
    std::string after = Decode(request.Query("continuation-token"));
    if (after.empty()) after = Decode(request.Query("start-after"));
    if (after.empty()) after = Decode(request.Query("marker"));  // the older version of the call
    const int most = std::max(std::atoi(request.Query("max-keys").c_str()), 0);
    const int limit = most == 0 ? 1000 : std::min(most, 1000);
    std::string body;
    std::string last;
    int count = 0;
    bool more = false;
    {
      const std::lock_guard lock(g_mutex);
      auto at = g_objects.lower_bound(prefix);
      if (!after.empty()) at = g_objects.upper_bound(std::max(prefix, bucket + "/" + after));
      for (; at != g_objects.end() && at->first.compare(0, prefix.size(), prefix) == 0; ++at) {
        if (count == limit) {
          more = true;
          break;
        }
        last = at->first.substr(bucket.size() + 1);
        ++count;
        body += "<Contents><Key>" + Encode(last) + "</Key><LastModified>" + kTime +
                "</LastModified><ETag>&quot;" + Etag(at->first, at->second) +
                "&quot;</ETag><Size>" + std::to_string(at->second) +
                "</Size><StorageClass>STANDARD</StorageClass></Contents>";
      }
    }
    std::string head = "<Name>" + bucket + "</Name><Prefix>" +
                       Encode(Decode(request.Query("prefix"))) + "</Prefix><KeyCount>" +
                       std::to_string(count) + "</KeyCount><MaxKeys>" + std::to_string(limit) +
                       "</MaxKeys><IsTruncated>" + (more ? "true" : "false") + "</IsTruncated>";
    if (more) {
      head += "<NextContinuationToken>" + Encode(last) + "</NextContinuationToken><NextMarker>" +
              Encode(last) + "</NextMarker>";
    }
    if (request.Asks("encoding-type")) head += "<EncodingType>url</EncodingType>";
    return ReplyXml("<ListBucketResult>" + head + body + "</ListBucketResult>");
  }

  bool Get(const Request& request) {
    int64_t size = -1;
    std::string kept;
    {
      const std::lock_guard lock(g_mutex);
      const auto found = g_objects.find(request.path);
      if (found != g_objects.end()) size = found->second;
      const auto list = g_lists.find(request.path);
      if (list != g_lists.end()) kept = list->second;
    }
    if (size < 0) {
      return Reply(404, "",
                   request.method == "HEAD" ? "" : "<Error><Code>NoSuchKey</Code></Error>");
    }
    long long first = 0;
    long long last = size - 1;
    const std::string range = request.Header("range");
    const bool part = std::sscanf(range.c_str(), "bytes=%lld-%lld", &first, &last) >= 1;
    last = std::min<long long>(last, size - 1);
    std::string head = std::string("HTTP/1.1 ") + (part ? "206" : "200") + " X\r\nDate: " + kDate +
                       "\r\nLast-Modified: " + kDate + "\r\nETag: \"" + Etag(request.path, size) +
                       "\"\r\nAccept-Ranges: bytes\r\nContent-Type: binary/octet-stream\r\n";
    if (part) {
      head += "Content-Range: bytes " + std::to_string(first) + "-" + std::to_string(last) + "/" +
              std::to_string(size) + "\r\n";
    }
    head += "Content-Length: " + std::to_string(last - first + 1) + "\r\n\r\n";
    const bool body = request.method == "GET" && last >= first;
    if (body && !kept.empty()) {
      return Send(head +
                  kept.substr(static_cast<size_t>(first), static_cast<size_t>(last - first + 1)));
    }
    if (send(fd_, head.data(), head.size(), MSG_NOSIGNAL | (body ? MSG_MORE : 0)) <= 0)
      return false;
    for (int64_t at = first; body && at <= last;) {
      off_t from = at % kPattern;
      const auto want = static_cast<size_t>(std::min<int64_t>(last - at + 1, kPattern - from));
      const ssize_t sent = sendfile(fd_, g_pattern, &from, want);
      if (sent <= 0) return false;
      at += sent;
    }
    return true;
  }

  const int fd_;
  std::string ahead_;
};

void MakePattern() {
  g_pattern = memfd_create("pattern", 0);
  bench::Pattern pattern;
  for (int64_t done = 0; done < kPattern; done += bench::Pattern::kBlock) {
    if (write(g_pattern, pattern.Next().data(), bench::Pattern::kBlock) < 0) std::exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  MakePattern();
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<uint16_t>(argc > 1 ? std::atoi(argv[1]) : 0));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int one = 1;
  if (argc > 2) g_late = std::chrono::milliseconds(std::atoi(argv[2]));
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  socklen_t size = sizeof at;
  if (bind(listener, reinterpret_cast<sockaddr*>(&at), size) != 0 || listen(listener, 512) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    std::perror("wire_server");
    return 1;
  }
  std::printf("http://127.0.0.1:%d\n", ntohs(at.sin_port));
  std::fflush(stdout);
  std::thread([] {
    char byte = 0;
    while (read(0, &byte, 1) > 0) {
    }
    std::_Exit(0);
  }).detach();
  while (true) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    std::thread([fd] { Connection(fd).Serve(); }).detach();
  }
}
