// SPDX-License-Identifier: Apache-2.0
#include "spec/text/git/repository.h"

#include "base/text.h"

namespace stoker {
namespace {

constexpr size_t kMostUrl = 2000;
constexpr size_t kMostRef = 250;
// What git itself speaks; a transport that runs commands ("ext::") is none of them.
constexpr std::string_view kSchemes[] = {"https://", "http://", "ssh://", "git://", "file://"};

bool Only(std::string_view text, std::string_view more) {
  for (const char c : text) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!word && more.find(c) == std::string_view::npos) return false;
  }
  return true;
}

std::string_view SchemeOf(std::string_view url) {
  for (const std::string_view scheme : kSchemes) {
    if (StartsWith(url, scheme)) return scheme;
  }
  return "";
}

// "git@host:path", as ssh has it.
bool IsShort(std::string_view url) {
  const size_t at = url.find('@');
  const size_t colon = url.find(':');
  if (at == std::string_view::npos || colon == std::string_view::npos || at == 0 || colon < at) {
    return false;
  }
  const std::string_view user = url.substr(0, at);
  const std::string_view host = url.substr(at + 1, colon - at - 1);
  return Only(user, "._-") && user[0] != '-' && !host.empty() && Only(host, ".-") &&
         host[0] != '-' && colon + 1 < url.size() && url[colon + 1] != '-';
}

Status CheckUrl(const std::string& url) {
  const std::string said = "'" + Printable(CutText(url, 200)) + "'";
  const std::string_view scheme = SchemeOf(url);
  const bool printable = Printable(url) == url && url.find_first_of(" #\\") == std::string::npos;
  if (url.size() > kMostUrl || !printable || (scheme.empty() && !IsShort(url))) {
    return Status(Code::kInvalid, said + " is not the URL of a git repository",
                  "Write one with https://, ssh:// or file://, or git@host:path");
  }
  if (scheme.empty()) return Status::Ok();
  const std::string rest = url.substr(scheme.size());
  if (rest.empty() || rest[0] == '-') {
    return Status(Code::kInvalid, said + " names no repository");
  }
  const std::string host = rest.substr(0, rest.find('/'));
  const size_t at = host.rfind('@');
  if (at == std::string::npos) return Status::Ok();
  const bool secret = StartsWith(scheme, "http") || host.find(':') < at;
  if (!secret) return Status::Ok();
  // Not shown: it may be a token.
  return Status(Code::kInvalid,
                "the URL of the repository at " + Printable(host.substr(at + 1)) +
                    " has a user or a password in it",
                "Leave it out: the job's record would hold it. Your git asks its credential "
                "helper");
}

Status CheckRef(const std::string& ref) {
  const bool good = ref.size() <= kMostRef && Only(ref, "._/-+@") && ref[0] != '-' &&
                    ref[0] != '/' && ref.find("..") == std::string::npos;
  if (good) return Status::Ok();
  return Status(Code::kInvalid,
                "'" + Printable(CutText(ref, 100)) + "' is not a branch, a tag or a commit");
}

}  // namespace

std::string WordOf(const Repository& repository) {
  return repository.ref.empty() ? repository.url : repository.url + "#" + repository.ref;
}

std::optional<Repository> RepositoryOf(std::string_view workdir) {
  const bool path = workdir.empty() || workdir[0] == '/' || workdir[0] == '~' || workdir[0] == '.';
  if (path) return std::nullopt;
  const std::string_view url = workdir.substr(0, workdir.find('#'));
  if (SchemeOf(url).empty() && !IsShort(url)) return std::nullopt;
  Repository out{std::string(url), ""};
  if (url.size() < workdir.size()) out.ref = std::string(workdir.substr(url.size() + 1));
  return out;
}

Status CheckRepository(const Repository& repository) {
  STOKER_TRY(CheckUrl(repository.url));
  return repository.ref.empty() ? Status::Ok() : CheckRef(repository.ref);
}

}  // namespace stoker
