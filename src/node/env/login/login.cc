// SPDX-License-Identifier: Apache-2.0
#include "node/env/login/login.h"

#include <algorithm>
#include <set>

#include "base/base64.h"
#include "base/text.h"
#include "net/percent.h"

namespace stoker::node {
namespace {

struct Found {
  size_t scheme = 0;  // where the address begins
  size_t begin = 0;   // of the login
  size_t at = 0;      // its '@'
  size_t end = 0;     // of the address
};

// The next address of `text`, from `from` on, that has a login.
std::optional<Found> FindLogin(std::string_view text, size_t from) {
  for (size_t mark = text.find("://", from); mark != std::string_view::npos;
       mark = text.find("://", mark + 3)) {
    Found found;
    found.begin = mark + 3;
    const size_t end = text.find_first_of(" \t\r\n\"'\\", found.begin);
    found.end = std::min(end, text.size());
    const size_t host_end = std::min(text.find_first_of("/?#", found.begin), found.end);
    found.at = text.substr(0, host_end).rfind('@');
    if (found.at == std::string_view::npos || found.at < found.begin) continue;
    const std::string_view before = text.substr(0, mark);
    if (!EndsWith(before, "http") && !EndsWith(before, "https")) continue;
    found.scheme = mark - (EndsWith(before, "https") ? 5 : 4);
    return found;
  }
  return std::nullopt;
}

// Without a revision ("@main", behind the path of git's alone) and a fragment.
std::string Bare(std::string url, bool git) {
  url.resize(std::min(url.find('#'), url.size()));
  const size_t path = url.find('/', url.find("://") + 3);
  const size_t mark = url.rfind('@');
  if (git && path != std::string::npos && mark != std::string::npos && mark > path) {
    url.resize(mark);
  }
  return url;
}

std::string_view HostOf(const AddressLogin& login) {
  std::string_view host = login.origin;
  host.remove_prefix(host.find("://") + 3);
  return host.substr(0, host.rfind(':'));
}

bool Same(const AddressLogin& a, const AddressLogin& b) {
  return a.user == b.user && a.password == b.password;
}

// Of netrc's words, in Python's reading of them and in others'.
bool FitsNetrc(std::string_view word) {
  return !word.empty() && word.find_first_of(" \t\r\n\"\\#") == std::string_view::npos;
}

bool Fits(const AddressLogin& login, const std::vector<AddressLogin>& others) {
  if (login.git) return true;
  if (!FitsNetrc(login.user) || !FitsNetrc(login.password)) return false;
  return std::none_of(others.begin(), others.end(), [&](const AddressLogin& other) {
    return !other.git && HostOf(other) == HostOf(login) && !Same(other, login);
  });
}

std::optional<AddressLogin> LoginOf(std::string_view text, const Found& found,
                                    const VariableSource& variable) {
  const std::string_view scheme = text.substr(found.scheme, found.begin - found.scheme);
  const auto login =
      FilledIn(std::string(text.substr(found.begin, found.at - found.begin)), variable);
  const auto rest =
      FilledIn(std::string(text.substr(found.at + 1, found.end - found.at - 1)), variable);
  if (!login || !rest) return std::nullopt;
  AddressLogin out;
  out.git = EndsWith(text.substr(0, found.scheme), "git+");
  out.url = Bare(std::string(scheme) + *rest, out.git);
  out.origin = out.url.substr(0, out.url.find('/', scheme.size()));
  const size_t colon = login->find(':');
  out.user = PercentDecode(login->substr(0, colon));
  if (colon != std::string::npos) out.password = PercentDecode(login->substr(colon + 1));
  // A user's name alone, which git tells only whoever asks for it.
  if (out.git && out.user == "git" && out.password.empty()) return std::nullopt;
  return out;
}

}  // namespace

std::optional<std::string> FilledIn(std::string text, const VariableSource& variable) {
  for (size_t at = text.find("${"); at != std::string::npos; at = text.find("${", at)) {
    const size_t end = text.find('}', at);
    if (end == std::string::npos) return std::nullopt;
    const auto value = variable(text.substr(at + 2, end - at - 2));
    if (!value) return std::nullopt;
    text.replace(at, end - at + 1, *value);
    at += value->size();
  }
  return text;
}

std::string TakeLogins(std::string_view text, const VariableSource& variable,
                       std::vector<AddressLogin>* logins) {
  std::string out;
  size_t done = 0;
  for (auto found = FindLogin(text, 0); found; found = FindLogin(text, found->end)) {
    const auto login = LoginOf(text, *found, variable);
    if (!login || !Fits(*login, *logins)) continue;
    if (std::find(logins->begin(), logins->end(), *login) == logins->end()) {
      logins->push_back(*login);
    }
    out += text.substr(done, found->begin - done);
    done = found->at + 1;
  }
  out += text.substr(done);
  return out;
}

std::vector<std::pair<std::string, std::string>> GitLogins(const std::vector<AddressLogin>& logins,
                                                           int already) {
  std::vector<std::pair<std::string, std::string>> out;
  int count = already;
  std::set<std::string> told;  // git would send it as often as it is said
  for (const AddressLogin& one : logins) {
    if (!one.git) continue;
    // All of the host, submodules too; where it knows several users, that repository alone.
    const bool several = std::any_of(logins.begin(), logins.end(), [&](const AddressLogin& other) {
      return other.git && other.origin == one.origin && !Same(other, one);
    });
    const std::string where = several ? one.url : one.origin + "/";
    if (!told.insert(where).second) continue;
    const std::string number = std::to_string(count++);
    out.emplace_back("GIT_CONFIG_KEY_" + number, "http." + where + ".extraHeader");
    out.emplace_back("GIT_CONFIG_VALUE_" + number,
                     "Authorization: Basic " + Base64(one.user + ":" + one.password));
  }
  if (count > already) out.emplace_back("GIT_CONFIG_COUNT", std::to_string(count));
  return out;
}

std::string NetrcOf(const std::vector<AddressLogin>& logins) {
  std::string out;
  for (const AddressLogin& one : logins) {
    if (one.git) continue;
    out += "machine " + std::string(HostOf(one)) + " login " + one.user + " password " +
           one.password + "\n";
  }
  return out;
}

}  // namespace stoker::node
