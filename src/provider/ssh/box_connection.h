// SPDX-License-Identifier: Apache-2.0
// One connection to a box: the system's ssh as a child, and `stoker __box` at its other end.
#pragma once

#include <sys/types.h>

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/status.h"
#include "port/clock.h"
#include "provider/ssh/box_words.h"
#include "provider/ssh/ssh_command.h"
#include "sys/file.h"

namespace stoker {

// The stoker that is to run on boxes: the file of this process.
struct OwnBinary {
  std::string path;
  BoxBinary what;
  std::string machine;  // as uname -m says it
};
Result<OwnBinary> ReadOwnBinary(const std::string& path);

// Not thread-safe.
class BoxConnection {
 public:
  // Connects, brings the binary where it is missing, and learns who the box is. kUnavailable,
  // kTimeout: it does not answer, in the words of ssh. kInvalid: no stoker of this kind runs there.
  static Result<std::unique_ptr<BoxConnection>> Open(const std::string& word,
                                                     const OwnBinary& binary, Clock& clock);
  // Ends it; what was started on the box goes on.
  ~BoxConnection();
  BoxConnection(const BoxConnection&) = delete;

  const BoxHello& hello() const { return hello_; }
  // The answer, which may tell a failure: FailureOf. kUnavailable and kTimeout: none came, it may
  // have taken effect, and the connection is over.
  Result<BoxJson> Ask(const BoxJson& request);

 private:
  BoxConnection(std::string word, Clock& clock) : word_(std::move(word)), clock_(clock) {}
  Status Start(const OwnBinary& binary);
  Status Greet(const OwnBinary& binary);
  Status Send(std::string_view bytes, MonoTime until);
  Result<std::string> NextLine(MonoTime until);
  Status Broken(const Status& how);
  void EndSsh(int64_t patience_ms);

  const std::string word_;
  Clock& clock_;
  pid_t ssh_ = -1;
  sys::ScopedFd line_;    // both ways
  sys::ScopedFd errors_;  // what ssh said
  std::string buffer_;
  BoxHello hello_;
};

}  // namespace stoker
