// SPDX-License-Identifier: Apache-2.0
// Machines on boxes that ssh reaches: a pool is a list of hosts, and on each of them the machines
// are those of provider/local, made and looked after by `stoker __box` there. All who use a pool
// share each box's line. Which box a request went to stands in the store (box_notes.h).
//
// An instance is "<host for ssh>/<its id on the box>". A box that does not answer says nothing: its
// machines are listed as Queued, which is what is given up by nobody, with the reason.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "port/clock.h"
#include "port/object_store.h"
#include "port/place_info.h"
#include "port/provider.h"
#include "provider/ssh/box_words.h"

namespace stoker {

inline constexpr char kSshProvider[] = "ssh";

struct SshOptions {
  std::map<std::string, std::vector<std::string>> pools;  // hosts for ssh, by the pool's name
  std::string state_dir;  // of this machine: what is private to jobs, and other stokers' binaries
  std::string binary;     // that boxes run; "" = the file of this process
  // The ledger's; asked for when it is first needed, and kept.
  std::function<Result<ObjectStore*>()> store;
};

// What one box of a pool says of itself.
struct BoxSeen {
  std::string word;
  Status status;  // why it cannot be used
  BoxHello hello;
};

class SshProvider : public Provider {
 public:
  // As Broker::Places: each box of each pool.
  virtual Result<std::vector<PlaceInfo>> Places() = 0;
  // All at once, in the pool's order. kDenied: there is no such pool in the settings here.
  virtual Result<std::vector<BoxSeen>> Ask(const std::string& pool) = 0;
  // By which engines containers begin on each box, for people; "" = an older stoker answered.
  virtual Result<std::vector<std::pair<std::string, Result<std::string>>>> Engines(
      const std::string& pool) = 0;
  // What would become of a machine now, box by box: a failure for one that does not answer.
  virtual Result<std::vector<std::pair<std::string, Result<BoxProspect>>>> Prospects(
      const LaunchRequest& request) = 0;
  // Of each box of all pools: clears away what is left of machines that are over, or with `dry_run`
  // only counts. Ids, or why it does not answer.
  virtual std::vector<std::pair<std::string, Result<std::vector<std::string>>>> Sweep(
      bool dry_run) = 0;
  // Takes away, on each box that the job has been on and that answers, what is private to it. What
  // stays on others goes when somebody next asks them for machines.
  virtual void Forget(const std::string& ledger_id, const std::string& job) = 0;
  // For the shell of the box that `instance` is on: a shell in its container, or `command` there.
  virtual Result<std::string> Inside(const std::string& instance, const std::string& command,
                                     bool terminal) = 0;
  // Whether the store keeps its promises between this machine and the box: box_store.h. `key` is
  // used once, below "probe/".
  virtual Status Meet(const std::string& box, const std::string& ledger_id,
                      const std::string& key) = 0;
};

// Thread-safe. A box is connected to when it is first asked, and the connection is kept. One that
// did not answer is not tried again for some seconds.
std::unique_ptr<SshProvider> MakeSshProvider(SshOptions options, Clock& clock);

// In `options` of a request: who submitted the job keeps secrets or variables for it
// (provider/local/local_private.h), and only where those are can machines for it be asked for.
inline constexpr char kHasPrivate[] = "private=1";

}  // namespace stoker
