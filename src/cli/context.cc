// SPDX-License-Identifier: Apache-2.0
#include "cli/context.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/json.h"
#include "base/screen.h"
#include "base/text.h"
#include "cli/late_cancel.h"
#include "cli/open_ledger.h"
#include "cli/settings_notes.h"
#include "store/open.h"
#include "sys/file.h"
#include "sys/folder_cache.h"
#include "sys/real_clock.h"

namespace stoker::cli {
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

}  // namespace

Places FindPlaces() {
  return {XdgFolder("XDG_CONFIG_HOME", "/.config") + "/config.yaml",
          XdgFolder("XDG_DATA_HOME", "/.local/share"), XdgFolder("XDG_CACHE_HOME", "/.cache")};
}

Context::Context()
    : places_(FindPlaces()), clock_(std::make_unique<RealClock>()), user_(UserName()) {
  out_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  err_terminal_ = ::isatty(STDERR_FILENO) == 1;
  color_ = out_terminal_ && err_terminal_ && FromEnvironment("NO_COLOR").empty() &&
           FromEnvironment("TERM") != "dumb";
}

Context::~Context() = default;

size_t Context::out_width() const {
  winsize size{};
  if (!out_terminal_ || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return SIZE_MAX;
  }
  return size.ws_col;
}

std::string Context::self_exe() const {
  const auto path = sys::RealPath("/proc/self/exe");
  return path.ok() ? *path : "/proc/self/exe";
}

Result<const Settings*> Context::settings() {
  if (settings_) return &*settings_;
  const auto text = sys::ReadFile(places_.config_file, 1 << 20);
  if (!text.ok() && !text.status().Is(Code::kNotFound)) return text.status();
  STOKER_ASSIGN(settings_,
                ParseSettings(text.ok() ? *text : "", places_.config_file, sys::HomeDir()));
  if (settings_->color == "never") color_ = false;
  if (settings_->color == "always") color_ = true;
  return &*settings_;
}

std::string Context::me() {
  const auto mine = settings();
  if (mine.ok() && !(*mine)->me.empty()) return (*mine)->me;
  return SettingsNotes(places_).Me();
}

Result<std::string> Context::MakeMe() {
  STOKER_ASSIGN(const Settings* mine, settings());
  if (!mine->me.empty()) return mine->me;
  return SettingsNotes(places_).MakeMe();
}

Person Context::person() {
  const auto local = local_provider();
  return {me(), user_, local.ok() ? (*local)->host() : ""};
}

Result<std::string> Context::store_url() {
  STOKER_ASSIGN(const Settings* mine, settings());
  return mine->store.empty() ? places_.state + "/ledger" : mine->store;
}

Result<ObjectStore*> Context::OpenTheStore(NoFolder missing) {
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

Result<ObjectStore*> Context::store() { return OpenTheStore(NoFolder::kLook); }

Result<Ledger*> Context::ledger() {
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

Result<Ledger*> Context::ledger_or_new() {
  const auto there = ledger();
  if (!no_store_yet_) return there;
  STOKER_ASSIGN(ObjectStore * opened, OpenTheStore(NoFolder::kMake));
  STOKER_ASSIGN(const auto made,
                Ledger::Open(*opened, *clock_, sys::RandomU64(), NewLedger::kProbe));
  if (made->made()) Say("made a new store in " + opened->url());
  return ledger();
}

Result<Providers*> Context::providers() {
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

Result<LocalProvider*> Context::local_provider() {
  STOKER_ASSIGN(Providers * all, providers());
  return all->Local();
}

Result<Provider*> Context::provider(const std::string& name) {
  STOKER_ASSIGN(Providers * all, providers());
  return all->Get(name);
}

Result<Broker*> Context::broker(const std::string& name) {
  STOKER_ASSIGN(Providers * all, providers());
  return all->At(name);
}

Result<std::vector<Broker*>> Context::brokers() {
  STOKER_ASSIGN(Providers * all, providers());
  return all->All();
}

Result<Controller*> Context::controller() {
  if (controller_) return controller_.get();
  STOKER_ASSIGN(Ledger * opened, ledger());
  WriteLateCancels(*this, *opened);
  controller_ = std::make_unique<Controller>(
      *opened, [this](const std::string& name) { return provider(name); }, *clock_,
      [this]() -> std::string {
        const auto local = local_provider();
        return local.ok() ? (*local)->LooksFor() : "";
      });
  controller_->KeepQuietNodes(true);  // most commands look once
  return controller_.get();
}

Result<std::string> Context::ResolveJob(const std::string& word, NameMeans means) {
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

// What is printed may be of a record, a report or a job file that anybody wrote; bytes of programs
// go past this, by cli/log_printer.h.
void Context::Print(std::string_view anything) {
  const std::string clean =
      json ? PrintableJson(anything) : Printable(anything, true, Colours::kOwn);
  std::string_view text = clean;
  const std::lock_guard lock(terminal_);
  if (progress_shown_) {
    (void)!::write(STDERR_FILENO, "\r\x1b[K", 4);
    progress_shown_ = false;
  }
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    // A reader such as `head` that has enough is no error of ours.
    if (written <= 0) std::_Exit(errno == EPIPE ? 0 : 1);
    text.remove_prefix(static_cast<size_t>(written));
  }
}

bool OutIsErr() {
  struct stat out {};
  struct stat err {};
  return fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
         out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

std::string Context::CloseLine() {
  const bool glued = line_open_ && OutIsErr();
  if (glued) line_open_ = false;
  return glued ? "\n" : progress_shown_ ? "\r\x1b[K" : "";
}

void Context::Say(const std::string& text) {
  if (json) return;
  const std::lock_guard lock(terminal_);
  const std::string line = CloseLine() + Style("2", "stoker: " + Printable(text, true)) + "\n";
  progress_shown_ = false;
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

void Context::SayPlain(const std::string& text) {
  if (json) return;
  const std::lock_guard lock(terminal_);
  const std::string all = CloseLine() + Printable(text, true, Colours::kOwn);
  progress_shown_ = false;
  (void)!::write(STDERR_FILENO, all.data(), all.size());
}

void Context::Progress(const std::string& text) {
  if (json || !err_terminal_) return;
  const std::lock_guard lock(terminal_);
  const std::string line = "\r\x1b[K" + Printable(text, false, Colours::kOwn);
  progress_shown_ = true;
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

void Context::PrintError(const Status& status) {
  if (json) {
    nlohmann::json error = {
        {"error", {{"code", CodeName(status.code())}, {"message", status.message()}}}};
    if (!status.next().empty()) error["error"]["next"] = status.next();
    Print(error.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return;
  }
  std::string text = Style("31", "error: ") + Printable(status.message(), true) + "\n";
  if (!status.next().empty()) text += Printable(status.next(), true) + "\n";
  const std::lock_guard lock(terminal_);
  if (progress_shown_) text = "\r\x1b[K" + text;
  progress_shown_ = false;
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

std::string Context::Style(std::string_view code, std::string_view text) const {
  if (!color_) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace stoker::cli
