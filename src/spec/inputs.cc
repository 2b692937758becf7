// SPDX-License-Identifier: Apache-2.0
// The channels of a job: what they are called and where their data come from.
#include <algorithm>

#include "base/letter_case.h"
#include "base/text.h"
#include "spec/parse_state.h"
#include "spec/sections.h"
#include "spec/text/known_keys.h"
#include "spec/text/secrets.h"

namespace stoker {
namespace {

constexpr size_t kMaxNameBytes = 64;
constexpr size_t kMaxSourceBytes = 2048;

// Safe as a folder and, after its '-' became '_', as a part of a variable's name.
bool IsChannelName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && IsAlnum(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return IsAlnum(c) || c == '-' || c == '_'; });
}

// As both services allow them, roughly: the rest is theirs to say.
bool IsBucketName(std::string_view name) {
  return name.size() >= 3 && name.size() <= 222 && IsAlnum(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; });
}

std::optional<std::string> ReadBucket(const YamlNode& node, const std::string& what,
                                      const std::string& url, SpecReader* reader) {
  const size_t begin = url.find("://") + 3;
  if (IsBucketName(std::string_view(url).substr(begin, url.find('/', begin) - begin))) return url;
  reader->Error(node, "'" + what + "' names no bucket: " + Quoted(url),
                "Write " + url.substr(0, begin) + "BUCKET/PREFIX");
  return std::nullopt;
}

std::optional<std::string> ReadLocal(const YamlNode& node, const std::string& what,
                                     const std::string& text, SpecReader* reader,
                                     const ParseOptions& options) {
  const bool url = StartsWith(text, "file://");
  const std::string written = url ? text.substr(7) : text;
  if (url && !StartsWith(written, "/")) {
    reader->Error(node, "'" + what + "' names no path: " + Quoted(text), "Write file:///PATH");
    return std::nullopt;
  }
  const auto path = ResolvePath(node, what, written, reader, options);
  if (!path) return std::nullopt;
  if (*path == "/") {
    reader->Error(node, "'" + what + "' is the whole file system", "Name the folder with the data");
    return std::nullopt;
  }
  if (options.exists && !options.exists(*path)) {
    reader->Error(node, "'" + what + "' " + Quoted(text) + " is not there",
                  *path == text ? "Name a file or a folder, s3://BUCKET/PREFIX or "
                                  "gs://BUCKET/PREFIX"
                                : "It was looked for at " + *path);
    return std::nullopt;
  }
  return path;
}

std::optional<std::string> ReadSource(const YamlNode& node, const std::string& what,
                                      SpecReader* reader, const ParseState& state) {
  const std::optional<std::string> text = reader->Line(node, what);
  if (!text) return std::nullopt;
  if (text->size() > kMaxSourceBytes) {
    reader->Error(node, "'" + what + "' is longer than 2048 bytes");
    return std::nullopt;
  }
  if (const std::string secret = SecretInText(*text);
      !secret.empty() && state.judge == Judge::kSubmitted) {
    YamlNode place = node;
    place.text.clear();  // the secret itself must not get into a message
    reader->Error(place, "'" + what + "' holds what looks like " + secret, SecretAdvice(""));
    return std::nullopt;
  }
  if (StartsWith(*text, "s3://") || StartsWith(*text, "gs://")) {
    return ReadBucket(node, what, *text, reader);
  }
  if (text->find("://") != std::string::npos && !StartsWith(*text, "file://")) {
    reader->Error(node, "'" + what + "' cannot be " + Quoted(*text),
                  "Name a bucket, s3://… or gs://…, or a path of this machine; download the rest "
                  "in 'setup'");
    return std::nullopt;
  }
  return ReadLocal(node, what, *text, reader, state.options);
}

void ReadMode(const YamlNode& node, const std::string& what, SpecReader* reader) {
  for (const std::string_view later : {"stream", "pipe"}) {
    if (!node.IsScalar() || LowerCase(node.text) != later) continue;
    reader->Error(node, "'" + what + ": " + node.text + "' is understood but not built yet",
                  "Write file: the data are copied before the program starts");
    return;
  }
  reader->Choice(node, what, {"file"});
}

// nullopt = an error was added.
std::optional<std::string> ReadChannel(const YamlNode& key, const YamlNode& value,
                                       SpecReader* reader, const ParseState& state) {
  const std::string what = "inputs." + key.text;
  if (!value.IsMap()) return ReadSource(value, what, reader, state);
  std::optional<std::string> source;
  bool has_source = false;
  const auto read_source = [&](const YamlNode& v) {
    has_source = true;
    source = ReadSource(v, what + ".source", reader, state);
  };
  const size_t before = reader->errors().size();
  reader->ReadMap(value, what,
                  {{"source", read_source},
                   {"mode", [&](const YamlNode& v) { ReadMode(v, what + ".mode", reader); }}},
                  RefusedInputKeys());
  if (!has_source && reader->errors().size() == before) {
    reader->Error(value, "'" + what + "' has no source",
                  "Say where its data are: {source: s3://BUCKET/PREFIX}");
  }
  return source;
}

bool CheckName(const YamlNode& key, const JobSpec& spec, SpecReader* reader) {
  if (!IsChannelName(key.text)) {
    reader->Error(key, Quoted(key.text) + " is not a name for an input",
                  "Use 1 to 64 of letters, digits, '-' and '_', a letter or digit first");
    return false;
  }
  for (const InputSpec& other : spec.inputs) {
    if (other.name == key.text || ChannelVariable(other.name) != ChannelVariable(key.text)) {
      continue;
    }
    reader->Error(key,
                  "the inputs " + Quoted(other.name) + " and " + Quoted(key.text) +
                      " have one variable, STOKER_CHANNEL_" + ChannelVariable(key.text),
                  "Rename one of them");
    return false;
  }
  return true;
}

}  // namespace

void SetInput(const YamlNode& key, const YamlNode& value, SpecReader* reader, ParseState* state) {
  std::vector<InputSpec>& inputs = state->spec.inputs;
  if (!CheckName(key, state->spec, reader)) return;
  const auto source = ReadChannel(key, value, reader, *state);
  if (!source) return;
  const auto found = std::find_if(inputs.begin(), inputs.end(),
                                  [&](const InputSpec& each) { return each.name == key.text; });
  if (found != inputs.end()) {
    found->source = *source;
  } else {
    inputs.push_back({key.text, *source});
  }
}

void ReadInputs(const YamlNode& node, SpecReader* reader, ParseState* state) {
  if (!reader->ExpectMap(node, "inputs")) return;
  if (!reader->ExpectAtMost(node, "inputs", node.entries.size(), kMaxInputs)) return;
  for (const YamlEntry& entry : node.entries) {
    if (entry.value.IsNull()) {
      reader->Error(entry.key, "'inputs." + Printable(entry.key.text) + "' has no value",
                    "Give it one, or remove the key");
    } else {
      SetInput(entry.key, entry.value, reader, state);
    }
  }
}

}  // namespace stoker
