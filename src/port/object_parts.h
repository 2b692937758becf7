// SPDX-License-Identifier: Apache-2.0
// Objects as the transfer engine moves them: read in ranges and written in parts, by several
// threads at once, and gone on with by another process when this one dies.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "port/object_info.h"

namespace stoker {

// Takes the next bytes; they are gone when it returns.
using TakeBytes = std::function<Status(std::string_view bytes)>;

// What was read or written of one part.
struct PartSum {
  int64_t size = 0;
  std::optional<uint32_t> crc32c;  // unset: nobody looked
};

// One version of an object, for reading. Read is thread-safe where `ranged` says so.
class ObjectReader {
 public:
  virtual ~ObjectReader() = default;
  virtual const ObjectInfo& info() const = 0;
  // True: any range costs the same, and several may be read at once. False: reading anywhere but
  // behind the last Read costs as much as reading all that lies before it.
  virtual bool ranged() const = 0;
  // All of [offset, offset + size), in order. Each byte is given once, whatever had to be asked for
  // again. kConflict: the object is another by now; kCorrupt: it is not what its checksum says.
  virtual Status Read(int64_t offset, int64_t size, const TakeBytes& take) = 0;
  // Whose bytes are the object's; stays the reader's. -1 = there is none.
  virtual int fd() const { return -1; }
  // Whether its owner may run it. Asks the store only where nothing was read yet that told it.
  virtual Result<bool> Executable() { return info().executable; }
  // After all was read: that it was this one version, whole. `parts` are the object's pieces in
  // order, as they were read. kConflict: it changed meanwhile; kCorrupt: what was read does not
  // have the checksum that the store knows. Ok also where nothing is known.
  virtual Status Confirm(const std::vector<PartSum>& parts) = 0;
};

// One object being written in parts, in any order. Nothing is visible before Commit returned ok.
// Destroying it without Commit or Abort leaves what was written to whoever resumes it.
class PartsUpload {
 public:
  virtual ~PartsUpload() = default;
  // What another process needs to go on with it; "" = it cannot be.
  virtual const std::string& id() const = 0;
  // Of every part but the last, which is smaller. Parts are numbered from 0.
  virtual int64_t part_size() const = 0;
  // Those that were written before this was opened.
  virtual const std::map<int, PartSum>& done() const = 0;
  // Several parts may be written at once. False: one after the other, in order.
  virtual bool parallel() const = 0;
  // How many bytes of memory WritePart holds at most.
  virtual int64_t memory(const ObjectReader& from) const = 0;
  // Bytes [n * part_size, …) of `from` become part `n`. Again for the same part is fine.
  virtual Result<PartSum> WritePart(int n, ObjectReader& from) = 0;
  // All parts must be there. kExists / kConflict when the condition does not hold.
  virtual Result<ObjectInfo> Commit() = 0;
  // Takes back what was written.
  virtual void Abort() = 0;
};

}  // namespace stoker
