// SPDX-License-Identifier: Apache-2.0
#include "provider/ssh/box_words.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/prng.h"
#include "provider/ssh/box_notes.h"
#include "test/kit/memory_store.h"

namespace stoker {
namespace {

// As it arrives.
BoxJson Sent(const BoxJson& value) { return BoxJson::parse(BoxAnswer(value)); }

TEST(BoxWords, RequestsArriveAsTheyWereSent) {
  LaunchRequest request;
  request.token = "t";
  request.ledger_id = "l";
  request.store_url = "s3://b/p";
  request.job = "j";
  request.ask.options = "cpus=1000 private=1";
  request.launches = {3, 4};
  request.slots = {0, 1};
  request.binary_digest = "d";
  request.limit = Duration::Hours(24);
  request.not_after.ms = 1'800'000'000'000;
  request.ending = "pidns";
  BoxJson json;
  PutRequest(request, &json);
  const auto taken = TakeRequest(Sent(json));
  ASSERT_TRUE(taken.ok()) << taken.status().ToString();
  BoxJson again;
  PutRequest(*taken, &again);
  EXPECT_EQ(again, json);
  EXPECT_EQ(taken->launches, request.launches);
}

TEST(BoxWords, SecretsMayHoldAnyByte) {
  LocalPrivate own;
  std::string all;
  for (int c = 1; c < 256; ++c) all += static_cast<char>(c);
  own.secrets = {{"TOKEN", all}, {"EMPTY", ""}};
  own.shell = {{"A", "line\nline"}};
  own.workdir = "/x";
  BoxJson json;
  PutPrivate(own, &json);
  const auto taken = TakePrivate(Sent(json));
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(*taken, own);
}

TEST(BoxWords, MachinesAndRefusalsArriveAsTheyWereSaid) {
  InstanceSeen seen;
  seen.id = seen.token = "t";
  seen.state = InstanceState::kQueued;
  seen.why = "1st in line";
  seen.up_for = Duration::Seconds(3);
  BoxJson list;
  PutSeen({seen, InstanceSeen()}, &list);
  const auto taken = TakeSeen(Sent({{"machines", list}}));
  ASSERT_TRUE(taken.ok());
  ASSERT_EQ(taken->size(), 2u);
  EXPECT_EQ((*taken)[0].state, InstanceState::kQueued);
  EXPECT_EQ((*taken)[0].up_for, seen.up_for);
  EXPECT_FALSE((*taken)[1].up_for);

  Refusal refusal;
  refusal.what = RefusalClass::kOver;
  refusal.scope = RefusalScope::kRequest;
  refusal.message = "over";
  std::optional<Refusal> heard;
  const Status failed =
      FailureOf(BoxJson::parse(BoxAnswer(Status(Code::kInvalid, "no", "do"), refusal)), &heard);
  EXPECT_TRUE(failed.Is(Code::kInvalid));
  EXPECT_EQ(heard, refusal);
  EXPECT_TRUE(FailureOf(BoxJson::object(), &heard).ok());
}

// A box is another's machine: whatever it says is told apart from what makes sense.
TEST(BoxWords, NonsenseIsAnError) {
  const char* const wrong[] = {"null",
                               "[]",
                               "3",
                               "{}",
                               R"({"machines":3})",
                               R"({"machines":[3]})",
                               R"({"machines":[{"id":"x"}]})",
                               R"({"host":"../x","address":"","shared":""})",
                               R"({"host":1,"address":"","shared":""})",
                               R"({"ids":"x"})",
                               R"({"secrets":[["zz","00"]]})"};
  for (const char* text : wrong) {
    const BoxJson json = BoxJson::parse(text);
    EXPECT_FALSE(TakeSeen(json).ok()) << text;
    EXPECT_FALSE(TakeHello(json).ok()) << text;
    EXPECT_FALSE(TakeProspect(json).ok()) << text;
    EXPECT_FALSE(TakeRequest(json).ok()) << text;
    EXPECT_FALSE(TakePrivate(json).ok()) << text;
  }
  for (const char* text : {R"({"failed":0})", R"({"failed":99,"message":"x","next":""})",
                           R"({"failed":1})", R"({"failed":"x"})"}) {
    EXPECT_FALSE(FailureOf(BoxJson::parse(text), nullptr).ok()) << text;
  }
}

TEST(BoxNotes, TheFirstStandsAndAPersonMayGiveUpABox) {
  MemoryStore store;
  const BoxNote mine{"token", "h1", "box1", {3}, ""};
  const BoxNote theirs{"token", "h2", "user@box2", {3}, ""};
  EXPECT_FALSE(ReadBoxNote(store, "job", "token")->has_value());
  EXPECT_EQ(WriteBoxNote(store, "job", mine)->host, "h1");
  EXPECT_EQ(WriteBoxNote(store, "job", theirs)->host, "h1");
  ASSERT_EQ(ListBoxNotes(store, "job")->size(), 1u);
  EXPECT_EQ(*GiveUpBox(store, "job", "box2", "me"), 0);
  EXPECT_EQ(*GiveUpBox(store, "job", "box1", "me"), 1);
  EXPECT_EQ(ListBoxNotes(store, "job")->front().gone, "me");
  EXPECT_EQ(ListBoxNotes(store, "job")->front().launches, mine.launches);
  ASSERT_TRUE(store.Put("jobs/job/boxes/bad.json", "{\"format\":1}").ok());
  EXPECT_TRUE(ListBoxNotes(store, "job").status().Is(Code::kCorrupt));
}

}  // namespace
}  // namespace stoker
