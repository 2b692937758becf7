// SPDX-License-Identifier: Apache-2.0
// Moves objects to and from a bucket through something that harms the traffic, and looks past it at
// what became of them: what was said to be done is done, what is read is what was written, and who
// is told to have lost a compare-and-swap has lost it.
//
//   transfers COUNT SEED THREADS CLOCK_MINUTES STORE_URL DIRECT_ENDPOINT
//
// The store is found as stoker finds it, in the environment; the direct way takes the keys of
// $STOKER_TEST_KEY and $STOKER_TEST_SECRET, or none with gs://. fault_transfers.py sets all this
// up. The last line is "sum RIGHT SAID_WHY WRONG LONGEST_SECONDS"; exit code 1 = something was
// wrong.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>

#include "base/prng.h"
#include "base/text.h"
#include "store/open_gcs.h"
#include "store/open_s3.h"
#include "sys/file.h"
#include "test/faults/tally.h"
#include "test/faults/trees.h"

namespace stoker::faults {
namespace {

constexpr int kCounters = 4;
constexpr int kStanding = 12;  // objects that are there before the faults begin
constexpr int64_t kPart = 5 << 20;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string Bytes(Prng& prng, int64_t size) {
  std::string out(static_cast<size_t>(size), '\0');
  for (size_t i = 0; i + 8 <= out.size(); i += 8) {
    const uint64_t draw = prng.Next();
    out.replace(i, 8, reinterpret_cast<const char*>(&draw), 8);
  }
  return out;
}

class Trial {
 public:
  Trial(ObjectStore& harmed, ObjectStore& direct, uint64_t seed)
      : harmed_(harmed), direct_(direct), seed_(seed) {}

  Status Prepare() {
    for (int i = 0; i < kStanding; ++i) {
      Prng prng(seed_ * 1000 + static_cast<uint64_t>(i));
      const int64_t size = i % 3 == 0 ? kPart + prng.Between(1, 2 * kPart) : prng.Between(0, 99999);
      standing_.push_back(Bytes(prng, size));
      STOKER_ASSIGN(auto upload, direct_.BeginUpload(StandingKey(i)));
      STOKER_TRY(upload->Write(standing_.back()));
      STOKER_TRY(upload->Commit().status());
    }
    for (int i = 0; i < kCounters; ++i) STOKER_TRY(direct_.Put(CounterKey(i), "\n").status());
    return trees_.Prepare(seed_);
  }

  void Run(int number) {
    Prng prng(seed_ + static_cast<uint64_t>(number) * 7919);
    const auto begun = std::chrono::steady_clock::now();
    const uint64_t draw = prng.Below(100);
    std::string kind;
    Status status;
    if (draw < 20) {
      status = Put(number, prng, &kind);
    } else if (draw < 44) {
      status = Read(prng, &kind);
    } else if (draw < 56 && !StartsWith(direct_.url(), "gs://")) {
      // fake-gcs-server ends an upload in a session, half as it is, when asked how much it has.
      status = SendParts(number, prng, &kind);
    } else if (draw < 66) {
      kind = "tree up";
      status = trees_.Up(number);
    } else if (draw < 76) {
      kind = "tree down";
      status = trees_.Down(number);
    } else {
      status = Swap(number, prng, &kind);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    if (took.count() > 90) tally_.Wrong(kind + " took " + std::to_string(took.count()) + " s");
    if (status.ok()) {
      tally_.Right(kind, took.count());
    } else {
      tally_.Said(kind, status, took.count());
    }
  }

  // When all is calm: who was said to have won has won, once; who lost has not.
  bool Judge() {
    for (int i = 0; i < kCounters; ++i) {
      const auto now = direct_.Get(CounterKey(i));
      if (!now.ok()) {
        tally_.Wrong("counter: " + now.status().ToString());
        continue;
      }
      std::multiset<std::string> there;
      for (const std::string& line : Split(now->data, '\n')) {
        if (!line.empty()) there.insert(line);
      }
      for (const std::string& nonce : won_[i]) {
        if (there.count(nonce) != 1) tally_.Wrong("a swap that was won is not there: " + nonce);
      }
      for (const std::string& nonce : lost_[i]) {
        if (there.count(nonce) != 0) tally_.Wrong("a swap that was lost is there: " + nonce);
      }
      for (const std::string& each : there) {
        if (there.count(each) != 1) tally_.Wrong("a swap is there twice: " + each);
      }
    }
    const auto swept = direct_.SweepUnfinished(Duration::Seconds(-5));
    if (!swept.ok()) tally_.Wrong("sweeping: " + swept.status().ToString());
    std::cout << "  unfinished uploads that were swept: " << swept.value_or(-1) << "\n";
    return tally_.Report();
  }

 private:
  static std::string StandingKey(int i) { return "standing/" + std::to_string(i); }
  static std::string CounterKey(int i) { return "counter/" + std::to_string(i); }

  // What became of an object that only one transfer writes, and that no condition can refuse.
  void Check(const std::string& kind, const std::string& key, const std::string& data,
             const Status& status) {
    const auto there = direct_.Get(key);
    if (there.ok() && there->data != data) {
      tally_.Wrong(kind + ": " + key + " holds something else");
    }
    if (!there.ok() && !there.status().Is(Code::kNotFound)) {
      tally_.Wrong(kind + ": " + key + ": " + there.status().ToString());
    }
    if (status.ok() && !there.ok()) tally_.Wrong(kind + ": " + key + " was said to be written");
    const bool refused =
        status.Is(Code::kExists) || status.Is(Code::kConflict) || status.Is(Code::kNotFound);
    if (refused || (status.Is(Code::kInvalid) && there.ok())) {
      tally_.Wrong(kind + ": " + key + " was said to be refused: " + status.ToString());
    }
  }

  Status Put(int number, Prng& prng, std::string* kind) {
    const bool create = prng.Chance(1, 3);
    *kind = create ? "create" : "put";
    const std::string key = "put/" + std::to_string(number);
    const std::string data = Bytes(prng, prng.Between(0, prng.Chance(1, 5) ? 3 << 20 : 100'000));
    const Condition condition = create ? Condition::Absent() : Condition::None();
    const Status status = harmed_.Put(key, data, condition).status();
    Check(*kind, key, data, status);
    return status;
  }

  Status SendParts(int number, Prng& prng, std::string* kind) {
    const bool create = prng.Chance(1, 3);
    *kind = create ? "create in parts" : "upload in parts";
    const std::string key = "parts/" + std::to_string(number);
    const std::string data = Bytes(prng, kPart + prng.Between(1, 2 * kPart));
    const Status status = Upload(key, data, create, prng.Chance(1, 2));
    Check(*kind, key, data, status);
    return status;
  }

  Status Upload(const std::string& key, const std::string& data, bool create, bool from_file) {
    STOKER_ASSIGN(auto upload,
                  harmed_.BeginUpload(key, create ? Condition::Absent() : Condition::None()));
    if (!from_file) {
      STOKER_TRY(upload->Write(data));
      return upload->Commit().status();
    }
    const sys::ScopedFd file(memfd_create("upload", 0));
    for (size_t at = 0; at < data.size();) {
      const ssize_t wrote = write(file.get(), data.data() + at, data.size() - at);
      if (wrote <= 0) return ErrnoStatus("memfd", errno);
      at += static_cast<size_t>(wrote);
    }
    STOKER_TRY(upload->WriteFile(file.get(), static_cast<int64_t>(data.size())));
    return upload->Commit().status();
  }

  Status Read(Prng& prng, std::string* kind) {
    const int which = static_cast<int>(prng.Below(kStanding));
    const std::string& wanted = standing_[static_cast<size_t>(which)];
    const bool whole = prng.Chance(1, 2);
    *kind = whole ? "get" : "download";
    auto got = whole ? Get(StandingKey(which)) : Download(StandingKey(which), prng);
    if (got.ok() && *got != wanted) {
      tally_.Wrong(*kind + " of " + StandingKey(which) + " gave something else");
    }
    return got.status();
  }

  Result<std::string> Get(const std::string& key) {
    STOKER_ASSIGN(Object object, harmed_.Get(key));
    return std::move(object.data);
  }

  Result<std::string> Download(const std::string& key, Prng& prng) {
    STOKER_ASSIGN(const auto download, harmed_.OpenDownload(key));
    std::string out;
    std::string buffer(static_cast<size_t>(prng.Between(1, 1 << 20)), '\0');
    while (true) {
      STOKER_ASSIGN(const int64_t got,
                    download->Read(buffer.data(), static_cast<int64_t>(buffer.size())));
      if (got == 0) return out;
      out.append(buffer, 0, static_cast<size_t>(got));
    }
  }

  // Adds a line to an object that all threads add lines to.
  Status Swap(int number, Prng& prng, std::string* kind) {
    *kind = "compare and swap";
    const int which = static_cast<int>(prng.Below(kCounters));
    const std::string key = CounterKey(which);
    for (int time = 0; time < 50; ++time) {
      STOKER_ASSIGN(const Object before, harmed_.Get(key));
      const std::string nonce = std::to_string(number) + "." + std::to_string(time);
      const auto put =
          harmed_.Put(key, before.data + nonce + "\n", Condition::Match(before.info.version));
      if (put.ok()) return Won(which, nonce);
      if (put.status().Is(Code::kConflict)) {
        const std::lock_guard lock(mutex_);
        lost_[which].push_back(nonce);
        continue;
      }
      if (!put.status().transient() && !put.status().Is(Code::kCorrupt)) return put.status();
      // It may have had its effect: what is there tells, as it tells the ledger.
      STOKER_ASSIGN(const Object after, harmed_.Get(key));
      if (after.data.find("\n" + nonce + "\n") != std::string::npos) return Won(which, nonce);
    }
    return Status(Code::kConflict, key + ": lost fifty times");
  }

  Status Won(int which, const std::string& nonce) {
    const std::lock_guard lock(mutex_);
    won_[which].push_back(nonce);
    return Status::Ok();
  }

  ObjectStore& harmed_;
  ObjectStore& direct_;
  const uint64_t seed_;
  Tally tally_;
  Trees trees_{harmed_, direct_, tally_};
  std::vector<std::string> standing_;
  std::mutex mutex_;
  std::map<int, std::vector<std::string>> won_, lost_;
};

// Of either kind of bucket.
template <typename Options>
void Harden(Options* options, uint64_t seed, int minutes) {
  const auto right = options->client.now;
  options->client.now = [right, minutes] { return right() + Duration::Minutes(minutes); };
  options->client.http.timeouts = {Duration::Seconds(3), Duration::Seconds(3),
                                   Duration::Seconds(2)};
  options->retry.first = Duration::Ms(20);
  options->retry.longest = Duration::Seconds(1);
  options->part_bytes = kPart;
  options->seed = seed;
}

using Opened = Result<std::unique_ptr<ObjectStore>>;

Opened OpenHarmed(const std::string& url, uint64_t seed, int minutes) {
  if (StartsWith(url, "gs://")) {
    STOKER_ASSIGN(GcsStoreOptions options, FindGcsOptions(url));
    Harden(&options, seed, minutes);
    options.chunk_bytes = kPart;
    STOKER_ASSIGN(auto store, GcsStore::Open(std::move(options)));
    return std::unique_ptr<ObjectStore>(std::move(store));
  }
  STOKER_ASSIGN(S3StoreOptions options, FindS3Options(url));
  Harden(&options, seed, minutes);
  STOKER_ASSIGN(auto store, S3Store::Open(std::move(options)));
  return std::unique_ptr<ObjectStore>(std::move(store));
}

Opened OpenDirect(const std::string& url, const std::string& endpoint) {
  if (StartsWith(url, "gs://")) {
    STOKER_ASSIGN(GcsStoreOptions options, FindGcsOptions(url));
    options.client.endpoint = endpoint;
    STOKER_ASSIGN(auto store, GcsStore::Open(std::move(options)));
    return std::unique_ptr<ObjectStore>(std::move(store));
  }
  STOKER_ASSIGN(S3StoreOptions options, FindS3Options(url));
  options.client.endpoint = endpoint;
  options.client.credentials = []() -> Result<AwsCredentials> {
    AwsCredentials credentials;
    credentials.access_key = Variable("STOKER_TEST_KEY");
    credentials.secret_key = Variable("STOKER_TEST_SECRET");
    return credentials;
  };
  options.client.credentials_refused = nullptr;
  options.part_bytes = kPart;
  STOKER_ASSIGN(auto store, S3Store::Open(std::move(options)));
  return std::unique_ptr<ObjectStore>(std::move(store));
}

int Main(int argc, char** argv) {
  if (argc != 7) {
    std::cerr << "transfers COUNT SEED THREADS CLOCK_MINUTES STORE_URL DIRECT_ENDPOINT\n";
    return 2;
  }
  const int count = std::atoi(argv[1]);
  const auto seed = static_cast<uint64_t>(std::atoll(argv[2]));
  const auto harmed = OpenHarmed(argv[5], seed, std::atoi(argv[4]));
  const auto direct = OpenDirect(argv[5], argv[6]);
  for (const Status& status : {harmed.status(), direct.status()}) {
    if (!status.ok()) std::cerr << status.ToString() << "\n";
    if (!status.ok()) return 2;
  }
  Trial trial(**harmed, **direct, seed);
  const Status prepared = trial.Prepare();
  if (!prepared.ok()) {
    std::cerr << "preparing: " << prepared.ToString() << "\n";
    return 2;
  }
  std::atomic<int> next = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < std::atoi(argv[3]); ++i) {
    threads.emplace_back([&] {
      for (int number = next++; number < count; number = next++) trial.Run(number);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return trial.Judge() ? 0 : 1;
}

}  // namespace
}  // namespace stoker::faults

int main(int argc, char** argv) { return stoker::faults::Main(argc, argv); }
