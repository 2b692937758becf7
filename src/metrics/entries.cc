// SPDX-License-Identifier: Apache-2.0
#include "metrics/entries.h"

#include <algorithm>
#include <cmath>

namespace stoker::metrics {

Entry EntryOf(int64_t step, WallTime time, double value) {
  Entry entry;
  entry.first_step = entry.last_step = entry.min_step = entry.max_step = step;
  entry.first_time = entry.last_time = time;
  entry.min = entry.max = entry.last = value;
  entry.finite = std::isfinite(value) ? 1 : 0;
  entry.nans = std::isnan(value) ? 1 : 0;
  entry.mean = entry.finite == 1 ? value : std::nan("");
  return entry;
}

Entry Joined(const Entry& a, const Entry& b) {
  Entry both = a;
  both.count += b.count;
  both.last_step = b.last_step;
  both.last_time = b.last_time;
  both.last = b.last;
  if (std::isnan(a.min) || b.min < a.min) {
    both.min = b.min;
    both.min_step = b.min_step;
  }
  if (std::isnan(a.max) || b.max > a.max) {
    both.max = b.max;
    both.max_step = b.max_step;
  }
  both.finite += b.finite;
  both.nans += b.nans;
  if (a.finite == 0) {
    both.mean = b.mean;
  } else if (b.finite > 0) {
    const double part = static_cast<double>(b.finite) / static_cast<double>(both.finite);
    both.mean = a.mean * (1 - part) + b.mean * part;  // no sum that could overflow
  }
  return both;
}

void Thin(std::vector<Entry>* entries, size_t buckets, size_t whole) {
  if (entries->size() <= whole) return;
  size_t old = entries->size();
  while (old > 0 && entries->size() - old < whole && (*entries)[old - 1].count == 1) --old;
  if (old <= buckets) return;
  // In place: the agent does this for each few thousand points that it reads.
  std::vector<Entry>& all = *entries;
  size_t kept = old;
  while (kept > buckets) {
    for (size_t i = 0; i < kept; i += 2) {
      all[i / 2] = i + 1 < kept ? Joined(all[i], all[i + 1]) : all[i];
    }
    kept = (kept + 1) / 2;
  }
  all.erase(all.begin() + static_cast<ptrdiff_t>(kept), all.begin() + static_cast<ptrdiff_t>(old));
}

void Totals::Add(int64_t step, WallTime time, double value) {
  Totals one;
  one.count = 1;
  one.nans = std::isnan(value) ? 1 : 0;
  one.infinite = std::isinf(value) ? 1 : 0;
  one.last = value;
  one.min = one.max = std::isfinite(value) ? value : std::nan("");
  one.last_step = one.min_step = one.max_step = step;
  one.last_time = time;
  Add(one);
}

void Totals::Add(const Entry& entry) {
  Totals one;
  one.count = entry.count;
  one.nans = entry.nans;
  one.infinite = entry.count - entry.finite - entry.nans;
  one.last = entry.last;
  one.last_step = entry.last_step;
  one.last_time = entry.last_time;
  const bool low = std::isfinite(entry.min);
  const bool high = std::isfinite(entry.max);
  one.min = low ? entry.min : high && entry.finite > 0 ? entry.max : std::nan("");
  one.min_step = low ? entry.min_step : entry.max_step;
  one.max = high ? entry.max : one.min;
  one.max_step = high ? entry.max_step : one.min_step;
  if (std::isnan(one.min) && entry.finite > 0) {
    one.min = one.max = entry.mean;
    one.min_step = one.max_step = entry.last_step;
  }
  Add(one);
}

void Totals::Add(const Totals& later) {
  if (later.count == 0) return;
  if (later.HasFinite() && (!HasFinite() || later.min < min)) {
    min = later.min;
    min_step = later.min_step;
  }
  if (later.HasFinite() && (!HasFinite() || later.max > max)) {
    max = later.max;
    max_step = later.max_step;
  }
  if (!HasFinite() && !later.HasFinite()) min = max = std::nan("");
  count += later.count;
  nans += later.nans;
  infinite += later.infinite;
  last = later.last;
  last_step = later.last_step;
  last_time = later.last_time;
}

}  // namespace stoker::metrics
