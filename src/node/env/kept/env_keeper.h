// SPDX-License-Identifier: Apache-2.0
// Brings a Python environment that was built here into the store, beside the program that runs.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "base/status.h"
#include "port/object_store.h"

namespace stoker::node {

struct KeepEnv {
  std::string folder;   // of the environment
  std::string scratch;  // a folder for one part at a time
  std::function<void(const std::string&)> say;
  std::function<bool(const std::string& text)> holds_secret;
  bool passing = false;  // the folder goes with the attempt, and no machine has another of its path
};

// Keeps what the environment's note asks for (take_env.h), parts first, the manifest last: killed
// anywhere it leaves nothing that counts. What is kept already is marked as used. Says what was
// kept; kCancelled: `stop`; kInvalid: it cannot be kept, and is not tried again.
Status KeepNotedEnv(ObjectStore& store, const KeepEnv& what, const std::function<bool()>& stop);

// What a setup has made in it since it was built belongs to it, and it can be kept from now on.
// Nothing where it was not noted, or came out of the store.
Status NoteSetupKept(const std::string& folder);

// KeepNotedEnv in a thread of its own that yields to all others. Start once; Stop may be called by
// any thread at any time, and waits for nothing; the destructor waits for the request under way.
class EnvKeeper {
 public:
  ~EnvKeeper();
  // The store must outlive it.
  void Start(ObjectStore& store, KeepEnv what);
  void Stop() { stopped_ = true; }

 private:
  std::atomic<bool> stopped_{false};
  std::thread thread_;
};

}  // namespace stoker::node
