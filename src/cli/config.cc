// SPDX-License-Identifier: Apache-2.0

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/terminal/table.h"
#include "cli/verb.h"
#include "client/open/settings_notes.h"
#include "spec/settings.h"
#include "sys/file.h"

namespace stoker::cli {
namespace {

constexpr char kMe[] = "me";
constexpr char kStore[] = "store";

struct ConfigOptions {
  std::string action = "list";
  std::string key;
  std::string value;
  bool anew = false;
};

// A setting that is not set has no value.
nlohmann::json Value(const std::string& value) {
  return value.empty() ? nlohmann::json(nullptr) : nlohmann::json(value);
}

// What `me` is where the settings do not say it: it is made here, for who asks.
Result<std::string> Effective(Context& context, const Settings& settings, const std::string& key) {
  STOKER_ASSIGN(std::string value, GetSetting(settings, key));
  return key == kMe && value.empty() ? context.MakeMe() : value;
}

// The store of the settings, or of `settings` to be, is made anew by the next run.
Status MakeAnew(Context& context, const Settings& settings) {
  const client::SettingsNotes notes(context.places());
  client::StoreNote note = notes.OfStore(settings.store);
  const std::string before = note.ids.empty() ? "" : note.ids.back();
  client::GiveUp(&note);
  STOKER_TRY(notes.Save(note).WithContext("remembering that the store is given up"));
  context.Say("the next 'stoker run' makes a new store in " + settings.store +
              (before.empty() ? "" : ", if ledger " + before + " is not there by then"));
  return Status::Ok();
}

Status List(Context& context, const Settings& settings) {
  nlohmann::json all = nlohmann::json::object();
  std::vector<std::vector<std::string>> rows = {{"KEY", "VALUE", "MEANING"}};
  for (const SettingKey& key : SettingKeys(settings)) {
    STOKER_ASSIGN(std::string value, GetSetting(settings, key.name));
    if (key.name == kMe) value = context.me();
    all[key.name] = Value(value);
    rows.push_back(
        {key.name, value.empty() ? "(" + key.built_in + ")" : Printable(value), key.meaning});
  }
  context.Print(context.json ? all.dump() + "\n" : FormatTable(rows));
  return Status::Ok();
}

Status Save(Context& context, const Settings& settings, const std::string& key) {
  const std::string& file = context.places().config_file;
  STOKER_TRY(sys::MakeDirs(file.substr(0, file.rfind('/')), 0700));
  STOKER_TRY(sys::WriteFileAtomic(file, PrintSettings(settings), 0600));
  context.Say("written to " + file);
  if (!context.json) return Status::Ok();
  STOKER_ASSIGN(const std::string value, GetSetting(settings, key));
  context.Print(nlohmann::json({{"key", key}, {"value", Value(value)}, {"file", file}}).dump() +
                "\n");
  return Status::Ok();
}

Status Run(Context& context, const ConfigOptions& options) {
  STOKER_ASSIGN(const Settings* read, context.settings());
  Settings settings = *read;
  if (options.anew && (options.action != "set" || options.key != kStore)) {
    return Status(Code::kUsage, "--new goes with 'stoker config set store WHERE' alone");
  }
  if (options.action == "list") return List(context, settings);
  if (options.key.empty()) {
    return Status(Code::kUsage, "stoker config " + options.action + ": which key?",
                  "'stoker config list' shows them all");
  }
  if (options.action == "get") {
    STOKER_ASSIGN(const std::string value, Effective(context, settings, options.key));
    if (context.json || !value.empty()) {
      context.Print(context.json ? Value(value).dump() + "\n" : value + "\n");
      return Status::Ok();
    }
    for (const SettingKey& key : SettingKeys()) {
      if (key.name == options.key)
        context.Say(key.name + " is not set; the default is " + key.built_in);
    }
    return Status::Ok();
  }
  if (options.action == "unset") {
    STOKER_TRY(UnsetSetting(&settings, options.key));
    return Save(context, settings, options.key);
  }
  if (options.value.empty()) {
    return Status(Code::kUsage, "stoker config set " + options.key + ": to which value?",
                  "'stoker config unset " + options.key + "' takes it away");
  }
  STOKER_TRY(SetSetting(&settings, options.key, options.value, sys::HomeDir()));
  if (options.anew) STOKER_TRY(MakeAnew(context, settings));
  return Save(context, settings, options.key);
}

}  // namespace

Verb ConfigVerb() {
  auto options = std::make_shared<ConfigOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "config";
  verb.summary = "Show or change your settings";
  verb.description =
      "Shows or changes the settings in ~/.config/stoker/config.yaml: the store, and defaults for "
      "jobs. 'config get me' prints your id; 'config set me ID' on another computer makes its jobs "
      "yours, too. A store that was used from here and is not there any more is an error, since "
      "its "
      "disk may not be mounted; --new gives it up.";
  verb.examples = {"stoker config", "stoker config set store /mnt/shared/stoker",
                   "stoker config get store", "stoker config set store /mnt/shared/stoker --new",
                   "stoker config unset store"};
  verb.options = {
      {"ACTION", "What to do", &options->action, "", false, {"list", "get", "set", "unset"}},
      {"KEY", "The setting", &options->key, ""},
      {"VALUE", "Its new value", &options->value, ""},
      {"--new", "With 'set store': what was in it is gone, and may be made anew", &options->anew}};
  return verb;
}

}  // namespace stoker::cli
