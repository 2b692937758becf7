// SPDX-License-Identifier: Apache-2.0
#include "pack/credentials.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>

#include "base/text.h"

namespace stoker::pack {
namespace {

constexpr size_t npos = std::string_view::npos;

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpperOrDigit(char c) { return IsUpper(c) || IsDigit(c); }
bool IsWord(char c) { return IsAlnum(c) || c == '_'; }
bool IsWordOrDash(char c) { return IsWord(c) || c == '-'; }
bool IsDashAlnum(char c) { return IsAlnum(c) || c == '-'; }
bool IsBase64(char c) { return IsAlnum(c) || c == '+' || c == '/'; }

// The characters from text[at] on that `belongs` takes.
std::string_view Run(std::string_view text, size_t at, bool (*belongs)(char)) {
  size_t end = at;
  while (end < text.size() && belongs(text[end])) ++end;
  return text.substr(at, end - at);
}

// Random text has many different characters and several kinds of them; "xxxx" and "your_key" do
// not.
bool LooksRandom(std::string_view secret) {
  std::array<bool, 256> seen{};
  for (char c : secret) seen[static_cast<unsigned char>(c)] = true;
  const auto different = std::count(seen.begin(), seen.end(), true);
  return different >= 10 && std::any_of(secret.begin(), secret.end(), IsDigit) &&
         std::any_of(secret.begin(), secret.end(), [](char c) { return IsUpper(c) || IsLower(c); });
}

bool IsMixedCase(std::string_view secret) {
  return std::any_of(secret.begin(), secret.end(), IsUpper) &&
         std::any_of(secret.begin(), secret.end(), IsLower);
}

// A form that is a fixed beginning and then a run of characters of a known kind and length.
struct TokenForm {
  std::string_view begin;
  bool (*belongs)(char);
  size_t least;
  size_t most;
  std::string_view what;
};
constexpr TokenForm kForms[] = {
    {"ghp_", IsAlnum, 36, 255, "a GitHub personal access token"},
    {"gho_", IsAlnum, 36, 255, "a GitHub OAuth token"},
    {"ghu_", IsAlnum, 36, 255, "a GitHub user token"},
    {"ghs_", IsAlnum, 36, 255, "a GitHub server token"},
    {"ghr_", IsAlnum, 36, 255, "a GitHub refresh token"},
    {"github_pat_", IsWord, 59, 255, "a GitHub personal access token"},
    {"hf_", IsAlnum, 34, 40, "a Hugging Face token"},
    {"sk-proj-", IsWordOrDash, 40, 300, "an OpenAI key"},
    {"sk-svcacct-", IsWordOrDash, 40, 300, "an OpenAI key"},
    {"sk-ant-", IsWordOrDash, 40, 300, "an Anthropic key"},
    {"sk-or-v1-", IsAlnum, 40, 300, "an OpenRouter key"},
    {"sk-", IsAlnum, 48, 64, "an OpenAI key"},
    {"xoxb-", IsDashAlnum, 30, 300, "a Slack token"},
    {"xoxp-", IsDashAlnum, 30, 300, "a Slack token"},
    {"xoxa-", IsDashAlnum, 30, 300, "a Slack token"},
    {"xoxr-", IsDashAlnum, 30, 300, "a Slack token"},
    {"xoxs-", IsDashAlnum, 30, 300, "a Slack token"},
    {"glpat-", IsWordOrDash, 20, 64, "a GitLab token"},
};

bool IsToken(std::string_view text, size_t at, const TokenForm& form) {
  if (text.substr(at, form.begin.size()) != form.begin) return false;
  const std::string_view body = Run(text, at + form.begin.size(), form.belongs);
  return body.size() >= form.least && body.size() <= form.most && LooksRandom(body);
}

// An access key id is no secret by itself: only with a secret key (40 characters) close by.
bool IsAccessKey(std::string_view text, size_t at) {
  if (text.substr(at, 4) != "AKIA" && text.substr(at, 4) != "ASIA") return false;
  const std::string_view id = Run(text, at, IsUpperOrDigit);
  if (id.size() != 20 || EndsWith(id, "EXAMPLE")) return false;
  if (at + id.size() < text.size() && IsWord(text[at + id.size()])) return false;
  const size_t begin = at > 400 ? at - 400 : 0;
  const std::string_view near = text.substr(begin, 800 + id.size());
  for (size_t i = 0; i < near.size();) {
    const std::string_view run = Run(near, i, IsBase64);
    if (run.size() == 40 && IsMixedCase(run) && LooksRandom(run) && run.find("EXAMPLE") == npos) {
      return true;
    }
    i += run.size() + 1;
  }
  return false;
}

// "-----BEGIN [kind ]PRIVATE KEY-----" and a body behind it, on its own lines or as "\n" in a
// string. The words alone stand in much code that reads keys.
bool IsPemKey(std::string_view text, size_t at) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::string_view kEnd = "PRIVATE KEY-----";
  if (text.substr(at, kBegin.size()) != kBegin) return false;
  const size_t end = text.substr(0, at + 64).find(kEnd, at + kBegin.size());
  if (end == npos) return false;
  // Headers such as "Proc-Type: 4,ENCRYPTED" may come before the body: look for it a little on.
  const std::string_view rest = text.substr(end + kEnd.size(), 400);
  for (size_t i = 0; i < rest.size();) {
    const std::string_view run = Run(rest, i, IsBase64);
    if (run.size() >= 40 && LooksRandom(run)) return true;
    i += run.size() + 1;
  }
  return false;
}

std::string_view LineAround(std::string_view text, size_t at) {
  const size_t before = at == 0 ? npos : text.rfind('\n', at - 1);
  const size_t begin = before == npos ? 0 : before + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

// What stands at text[at]; "" when it is nothing that matters.
std::string_view CredentialAt(std::string_view text, size_t at) {
  if (text[at] == '-') {
    if (!IsPemKey(text, at)) return "";
    return text.find("\"service_account\"") != npos ? "the key of a Google service account"
                                                    : "a private key";
  }
  if (at > 0 && IsWordOrDash(text[at - 1])) return "";
  if (text[at] == 'A') return IsAccessKey(text, at) ? "an AWS access key with its secret" : "";
  for (const TokenForm& form : kForms) {
    if (IsToken(text, at, form)) return form.what;
  }
  return "";
}

// Two characters as one number, so that one look-up tells whether any form may begin here: all
// files are looked through, and a search for each form by itself would take longer than packing
// them.
size_t PairAt(std::string_view text, size_t at) {
  return static_cast<unsigned char>(text[at]) * 256U + static_cast<unsigned char>(text[at + 1]);
}

const std::bitset<65536> kBeginnings = [] {
  std::bitset<65536> pairs;
  for (std::string_view begin : {"--", "AK", "AS"}) pairs.set(PairAt(begin, 0));
  for (const TokenForm& form : kForms) pairs.set(PairAt(form.begin, 0));
  return pairs;
}();

}  // namespace

std::optional<CredentialFinding> FindCredential(std::string_view text) {
  if (std::memchr(text.data(), 0, std::min<size_t>(text.size(), 8000)) != nullptr) {
    return std::nullopt;
  }
  for (size_t at = 0; at + 1 < text.size(); ++at) {
    if (!kBeginnings.test(PairAt(text, at))) continue;
    const std::string_view what = CredentialAt(text, at);
    if (what.empty()) continue;
    if (LineAround(text, at).find("stoker:not-a-secret") != npos) continue;
    const auto lines = std::count(text.begin(), text.begin() + static_cast<long>(at), '\n');
    return CredentialFinding{static_cast<int>(lines) + 1, std::string(what)};
  }
  return std::nullopt;
}

bool HoldsPrivateKey(std::string_view text) {
  constexpr std::string_view kMark = "-----BEGIN ";
  for (size_t at = text.find(kMark); at != npos; at = text.find(kMark, at + 1)) {
    if (IsPemKey(text, at)) return true;
  }
  return false;
}

}  // namespace stoker::pack
