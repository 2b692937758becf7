// SPDX-License-Identifier: Apache-2.0
// The metadata server that Google has for each VM. Source: "About VM metadata", "View and query VM
// metadata" (Compute Engine documentation).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/time.h"

namespace stoker {

struct GceValue {
  std::string text;
  std::string etag;  // of this state of it
};

// Thread-safe. Errors: kUnavailable (503 in a maintenance of the server, too), kTimeout; kNotFound:
// there is no such key; kCorrupt: it answers what it should not, or is not Google's.
class GceMetadata {
 public:
  virtual ~GceMetadata() = default;
  // "instance/name".
  virtual Result<std::string> Get(const std::string& key) = 0;
  // Waits until the value is not that of `etag` any more ("" = for nothing), or `longest` is over,
  // which is an answer, too.
  virtual Result<GceValue> Await(const std::string& key, const std::string& etag,
                                 Duration longest) = 0;
};

// `endpoint`: "http://169.254.169.254". kInvalid: no such address.
Result<std::unique_ptr<GceMetadata>> MakeGceMetadata(const std::string& endpoint);

// Where it is: GCE_METADATA_HOST, as Google's clients have it, else its number.
std::string GceMetadataEndpoint();

}  // namespace stoker
