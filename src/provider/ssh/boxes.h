// SPDX-License-Identifier: Apache-2.0
// The boxes that this process has asked so far, and its connections to them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "port/clock.h"
#include "provider/ssh/box_connection.h"

namespace stoker {

// Thread-safe: one request at a time for each box, all boxes at once. A box is called by its word.
class Boxes {
 public:
  // `binary`: the stoker that they run; "" = the file of this process.
  Boxes(std::string binary, Clock& clock) : binary_(std::move(binary)), clock_(clock) {}

  // Errors: those of the connection, and what the box itself says, with `refusal` where it is one.
  Result<BoxJson> Ask(const std::string& word, const BoxJson& request,
                      std::optional<Refusal>* refusal = nullptr);
  // In the order of `words`.
  std::vector<std::pair<std::string, Result<BoxJson>>> AskAll(const std::vector<std::string>& words,
                                                              const BoxJson& request);
  Result<BoxHello> Hello(const std::string& word);
  std::vector<std::pair<std::string, Result<BoxHello>>> HelloAll(
      const std::vector<std::string>& words);

  // What the box with this id is called here: `likely`, or another of `words`. kUnavailable: none
  // that answers is that box.
  Result<std::string> WordOf(const std::string& host, const std::string& likely,
                             const std::vector<std::string>& words);
  // The id of the box, as it said it last; "" = it never answered.
  std::string KnownHost(const std::string& word);

  // Sees to it that the box has the stoker of that digest, which another version's job runs; this
  // process's own is there already. kUnavailable: `state` on this machine has no copy.
  Status Bring(const std::string& word, const std::string& digest, const std::string& state);

 private:
  struct Box {
    std::mutex mutex;
    std::unique_ptr<BoxConnection> connection;
    std::optional<BoxHello> hello;  // the last
    Status failure;                 // of the last try to connect
    MonoTime tried;
    std::map<std::string, bool> brought;  // digests
  };

  std::shared_ptr<Box> Of(const std::string& word);
  Result<BoxConnection*> Connect(const std::string& word, Box& box);
  Result<OwnBinary> Own();

  const std::string binary_;
  Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Box>> boxes_;
  std::optional<OwnBinary> own_;
};

}  // namespace stoker
