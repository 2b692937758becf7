// SPDX-License-Identifier: Apache-2.0
// The one contract of the store port, as checks that run on any adapter. A check reports what is
// wrong instead of asserting, so that the suite itself can be tested on stores that lie.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/prng.h"
#include "port/object_store.h"

namespace stoker::contract {

// What a check works on. Each check gets a fresh, empty store.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual ObjectStore& store() = 0;
  // The same store opened once more, as another process would (called after fork); null when it
  // lives in this process only: checks of several processes then do nothing and say so.
  virtual std::unique_ptr<ObjectStore> Reopen() = 0;
  // False where a key cannot be the beginning ("a") of another one's folder ("a/b").
  virtual bool shares_names() const { return true; }
  // False where a page may promise another one, which is empty then.
  virtual bool knows_the_last_page() const { return true; }
  // True where a version is that of the content (an ETag of S3 is its MD5): the same content has
  // the same one again. Whoever compares and swaps writes nothing twice.
  virtual bool versions_name_contents() const { return false; }
  // More than 0 where one caller that lists keeps all others waiting: so many writes come between
  // two of its listings.
  virtual int writes_between_listings() const { return 0; }
};

// Thread-safe list of what is wrong.
class Findings {
 public:
  Findings();
  ~Findings();
  void Add(std::string what);
  // Adds `what` unless `holds`; returns `holds`.
  bool Expect(bool holds, const std::string& what);
  bool ExpectOk(const Status& status, const std::string& what);
  bool ExpectCode(const Status& status, Code code, const std::string& what);
  std::vector<std::string> all() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct Check {
  std::string name;  // a C identifier
  bool processes;    // forks: needs Reopen
  bool many;         // writes hundreds of objects: takes long where each write is an fsync
  std::function<void(Subject&, Findings&)> run;
};

// For GoogleTest's messages: it would print the bytes.
inline void PrintTo(const Check& check, std::ostream* out) { *out << check.name; }

// One value and one caller; many threads; many processes.
std::vector<Check> BasicChecks();
std::vector<Check> ListChecks();
std::vector<Check> RaceChecks();
std::vector<Check> ProcessChecks();
std::vector<Check> AllChecks();

}  // namespace stoker::contract
