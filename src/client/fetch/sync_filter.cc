// SPDX-License-Identifier: Apache-2.0
#include "client/fetch/sync_filter.h"

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"

namespace stoker::client {
namespace {

// One number a character; a byte that is no UTF-8 is one by itself, which no character is.
std::u32string Characters(const std::string& text) {
  std::u32string out;
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const size_t length = Utf8At(text, at);
    if (length < 2) {
      out += length == 1 ? char32_t{byte} : char32_t{0xdc00} + byte;
      ++at;
      continue;
    }
    char32_t one = byte & (0xff >> (length + 1));
    for (size_t i = 1; i < length; ++i) {
      one = one << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3f);
    }
    out += one;
    at += length;
  }
  return out;
}

bool TakesAll(const std::string& pattern) {
  return !pattern.empty() && pattern.find_first_not_of('*') == std::string::npos;
}

// As keys are written: no '/' or './' in front, no empty part and no '.' between. A '[' ends it:
// what follows may be meant as characters.
std::string Plain(std::string path) {
  const auto drop = [&path](const std::string& what, size_t keep) {
    for (size_t at = path.find(what); at < path.find('['); at = path.find(what)) {
      path.erase(at + keep, what.size() - keep);
    }
  };
  drop("/./", 1);
  drop("//", 1);
  while (StartsWith(path, "./")) path.erase(0, 2);
  if (StartsWith(path, "/")) path.erase(0, 1);
  return path;
}

// Why a pattern can match nothing, whatever there will be; "" = it may.
std::string NeverMatches(const std::string& text, const std::vector<std::string>& sources) {
  if (("/" + text + "/").find("/../") != std::string::npos) {
    return "no path below SRC has a '..' in it";
  }
  for (const std::string& source : sources) {
    std::string from = Plain(source);
    while (EndsWith(from, "/")) from.pop_back();
    if (from.empty() || from == "." || !StartsWith(text, from + "/")) continue;
    return "paths begin below SRC: '" + Printable(text.substr(from.size() + 1)) + "'";
  }
  return "";
}

std::string Named(const FilterRule& rule) {
  return (rule.include ? "--include '" : "--exclude '") + Printable(rule.pattern) + "'";
}

}  // namespace

// As Python's fnmatch, which aws-cli asks.
Result<SyncFilter::Pattern> SyncFilter::Compile(const std::string& text) {
  const std::u32string from = Characters(text);
  Pattern out;
  for (size_t at = 0; at < from.size(); ++at) {
    if (from[at] == '*') {
      if (out.empty() || out.back().kind != Token::Kind::kStar) {
        out.push_back({Token::Kind::kStar, 0, false, {}});
      }
      continue;
    }
    if (from[at] == '?') {
      out.push_back({Token::Kind::kAny, 0, false, {}});
      continue;
    }
    if (from[at] != '[') {
      out.push_back({Token::Kind::kOne, from[at], false, {}});
      continue;
    }
    Token token{Token::Kind::kClass, 0, false, {}};
    size_t begin = at + 1;
    if (begin < from.size() && from[begin] == '!') {
      token.negated = true;
      ++begin;
    }
    const size_t close = from.find(']', begin + 1);
    if (close == std::u32string::npos) {
      return Status(Code::kUsage, "'" + Printable(text) + "' has a '[' that is not closed",
                    "Write [[] where the character itself is meant");
    }
    for (size_t i = begin; i < close; ++i) {
      const bool range = i + 2 < close && from[i + 1] == '-';
      token.ranges.emplace_back(from[i], range ? from[i + 2] : from[i]);
      if (range) i += 2;
    }
    out.push_back(std::move(token));
    at = close;
  }
  return out;
}

bool SyncFilter::Matches(const Pattern& pattern, const std::u32string& key) {
  const auto fits = [](const Token& token, char32_t c) {
    if (token.kind != Token::Kind::kClass) return token.kind == Token::Kind::kAny || token.one == c;
    const bool in = std::any_of(token.ranges.begin(), token.ranges.end(), [&](const auto& range) {
      return range.first <= c && c <= range.second;
    });
    return in != token.negated;
  };
  size_t at = 0;
  size_t p = 0;
  size_t star = pattern.size();  // the last one, and what it has taken so far ends at `resume`
  size_t resume = 0;
  while (at < key.size()) {
    if (p < pattern.size() && pattern[p].kind == Token::Kind::kStar) {
      star = p++;
      resume = at;
    } else if (p < pattern.size() && fits(pattern[p], key[at])) {
      ++p;
      ++at;
    } else if (star < pattern.size()) {
      p = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p].kind == Token::Kind::kStar) ++p;
  return p == pattern.size();
}

Result<SyncFilter> SyncFilter::Make(const std::vector<FilterRule>& rules) {
  SyncFilter filter;
  for (const FilterRule& rule : rules) {
    std::string text = Plain(rule.pattern);
    if (EndsWith(text, "/")) text += "*";
    auto pattern = Compile(text);
    if (!pattern.ok()) {
      return pattern.status().WithContext(rule.include ? "--include" : "--exclude");
    }
    filter.rules_.push_back({rule, std::move(text), std::move(*pattern)});
  }
  return filter;
}

bool SyncFilter::Takes(const std::string& key) const {
  if (rules_.empty()) return true;
  const std::u32string characters = Characters(key);
  for (size_t i = rules_.size(); i > 0; --i) {
    if (Matches(rules_[i - 1].pattern, characters)) return rules_[i - 1].given.include;
  }
  return true;
}

// rclone takes nothing but what is included, once anything is, and the first that matches counts.
bool SyncFilter::RcloneAgrees() const {
  const auto include = [](const Rule& rule) { return rule.given.include; };
  if (std::none_of(rules_.begin(), rules_.end(), include)) return true;
  return TakesAll(rules_[0].given.pattern) && !rules_[0].given.include &&
         std::all_of(rules_.begin() + 1, rules_.end(), include);
}

std::vector<std::string> SyncFilter::Remarks(const std::vector<std::string>& keys,
                                             const std::vector<std::string>& sources) const {
  std::vector<std::string> out;
  if (rules_.empty()) return out;
  std::vector<bool> matched(rules_.size());
  std::vector<bool> folder(rules_.size());
  for (const std::string& key : keys) {
    const std::u32string characters = Characters(key);
    for (size_t i = 0; i < rules_.size(); ++i) {
      if (matched[i]) continue;
      matched[i] = Matches(rules_[i].pattern, characters);
      for (size_t slash = characters.find('/');
           !matched[i] && !folder[i] && slash != std::u32string::npos;
           slash = characters.find('/', slash + 1)) {
        folder[i] = Matches(rules_[i].pattern, characters.substr(0, slash));
      }
    }
  }
  bool none = false;  // everything was excluded by an earlier rule
  for (size_t i = 0; i < rules_.size(); ++i) {
    const FilterRule& rule = rules_[i].given;
    const std::string never = matched[i] ? "" : NeverMatches(rules_[i].text, sources);
    if (!never.empty()) {
      out.push_back(Named(rule) + " can match nothing: " + never);
    } else if (!matched[i] && folder[i]) {
      out.push_back(Named(rule) + " matches no file; what a folder has in it is '" +
                    Printable(rule.pattern) + "/*'");
    } else if (!matched[i] && rule.include && none) {
      out.push_back(Named(rule) + " matches nothing that exists");
    }
    if (TakesAll(rule.pattern)) none = !rule.include;
  }
  if (!RcloneAgrees()) {
    out.emplace_back(
        "filters are read as aws-cli reads them: everything is taken, the last rule that matches "
        "counts; rclone would read this mix otherwise");
  }
  return out;
}

}  // namespace stoker::client
