// SPDX-License-Identifier: Apache-2.0
// What every verb needs: settings, places, the ledger, the terminal. Opened when first asked for,
// so that 'stoker version' touches nothing.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/status.h"
#include "cli/store_watch.h"
#include "controller/controller.h"
#include "ledger/ledger.h"
#include "ledger/resolve.h"
#include "port/clock.h"
#include "port/object_store.h"
#include "port/provider.h"
#include "provider/open.h"
#include "spec/settings.h"
#include "store/open.h"

namespace stoker::cli {

// Folders on this machine. All follow the XDG variables.
struct Places {
  std::string config_file;  // settings
  std::string state;        // instances, binaries; default ledger below it
  std::string cache;        // virtual environments, digests
};
Places FindPlaces();

// Not thread-safe except where said.
// Whoever reads standard error reads standard output in between.
bool OutIsErr();

class Context {
 public:
  Context();
  ~Context();

  // ---- set by the parser ----
  bool json = false;
  bool has_command = false;
  std::vector<std::string> command;  // the words after "--"
  std::vector<std::string> given;    // names of options in the order in which they were written
  int exit_code = 0;

  // ---- places and parts ----
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
  // Makes none, see cli/open_ledger.h. kNotFound: none yet (no_store_yet), or it is gone.
  Result<Ledger*> ledger();
  Result<Ledger*> ledger_or_new();
  // The ledger was asked for, and nobody here has used that store, nor is anything in it.
  bool no_store_yet() const { return no_store_yet_; }
  Result<Provider*> provider(const std::string& name);
  // Errors: those of Providers::At, and settings that cannot be read.
  Result<Broker*> broker(const std::string& name);
  Result<std::vector<Broker*>> brokers();
  Result<LocalProvider*> local_provider();
  Result<Controller*> controller();
  // JOB -> id (id, unique prefix, name, "-"); says on stderr when a name stood for several.
  Result<std::string> ResolveJob(const std::string& word, NameMeans means = NameMeans::kNewest);

  // ---- the terminal ----
  bool color() const { return color_; }
  bool out_is_terminal() const { return out_terminal_; }
  // Columns of the terminal that standard output is; what is no terminal has no end.
  size_t out_width() const;
  bool err_is_terminal() const { return err_terminal_; }
  // To standard output, whole; a reader that went away ends the process quietly.
  void Print(std::string_view text);
  // A remark to standard error; silent with --json. Safe from any thread.
  void Say(const std::string& text);
  // The same without a mark in front: several lines that stand for themselves.
  void SayPlain(const std::string& text);
  // The last byte of programs' output that went to standard output past Print ended its line, or
  // did not: then a remark on the same terminal begins a new one.
  void set_line_open(bool open) { line_open_ = open; }
  bool line_open() const { return line_open_; }
  // A line that is overwritten by the next: progress. Only on a terminal.
  void Progress(const std::string& text);
  void PrintError(const Status& status);
  // `text` in bold, dim, red … where colours are on.
  std::string Style(std::string_view code, std::string_view text) const;

 private:
  std::mutex terminal_;  // of threads, too, that end with `watch_`
  Places places_;
  std::unique_ptr<Clock> clock_;
  std::string user_;
  std::optional<Settings> settings_;
  std::unique_ptr<StoreWatch> watch_;
  std::unique_ptr<ObjectStore> store_;
  bool no_store_yet_ = false;
  std::unique_ptr<Cache> cache_;  // the ledger's; null while requests are free
  std::unique_ptr<Cache> labels_cache_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<Providers> providers_;
  std::unique_ptr<Controller> controller_;
  bool color_ = false;
  bool out_terminal_ = false;
  bool err_terminal_ = false;
  bool progress_shown_ = false;
  std::atomic<bool> line_open_ = false;
  Result<Providers*> providers();
  Result<ObjectStore*> OpenTheStore(NoFolder missing);
  std::string CloseLine();  // by whoever has terminal_
};

}  // namespace stoker::cli
