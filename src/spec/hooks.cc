// SPDX-License-Identifier: Apache-2.0
// `hooks`: a script, or one with its limit, for each event of a node. `logs`: where lines go
// besides.
#include <string>

#include "spec/program.h"
#include "spec/sections.h"

namespace stoker {
namespace {

// A hook runs inside the grace of a notice, or holds up a machine that is paid for.
constexpr Duration kLongestHook = Duration::Minutes(10);
constexpr Duration kDay = Duration::Hours(24);

void ReadHook(const YamlNode& node, const std::string& what, Judge judge, SpecReader* reader,
              HookSpec* hook) {
  const auto read_script = [&](const YamlNode& v, const std::string& name) {
    const auto script = ReadScript(v, name, judge, reader);
    if (!script) return;
    if (IsBlankScript(*script)) {
      reader->Error(v, "'" + name + "' is empty", "Write the commands to run, or leave it out");
    }
    hook->run = *script;
  };
  if (!node.IsMap()) return read_script(node, what);
  reader->ReadMap(node, what,
                  {{"run", [&](const YamlNode& v) { read_script(v, what + ".run"); }},
                   {"limit",
                    [&](const YamlNode& v) {
                      const auto limit =
                          reader->Length(v, what + ".limit", Duration::Seconds(1), kLongestHook);
                      if (limit) hook->limit = *limit;
                    }}},
                  {});
  if (hook->run.empty() && reader->errors().empty()) {
    reader->Error(node, "'" + what + "' has no 'run'", "Write {run: ./tell.sh, limit: 20s}");
  }
}

}  // namespace

void ReadHooks(const YamlNode& node, Judge judge, SpecReader* reader, JobSpec* spec) {
  if (!reader->ExpectMap(node, "hooks")) return;
  std::vector<SpecField> fields;
  for (const HookName& hook : kHookNames) {
    fields.push_back({hook.name, [=](const YamlNode& v) {
                        ReadHook(v, std::string("hooks.") + hook.name, judge, reader,
                                 &(spec->hooks.*hook.which));
                      }});
  }
  reader->ReadMap(node, "hooks", fields, {});
}

void ReadLogs(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  if (!reader->ExpectMap(node, "logs")) return;
  const YamlNode* days = nullptr;
  reader->ReadMap(node, "logs",
                  {{"cloud",
                    [&](const YamlNode& v) {
                      if (const auto on = reader->Boolean(v, "logs.cloud")) spec->logs.cloud = *on;
                    }},
                   {"retention",
                    [&](const YamlNode& v) {
                      days = &v;
                      const auto kept = reader->Length(v, "logs.retention", kDay, kDay * 3653);
                      if (!kept) return;
                      spec->logs.days = static_cast<int>(kept->ms / kDay.ms);
                      if (kept->ms % kDay.ms == 0) return;
                      reader->Error(v, "'logs.retention' is no number of days", "Write 30d");
                    }}},
                  {});
  if (days != nullptr && !spec->logs.cloud && reader->errors().empty()) {
    reader->Error(*days, "'logs.retention' is of a cloud's own log, which is not asked for",
                  "Write {cloud: true, retention: 30d}; 'stoker rm' and 'stoker gc' see to the "
                  "ledger's");
  }
}

}  // namespace stoker
