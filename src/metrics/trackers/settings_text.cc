// SPDX-License-Identifier: Apache-2.0
#include "metrics/trackers/settings_text.h"

#include "base/json.h"
#include "base/text.h"
#include "spec/text/yaml_tree.h"

namespace stoker::metrics {
namespace {

using nlohmann::json;

constexpr size_t kMost = 500;  // of one text
constexpr int kDepth = 8;
constexpr size_t kList = 200;  // bytes

std::string Text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void Give(const std::string& name, const json& value, int depth, size_t* given, PointSink& sink) {
  if (depth > kDepth || *given >= kMost) return;
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) {
      Give(name.empty() ? key : name + "." + key, inner, depth + 1, given, sink);
    }
    return;
  }
  const std::string text = Text(value);
  if (name.empty() || value.is_null() ||
      (value.is_array() && (value.empty() || text.size() > kList)))
    return;
  ++*given;
  sink.OnHyperparameter(name, text);
}

// A scalar as YAML means it.
json ScalarOf(const YamlNode& node) {
  if (node.quoted) return node.text;
  for (const char* const null : {"null", "Null", "NULL", "~", ""}) {
    if (node.text == null) return nullptr;
  }
  for (const char* const yes : {"true", "True", "TRUE"}) {
    if (node.text == yes) return true;
  }
  for (const char* const no : {"false", "False", "FALSE"}) {
    if (node.text == no) return false;
  }
  json number = json::parse(node.text, nullptr, false);
  return number.is_number() ? number : json(node.text);
}

// "${model.lr}": the value of another place, where that is a scalar.
const YamlNode* Meant(const YamlNode& node, const YamlNode& root) {
  const std::string& text = node.text;
  if (!StartsWith(text, "${") || !EndsWith(text, "}")) return &node;
  const YamlNode* at = &root;
  for (const std::string& part : Split(text.substr(2, text.size() - 3), '.')) {
    const YamlNode* next = nullptr;
    for (const YamlEntry& entry : at->entries) {
      if (entry.key.text == part) next = &entry.value;
    }
    if (next == nullptr) return &node;
    at = next;
  }
  return at->IsScalar() ? at : &node;
}

json ValueOf(const YamlNode& node, const YamlNode& root, int depth) {
  if (node.IsScalar()) return ScalarOf(*Meant(node, root));
  json out = node.IsMap() ? json::object() : node.IsList() ? json::array() : json();
  if (depth > kDepth) return out;
  for (const YamlEntry& entry : node.entries) {
    out[entry.key.text] = ValueOf(entry.value, root, depth + 1);
  }
  for (const YamlNode& item : node.items) out.push_back(ValueOf(item, root, depth + 1));
  return out;
}

Result<YamlNode> Tree(std::string_view text) {
  std::vector<SpecError> errors;
  YamlNode root = ParseYamlTree(text, "", &errors, YamlTags::kPassedOver);
  if (!errors.empty()) return Status(Code::kCorrupt, errors[0].message);
  return root;
}

}  // namespace

void GiveJsonSetting(const std::string& name, std::string_view text, PointSink& sink) {
  size_t given = 0;
  const json value = json::parse(text, nullptr, false);
  if (!value.is_discarded()) Give(name, value, 0, &given, sink);
}

std::string GiveYamlSettings(std::string_view text, PointSink& sink) {
  const auto root = Tree(text);
  if (!root.ok()) return root.status().message();
  size_t given = 0;
  if (root->IsMap()) Give("", ValueOf(*root, *root, 0), 0, &given, sink);
  return "";
}

std::string GiveOverrides(std::string_view text, const std::set<std::string>& known,
                          PointSink& sink) {
  const auto root = Tree(text);
  if (!root.ok()) return root.status().message();
  size_t given = 0;
  for (const YamlNode& item : root->items) {
    const size_t from = item.text.find_first_not_of('+');
    const size_t sign = item.text.find('=');
    if (sign == item.text.npos || from >= sign || item.text[0] == '~') continue;
    const std::string name = item.text.substr(from, sign - from);
    if (known.contains(name) || StartsWith(name, "hydra.") || StartsWith(name, "hydra/")) continue;
    YamlNode value;
    value.text = item.text.substr(sign + 1);
    Give(name, ScalarOf(value), 0, &given, sink);
  }
  return "";
}

void GivePlainSetting(std::string_view name, std::string_view text, PointSink& sink) {
  YamlNode value;
  value.text = std::string(text);
  size_t given = 0;
  Give(std::string(name), ScalarOf(value), 0, &given, sink);
}

}  // namespace stoker::metrics
