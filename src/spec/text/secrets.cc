// SPDX-License-Identifier: Apache-2.0
#include "spec/text/secrets.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace stoker {
namespace {

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsWord(char c) { return IsUpper(c) || IsLower(c) || IsDigit(c) || c == '_'; }

// A credential with a fixed beginning: `least` characters of its alphabet follow the prefix.
struct Format {
  std::string_view prefix;
  size_t least;
  enum class Alphabet { kUpperDigits, kWord, kWordDash } alphabet;
  bool mixed;  // the rest holds upper case, lower case and digits: not a sentence-with-dashes
  std::string_view what;
};

using A = Format::Alphabet;
constexpr std::array<Format, 17> kFormats = {{
    {"AKIA", 16, A::kUpperDigits, false, "an AWS access key"},
    {"ASIA", 16, A::kUpperDigits, false, "an AWS access key"},
    {"hf_", 30, A::kWord, true, "a Hugging Face token"},
    {"ghp_", 36, A::kWord, false, "a GitHub token"},
    {"gho_", 36, A::kWord, false, "a GitHub token"},
    {"ghu_", 36, A::kWord, false, "a GitHub token"},
    {"ghs_", 36, A::kWord, false, "a GitHub token"},
    {"ghr_", 36, A::kWord, false, "a GitHub token"},
    {"github_pat_", 40, A::kWord, false, "a GitHub token"},
    {"glpat-", 20, A::kWordDash, false, "a GitLab token"},
    {"sk-", 32, A::kWordDash, true, "an API key"},
    {"xoxb-", 20, A::kWordDash, false, "a Slack token"},
    {"xoxp-", 20, A::kWordDash, false, "a Slack token"},
    {"AIza", 35, A::kWordDash, true, "a Google API key"},
    {"ya29.", 30, A::kWordDash, true, "a Google access token"},
    {"npm_", 36, A::kWord, true, "an npm token"},
    {"pypi-AgE", 50, A::kWordDash, true, "a PyPI token"},
}};

bool InAlphabet(char c, A alphabet) {
  switch (alphabet) {
    case A::kUpperDigits:
      return IsUpper(c) || IsDigit(c);
    case A::kWord:
      return IsWord(c);
    case A::kWordDash:
      return IsWord(c) || c == '-';
  }
  return false;
}

bool Mixed(std::string_view text) {
  return std::any_of(text.begin(), text.end(), IsUpper) &&
         std::any_of(text.begin(), text.end(), IsLower) &&
         std::any_of(text.begin(), text.end(), IsDigit);
}

bool Holds(std::string_view text, const Format& format) {
  for (size_t at = text.find(format.prefix); at != std::string_view::npos;
       at = text.find(format.prefix, at + 1)) {
    if (at > 0 && (IsWord(text[at - 1]) || text[at - 1] == '-')) continue;
    const size_t begin = at + format.prefix.size();
    size_t end = begin;
    while (end < text.size() && InAlphabet(text[end], format.alphabet)) ++end;
    const std::string_view rest = text.substr(begin, end - begin);
    if (rest.size() >= format.least && (!format.mixed || Mixed(rest))) return true;
  }
  return false;
}

// "-----BEGIN RSA PRIVATE KEY-----": certificates and public keys may be known to all.
bool HoldsPrivateKey(std::string_view text) {
  for (size_t at = text.find("-----BEGIN "); at != std::string_view::npos;
       at = text.find("-----BEGIN ", at + 1)) {
    const std::string_view label = text.substr(at, std::min<size_t>(80, text.size() - at));
    if (label.find("PRIVATE KEY") != std::string_view::npos) return true;
  }
  return false;
}

// "scheme://user:password@host". A '$' in the password is a variable's name, not a password.
bool HoldsPasswordInUrl(std::string_view text) {
  for (size_t at = text.find("://"); at != std::string_view::npos; at = text.find("://", at + 1)) {
    const std::string_view rest = text.substr(at + 3);
    const std::string_view host = rest.substr(0, rest.find_first_of("/ \t\n\"'<>?#"));
    const size_t user_end = host.find(':');
    const size_t sign = host.rfind('@');
    if (sign == std::string_view::npos || user_end == std::string_view::npos) continue;
    if (user_end + 1 >= sign) continue;
    if (host.substr(user_end, sign - user_end).find_first_of("${}*") == std::string_view::npos) {
      return true;
    }
  }
  return false;
}

std::string Upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (IsLower(c)) c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

// Special tokens of a language model and counts, not credentials.
bool IsModelToken(const std::string& name) {
  static constexpr std::array<std::string_view, 14> kWords = {
      "PAD_TOKEN", "EOS_TOKEN",     "BOS_TOKEN",   "UNK_TOKEN", "SEP_TOKEN",
      "CLS_TOKEN", "MASK_TOKEN",    "STOP_TOKEN",  "NUM_TOKEN", "MAX_TOKEN",
      "MIN_TOKEN", "SPECIAL_TOKEN", "START_TOKEN", "END_TOKEN"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return name == word || EndsWith(name, "_" + std::string(word));
  });
}

bool IsSecretName(const std::string& name) {
  for (const std::string_view end :
       {"_FILE", "_PATH", "_DIR", "_NAME", "_ID", "_URL", "_ENABLED"}) {
    if (EndsWith(name, end)) return false;
  }
  for (const std::string_view part :
       {"PASSWORD", "PASSWD", "PASSPHRASE", "API_KEY", "APIKEY", "SECRET", "PRIVATE_KEY",
        "ACCESS_KEY", "AUTH_TOKEN", "ACCESS_TOKEN", "SESSION_TOKEN"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  if (name == "TOKEN") return true;
  return EndsWith(name, "_TOKEN") && !IsModelToken(name);
}

bool IsNumber(std::string_view value) {
  return value.find_first_not_of("0123456789.+-eE") == std::string_view::npos;
}

bool HasSecretWord(const std::string& name) {
  static constexpr std::array<std::string_view, 27> kWords = {
      "PASS",  "PASSWD",     "PASSWORD",    "PASSPHRASE", "PWD",     "PSW",      "CRED",
      "CREDS", "CREDENTIAL", "CREDENTIALS", "COOKIE",     "COOKIES", "WEBHOOK",  "WEBHOOKS",
      "AUTH",  "BEARER",     "SECRET",      "SECRETS",    "KEY",     "KEYS",     "PAT",
      "DSN",   "SALT",       "JWT",         "SESSION",    "LOGIN",   "SIGNATURE"};
  for (const std::string& word : Split(name, '_')) {
    if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) return true;
  }
  return false;
}

bool HasSecretPart(const std::string& value) {
  for (const std::string_view part :
       {"HOOKS.", "WEBHOOK", "TOKEN=", "SIG=", "SIGNATURE=", "SESSION=", "APIKEY=", "API_KEY=",
        "PASSWORD=", "PASSWD=", "PWD=", "SECRET="}) {
    if (value.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

std::string SecretInText(std::string_view value) {
  if (HoldsPrivateKey(value)) return "a private key";
  for (const Format& format : kFormats) {
    if (Holds(value, format)) return std::string(format.what);
  }
  if (HoldsPasswordInUrl(value)) return "a password in a URL";
  return "";
}

std::string SecretInEnv(std::string_view name, std::string_view value) {
  if (value.empty()) return "";
  if (std::string what = SecretInText(value); !what.empty()) return what;
  return IsSecretName(Upper(name)) ? "a secret, by its name" : "";
}

bool MayBeSecret(std::string_view name, std::string_view value) {
  if (value.empty() || IsNumber(value)) return false;
  return !SecretInEnv(name, value).empty() || HasSecretWord(Upper(name)) ||
         HasSecretPart(Upper(value));
}

std::string SecretAdvice(std::string_view name) {
  const std::string shown = name.empty() ? "NAME" : std::string(name);
  return "The job file is kept in the ledger, which is no place for secrets. Give it as one: " +
         shown + " in your environment and 'secrets: [" + shown + "]' in the file, or --secret " +
         shown + "; the program finds it as $" + shown;
}

}  // namespace stoker
