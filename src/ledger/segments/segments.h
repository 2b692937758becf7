// SPDX-License-Identifier: Apache-2.0
// Lines of many writers below one prefix: immutable segments with random names, which may overlap.
// Who adds something writes a segment; now and then small ones are merged into one, which is
// written before its parts go. So dying anywhere leaves lines twice, and loses none.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/status.h"
#include "ledger/segments/read_again.h"
#include "port/cache.h"
#include "port/object_store.h"

namespace stoker {

// How lines become text and back, and which of several that say the same count.
template <typename Line>
struct SegmentCodec {
  std::string (*encode)(const std::vector<Line>&);
  // As DecodeSegment of ledger/summary.h.
  Status (*decode)(const std::string& key, std::string_view text, std::vector<Line>* out);
  void (*keep_newest)(std::vector<Line>*);
};

// Thread-safe, and safe in many processes at once. The store and the cache must outlive it.
template <typename Line>
class SegmentFolder {
 public:
  struct Found {
    std::vector<Line> lines;
    std::vector<Line> salvaged;        // what can be read of those that are damaged
    std::vector<std::string> read;     // keys whose lines these are
    std::vector<std::string> damaged;  // keys
    std::vector<std::string> warnings;
    WallTime store_now;
  };

  // `cache`: for copies, of nothing else; null = none. `prefix` ends with '/'.
  SegmentFolder(ObjectStore& store, Cache* cache, std::string prefix, SegmentCodec<Line> codec)
      : store_(store), cache_(cache), prefix_(std::move(prefix)), codec_(codec) {}

  // `name`: random, never the same twice.
  Status Write(const std::string& name, const std::vector<Line>& lines) {
    const std::string key = prefix_ + name + ".jsonl";
    const auto put = store_.Put(key, codec_.encode(lines), Condition::Absent());
    // Nobody else draws this name: it is there because our own lost answer was a success.
    if (put.ok() || put.status().Is(Code::kExists)) return Status::Ok();
    return put.status().WithContext("writing " + key);
  }

  // kBusy: it changes faster than it can be read.
  Result<Found> ReadAll() {
    for (int look = 0; look < kLooks; ++look) {
      STOKER_ASSIGN(const Names names, List());
      Found out;
      out.store_now = names.store_now;
      const Status read = Read(names.segments, &out);
      if (read.Is(Code::kConflict)) continue;
      STOKER_TRY(read);
      STOKER_ASSIGN(const bool same, IsSame(names));
      if (!same) continue;
      TidyCache(names.segments);
      return out;
    }
    return Status(Code::kBusy, prefix_ + " changes faster than it can be read");
  }

  // Writes those smaller than `full` bytes together into one, named `name`, when there are at least
  // `at_least` of them.
  Status Merge(const std::string& name, int at_least, int64_t full) {
    for (int look = 0; look < kLooks; ++look) {
      STOKER_ASSIGN(Names names, List());
      std::vector<ObjectInfo>& segments = names.segments;
      std::erase_if(segments, [full](const ObjectInfo& one) { return one.size >= full; });
      if (static_cast<int>(segments.size()) < std::max(at_least, 2)) return Status::Ok();
      Found small;
      const Status read = Read(segments, &small);
      if (read.Is(Code::kConflict)) continue;
      STOKER_TRY(read);
      if (small.read.size() < 2) return Status::Ok();
      codec_.keep_newest(&small.lines);
      // Dying between the two leaves lines twice, which is harmless; the other order loses them.
      STOKER_TRY(Write(name, small.lines));
      return Remove(small.read);
    }
    return Status::Ok();  // others merge all the time: nothing left for us
  }

  Status Remove(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) STOKER_TRY(store_.Delete(key));
    return Status::Ok();
  }

 private:
  // Segments go while they are read, when somebody merges them; then another listing finds theirs.
  static constexpr int kLooks = 20;
  static constexpr int kPage = 10'000;
  static constexpr size_t kShortLine = 128;  // bytes: few lines are shorter

  struct Names {
    std::vector<ObjectInfo> segments;
    bool of_one_moment = true;  // one answer holds them all
    WallTime store_now;
  };

  Result<Names> List() {
    Names names;
    std::string after;
    do {
      STOKER_ASSIGN(Listing page, store_.List(prefix_, after, kPage));
      after = page.next;
      names.store_now = page.store_now;
      names.of_one_moment &= after.empty() && names.segments.empty();
      for (ObjectInfo& object : page.objects) names.segments.push_back(std::move(object));
    } while (!after.empty());
    return names;
  }

  // A merge between two answers may hide its lines altogether: what it wrote sorts before the place
  // that was reached, and what it removed behind it. Nothing did if a second look shows the same.
  Result<bool> IsSame(const Names& names) {
    if (names.of_one_moment) return true;
    STOKER_ASSIGN(const Names again, List());
    return std::equal(names.segments.begin(), names.segments.end(), again.segments.begin(),
                      again.segments.end(),
                      [](const ObjectInfo& a, const ObjectInfo& b) { return a.key == b.key; });
  }

  // A copy is of one version: somebody may have mended a damaged segment under its name.
  static std::string CachedName(const std::string& key, const Version& version) {
    return Sha256Hex(key + "\n" + version);
  }

  // Whether this machine has a whole copy; its lines go to `lines`.
  bool ReadCopy(const ObjectInfo& segment, std::vector<Line>* lines) {
    if (cache_ == nullptr) return false;
    const auto copy = cache_->Get(CachedName(segment.key, segment.version));
    const size_t before = lines->size();
    if (copy && codec_.decode(segment.key, *copy, lines).ok()) return true;
    lines->resize(before);
    return false;
  }

  // kConflict when one went away meanwhile: look again.
  Status Read(const std::vector<ObjectInfo>& segments, Found* out) {
    int64_t bytes = 0;
    for (const ObjectInfo& segment : segments) bytes += segment.size;
    out->lines.reserve(static_cast<size_t>(bytes) / kShortLine);
    for (const ObjectInfo& segment : segments) {
      if (ReadCopy(segment, &out->lines)) {
        out->read.push_back(segment.key);
        continue;
      }
      const size_t before = out->lines.size();
      const auto whole = GetJudged(store_, segment.key, [&](const Object& got) -> Result<bool> {
        out->lines.resize(before);
        STOKER_TRY(codec_.decode(segment.key, got.data, &out->lines));
        if (cache_ != nullptr) cache_->Keep(CachedName(segment.key, got.info.version), got.data);
        return true;
      });
      if (whole.status().Is(Code::kNotFound)) return Status(Code::kConflict, segment.key + " went");
      if (whole.ok()) {
        out->read.push_back(segment.key);
        continue;
      }
      const auto from = out->lines.begin() + static_cast<std::ptrdiff_t>(before);
      std::move(from, out->lines.end(), std::back_inserter(out->salvaged));
      out->lines.resize(before);
      if (!MayBeMomentary(whole.status()))
        return whole.status().WithContext("reading " + segment.key);
      out->warnings.push_back(whole.status().ToString());
      if (whole.status().Is(Code::kCorrupt)) out->damaged.push_back(segment.key);
    }
    return Status::Ok();
  }

  // Copies of segments that have been merged or mended are of no use any more.
  void TidyCache(const std::vector<ObjectInfo>& segments) {
    if (cache_ == nullptr) return;
    std::set<std::string> names;
    for (const ObjectInfo& segment : segments) {
      names.insert(CachedName(segment.key, segment.version));
    }
    cache_->KeepOnly(names);
  }

  ObjectStore& store_;
  Cache* cache_;
  const std::string prefix_;
  const SegmentCodec<Line> codec_;
};

}  // namespace stoker
