// SPDX-License-Identifier: Apache-2.0
// What a checkpoint is called in records, on the command line and in the log: "<attempt>-<seq>" for
// a whole one, "as-left-<attempt>" for what a program left ("-node<rank>" behind it: on one of
// several nodes, for people alone); "<job>/<name>" for another job's. Pure.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace stoker {

inline constexpr std::string_view kAsLeft = "as-left";

inline std::string AsLeftName(int attempt) {
  return std::string(kAsLeft) + "-" + std::to_string(attempt);
}

// Of the job that is meant when `job` is "".
struct CheckpointName {
  std::string job;
  std::string name;
};
inline CheckpointName SplitCheckpointName(const std::string& text) {
  const size_t slash = text.find('/');
  if (slash == std::string::npos) return {"", text};
  return {text.substr(0, slash), text.substr(slash + 1)};
}
inline std::string JoinCheckpointName(const std::string& job, const std::string& name) {
  return job.empty() || name.find('/') != std::string::npos ? name : job + "/" + name;
}

// The attempt that left it; 0 = `text` is no such name. With or without a job in front.
inline int AttemptOfAsLeft(const std::string& text) {
  const std::string name = SplitCheckpointName(text).name;
  const std::string prefix = std::string(kAsLeft) + "-";
  if (name.compare(0, prefix.size(), prefix) != 0) return 0;
  int attempt = 0;
  const char* end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + prefix.size(), end, attempt);
  return error == std::errc() && at == end && attempt > 0 && AsLeftName(attempt) == name ? attempt
                                                                                         : 0;
}
inline bool IsAsLeft(const std::string& text) { return AttemptOfAsLeft(text) > 0; }

struct LeftOfNode {
  int attempt = 0;
  int rank = 0;
};
inline std::string LeftOfNodeName(const LeftOfNode& left) {
  return AsLeftName(left.attempt) + "-node" + std::to_string(left.rank);
}
// Unset: `text` is no such name. With or without a job in front.
inline std::optional<LeftOfNode> ParseLeftOfNode(const std::string& text) {
  const std::string name = SplitCheckpointName(text).name;
  const size_t at = name.rfind("-node");
  if (at == std::string::npos) return std::nullopt;
  LeftOfNode left{AttemptOfAsLeft(name.substr(0, at)), -1};
  const char* end = name.data() + name.size();
  (void)std::from_chars(name.data() + at + 5, end, left.rank);
  const bool same = left.attempt > 0 && left.rank >= 0 && LeftOfNodeName(left) == name;
  return same ? std::optional(left) : std::nullopt;
}

}  // namespace stoker
