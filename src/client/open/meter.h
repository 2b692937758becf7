// SPDX-License-Identifier: Apache-2.0
// Progress of long transfers: how much, how fast, how long still.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "client/open/client.h"
#include "port/checkpoint_files.h"

namespace stoker::client {

// Draws on a terminal only, at most ten times a second, and nothing in the first half second: what
// is short needs no progress. Not thread-safe.
class Meter {
 public:
  // `total` in bytes; 0 = not known.
  Meter(Client& client, std::string what, int64_t total);
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;
  void At(int64_t done);
  void Add(int64_t bytes) { At(done_ + bytes); }

 private:
  Client& client_;
  const std::string what_;
  const int64_t total_;
  int64_t done_ = 0;
  MonoTime begun_;
  MonoTime drawn_;
};

// `writer`, with every byte counted by `meter`, one thread at a time. Both must outlive the result.
std::unique_ptr<DirectoryWriter> Metered(DirectoryWriter& writer, Meter& meter);

}  // namespace stoker::client
