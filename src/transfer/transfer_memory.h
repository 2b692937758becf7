// SPDX-License-Identifier: Apache-2.0
// What a transfer remembers of its files while it runs, and for the one after it.
#pragma once

#include <string>

#include "base/status.h"
#include "port/object_info.h"

namespace stoker {

// Thread-safe. A failure to note something fails the file.
class TransferMemory {
 public:
  virtual ~TransferMemory() = default;
  // The upload of this version of `key` that was begun; "" = none.
  virtual std::string Begun(const std::string& key, const Version& source) const = 0;
  virtual Status NoteBegun(const std::string& key, const Version& source,
                           const std::string& id) = 0;
  // `key` is there: called once for each file that arrived, by the worker that ended it.
  virtual Status NoteSame(const std::string& key, const Version& source, const Version& target) = 0;
  // False: nobody goes on with an upload that failed. What was written of it is taken back.
  virtual bool lasts() const = 0;
};

}  // namespace stoker
