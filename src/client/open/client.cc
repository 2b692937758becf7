// SPDX-License-Identifier: Apache-2.0
#include "client/open/client.h"

#include <unistd.h>

#include <cstdlib>

#include "base/text.h"
#include "client/open/late_cancel.h"
#include "client/open/open_ledger.h"
#include "client/open/settings_notes.h"
#include "notify/http_notifier.h"
#include "provider/job_secrets.h"
#include "provider/registry.h"
#include "store/open.h"
#include "sys/file.h"
#include "sys/folder_cache.h"
#include "sys/real_clock.h"

namespace stoker::client {
namespace {

// So long a store may be silent before its user hears of it.
constexpr Duration kStorePatience = Duration::Seconds(2);

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string XdgFolder(const char* variable, const std::string& fallback) {
  const std::string given = FromEnvironment(variable);
  return (!given.empty() && given[0] == '/' ? given : sys::HomeDir() + fallback) + "/stoker";
}

std::string UserName() {
  for (const char* name : {"USER", "LOGNAME"}) {
    const std::string user = FromEnvironment(name);
    if (IsSafeName(user)) return user;
  }
  // No name service is asked: a static binary cannot load one.
  const std::string uid = std::to_string(::getuid());
  const auto passwd = sys::ReadFile("/etc/passwd", 4 << 20);
  for (const std::string& line : Split(passwd.ok() ? *passwd : "", '\n')) {
    const std::vector<std::string> fields = Split(line, ':');
    if (fields.size() > 2 && fields[2] == uid && IsSafeName(fields[0])) return fields[0];
  }
  return "uid" + uid;
}

Places FindPlaces() {
  return {XdgFolder("XDG_CONFIG_HOME", "/.config") + "/config.yaml",
          XdgFolder("XDG_DATA_HOME", "/.local/share"), XdgFolder("XDG_CACHE_HOME", "/.cache")};
}

}  // namespace

Client::Client(Caller& caller)
    : caller_(caller),
      places_(FindPlaces()),
      clock_(std::make_unique<RealClock>()),
      user_(UserName()) {}

Client::~Client() = default;

std::string Client::self_exe() const {
  const auto path = sys::RealPath("/proc/self/exe");
  return path.ok() ? *path : "/proc/self/exe";
}

Result<const Settings*> Client::settings() {
  if (settings_) return &*settings_;
  const auto text = sys::ReadFile(places_.config_file, 1 << 20);
  if (!text.ok() && !text.status().Is(Code::kNotFound)) return text.status();
  STOKER_ASSIGN(settings_,
                ParseSettings(text.ok() ? *text : "", places_.config_file, sys::HomeDir()));
  caller_.Heed(*settings_);
  return &*settings_;
}

std::string Client::me() {
  const auto mine = settings();
  if (mine.ok() && !(*mine)->me.empty()) return (*mine)->me;
  return SettingsNotes(places_).Me();
}

Result<std::string> Client::MakeMe() {
  STOKER_ASSIGN(const Settings* mine, settings());
  if (!mine->me.empty()) return mine->me;
  return SettingsNotes(places_).MakeMe();
}

Person Client::person() {
  const auto local = local_provider();
  return {me(), user_, local.ok() ? (*local)->host() : ""};
}

Result<std::string> Client::store_url() {
  STOKER_ASSIGN(const Settings* mine, settings());
  return mine->store.empty() ? places_.state + "/ledger" : mine->store;
}

Result<ObjectStore*> Client::OpenTheStore(NoFolder missing) {
  if (store_) return store_.get();
  STOKER_ASSIGN(const std::string url, store_url());
  if (!watch_) {
    watch_ = std::make_unique<StoreWatch>(
        [this, url] {
          Say("waiting for the store " + url + ": no answer for " +
              std::to_string(kStorePatience.ms / 1000) + " s");
        },
        kStorePatience);
  }
  const StoreWatch::Asked asked(*watch_);
  STOKER_ASSIGN(auto opened, OpenStore(url, {}, missing));
  store_ = WatchStore(std::move(opened), *watch_);
  return store_.get();
}

Result<ObjectStore*> Client::store() { return OpenTheStore(NoFolder::kLook); }

Result<Ledger*> Client::ledger() {
  if (ledger_) return ledger_.get();
  no_store_yet_ = false;
  STOKER_ASSIGN(const std::string url, store_url());
  const StoreNote note = SettingsNotes(places_).OfStore(url);
  const auto opened = store();
  if (!opened.ok() && !opened.status().Is(Code::kNotFound)) return opened.status();
  if (opened.ok()) {
    STOKER_ASSIGN(ledger_, FindLedger(*this, **opened, note));
  }
  if (!ledger_) {
    if (!note.ids.empty()) return StoreIsGone(note);
    no_store_yet_ = true;
    return NoStoreYet(url);
  }
  NoteLedger(*this, note, ledger_->id());
  if (!(*opened)->traits().requests_are_free) {
    cache_ = sys::MakeFolderCache(places_.cache + "/index-" + ledger_->id());
    labels_cache_ = sys::MakeFolderCache(places_.cache + "/labels-" + ledger_->id());
    ledger_->UseCache(cache_.get(), labels_cache_.get());
  }
  return ledger_.get();
}

Result<Ledger*> Client::ledger_or_new() {
  const auto there = ledger();
  if (!no_store_yet_) return there;
  STOKER_ASSIGN(ObjectStore * opened, OpenTheStore(NoFolder::kMake));
  STOKER_ASSIGN(const auto made,
                Ledger::Open(*opened, *clock_, sys::RandomU64(), NewLedger::kProbe));
  if (made->made()) Say("made a new store in " + opened->url());
  return ledger();
}

Result<Providers*> Client::providers() {
  if (!providers_) {
    STOKER_ASSIGN(const Settings* mine, settings());
    ProviderOptions options;
    options.state_dir = places_.state;
    options.cache_dir = places_.cache;
    options.settings = *mine;
    options.store = [this] { return store(); };
    options.say = [this](const std::string& text) { Say(text); };
    providers_ = std::make_unique<Providers>(std::move(options), *clock_);
  }
  return providers_.get();
}

Result<LocalProvider*> Client::local_provider() {
  STOKER_ASSIGN(Providers * all, providers());
  return all->Local();
}

Result<Provider*> Client::provider(const std::string& name) {
  STOKER_ASSIGN(Providers * all, providers());
  return all->Get(name);
}

Result<Broker*> Client::broker(const std::string& name) {
  STOKER_ASSIGN(Providers * all, providers());
  return all->At(name);
}

Result<AwayHost*> Client::away(const std::string& name) {
  STOKER_ASSIGN(Providers * all, providers());
  return all->Away(name);
}

Result<std::vector<Broker*>> Client::brokers() {
  STOKER_ASSIGN(Providers * all, providers());
  return all->All();
}

Result<Controller*> Client::controller() {
  if (controller_) return controller_.get();
  STOKER_ASSIGN(Ledger * opened, ledger());
  WriteLateCancels(*this, *opened);
  controller_ = std::make_unique<Controller>(
      *opened, [this](const std::string& name) { return provider(name); }, *clock_,
      [this]() -> std::string {
        const auto local = local_provider();
        return local.ok() ? (*local)->LooksFor() : "";
      });
  controller_->ForgetWith([opened](const Job& job, const JobSpec& spec) {
    return RemoveJobSecrets(opened->id(), job, OwnSecretNames(spec));
  });
  controller_->KeepQuietNodes(true);  // most commands look once
  notifier_ = MakeNotifier(
      [this](const Job& job, const SecretSpec& secret) {
        return FindJobSecret(places_.state, ledger_->id(), job, secret, Place());
      },
      OpenAnyTopic);
  controller_->TellThrough(*notifier_);
  return controller_.get();
}

Result<std::string> Client::ResolveJob(const std::string& word, NameMeans means) {
  const auto there = ledger();
  if (no_store_yet_) {
    return Status(Code::kNotFound,
                  "there is no job '" + Printable(word) + "': " + there.status().message(),
                  there.status().next());
  }
  STOKER_ASSIGN(Ledger * opened, there);
  STOKER_ASSIGN(const ResolvedJob job, stoker::ResolveJob(*opened, word, person(), means));
  if (!job.note.empty()) Say(job.note);
  return job.id;
}

}  // namespace stoker::client
