// SPDX-License-Identifier: Apache-2.0
// The contract for many threads, and for many processes some of which are killed.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "test/contract/object_store_suite.h"

namespace stoker::contract {
namespace {

// Adds one to the number in `key`, however often it loses. False when the store failed otherwise.
bool Increment(ObjectStore& store, const std::string& key, std::string* error) {
  for (int tries = 0; tries < 100'000; ++tries) {
    const auto object = store.Get(key);
    if (!object.ok()) {
      *error = object.status().ToString();
      return false;
    }
    const int64_t value = std::strtoll(object->data.c_str(), nullptr, 10);
    const auto put =
        store.Put(key, std::to_string(value + 1), Condition::Match(object->info.version));
    if (put.ok()) return true;
    if (!put.status().Is(Code::kConflict)) {
      *error = put.status().ToString();
      return false;
    }
  }
  *error = "lost every one of 100,000 races";
  return false;
}

int64_t Value(ObjectStore& store, const std::string& key) {
  const auto object = store.Get(key);
  return object.ok() ? std::strtoll(object->data.c_str(), nullptr, 10) : -1;
}

template <typename Body>
void InThreads(int count, Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

void ThreadsIncrement(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  f.ExpectOk(store.Put("n/x", "0", Condition::Absent()).status(), "create");
  InThreads(16, [&](int) {
    std::string error;
    for (int i = 0; i < 15; ++i) {
      if (!f.Expect(Increment(store, "n/x", &error), "increment: " + error)) return;
    }
  });
  f.Expect(Value(store, "n/x") == 240,
           "240 increments give " + std::to_string(Value(store, "n/x")));
}

void ThreadsCreateOnce(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  std::vector<std::atomic<int>> winners(30);
  std::vector<std::atomic<int>> who(30);
  InThreads(16, [&](int me) {
    for (size_t key = 0; key < winners.size(); ++key) {
      const auto put =
          store.Put("c/" + std::to_string(key), std::to_string(me), Condition::Absent());
      if (put.ok()) {
        ++winners[key];
        who[key] = me;
      } else {
        f.ExpectCode(put.status(), Code::kExists, "a lost create");
      }
    }
  });
  for (size_t key = 0; key < winners.size(); ++key) {
    f.Expect(winners[key] == 1, std::to_string(winners[key]) + " winners of one create");
    f.Expect(Value(store, "c/" + std::to_string(key)) == who[key],
             "the winner's data is not there");
  }
}

// Different lengths and one letter each: a mix of two shows.
std::string OnePiece(uint64_t draw) {
  return std::string(1 + draw % 100'000, static_cast<char>('a' + draw % 26));
}
bool IsOnePiece(const std::string& data) {
  return !data.empty() && std::count(data.begin(), data.end(), data[0]) == std::ssize(data);
}

void ReadersSeeWholes(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  f.ExpectOk(store.Put("t/any", "a").status(), "put");
  f.ExpectOk(store.Put("t/swap", "a").status(), "put");
  std::atomic<bool> stop = false;
  std::atomic<int> writers = 2;
  InThreads(5, [&](int me) {
    Prng prng(static_cast<uint64_t>(me));
    if (me < 2) {
      for (int i = 0; i < 150; ++i) {
        if (me == 0) {
          f.ExpectOk(store.Put("t/any", OnePiece(prng.Next())).status(), "put");
          continue;
        }
        const auto head = store.Head("t/swap");
        if (!f.ExpectOk(head.status(), "head")) continue;
        f.ExpectOk(
            store.Put("t/swap", OnePiece(prng.Next()), Condition::Match(head->version)).status(),
            "match by the only writer");
      }
      if (--writers == 0) stop = true;
      return;
    }
    while (!stop) {
      for (const char* key : {"t/any", "t/swap"}) {
        const auto object = store.Get(key);
        if (!f.ExpectOk(object.status(), std::string("get ") + key)) return;
        f.Expect(IsOnePiece(object->data), std::string(key) + " is torn");
        f.Expect(object->info.size == static_cast<int64_t>(object->data.size()), "wrong size");
      }
    }
  });
}

void ValuesNeverGoBack(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  f.ExpectOk(store.Put("m/x", "0").status(), "put");
  std::atomic<int> writers = 2;
  InThreads(5, [&](int me) {
    std::string error;
    if (me < 2) {
      for (int i = 0; i < 100; ++i) f.Expect(Increment(store, "m/x", &error), error);
      --writers;
      return;
    }
    int64_t last = 0;
    while (writers > 0) {
      const int64_t now = Value(store, "m/x");
      if (!f.Expect(now >= last, std::to_string(last) + " was read before " + std::to_string(now)))
        return;
      last = now;
    }
  });
  f.Expect(Value(store, "m/x") == 200, "increments are lost");
}

// Counts writes, for those who list between them.
class Writes {
 public:
  explicit Writes(int writers) : writers_(writers) {}
  void Wrote() {
    ++count_;
    count_.notify_all();
  }
  void WriterEnded() {
    --writers_;
    Wrote();
  }
  bool ended() const { return writers_ == 0; }
  // Until there are `more` of them, or there will be none.
  void Await(int more) const {
    const int from = count_;
    for (int now = from; now < from + more && !ended(); now = count_) count_.wait(now);
  }

 private:
  std::atomic<int> count_ = 0;
  std::atomic<int> writers_;
};

// What is there throughout is listed exactly once in every listing, whatever goes on around it.
void ListsWhileWriting(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  std::set<std::string> stays;
  for (int i = 0; i < 300; ++i) {
    stays.insert("l/stays-" + std::to_string(i));
  }
  for (const std::string& key : stays) f.ExpectOk(store.Put(key, "0").status(), "put");
  Writes writes(2);
  InThreads(4, [&](int me) {
    std::string error;
    if (me == 0) {
      // Turns every one into its other form while it is listed.
      for (const std::string& key : stays) {
        f.Expect(Increment(store, key, &error), error);
        writes.Wrote();
      }
    } else if (me == 1) {
      for (int i = 0; i < 300; ++i) {
        const std::string key = "l/comes-" + std::to_string(i % 40);
        f.ExpectOk(store.Put(key, "x").status(), "put");
        f.ExpectOk(store.Delete(key), "delete");
        writes.Wrote();
      }
    }
    if (me < 2) return writes.WriterEnded();
    while (!writes.ended()) {
      std::vector<std::string> got;
      const Status listed = ListAll(store, "l/", [&](const ObjectInfo& info) {
        got.push_back(info.key);
        return Status::Ok();
      });
      if (!f.ExpectOk(listed, "list")) return;
      f.Expect(std::is_sorted(got.begin(), got.end()), "a listing is out of order");
      f.Expect(std::adjacent_find(got.begin(), got.end()) == got.end(), "a key is listed twice");
      const auto kept = std::count_if(got.begin(), got.end(),
                                      [&](const std::string& key) { return stays.count(key) > 0; });
      f.Expect(kept == 300, std::to_string(300 - kept) + " objects are missing in a listing");
      writes.Await(subject.writes_between_listings());
    }
  });
}

// A write without a condition that was confirmed is not undone by compare-and-swap writers.
void MixedWritersLoseNothing(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  for (int round = 0; round < 40; ++round) {
    const std::string key = "x/" + std::to_string(round);
    f.ExpectOk(store.Put(key, "0").status(), "put");
    std::atomic<int> swapped = 0;
    InThreads(4, [&](int me) {
      if (me == 0) {
        f.ExpectOk(store.Put(key, "1000").status(), "unconditional");
        return;
      }
      const auto object = store.Get(key);
      if (!f.ExpectOk(object.status(), "get")) return;
      const int64_t value = std::strtoll(object->data.c_str(), nullptr, 10);
      const auto put =
          store.Put(key, std::to_string(value + 1), Condition::Match(object->info.version));
      if (put.ok())
        ++swapped;
      else
        f.ExpectCode(put.status(), Code::kConflict, "a lost match");
    });
    const int64_t value = Value(store, key);
    f.Expect(value >= 1000 && value <= 1000 + swapped, "the end is " + std::to_string(value));
  }
}

// --- processes -----------------------------------------------------------------------------------

// Runs `body` in a child with its own store; it returns the exit status.
template <typename Body>
pid_t Child(Subject& subject, Body body) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  const auto store = subject.Reopen();
  _exit(store == nullptr ? 99 : body(*store));
}

int StatusOf(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

void ProcessesIncrement(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  f.ExpectOk(store.Put("n/x", "0", Condition::Absent()).status(), "create");
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i) {
    children.push_back(Child(subject, [](ObjectStore& mine) {
      std::string error;
      for (int n = 0; n < 20; ++n) {
        if (!Increment(mine, "n/x", &error)) return 1;
      }
      return 0;
    }));
  }
  for (const pid_t child : children) f.Expect(StatusOf(child) == 0, "a process failed");
  f.Expect(Value(store, "n/x") == 320,
           "320 increments give " + std::to_string(Value(store, "n/x")));
}

void ProcessesCreateOnce(Subject& subject, Findings& f) {
  constexpr int kKeys = 40;
  std::vector<pid_t> children;
  for (int me = 0; me < 8; ++me) {
    children.push_back(Child(subject, [me](ObjectStore& mine) {
      int won = 0;
      for (int key = 0; key < kKeys; ++key) {
        const auto put =
            mine.Put("c/" + std::to_string(key), std::to_string(me), Condition::Absent());
        if (put.ok())
          ++won;
        else if (!put.status().Is(Code::kExists))
          return 99;
      }
      return won;
    }));
  }
  std::map<int64_t, int> won;
  int total = 0;
  for (size_t me = 0; me < children.size(); ++me) {
    const int status = StatusOf(children[me]);
    f.Expect(WIFEXITED(status) && WEXITSTATUS(status) <= kKeys, "a process failed");
    won[static_cast<int64_t>(me)] = WEXITSTATUS(status);
    total += WEXITSTATUS(status);
  }
  f.Expect(total == kKeys, std::to_string(total) + " winners of 40 creates");
  for (int key = 0; key < kKeys; ++key) --won[Value(subject.store(), "c/" + std::to_string(key))];
  for (const auto& [me, rest] : won) f.Expect(rest == 0, "an object is not its winner's");
}

// Writers die at any instruction. What they confirmed stays; what they did not confirm is there
// wholly or not at all; the store goes on as if nothing had happened.
void KilledWriters(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  f.ExpectOk(store.Put("n/x", "0").status(), "put");
  f.ExpectOk(store.Put("t/x", "a").status(), "put");
  Prng prng(4);
  int64_t confirmed = 0;
  int64_t killed = 0;
  int64_t last = 0;
  for (int round = 0; round < 30; ++round) {
    int pipe_ends[2];
    if (!f.Expect(pipe(pipe_ends) == 0, "pipe")) return;
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      children.push_back(Child(subject, [&](ObjectStore& mine) {
        Prng draws(static_cast<uint64_t>(getpid()));
        std::string error;
        while (true) {
          if (!Increment(mine, "n/x", &error) || write(pipe_ends[1], "+", 1) != 1) return 1;
          if (!mine.Put("t/x", OnePiece(draws.Next())).ok()) return 2;
          const std::string key = "k/" + draws.Base32(1);
          (void)mine.Put(key, OnePiece(draws.Next()), Condition::Absent());
          if (draws.Chance(1, 4)) (void)mine.Delete(key);
        }
      }));
    }
    close(pipe_ends[1]);
    for (const pid_t child : children) {
      usleep(static_cast<useconds_t>(prng.Below(8000)));
      kill(child, SIGKILL);
    }
    for (const pid_t child : children) {
      const int status = StatusOf(child);
      f.Expect(WIFSIGNALED(status), "a writer failed with " + std::to_string(WEXITSTATUS(status)));
    }
    killed += static_cast<int64_t>(children.size());
    char plus[4096];
    for (ssize_t got; (got = read(pipe_ends[0], plus, sizeof plus)) > 0;) confirmed += got;
    close(pipe_ends[0]);

    const int64_t value = Value(store, "n/x");
    f.Expect(value >= confirmed,
             "confirmed " + std::to_string(confirmed) + ", but there is " + std::to_string(value));
    f.Expect(value <= confirmed + killed, "more than was ever written");
    f.Expect(value >= last, "a value went back");
    last = value;
    std::string error;
    f.Expect(Increment(store, "n/x", &error), "the store is stuck: " + error);
    ++confirmed;
    ++last;
    const auto listed = ListAll(store, "", [&](const ObjectInfo& info) {
      const auto object = store.Get(info.key);
      f.ExpectOk(object.status(), "get what is listed");
      if (object.ok() && info.key != "n/x")
        f.Expect(IsOnePiece(object->data), info.key + " is torn");
      return Status::Ok();
    });
    f.ExpectOk(listed, "list");
  }
}

}  // namespace

std::vector<Check> RaceChecks() {
  return {{"ThreadsIncrement", false, false, ThreadsIncrement},
          {"ThreadsCreateOnce", false, false, ThreadsCreateOnce},
          {"ReadersSeeWholes", false, false, ReadersSeeWholes},
          {"ValuesNeverGoBack", false, false, ValuesNeverGoBack},
          {"ListsWhileWriting", false, true, ListsWhileWriting},
          {"MixedWritersLoseNothing", false, false, MixedWritersLoseNothing}};
}

std::vector<Check> ProcessChecks() {
  return {{"ProcessesIncrement", true, false, ProcessesIncrement},
          {"ProcessesCreateOnce", true, false, ProcessesCreateOnce},
          {"KilledWriters", true, false, KilledWriters}};
}

}  // namespace stoker::contract
