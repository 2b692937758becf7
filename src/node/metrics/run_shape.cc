// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/run_shape.h"

#include <re2/re2.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace stoker::node {
namespace {

struct Stamp {
  re2::RE2 found;
  const char* left;  // what is left of it
};

// Takes them out of a part of a path, one after another.
void TakeStamps(std::string* part) {
  // SummaryWriter's default, "Nov27_23-39-18_host", where the host is not this one.
  static const Stamp kStamps[] = {
      // MLflow's.
      {"^[0-9a-f]{32}$", "#"},
      // W&B's folder of a run: when it was begun, and its id.
      {"^(?:offline-)?run-[0-9]{8}_[0-9]{6}-.+$", "run-#"},
      {("(?i)^((?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[0-9]{2}"
        "_[0-9]{2}-[0-9]{2}-[0-9]{2})_[^@_=]+$"),
       "\\1_@"},
      {("(?i)(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[-_]?[0-9]{1,2}"
        "(?:[-_:.T][0-9]{2,4})*"),
       "#"},
      {("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "#"},
      {("(?:19|20)[0-9]{2}[-_.]?[0-9]{2}[-_.]?[0-9]{2}"
        "(?:[-_T. ]?[0-9]{2}[-_:.h]?[0-9]{2}[-_:.m]?[0-9]{2}s?(?:[._][0-9]+)?)?"),
       "#"},
      {("[0-9]{2}[-_:.][0-9]{2}[-_:.][0-9]{2}"), "#"},
      // Seconds since 1970, numbers of jobs; not what stands behind a point: "lr_0.00001".
      {("(^|[^.0-9])[0-9]{5,}(?:\\.[0-9]+)?"), "\\1#"},
      // Counted up where the folder is there already.
      {("(?i)(^|[^a-z])((?:version|runs?|try|attempt|logs?|resume|tb|tensorboard|job|"
        "session|experiment)[-_]?)[0-9]+$"),
       "\\1\\2#"},
      {("(^|[^a-z])exp[0-9]*$"), "\\1exp#"},
      // stable-baselines3: by algorithm.
      {("((?:PPO|A2C|DQN|SAC|TD3|DDPG|HER|ARS|TRPO|QRDQN|TQC|ACKTR)_)[0-9]+$"), "\\1#"},
  };
  for (const Stamp& stamp : kStamps) re2::RE2::GlobalReplace(part, stamp.found, stamp.left);
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "a1b2c3d4", "3k9f2a1b": letters and digits change places too often for a name.
bool IsRandom(std::string_view word) {
  const auto hex = [](char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); };
  int changes = 0;
  for (size_t i = 1; i < word.size(); ++i) changes += IsDigit(word[i]) != IsDigit(word[i - 1]);
  const bool all_hex = std::all_of(word.begin(), word.end(), hex);
  return all_hex ? word.size() >= 6 && changes >= 2 : word.size() >= 8 && changes >= 3;
}

std::string WithoutRandom(const std::string& part) {
  std::string out;
  for (size_t at = 0; at < part.size();) {
    size_t end = at;
    while (end < part.size() && std::isalnum(static_cast<unsigned char>(part[end])) != 0) ++end;
    const std::string word = part.substr(at, end - at);
    out += IsRandom(word) ? "#" : word;
    if (end < part.size()) out += part[end];
    at = end + 1;
  }
  return out;
}

}  // namespace

std::string ShapeOf(const std::string& path, std::string_view host) {
  std::vector<std::string> parts = Split(path, '/');
  for (std::string& part : parts) {
    const size_t at = host.size() < 2 ? part.npos : part.find(host);
    if (at != part.npos) part.replace(at, host.size(), "@");
    TakeStamps(&part);
    part = WithoutRandom(part);
  }
  return Join(parts, "/");
}

}  // namespace stoker::node
