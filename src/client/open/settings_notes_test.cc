// SPDX-License-Identifier: Apache-2.0
#include "client/open/settings_notes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>
#include <thread>

#include "client/open/client.h"
#include "client/open/store_watch.h"
#include "sys/file.h"
#include "test/kit/memory_store.h"

namespace stoker::client {
namespace {

Places PlacesIn(const std::string& root) {
  return {root + "/config/config.yaml", root + "/state", root + "/cache"};
}

TEST(StoreNote, RemembersWhatWasThere) {
  StoreNote note{"/store", {}, {}};
  std::string instead;
  EXPECT_TRUE(Learn("l1", &note, &instead));
  EXPECT_FALSE(Learn("l1", &note, &instead));
  EXPECT_EQ(instead, "");
  EXPECT_TRUE(Learn("l2", &note, &instead));
  EXPECT_EQ(instead, "l1") << "another one stands in its place";
  EXPECT_TRUE(Learn("l1", &note, &instead));
  EXPECT_EQ(note.ids, (std::vector<std::string>{"l2", "l1"}));
  GiveUp(&note);
  EXPECT_TRUE(note.ids.empty());
  EXPECT_EQ(note.replaced, (std::vector<std::string>{"l2", "l1"}));
  instead.clear();
  EXPECT_TRUE(Learn("l1", &note, &instead));
  EXPECT_EQ(instead, "") << "it was told that anything may be there";
  EXPECT_EQ(note.replaced, std::vector<std::string>{"l2"});
  const StoreNote read = DecodeNote("/store", EncodeNote(note));
  EXPECT_EQ(read.ids, note.ids);
  EXPECT_EQ(read.replaced, note.replaced);
}

TEST(StoreNote, WhatIsNoneIsEmpty) {
  for (const char* text :
       {"", "{", "[]", R"({"store":"/other","ids":["l1"]})", R"({"store":"/store","ids":"l1"})",
        R"({"ids":["l1"]})", R"({"store":"/store","ids":["../x",7]})"}) {
    EXPECT_TRUE(DecodeNote("/store", text).ids.empty()) << text;
  }
}

TEST(SettingsNotes, OneIdWhoeverIsFirst) {
  const auto dir = *sys::TempDir::Make();
  const SettingsNotes notes(PlacesIn(dir.path()));
  EXPECT_EQ(notes.Me(), "");
  EXPECT_FALSE(sys::FileExists(dir.path() + "/config")) << "looking makes nothing";
  std::vector<std::string> ids(8);
  std::vector<std::thread> threads;
  for (std::string& id : ids) threads.emplace_back([&] { id = notes.MakeMe().value(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 1u);
  EXPECT_EQ(notes.Me(), ids[0]);
  EXPECT_EQ(sys::ListDir(dir.path() + "/config")->size(), 1u);
}

// Settings that belong to somebody else, or lie in an image.
TEST(SettingsNotes, TheStateFolderWhereSettingsCannotBeWritten) {
  const auto dir = *sys::TempDir::Make();
  // Not by its mode: tests may run as root.
  ASSERT_TRUE(sys::WriteFileAtomic(dir.path() + "/config", "a file").ok());
  const SettingsNotes notes(PlacesIn(dir.path()));
  const auto me = notes.MakeMe();
  ASSERT_TRUE(me.ok()) << me.status().ToString();
  EXPECT_EQ(notes.Me(), *me);
  ASSERT_TRUE(notes.Save({"s3://bucket/x", {"l1"}, {}}).ok());
  EXPECT_EQ(notes.OfStore("s3://bucket/x").ids, std::vector<std::string>{"l1"});
  EXPECT_TRUE(notes.OfStore("s3://bucket/y").ids.empty());
  EXPECT_EQ(notes.All().size(), 1u);
}

class SlowStore : public MemoryStore {
 public:
  Result<Object> Get(const std::string& key) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(key == "slow" ? 150 : 1));
    return MemoryStore::Get(key);
  }
};

TEST(StoreWatch, SaysOnceThatNothingIsAnswered) {
  std::atomic<int> said = 0;
  {
    StoreWatch watch([&] { ++said; }, Duration::Ms(40));
    const auto store = WatchStore(std::make_unique<SlowStore>(), watch);
    for (int i = 0; i < 60; ++i) (void)store->Get("quick");
    EXPECT_EQ(said, 0);
    (void)store->Get("slow");
    EXPECT_EQ(said, 1);
    (void)store->Get("slow");
  }
  EXPECT_EQ(said, 1);
}

}  // namespace
}  // namespace stoker::client
