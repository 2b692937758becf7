// SPDX-License-Identifier: Apache-2.0
#include "ledger/quiet_nodes.h"

#include "base/json_fields.h"
#include "job/job.h"
#include "ledger/paths.h"

namespace stoker {
namespace {

constexpr size_t kMostLooksBytes = size_t{1} << 20;
constexpr int64_t kLongestLookGapMs = 86'400'000;

}  // namespace

// Found by argument-dependent lookup, see job/json_fields.h.
template <class A, class T>
requires std::is_same_v<std::remove_const_t<T>, QuietNode>
void Fields(A& a, T& t) {
  a.Need("attempt", t.attempt);
  a("rank", t.rank);
  a.Need("seq", t.seq);
  a("incarnation", t.incarnation);
  a.Need("since", t.since);
  a("longest_gap_ms", t.longest_gap);
  a.Check(t.longest_gap.ms >= 0 && t.longest_gap.ms <= kLongestLookGapMs, "longest_gap_ms",
          "is out of range");
}

template <class A, class T>
requires std::is_same_v<std::remove_const_t<T>, QuietNodes>
void Fields(A& a, T& t) {
  a.Need("format", t.format);
  a.Need("at", t.at);
  a("nodes", t.nodes);
}

Result<QuietNodes> ReadQuietNodes(Ledger& ledger, const std::string& job) {
  const std::string key = paths::QuietNodes(job);
  const auto object = ledger.store().Get(key);
  if (object.status().Is(Code::kNotFound)) return QuietNodes{};
  if (!object.ok()) return object.status().WithContext("reading " + key);
  const auto parsed = json::ParseObject(key, object->data, kMostLooksBytes);
  if (!parsed.ok()) return QuietNodes{};
  const Status format = json::CheckFormat(key, *parsed, kQuietNodesFormat);
  if (format.Is(Code::kTooNew)) return format;
  QuietNodes looks;
  json::JsonIn in(*parsed, key + ": ");
  Fields(in, looks);
  return in.status().ok() && format.ok() ? looks : QuietNodes{};
}

Status WriteQuietNodes(Ledger& ledger, const std::string& job, const QuietNodes& looks) {
  const std::string key = paths::QuietNodes(job);
  json::JsonOut out;
  Fields(out, looks);
  return ledger.store()
      .Put(key, json::Dump(out.Take()) + "\n")
      .status()
      .WithContext("keeping what was seen, " + key);
}

}  // namespace stoker
