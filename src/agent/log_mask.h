// SPDX-License-Identifier: Apache-2.0
// Keeps secrets out of the log: each is replaced by "***" on its way to a LogSink.
#pragma once

#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "port/log_sink.h"

namespace stoker {

// Thread-safe. A secret, in each form of FormsOfSecret, is found wherever the writes cut it: the
// end of what was written that may be the beginning of one waits for what follows, each stream for
// itself, or for Flush.
class LogMask : public LogSink {
 public:
  LogMask(LogSink& sink, const std::vector<std::string>& secrets);
  void Write(LogStream stream, std::string_view bytes) override;
  // The writer has ended: what waits is passed on; as "***" when it is much of a secret.
  void Flush();
  // `text` as a whole.
  std::string Masked(std::string_view text) const;

 private:
  // Appends to `out` what is decided; returns where what must wait begins.
  size_t Mask(std::string_view text, bool last, std::string& out) const;

  LogSink& sink_;
  std::array<std::vector<std::string>, 256> forms_;  // by their first byte; the longest first
  std::mutex mutex_;
  std::array<std::string, 3> waiting_;  // of out, err and system
};

}  // namespace stoker
