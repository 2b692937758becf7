// SPDX-License-Identifier: Apache-2.0
// What everything needs that a person has done here: settings, places, the ledger. Opened when
// first asked for, so that 'stoker version' touches nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/open/caller.h"
#include "client/open/store_watch.h"
#include "controller/controller.h"
#include "ledger/ledger.h"
#include "ledger/resolve.h"
#include "port/clock.h"
#include "port/notifier.h"
#include "port/object_store.h"
#include "port/provider.h"
#include "provider/open.h"
#include "spec/settings.h"
#include "store/open.h"

namespace stoker::client {

// Folders on this machine. All follow the XDG variables.
struct Places {
  std::string config_file;  // settings
  std::string state;        // instances, binaries; default ledger below it
  std::string cache;        // virtual environments, digests
};

// Not thread-safe but for Say.
class Client {
 public:
  // `caller` must outlive it.
  explicit Client(Caller& caller);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const Places& places() const { return places_; }
  Clock& clock() { return *clock_; }
  const std::string& user() const { return user_; }
  std::string self_exe() const;
  Result<const Settings*> settings();
  // The id of the person: `me` of the settings, else what was made at first use; "" = none yet.
  std::string me();
  Result<std::string> MakeMe();
  Person person();
  Result<std::string> store_url();
  // kNotFound: a folder that is not there.
  Result<ObjectStore*> store();
  // Makes none, see client/open/open_ledger.h. kNotFound: none yet (no_store_yet), or it is gone.
  Result<Ledger*> ledger();
  Result<Ledger*> ledger_or_new();
  // The ledger was asked for, and nobody here has used that store, nor is anything in it.
  bool no_store_yet() const { return no_store_yet_; }
  Result<Provider*> provider(const std::string& name);
  // Errors: those of Providers::At, and settings that cannot be read.
  Result<Broker*> broker(const std::string& name);
  Result<std::vector<Broker*>> brokers();
  // Errors: those of Providers::Away, and settings that cannot be read.
  Result<AwayHost*> away(const std::string& name);
  Result<LocalProvider*> local_provider();
  Result<Controller*> controller();
  // JOB -> id (id, unique prefix, name, "-"); says when a name stood for several.
  Result<std::string> ResolveJob(const std::string& word, NameMeans means = NameMeans::kNewest);

  // See Caller.
  void Say(const std::string& text) { caller_.Say(text); }
  void Progress(const std::string& text) { caller_.Progress(text); }
  bool Confirm(const std::string& question) { return caller_.Confirm(question); }

 private:
  Result<Providers*> providers();
  Result<ObjectStore*> OpenTheStore(NoFolder missing);

  Caller& caller_;
  const Places places_;
  const std::unique_ptr<Clock> clock_;
  const std::string user_;
  std::optional<Settings> settings_;
  std::unique_ptr<StoreWatch> watch_;
  std::unique_ptr<ObjectStore> store_;
  bool no_store_yet_ = false;
  std::unique_ptr<Cache> cache_;  // the ledger's; null while requests are free
  std::unique_ptr<Cache> labels_cache_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<Providers> providers_;
  std::unique_ptr<Notifier> notifier_;
  std::unique_ptr<Controller> controller_;
};

}  // namespace stoker::client
