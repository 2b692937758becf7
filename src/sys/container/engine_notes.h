// SPDX-License-Identifier: Apache-2.0
// What earlier containers have shown of this machine's engines and their images, so that the next
// one begins without asking for it: each question is a start of the engine's client. In the folder
// "engines" of a state folder, a file for each engine.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "container/engine_argv.h"
#include "sys/container/engine_images.h"

namespace stoker {

// A note holds for the same client, with the same settings; a daemon's also for the same socket.
// Whatever cannot be read is not known. Any process may write at any time: the last one counts.
class EngineNotes {
 public:
  explicit EngineNotes(const std::string& state_dir) : folder_(state_dir + "/engines") {}

  // That jobs have containers of it: SweepContainers and EnterWords ask no others. Engines without
  // books are not noted.
  Status Note(const EngineFacts& engine) const;
  bool Has(const EngineFacts& engine) const;
  bool HasAny() const;

  // The one that ChooseEngine(wanted) would choose, without asking it. Nullopt: it has to be asked.
  // It may not answer, or be no longer as it was: beginning a container shows that.
  std::optional<EngineFacts> Engine(const std::string& wanted) const;

  // As LookForImage, without asking podman again as long as its images are the same. What is found
  // is noted with the engine, where that is.
  Result<std::optional<ImageHere>> Look(const EngineFacts& engine, const std::string& image,
                                        const sys::Stopped& stopped = {}) const;
  // What `image`, which stands for one content alone, was when it was looked for; it may be gone.
  std::optional<ImageHere> Recall(const EngineFacts& engine, const std::string& image) const;

 private:
  const std::string folder_;
};

// Once nothing of the machine `owner` runs any more: has the engines that are known here forget its
// containers, which its agent had no time for; asks none where it had. Errors: SweepContainers
// finds them.
Status ForgetContainers(const std::string& state_dir, const std::string& owner, int64_t within_ms);

// Where podman keeps the container of the process `pid`, and images beside it, as its root is
// mounted; "" = not to be seen, or kept otherwise.
std::string StoreOf(pid_t pid);

}  // namespace stoker
