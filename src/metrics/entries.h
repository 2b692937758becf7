// SPDX-License-Identifier: Apache-2.0
// The course of one series in bounded space: the newest points whole, those before in buckets that
// keep their extremes. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"

namespace stoker::metrics {

// So many of the newest points stay whole, and so many buckets hold those before: more than a
// screen has columns.
inline constexpr size_t kWhole = 1000;
inline constexpr size_t kBuckets = 1000;

// A point (count == 1) or a bucket of points that follow one another. `min` and `max` are of all
// values but NaN, infinite ones too; NaN where all are. `mean` is of the finite ones, NaN where
// there is none.
struct Entry {
  int64_t count = 1;
  int64_t first_step = 0;
  int64_t last_step = 0;
  WallTime first_time;
  WallTime last_time;
  double min = 0;
  int64_t min_step = 0;
  double max = 0;
  int64_t max_step = 0;
  double mean = 0;
  int64_t finite = 1;
  int64_t nans = 0;
  double last = 0;
};

Entry EntryOf(int64_t step, WallTime time, double value);
// `a` and what follows it as one bucket.
Entry Joined(const Entry& a, const Entry& b);

// At most kBuckets buckets and then at most kWhole points; what is more is joined, the oldest first
// being the coarsest. No count, extreme or NaN is lost.
void Thin(std::vector<Entry>* entries, size_t buckets = kBuckets, size_t whole = kWhole);

// What is said of a series as a whole.
struct Totals {
  int64_t count = 0;
  int64_t nans = 0;
  int64_t infinite = 0;
  double last = 0;  // may be NaN or infinite
  int64_t last_step = 0;
  WallTime last_time;
  // Of the finite ones; NaN where there is none.
  double min = 0;
  int64_t min_step = 0;
  double max = 0;
  int64_t max_step = 0;
  void Add(int64_t step, WallTime time, double value);
  void Add(const Totals& later);
  // A bucket with infinite extremes has only those: what is finite in it is not known.
  void Add(const Entry& entry);

 private:
  bool HasFinite() const { return count > nans + infinite; }
};

}  // namespace stoker::metrics
