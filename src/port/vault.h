// SPDX-License-Identifier: Apache-2.0
// A cloud's own store of secrets: what lies there already is read by its name, and values of a
// submitter lie there for the life of a job, where machines read them by their own role. One
// adapter for each (vault/).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "spec/text/secret_reference.h"

namespace stoker {

// Of a value that is kept for a job.
struct SecretKey {
  std::string ledger;  // its id
  std::string job;
  std::string name;  // of the variable
};

struct KeptSecret {
  std::string id;   // as its service has it
  std::string job;  // "" = it does not say
  WallTime since;   // 0 = it does not say
  WallTime expires;
};

// Thread-safe. Each call asks again a few times what may pass. Errors: kDenied, with the right that
// lacks where the service says it; kNotFound; kNoSpace: larger than it takes; kBusy, kUnavailable,
// kTimeout: may pass; kInvalid. None has a value in it.
class Vault {
 public:
  virtual ~Vault() = default;
  // `reference.scheme` is this one's.
  virtual Result<std::string> Read(const SecretReference& reference) = 0;

  // ---- of jobs; kInvalid where it is only read ----
  // Where the value lies, or would.
  virtual SecretReference PlaceOf(const SecretKey& key) const = 0;
  // What Put would refuse of it without asking anybody: kNoSpace, kInvalid.
  virtual Status Check(const SecretKey& key, const std::string& value) const = 0;
  // May be repeated; the last value counts. `expires`: after that anybody may remove it, and the
  // service does by itself where it can.
  virtual Status Put(const SecretKey& key, const std::string& value, WallTime expires) = 0;
  // All of the ledger.
  virtual Result<std::vector<KeptSecret>> List(const std::string& ledger) = 0;
  // `id`: as KeptSecret's, and the name in PlaceOf. Ok when it is gone already.
  virtual Status Remove(const std::string& id) = 0;
};

}  // namespace stoker
