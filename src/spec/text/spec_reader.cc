// SPDX-License-Identifier: Apache-2.0
#include "spec/text/spec_reader.h"

#include <algorithm>
#include <charconv>

#include "base/letter_case.h"
#include "base/text.h"
#include "spec/text/known_keys.h"

namespace stoker {
namespace {

// More than this is another kind of file; nobody reads on.
constexpr size_t kMostErrors = 200;

std::string Named(std::string_view what) { return "'" + std::string(what) + "'"; }

std::string Joined(std::string_view section, std::string_view key) {
  return section.empty() ? std::string(key) : std::string(section) + "." + std::string(key);
}

}  // namespace

void SpecReader::Error(const YamlNode& at, std::string message, std::string hint) {
  errors_.push_back(
      {file_, at.line, at.column, at.text.substr(0, 60), std::move(message), std::move(hint)});
}

bool SpecReader::ExpectAtMost(const YamlNode& node, std::string_view what, size_t count,
                              size_t most) {
  if (count <= most) return true;
  Error(node, Named(what) + " has " + std::to_string(count) + " entries",
        "At most " + std::to_string(most) + " are possible");
  return false;
}

bool SpecReader::ExpectMap(const YamlNode& node, std::string_view what) {
  if (node.IsMap()) return true;
  Error(node, Named(what) + " must be a map, not " + Describe(node),
        "Write its keys below it, indented");
  return false;
}

bool SpecReader::ExpectList(const YamlNode& node, std::string_view what, std::string_view example) {
  if (node.IsList()) return true;
  Error(node, Named(what) + " must be a list, not " + Describe(node),
        "Write " + std::string(example));
  return false;
}

void SpecReader::ReadMap(const YamlNode& node, std::string_view section,
                         const std::vector<SpecField>& fields, const RefusedKeys& refused) {
  for (const YamlEntry& entry : node.entries) {
    if (errors_.size() >= kMostErrors) return;
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const SpecField& f) { return f.name == entry.key.text; });
    if (field == fields.end()) {
      UnknownKey(entry.key, section, fields, refused);
    } else if (entry.value.IsNull() && !field->null_allowed) {
      Error(entry.key, Named(Joined(section, entry.key.text)) + " has no value",
            "Give it one, or remove the key");
    } else {
      field->read(entry.value);
    }
  }
}

std::vector<SpecField> SpecReader::IgnoredFields(std::string_view section,
                                                 const std::vector<std::string_view>& names) {
  std::vector<SpecField> fields;
  for (const std::string_view name : names) {
    const auto ignore = [this, key = Joined(section, name)](const YamlNode&) {
      ignored_.push_back(key);
    };
    fields.push_back({name, ignore, true});
  }
  return fields;
}

void SpecReader::UnknownKey(const YamlNode& key, std::string_view section,
                            const std::vector<SpecField>& fields, const RefusedKeys& refused) {
  if (const auto found = refused.find(key.text); found != refused.end()) {
    Error(key, Named(Joined(section, key.text)) + " is understood but not built yet",
          std::string(found->second));
    return;
  }
  const std::string in = section.empty() ? "" : " in " + Named(section);
  std::vector<std::string> known;
  for (const SpecField& field : fields) known.emplace_back(field.name);
  for (const auto& [name, why] : refused) known.emplace_back(name);
  std::string hint;
  const std::string_view home = HomeOfKey(key.text);
  if (!home.empty() && home != section) {
    hint = home == kTopLevel ? "It belongs at the top level" : "It belongs under " + Named(home);
  } else if (const std::string near = Nearest(key.text, known); !near.empty()) {
    hint = "Did you mean " + Named(near) + "?";
  } else {
    std::sort(known.begin(), known.end());
    known.erase(std::remove_if(known.begin(), known.end(),
                               [&](const std::string& k) { return refused.count(k) > 0; }),
                known.end());
    hint = "Known here: " + Join(known, ", ");
  }
  Error(key, "unknown key " + Quoted(key.text) + in, std::move(hint));
}

std::optional<std::string> SpecReader::Text(const YamlNode& node, std::string_view what) {
  if (node.IsScalar()) return node.text;
  Error(node, Named(what) + " must be text, not " + Describe(node));
  return std::nullopt;
}

std::optional<std::string> SpecReader::Line(const YamlNode& node, std::string_view what) {
  std::optional<std::string> text = Text(node, what);
  if (!text) return std::nullopt;
  if (text->empty()) {
    Error(node, Named(what) + " is empty", "Give it a value, or remove it");
    return std::nullopt;
  }
  if (Printable(*text) != *text || text->find('\t') != std::string::npos) {
    Error(node, Named(what) + " holds a line break or another control character");
    return std::nullopt;
  }
  return text;
}

std::optional<int64_t> SpecReader::Integer(const YamlNode& node, std::string_view what, int64_t low,
                                           int64_t high) {
  int64_t value = 0;
  const std::string& text = node.text;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!node.IsScalar() || node.quoted || error != std::errc() || end != text.data() + text.size()) {
    const bool only_quoted =
        node.quoted && error == std::errc() && end == text.data() + text.size();
    Error(node, Named(what) + " must be a whole number, not " + Describe(node),
          only_quoted ? "Remove the quotes" : "");
    return std::nullopt;
  }
  if (value < low || value > high) {
    Error(node, Named(what) + " is " + text + ", which is out of range",
          "Between " + std::to_string(low) + " and " + std::to_string(high) + " is possible");
    return std::nullopt;
  }
  return value;
}

std::optional<bool> SpecReader::Boolean(const YamlNode& node, std::string_view what) {
  // The words of YAML 1.1, as SkyPilot's parser reads them.
  static const std::vector<std::string> kYes = {"true", "True", "TRUE", "yes", "Yes",
                                                "YES",  "on",   "On",   "ON"};
  static const std::vector<std::string> kNo = {"false", "False", "FALSE", "no", "No",
                                               "NO",    "off",   "Off",   "OFF"};
  if (node.IsScalar() && !node.quoted) {
    if (std::find(kYes.begin(), kYes.end(), node.text) != kYes.end()) return true;
    if (std::find(kNo.begin(), kNo.end(), node.text) != kNo.end()) return false;
  }
  Error(node, Named(what) + " must be true or false, not " + Describe(node));
  return std::nullopt;
}

std::optional<Duration> SpecReader::Length(const YamlNode& node, std::string_view what,
                                           Duration low, Duration high) {
  if (!node.IsScalar()) {
    Error(node, Named(what) + " must be a duration, not " + Describe(node),
          "Write a number and a unit: 90s, 30m, 8h or 2d");
    return std::nullopt;
  }
  const Result<Duration> parsed = ParseDuration(node.text);
  if (!parsed.ok()) {
    const bool digits =
        !node.text.empty() && std::all_of(node.text.begin(), node.text.end(),
                                          [](char c) { return c >= '0' && c <= '9'; });
    Error(node, Named(what) + " is not a duration: " + Quoted(node.text),
          digits ? "Give it a unit: " + node.text.substr(0, 20) + "s, " + node.text.substr(0, 20) +
                       "m or " + node.text.substr(0, 20) + "h"
                 : "Write a number and a unit: 90s, 30m, 8h, 2d or 1h30m");
    return std::nullopt;
  }
  if (*parsed < low || *parsed > high) {
    Error(node, Named(what) + " is " + Quoted(node.text) + ", which is out of range",
          "Between " + FormatDuration(low) + " and " + FormatDuration(high) + " is possible");
    return std::nullopt;
  }
  return *parsed;
}

std::optional<std::string> SpecReader::Choice(const YamlNode& node, std::string_view what,
                                              const std::vector<std::string>& choices) {
  for (const std::string& choice : choices) {
    if (node.IsScalar() && LowerCase(choice) == LowerCase(node.text)) return choice;
  }
  const std::string near = node.IsScalar() ? Nearest(node.text, choices) : "";
  Error(node, Named(what) + " cannot be " + Describe(node),
        near.empty() ? "Possible: " + Join(choices, ", ") : "Did you mean '" + near + "'?");
  return std::nullopt;
}

}  // namespace stoker
