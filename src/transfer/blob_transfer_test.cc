// SPDX-License-Identifier: Apache-2.0
// Blobs from a real file into a real store and back, with faults between. test/contract/ and
// test/faults/ have the buckets.
#include "transfer/blob_transfer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "base/digest.h"
#include "base/prng.h"
#include "ledger/blobs.h"
#include "store/local/local_store.h"
#include "sys/file.h"
#include "sys/real_clock.h"
#include "sys/thread_crew.h"
#include "sys/watch/checkpoint_files.h"
#include "sys/watch/file_snapshot.h"
#include "test/kit/faulty.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPart = 64 << 10;
constexpr int64_t kLargeBlob = (33 << 20) + 4321;  // 529 parts up, three ranges down

// One bit of what is read from this byte of an object on is another one; -1 = of none.
class FlippingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::atomic<int64_t> at = -1;
  Result<std::unique_ptr<ObjectReader>> OpenReader(const ObjectInfo& info) override {
    STOKER_ASSIGN(auto reader, inner_.OpenReader(info));
    return std::unique_ptr<ObjectReader>(new Reader(std::move(reader), at));
  }

 private:
  class Reader : public ForwardingReader {
   public:
    Reader(std::unique_ptr<ObjectReader> inner, int64_t at)
        : ForwardingReader(std::move(inner)), at_(at) {}
    int fd() const override { return -1; }
    Status Read(int64_t offset, int64_t size, const TakeBytes& take) override {
      return inner_->Read(offset, size, [&](std::string_view piece) {
        std::string bytes(piece);
        const int64_t in = at_ - offset;
        offset += static_cast<int64_t>(piece.size());
        if (in >= 0 && in < static_cast<int64_t>(bytes.size())) bytes[static_cast<size_t>(in)] ^= 1;
        return take(bytes);
      });
    }

   private:
    const int64_t at_;
  };
};

class BlobTransferTest : public ::testing::Test {
 protected:
  BlobTransferTest() {
    source_ = dir_.path() + "/source";
    EXPECT_TRUE(sys::MakeDirs(dir_.path() + "/to").ok());
    ledger_ = *Ledger::Open(faulty_, clock_, 1);
  }
  // Another file; what it holds is `content_` and `sha256_`.
  void Make(int64_t size) {
    content_.assign(static_cast<size_t>(size), '\0');
    Prng prng(static_cast<uint64_t>(size));
    for (char& c : content_) c = static_cast<char>(prng.Next() >> 56);
    sha256_ = Sha256Hex(content_);
    Write(content_);
  }
  void Write(const std::string& bytes) { std::ofstream(source_, std::ios::binary) << bytes; }
  Result<bool> Send(int workers = 4) {
    FileFact fact;
    fact.path = source_;
    fact.size = static_cast<int64_t>(content_.size());
    STOKER_ASSIGN(sys::ScopedFd fd, sys::Open(source_, O_RDONLY));
    auto file = std::make_shared<FileSnapshot>();
    file->Add(std::move(fact), std::move(fd));
    return SendBlob(*ledger_, Hands(workers), sha256_, std::move(file));
  }
  Status Fetch(int workers = 4) {
    STOKER_ASSIGN(const auto into, OpenDirectoryWriter(dir_.path() + "/to"));
    return FetchBlobFile(*ledger_, Hands(workers), sha256_, "blob", *into);
  }
  Movers Hands(int workers) { return {&crew_, &clock_, {workers, 2, int64_t{8} << 20}}; }
  static std::string Bytes(const std::string& path) {
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return bytes.str();
  }
  static int64_t Count(const std::string& folder) {
    return fs::exists(folder) ? std::distance(fs::directory_iterator(folder), {}) : 0;
  }
  // Neither a file nor a piece of one, under whatever name.
  int64_t Arrived() { return Count(dir_.path() + "/to"); }
  int64_t Copies() { return Count(dir_.path() + "/store/blobs"); }
  int64_t Strays() { return Count(dir_.path() + "/store/.tmp"); }
  std::string Copy() { return dir_.path() + "/store/" + FindBlob(*ledger_, sha256_)->key; }
  // Every request of this kind for a blob fails from the `from`-th on, in this way.
  void Fail(StoreCall call, int from, int FaultPlan::*how = &FaultPlan::before) {
    FaultPlan plan;
    plan.*how = 1000;
    plan.only = [call, left = std::make_shared<std::atomic<int>>(from)](StoreCall what,
                                                                        const std::string& key) {
      return what == call && key.find("blobs/") == 0 && --*left < 0;
    };
    faulty_.SetPlan(plan);
  }

  sys::TempDir dir_ = *sys::TempDir::Make();
  std::unique_ptr<LocalStore> store_ = *LocalStore::Open(dir_.path() + "/store", {false, kPart});
  FlippingStore flipping_{*store_};
  FaultyStore faulty_{flipping_, 1, {}};
  RealClock clock_;
  ThreadCrew crew_;
  std::unique_ptr<Ledger> ledger_;
  std::string source_;
  std::string content_;
  std::string sha256_;
};

TEST_F(BlobTransferTest, ArrivesAsItWasAndIsSentOnce) {
  for (const int64_t size : {int64_t{0}, int64_t{1}, kPart, kPart + 1, kLargeBlob}) {
    Make(size);
    EXPECT_TRUE(Send().value());
    EXPECT_FALSE(Send().value()) << "it is there";
    const Status fetched = Fetch(size % 2 == 0 ? 1 : 4);
    ASSERT_TRUE(fetched.ok()) << fetched.ToString();
    EXPECT_TRUE(Bytes(dir_.path() + "/to/blob") == content_) << size;
    struct stat st {};
    ASSERT_EQ(stat((dir_.path() + "/to/blob").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 0777, 0600u);
    EXPECT_EQ(Arrived(), 1);
    EXPECT_EQ(Strays(), 0);
  }
  EXPECT_EQ(Copies(), 5);
}

TEST_F(BlobTransferTest, NothingIsSentOfWhatIsThere) {
  Make(kPart * 3);
  ASSERT_TRUE(Send().value());
  Fail(StoreCall::kPut, 0);
  EXPECT_FALSE(Send().value()) << "no write was tried";
  fs::resize_file(Copy(), 7);
  EXPECT_EQ(Send().code(), Code::kUnavailable) << "a copy of another size is none";
  faulty_.SetPlan({});
  EXPECT_TRUE(Send().value());
  EXPECT_TRUE(Bytes(Copy()) == content_);
}

TEST_F(BlobTransferTest, AFileThatChangedBeforeItWasSentIsFound) {
  for (const int64_t size : {int64_t{100}, kPart * 4}) {
    for (const int more : {-1, 1}) {
      Make(size);
      std::string other = content_;
      other.resize(content_.size() + static_cast<size_t>(more));
      Write(other);
      EXPECT_EQ(Send().code(), Code::kCorrupt);
      EXPECT_EQ(Copies(), 0);
      EXPECT_EQ(Strays(), 0);
    }
  }
  // Its hash was taken before: as long as it was, only whoever fetches it can tell.
  content_.back() ^= 1;
  Write(content_);
  EXPECT_TRUE(Send().value());
  EXPECT_EQ(Fetch().code(), Code::kCorrupt);
  EXPECT_EQ(Arrived(), 0);
}

TEST_F(BlobTransferTest, DamageInTheStoreOrOnTheWayDownIsFound) {
  for (const int64_t size : {kPart, kLargeBlob}) {
    Make(size);
    ASSERT_TRUE(Send().value());
    for (const int64_t at : {int64_t{0}, size / 2, size - 1}) {
      flipping_.at = at;
      const Status status = Fetch(at == 0 ? 1 : 4);
      EXPECT_EQ(status.code(), Code::kCorrupt) << at;
      EXPECT_NE(status.message().find("blobs/" + sha256_), std::string::npos) << status.ToString();
      EXPECT_EQ(Arrived(), 0);
    }
    flipping_.at = -1;
    fs::resize_file(Copy(), static_cast<uintmax_t>(size - 1));
    EXPECT_EQ(Fetch().code(), Code::kCorrupt) << "it is short";
    EXPECT_EQ(Arrived(), 0);
  }
  sha256_ = std::string(64, '0');
  EXPECT_EQ(Fetch().code(), Code::kNotFound);
  sha256_ = "../../etc/passwd";
  EXPECT_EQ(Fetch().code(), Code::kInvalid);
  EXPECT_EQ(Arrived(), 0);
}

// In the middle of its parts, or at their end; and then the store answers again.
TEST_F(BlobTransferTest, AStoreThatFailsLeavesNothingHalfAndAnswersLater) {
  for (const int64_t size : {kPart, kLargeBlob}) {
    for (const int from : size == kPart ? std::vector<int>{0} : std::vector<int>{0, 100, 529}) {
      Make(size + from);
      Fail(StoreCall::kPut, from);
      EXPECT_EQ(Send(from == 0 ? 1 : 4).code(), Code::kUnavailable);
      EXPECT_EQ(FindBlob(*ledger_, sha256_).code(), Code::kNotFound);
      EXPECT_EQ(Strays(), 0) << "what was begun is taken back";
      faulty_.SetPlan({});
      EXPECT_TRUE(Send().value());
      for (const int reads : {0, size == kPart ? 0 : 2}) {
        Fail(StoreCall::kGet, reads);
        EXPECT_EQ(Fetch().code(), Code::kUnavailable);
        EXPECT_EQ(Arrived(), 0);
      }
      faulty_.SetPlan({});
      ASSERT_TRUE(Fetch().ok());
      EXPECT_TRUE(Bytes(dir_.path() + "/to/blob") == content_);
      fs::remove(dir_.path() + "/to/blob");
    }
  }
  Make(kPart - 1);
  Fail(StoreCall::kPut, 0, &FaultPlan::after);
  EXPECT_EQ(Send().code(), Code::kTimeout);
  EXPECT_FALSE(Send().value()) << "only the answer was lost: it is there";
}

}  // namespace
}  // namespace stoker
