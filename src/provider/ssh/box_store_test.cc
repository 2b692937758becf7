// SPDX-License-Identifier: Apache-2.0
// A folder that two computers see, and what network file systems do to it.
#include "provider/ssh/box_store.h"

#include <gtest/gtest.h>

#include <map>

#include "store/local/local_store.h"
#include "store/open.h"
#include "sys/file.h"
#include "test/kit/memory_store.h"

namespace stoker {
namespace {

// The same objects, as a computer sees them whose file system does not do as it should.
class OtherView : public MemoryStore {
 public:
  enum class Fault { kNone, kStaleReads, kLateFiles, kNotExclusive, kNoConflict };
  OtherView(ObjectStore& real, Fault fault) : real_(real), fault_(fault) {}

  Result<Object> Get(const std::string& key) override {
    auto now = real_.Get(key);
    if (!Met(key)) return now;
    if (fault_ == Fault::kLateFiles) return Status(Code::kNotFound, key);
    if (fault_ == Fault::kStaleReads && cached_.contains(key)) return cached_.at(key);
    if (now.ok()) cached_.insert_or_assign(key, *now);
    return now;
  }
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition) override {
    const bool absent = condition.kind == Condition::Kind::kAbsent;
    const bool lied = Met(key) && ((fault_ == Fault::kNotExclusive && absent) ||
                                   (fault_ == Fault::kNoConflict && !absent));
    return real_.Put(key, data, lied ? Condition{} : condition);
  }
  Status Delete(const std::string& key) override { return real_.Delete(key); }
  std::string url() const override { return "/net/store"; }

 private:
  // One computer alone sees nothing wrong.
  static bool Met(const std::string& key) { return key == "probe/k"; }
  ObjectStore& real_;
  const Fault fault_;
  std::map<std::string, Object> cached_;
};

Status MeetWith(OtherView::Fault here_fault, OtherView::Fault there_fault) {
  MemoryStore real;
  OtherView here(real, here_fault);
  OtherView there(real, there_fault);
  const auto begun = BeginMeeting(here, "probe/k");
  if (!begun.ok()) return begun.status();
  (void)here.Get("probe/k");  // it has read it, as others do all the time
  const Status met = MeetInStore(there, "probe/k");
  if (!met.ok()) return met;
  const Status ended = EndMeeting(here, "probe/k", *begun);
  EXPECT_TRUE(real.List("probe/")->objects.empty());
  return ended;
}

TEST(BoxStore, WhatIsExactIsTaken) {
  const Status met = MeetWith(OtherView::Fault::kNone, OtherView::Fault::kNone);
  EXPECT_TRUE(met.ok()) << met.ToString();
}

TEST(BoxStore, WhatIsNotIsRefusedWithTheReason) {
  using Fault = OtherView::Fault;
  const struct {
    Fault here, there;
    const char* word;
  } cases[] = {{Fault::kStaleReads, Fault::kNone, "newer version is not seen"},
               {Fault::kNone, Fault::kLateFiles, "not seen at once"},
               {Fault::kNone, Fault::kNotExclusive, "two computers can create"},
               {Fault::kNoConflict, Fault::kNone, "version that is gone was accepted"}};
  for (const auto& each : cases) {
    const Status met = MeetWith(each.here, each.there);
    EXPECT_TRUE(met.Is(Code::kInvalid)) << met.ToString();
    EXPECT_NE(met.ToString().find(each.word), std::string::npos) << met.ToString();
    EXPECT_NE(met.next().find("bucket"), std::string::npos);
  }
}

TEST(BoxStore, OnlyKeysOfItsOwnAreTouched) {
  MemoryStore store;
  for (const char* key : {"", "records/x.json", "probe/../records/x", "/probe/x", "ledger.json"}) {
    EXPECT_TRUE(MeetInStore(store, key).Is(Code::kInvalid)) << key;
  }
}

}  // namespace
}  // namespace stoker
