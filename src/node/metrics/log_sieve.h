// SPDX-License-Identifier: Apache-2.0
// Which records of a log are worth a look for metrics. Pure, stepped.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace stoker::node {

// A program may print a hundred thousand lines a second, of which most are plainly no metrics: they
// are told by a few bytes, before anything is copied or parsed. Of those that may be metrics kBurst
// are looked at, and one more for each millisecond of the log's own time; beyond that, of lines
// that follow each other within a millisecond and differ in digits alone, the last is.
class LogSieve {
 public:
  static constexpr int64_t kBurst = 20'000;

  // `all`: somebody looks at every line (the job's own patterns).
  explicit LogSieve(bool all) : all_(all) {}

  // `records`: whole ones, as the spool keeps them; `first` is the number of the first. `keep` is
  // called with each run of records in which metrics::LogLines may find something, and the number
  // of its first. It finds the same in these as in all, but for what was left out. Returns how many
  // records there were.
  int64_t Sift(int64_t first, std::string_view records,
               const std::function<void(int64_t first, std::string_view records)>& keep);
  // How many lines were, because the last one alike was looked at.
  int64_t left_out() const { return left_out_; }

 private:
  // `before`: the record before, where it is a line that may hold metrics: so may one alike.
  bool Wanted(std::string_view record, std::string_view before);
  bool TakesRoom();
  // Whether there is no room, and the next record is the one before but for numbers of the same
  // length: told without a look for its end.
  bool GoesOn(std::string_view crowded, std::string_view records, size_t at) const;

  const bool all_;
  std::string header_;  // of the record before: most are of the same millisecond
  bool ours_ = false;   // what it says: neither broken nor a line of stoker's own, …
  bool continues_ = false;
  int64_t time_ms_ = 0;
  size_t stream_ = 0;
  bool whole_ = false;  // the record is a line, all of it
  bool again_ = false;  // … and differs from the one before in digits alone
  int64_t room_ = kBurst;
  int64_t left_out_ = 0;
  std::array<bool, 2> open_{};  // a line of this stream goes on in its next record
};

}  // namespace stoker::node
