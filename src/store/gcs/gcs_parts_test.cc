// SPDX-License-Identifier: Apache-2.0
// Ranges and parts, on a model of the service that judges the condition of a composition and the
// generations of its sources, as fake-gcs-server does not.
#include "store/gcs/gcs_parts.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "test/kit/gcs.h"

namespace stoker {
namespace {

// Bytes in memory, or of a file.
class Source : public ObjectReader {
 public:
  Source(std::string data, bool from_file, bool executable = false) : data_(std::move(data)) {
    info_.size = static_cast<int64_t>(data_.size());
    info_.executable = executable;
    if (!from_file) return;
    file_.Reset(memfd_create("data", 0));
    EXPECT_EQ(write(file_.get(), data_.data(), data_.size()), info_.size);
  }
  const ObjectInfo& info() const override { return info_; }
  bool ranged() const override { return true; }
  int fd() const override { return file_.valid() ? file_.get() : -1; }
  Status Read(int64_t offset, int64_t size, const TakeBytes& take) override {
    return take(
        std::string_view(data_).substr(static_cast<size_t>(offset), static_cast<size_t>(size)));
  }
  Status Confirm(const std::vector<PartSum>&) override { return Status::Ok(); }

 private:
  const std::string data_;
  sys::ScopedFd file_;
  ObjectInfo info_;
};

std::string Numbers(size_t size) {
  std::string data;
  for (int i = 0; data.size() < size; ++i) data += std::to_string(i * 7919);
  data.resize(size);
  return data;
}

class GcsPartsTest : public GcsStoreTest {
 protected:
  Result<std::string> Read(const ObjectInfo& info, int64_t offset, int64_t size) {
    STOKER_ASSIGN(const auto reader, store_->OpenReader(info));
    std::string got;
    STOKER_TRY(reader->Read(offset, size, [&](std::string_view bytes) {
      got += bytes;
      return Status::Ok();
    }));
    return got;
  }
  Status WriteAll(PartsUpload& upload, Source& from) {
    const int64_t count = (from.info().size + upload.part_size() - 1) / upload.part_size();
    for (int n = 0; n < count; ++n) {
      if (upload.done().count(n) == 0) STOKER_TRY(upload.WritePart(n, from).status());
    }
    return Status::Ok();
  }
  std::unique_ptr<PartsUpload> Begin(int64_t size, const Condition& condition = {},
                                     const std::string& resume = "") {
    auto upload = store_->BeginParts("a", size, condition, resume);
    EXPECT_TRUE(upload.ok()) << upload.status().ToString();
    return upload.ok() ? std::move(*upload) : nullptr;
  }
};

TEST_F(GcsPartsTest, ARangeIsOfOneGenerationAndNoOther) {
  const std::string data = Numbers(5000);
  ASSERT_TRUE(store_->Put("a", data).ok());
  const ObjectInfo info = store_->Head("a").value();
  model_.requests.clear();
  EXPECT_EQ(Read(info, 100, 50).value_or("?"), data.substr(100, 50));
  EXPECT_EQ(*FindHeader(model_.requests[0].headers, "Range"), "bytes=100-149");
  EXPECT_NE(model_.requests[0].target.find("generation=" + info.version), std::string::npos);
  EXPECT_TRUE(Read(info, 0, 5000).value_or("?") == data);
  EXPECT_EQ(FindHeader(model_.requests[1].headers, "Range"), nullptr);
  ASSERT_TRUE(store_->Put("a", data).ok());
  EXPECT_EQ(Read(info, 100, 50).code(), Code::kConflict);
  ASSERT_TRUE(store_->Delete("a").ok());
  EXPECT_EQ(Read(info, 0, 5000).code(), Code::kConflict);
}

TEST_F(GcsPartsTest, WhatWasReadIsHeldAgainstTheObjectsChecksum) {
  const std::string data = Numbers(5000);
  ASSERT_TRUE(store_->Put("a", data).ok());
  const ObjectInfo info = store_->Head("a").value();
  model_.damaged = 1;
  EXPECT_EQ(Read(info, 0, 5000).code(), Code::kCorrupt);
  const auto reader = *store_->OpenReader(info);
  const PartSum first{2000, Crc32c(data.substr(0, 2000))};
  const PartSum second{3000, Crc32c(data.substr(2000))};
  EXPECT_TRUE(reader->Confirm({first, second}).ok());
  EXPECT_EQ(reader->Confirm({second, first}).code(), Code::kCorrupt);
  EXPECT_TRUE(reader->Confirm({second, {2000, std::nullopt}}).ok());
  ASSERT_TRUE(store_->Put("a", data).ok());
  EXPECT_EQ(reader->Confirm({first, second}).code(), Code::kConflict);
}

// More than can be composed at once, and more than twice that many in two rounds.
TEST_F(GcsPartsTest, PartsBecomeOneObjectAndGo) {
  for (const bool from_file : {true, false}) {
    Source from(Numbers(1'100'300), from_file);  // 1,101 parts: three rounds
    const auto upload = Begin(1'100'300);
    EXPECT_EQ(upload->part_size(), 1000);
    EXPECT_TRUE(upload->parallel());
    ASSERT_TRUE(WriteAll(*upload, from).ok());
    EXPECT_EQ(store_->Head("a").ok(), !from_file);  // only the first one's
    const auto made = upload->Commit();
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    EXPECT_EQ(made->version, store_->Head("a")->version);
    EXPECT_EQ(made->size, 1'100'300);
    EXPECT_TRUE(store_->Get("a")->data == Numbers(1'100'300));
    EXPECT_EQ(model_.objects.size(), 1u);
  }
}

TEST_F(GcsPartsTest, AnUploadIsGoneOnWith) {
  Source from(Numbers(4500), false);
  std::string id;
  {
    const auto killed = Begin(4500);
    id = killed->id();
    ASSERT_TRUE(killed->WritePart(3, from).ok());
    ASSERT_TRUE(killed->WritePart(0, from).ok());
  }
  EXPECT_EQ(Begin(4500)->done().size(), 0u);  // another upload of the same object
  // Another size of parts, another object, and what is no id.
  for (const auto& odd : {std::string("1000:../../../a"), "500" + id.substr(4), id.substr(0, 5)}) {
    EXPECT_EQ(Begin(4500, {}, odd)->done().size(), 0u) << odd;
    EXPECT_NE(Begin(4500, {}, odd)->id(), odd);
  }
  EXPECT_EQ((*store_->BeginParts("b", 4500, {}, id))->done().size(), 0u);
  const auto upload = Begin(4500, {}, id);
  EXPECT_EQ(upload->id(), id);
  ASSERT_EQ(upload->done().size(), 2u);
  EXPECT_EQ(upload->done().at(3).crc32c, Crc32c(Numbers(4500).substr(3000, 1000)));
  EXPECT_EQ(upload->Commit().code(), Code::kInternal);  // parts are missing
  model_.requests.clear();
  ASSERT_TRUE(WriteAll(*upload, from).ok());
  EXPECT_EQ(model_.requests.size(), 3u);
  ASSERT_TRUE(upload->Commit().ok());
  EXPECT_TRUE(store_->Get("a")->data == Numbers(4500));
  // It is over: from then on it is a new one.
  EXPECT_NE(Begin(4500, {}, id)->id(), id);
}

// Before the parts are composed, and by the composition itself where somebody came in between.
TEST_F(GcsPartsTest, ConditionsAreJudgedByTheComposition) {
  Source from(Numbers(2500), false);
  auto upload = Begin(2500, Condition::Absent());
  ASSERT_TRUE(WriteAll(*upload, from).ok());
  ASSERT_TRUE(store_->Put("a", "quicker").ok());
  EXPECT_EQ(upload->Commit().code(), Code::kExists);
  ASSERT_TRUE(store_->Delete("a").ok());
  model_.fault = [this](const HttpRequest& request) {
    if (request.target.find("/compose") != std::string::npos) model_.objects["team/a"] = {"x", 7};
    return Fault::kNone;
  };
  EXPECT_EQ(upload->Commit().code(), Code::kExists);
  EXPECT_EQ(store_->Get("a")->data, "x");
  model_.fault = [](const HttpRequest&) { return Fault::kNone; };
  upload = Begin(2500, Condition::Match("8"), upload->id());
  EXPECT_EQ(upload->done().size(), 3u);
  EXPECT_EQ(upload->Commit().code(), Code::kConflict);
  upload = Begin(2500, Condition::Match("7"), upload->id());
  ASSERT_TRUE(upload->Commit().ok());
  EXPECT_TRUE(store_->Get("a")->data == Numbers(2500));
  upload = Begin(2500, Condition::Match("7"));
  ASSERT_TRUE(WriteAll(*upload, from).ok());
  ASSERT_TRUE(store_->Delete("a").ok());
  EXPECT_EQ(upload->Commit().code(), Code::kNotFound);
  upload->Abort();
  EXPECT_TRUE(model_.objects.empty());
}

TEST_F(GcsPartsTest, WhatTheServiceMadeIsHeldAgainstWhatWasSent) {
  Source from(Numbers(2500), false);
  auto upload = Begin(2500);
  ASSERT_TRUE(WriteAll(*upload, from).ok());
  model_.damaged_compositions = 1;
  EXPECT_EQ(upload->Commit().code(), Code::kCorrupt);
  EXPECT_EQ(store_->Head("a").code(), Code::kNotFound);
  // A part that another writer of the same upload has put there is not the one that was checked.
  for (auto& [name, object] : model_.objects) object.generation += 1'000'000;
  const auto changed = upload->Commit();
  EXPECT_EQ(changed.code(), Code::kInvalid);
  EXPECT_NE(changed.status().ToString().find("gone"), std::string::npos);
}

TEST_F(GcsPartsTest, WhatFailsInPassingIsSentAgain) {
  Source from(Numbers(2500), true);
  const auto upload = Begin(2500);
  Meet({Fault::kRefused, Fault::kForgotten, Fault::kNone, Fault::kBusy, Fault::kNone, Fault::kNone,
        Fault::kForgotten});
  ASSERT_TRUE(WriteAll(*upload, from).ok());
  ASSERT_TRUE(upload->Commit().ok());
  EXPECT_TRUE(store_->Get("a")->data == Numbers(2500));
  EXPECT_EQ(store_->throttled(), 1);
}

TEST_F(GcsPartsTest, WhatKilledUploadsLeftIsSwept) {
  Source from(Numbers(2500), false);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(WriteAll(*Begin(2500), from).ok());
  for (auto& [name, object] : model_.objects) object.created = "2026-11-22T09:59:59Z";
  // By the service's clock, at 10:00, its first part.
  model_.objects.begin()->second.created = "2026-11-22T06:00:00Z";
  model_.objects["other/.stoker-parts/x"] = {"somebody's", 3, "2026-11-01T00:00:00Z"};
  model_.objects[".stoker-parts/other/1-2/0"] = {"another store's", 3, "2026-11-01T00:00:00Z"};
  EXPECT_EQ(store_->SweepUnfinished(Duration::Hours(5)).value(), 0);
  EXPECT_EQ(store_->SweepUnfinished(Duration::Hours(3), {{}, true}).value(), 1);
  EXPECT_EQ(model_.objects.size(), 2u + 9u);
  EXPECT_EQ(store_->SweepUnfinished(Duration::Hours(3)).value(), 1);
  EXPECT_EQ(model_.objects.size(), 2u + 6u);
  EXPECT_EQ(store_->SweepUnfinished(Duration::Seconds(-1)).value(), 2);
  EXPECT_EQ(model_.objects.size(), 2u);
}

// Where deleting parts costs more than their bytes, or is forbidden, one session sends all.
TEST_F(GcsPartsTest, PartsAreWrittenOnlyWhereTheyPay) {
  model_.storage_class = "COLDLINE";
  Source from(Numbers(600'000), false);
  for (int i = 0; i < 2; ++i) {
    model_.requests.clear();
    const auto upload = Begin(600'000);
    EXPECT_FALSE(upload->parallel());
    ASSERT_TRUE(WriteAll(*upload, from).ok());
    ASSERT_TRUE(upload->Commit().ok());
    EXPECT_TRUE(store_->Get("a")->data == Numbers(600'000));
    EXPECT_EQ(Heard().find(".stoker-parts") != std::string::npos, i == 0) << Heard();
  }
  EXPECT_EQ(model_.objects.size(), 1u);
}

TEST_F(GcsPartsTest, PartsAreInNoList) {
  GcsStoreOptions options;
  options.client.bucket = "bucket";
  options.client.endpoint = "http://127.0.0.1:" + std::to_string(server_->port());
  options.client.now = [] { return WallTime{}; };
  options.client.token = []() -> Result<GoogleToken> { return GoogleToken(); };
  const auto all = *GcsStore::Open(options);
  model_.objects["z"] = {"1", 3};
  for (int i = 0; i < 9; ++i) model_.objects[".stoker-parts/1-2/" + std::to_string(i)] = {"1", 3};
  const auto list = all->List("");
  ASSERT_TRUE(list.ok()) << list.status().ToString();
  ASSERT_EQ(list->objects.size(), 1u);
  EXPECT_EQ(list->objects[0].key, "z");
  EXPECT_EQ(all->Put(".stoker-parts/x", "").code(), Code::kInvalid);
  EXPECT_TRUE(all->Put("a/.stoker-parts/x", "").ok());
}

TEST_F(GcsPartsTest, KeysAreAsLongAsTheServiceTakesThem) {
  const std::string longest(1024 - std::string("team/").size(), 'k');
  EXPECT_TRUE(store_->Put(longest, "x").ok());
  EXPECT_EQ(store_->Put(longest + "k", "x").code(), Code::kInvalid);
}

TEST_F(GcsPartsTest, ManyAreDeletedAtOnce) {
  std::vector<std::string> keys;
  for (int i = 0; i < 100; ++i) {
    keys.push_back("k" + std::to_string(i));
    if (i % 2 == 0) model_.objects["team/" + keys.back()] = {"1", 3};
  }
  model_.objects["team/other"] = {"1", 3};
  ASSERT_TRUE(store_->DeleteAll(keys).empty());
  EXPECT_EQ(model_.objects.size(), 1u);
  model_.fault = [](const HttpRequest&) { return Fault::kRefused; };
  const auto away = store_->DeleteAll({"other", "another"});
  ASSERT_EQ(away.size(), 2u);
  EXPECT_EQ(away[0].why.code(), Code::kUnavailable);
  // One that cannot be deleted keeps no other one there.
  model_.fault = [](const HttpRequest&) { return Fault::kNone; };
  const auto failed = store_->DeleteAll({"../x", "other"});
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].key, "../x");
  EXPECT_TRUE(model_.objects.empty());
}

TEST_F(GcsPartsTest, WhetherItCanBeRunIsMetadata) {
  for (const bool from_file : {true, false}) {
    Source tool("tool", from_file, true);
    ASSERT_TRUE(store_->PutFrom("tool", tool).ok());
    Source plain("plain", from_file);
    ASSERT_TRUE(store_->PutFrom("plain", plain).ok());
    Source large(Numbers(3000), from_file, true);
    const auto upload = store_->BeginParts("large", 3000, {}, "", true);
    ASSERT_TRUE(upload.ok() && WriteAll(**upload, large).ok());
    ASSERT_TRUE((*upload)->Commit().ok());
    std::map<std::string, bool> listed;
    const Listing all = store_->List("").value();
    for (const ObjectInfo& info : all.objects) listed[info.key] = info.executable;
    EXPECT_EQ(listed,
              (std::map<std::string, bool>{{"large", true}, {"plain", false}, {"tool", true}}));
    EXPECT_TRUE(store_->Head("tool")->executable);
    model_.objects.clear();
  }
}

}  // namespace
}  // namespace stoker
