// SPDX-License-Identifier: Apache-2.0
// `notify`: whom what is told. A map for each, or a list of them.
#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/text.h"
#include "spec/program.h"
#include "spec/sections.h"
#include "spec/text/json_text.h"
#include "spec/text/secrets.h"

namespace stoker {
namespace {

constexpr size_t kMostNotified = 20;
constexpr Duration kShortestWait = Duration::Minutes(1);
constexpr Duration kLongestWait = Duration::Hours(24 * 30);

struct Kind {
  const char* name;
  const char* example;
  bool (*fits)(const std::string&);
  bool secret = true;  // its address may be one
};

bool IsUrl(const std::string& to) {
  const bool scheme = StartsWith(to, "https://") || StartsWith(to, "http://");
  return scheme && to.find_first_of(" \\\"'<>") == std::string::npos &&
         to.find('@') == std::string::npos;
}

// "arn:aws:sns:us-east-1:123456789012:my-topic"
bool IsTopicArn(const std::string& to) {
  const std::vector<std::string> parts = Split(to, ':');
  const bool named = parts.size() == 6 && parts[0] == "arn" && parts[2] == "sns";
  const std::string& topic = parts.back();
  return named && IsSafeName(parts[1]) && IsSafeName(parts[3]) && parts[4].size() == 12 &&
         WholeNumber(parts[4], 0, 999'999'999'999) && !topic.empty() &&
         std::all_of(topic.begin(), topic.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
         });
}

// "projects/my-project/topics/my-topic"
bool IsTopicPath(const std::string& to) {
  const std::vector<std::string> parts = Split(to, '/');
  return parts.size() == 4 && parts[0] == "projects" && IsSafeName(parts[1]) &&
         parts[2] == "topics" && IsSafeName(parts[3]);
}

constexpr Kind kKinds[] = {
    {"webhook", "https://example.org/hook", IsUrl},
    {"slack", "$SLACK_URL", IsUrl},
    {"ntfy", "https://ntfy.sh/my-topic", IsUrl},
    {"sns", "arn:aws:sns:us-east-1:123456789012:my-topic", IsTopicArn, false},
    {"pubsub", "projects/my-project/topics/my-topic", IsTopicPath, false},
};

void ReadTarget(const YamlNode& node, const Kind& kind, Judge judge, SpecReader* reader,
                JobSpec* spec, NotifySpec* one) {
  const std::string what = std::string("notify.") + kind.name;
  const auto line = reader->Line(node, what);
  if (!line) return;
  if (!one->kind.empty()) {
    reader->Error(node, "one entry of 'notify' has '" + one->kind + "' and '" + kind.name + "'",
                  "Write a list with an entry for each");
    return;
  }
  one->kind = kind.name;
  one->to = *line;
  if (StartsWith(*line, "$") && kind.secret) {
    YamlNode name = node;
    name.text = line->substr(1);
    const auto same = [&](const SecretSpec& known) { return known.name == name.text; };
    if (std::none_of(spec->secrets.begin(), spec->secrets.end(), same))
      SetSecret(name, "", judge, reader, spec);
  } else if (kind.fits == IsUrl && line->find('@') != std::string::npos) {
    YamlNode place = node;
    place.text.clear();
    reader->Error(place, "'" + what + "' has a login before its '@', which is sent to nobody",
                  "Write an address without one");
  } else if (!kind.fits(*line)) {
    reader->Error(node, "'" + what + "' cannot be " + Quoted(*line),
                  std::string("Write ") + kind.example +
                      (kind.secret ? ", or $NAME of a secret that has it" : ""));
  } else if (judge == Judge::kSubmitted && MayBeSecret("", *line)) {
    YamlNode place = node;
    place.text.clear();
    reader->Error(place, "'" + what + "' holds a secret, and the job file is kept in the ledger",
                  "Write $NAME, of a variable that has it: it becomes one of the job's secrets");
  }
}

void ReadEvents(const YamlNode& node, SpecReader* reader, NotifySpec* one) {
  if (!node.IsScalar() && !reader->ExpectList(node, "notify.on", "[end, interruption]")) return;
  std::vector<std::string> words;
  const auto add = [&](const YamlNode& item) {
    const std::vector<std::string> events(std::begin(kNotifyEvents), std::end(kNotifyEvents));
    if (const auto word = reader->Choice(item, "notify.on", events)) words.push_back(*word);
  };
  if (node.IsScalar()) add(node);
  for (const YamlNode& item : node.items) add(item);
  one->on.clear();
  for (const std::string_view event : kNotifyEvents) {
    if (std::find(words.begin(), words.end(), event) != words.end()) one->on.emplace_back(event);
  }
  if (!node.IsScalar() && node.items.empty()) {
    reader->Error(node, "'notify.on' names no event", "Leave it out for all of them");
  }
}

void ReadOne(const YamlNode& node, Judge judge, SpecReader* reader, JobSpec* spec) {
  if (!reader->ExpectMap(node, "notify")) return;
  NotifySpec one;
  one.on.assign(std::begin(kNotifyEvents), std::end(kNotifyEvents));
  const size_t errors = reader->errors().size();
  std::vector<SpecField> fields = {{"on", [&](const YamlNode& v) { ReadEvents(v, reader, &one); }},
                                   {"command",
                                    [&](const YamlNode& v) {
                                      reader->Error(v, "'notify' runs no command",
                                                    "Give a webhook; a script of your own is run "
                                                    "on the node by 'hooks'");
                                    }},
                                   {"no_machine", [&](const YamlNode& v) {
                                      const auto wait = reader->Length(v, "notify.no_machine",
                                                                       kShortestWait, kLongestWait);
                                      if (wait) one.no_machine = *wait;
                                    }}};
  for (const Kind& kind : kKinds) {
    fields.push_back(
        {kind.name, [&](const YamlNode& v) { ReadTarget(v, kind, judge, reader, spec, &one); }});
  }
  reader->ReadMap(node, "notify", fields, {});
  if (one.kind.empty() && reader->errors().size() == errors) {
    reader->Error(node, "an entry of 'notify' does not say whom",
                  "Give it one of webhook, slack, ntfy, sns, pubsub");
  }
  spec->notify.push_back(std::move(one));
}

}  // namespace

void ReadNotify(const YamlNode& node, Judge judge, SpecReader* reader, JobSpec* spec) {
  spec->notify.clear();  // what the settings say
  if (node.IsMap()) return ReadOne(node, judge, reader, spec);
  if (!reader->ExpectList(node, "notify", "[{slack: $SLACK_URL}]")) return;
  if (!reader->ExpectAtMost(node, "notify", node.items.size(), kMostNotified)) return;
  for (const YamlNode& item : node.items) ReadOne(item, judge, reader, spec);
}

void AddNotifySecrets(JobSpec* spec) {
  for (const NotifySpec& one : spec->notify) {
    if (one.to[0] == '$' && !HasSecret(*spec, one.to.substr(1)))
      spec->secrets.push_back({one.to.substr(1), ""});
  }
}

std::string NotifyText(const NotifySpec& one) {
  std::vector<std::string> on;
  for (const std::string& event : one.on) on.push_back(JsonString(event));
  return "{" + one.kind + ": " + JsonString(one.to) + ", on: [" + Join(on, ", ") +
         "], no_machine: " + FormatDuration(one.no_machine) + "}";
}

std::string Whom(const NotifySpec& to) {
  const size_t host = to.to.find("://");
  const size_t rest = host == std::string::npos ? host : to.to.find_first_of("/?#", host + 3);
  const bool more = rest != std::string::npos && rest + 1 < to.to.size();
  return to.kind + " " + Printable(more ? to.to.substr(0, rest) : to.to) + (more ? "/…" : "");
}

}  // namespace stoker
