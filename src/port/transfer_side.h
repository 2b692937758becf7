// SPDX-License-Identifier: Apache-2.0
// The ends of a transfer: a bucket below a prefix, a folder of plain files, or whatever else can be
// read or written as objects.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "port/object_parts.h"

namespace stoker {

// Where a transfer reads. All calls are thread-safe and block.
class TransferSource {
 public:
  virtual ~TransferSource() = default;
  virtual Result<std::unique_ptr<ObjectReader>> OpenReader(const ObjectInfo& info) = 0;
  // How often it was asked to slow down so far.
  virtual int64_t throttled() const { return 0; }
};

// Where a transfer writes. All calls are thread-safe and block.
class TransferTarget {
 public:
  virtual ~TransferTarget() = default;
  // Larger ones are written with BeginParts; what PutFrom may be asked to take at once.
  virtual int64_t whole_bytes() const = 0;
  // Replaces what is there; atomic. As those of ObjectStore.
  virtual Result<ObjectInfo> PutFrom(const std::string& key, ObjectReader& from) = 0;
  // How many bytes of memory PutFrom holds at most.
  virtual int64_t memory(const ObjectReader& from) const = 0;
  // As large as `from`, with its time where times are kept.
  virtual Result<std::unique_ptr<PartsUpload>> BeginParts(const std::string& key,
                                                          const ObjectInfo& from,
                                                          const std::string& resume) = 0;
  // Whether the owner of the file may run it; true: that was otherwise before. Of targets that keep
  // it beside the bytes; others change nothing.
  virtual Result<bool> SetExecutable(const std::string& key, bool executable) {
    (void)key;
    (void)executable;
    return false;
  }
  // From here on what stands where a copy must come, a file for a folder or the other way round, is
  // set aside if `may` says so of its key.
  virtual void LetReplace(std::function<bool(const std::string& key)> may) { (void)may; }
  // Once all is written: what was set aside is removed where `copied` says that all at its key and
  // below is there, and has its name back otherwise. `removed` becomes the keys of what is gone.
  virtual std::vector<OddKey> EndReplacing(
      const std::function<bool(const std::string& key)>& copied,
      std::vector<std::string>* removed) {
    (void)copied;
    (void)removed;
    return {};
  }
  // How often it was asked to slow down so far.
  virtual int64_t throttled() const { return 0; }
};

// One end of a sync, which may be either. Keys are relative and '/'-separated.
class TransferSide : public TransferSource, public TransferTarget {
 public:
  // "s3://bucket/prefix", "/path": for people, and the same for every process.
  virtual std::string url() const = 0;
  // All there is, in any order. `odd` hears of what cannot be transferred, and why; it does not
  // stop the listing. `now` becomes the time at its end, by the clock that stamps last_modified.
  virtual Status List(const std::function<void(ObjectInfo)>& each,
                      const std::function<void(std::string key, Status why)>& odd,
                      WallTime* now) = 0;
  // True: what is written here keeps the time of its source as last_modified.
  virtual bool keeps_times() const = 0;
  // As ObjectStore's.
  [[nodiscard]] virtual std::vector<OddKey> DeleteAll(const std::vector<std::string>& keys) = 0;
  // What was written so far survives a power cut. Larger files than whole_bytes() do from the
  // moment on at which they have their names, also where this was never called.
  virtual Status Settle() { return Status::Ok(); }
  int64_t throttled() const override { return 0; }
};

// Several at work on one thing.
class Crew {
 public:
  virtual ~Crew() = default;
  // Calls work(0) … work(workers - 1), at the same time, and returns when all have returned. The
  // first is called on the caller's own thread.
  virtual void Work(int workers, const std::function<void(int worker)>& work) = 0;
};

// The caller and nobody else: where there must be no threads, and where they are not worth it.
class Alone : public Crew {
 public:
  void Work(int workers, const std::function<void(int worker)>& work) override {
    if (workers > 0) work(0);
  }
};

// What survives this process: lines, in the order in which they were added.
class Journal {
 public:
  virtual ~Journal() = default;
  virtual Result<std::vector<std::string>> Lines() = 0;
  // One line, without its end; after a crash of this process it is there whole or not at all, but
  // the last may be torn after a power cut. Thread-safe.
  virtual Status Add(const std::string& line) = 0;
  // What was added so far survives a power cut.
  virtual Status Settle() = 0;
  // All lines anew; atomic.
  virtual Status Replace(const std::vector<std::string>& lines) = 0;
};

}  // namespace stoker
