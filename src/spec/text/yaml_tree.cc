// SPDX-License-Identifier: Apache-2.0
#include "spec/text/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <set>
#include <sstream>

#include "spec/text/yaml_text.h"

namespace stoker {
namespace {

// Stops the library's parser; never leaves this file.
struct Refusal {
  SpecError error;
};

// What a tree may cost, in bytes of text plus a flat price per node: bounds what aliases expand to.
constexpr int64_t kNodePrice = 64;
constexpr int64_t kBudget = 8 << 20;

int64_t Price(const YamlNode& node) {
  int64_t price = kNodePrice + static_cast<int64_t>(node.text.size());
  for (const YamlNode& item : node.items) price += Price(item);
  for (const YamlEntry& entry : node.entries) price += Price(entry.key) + Price(entry.value);
  return price;
}

int Height(const YamlNode& node) {
  int height = 0;
  for (const YamlNode& item : node.items) height = std::max(height, Height(item));
  for (const YamlEntry& entry : node.entries) height = std::max(height, Height(entry.value));
  return height + 1;
}

// Builds the tree out of the library's events, with a stack of its own: no recursion on input.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const YamlText& source, YamlTags tags) : source_(source), tags_(tags) {}

  // The innermost bracket that is open when the library gives up at the end of the text.
  std::optional<SpecError> OpenBracket() const {
    for (auto level = stack_.rbegin(); level != stack_.rend(); ++level) {
      const char bracket = source_.At(level->mark.line, level->mark.column);
      if (bracket != '[' && bracket != '{') continue;
      return source_.ErrorAt(level->mark.line, level->mark.column,
                             std::string("not YAML: a '") + bracket + "' that is not closed",
                             std::string("Close it with '") + (bracket == '[' ? ']' : '}') + "'");
    }
    return std::nullopt;
  }

  YamlNode Take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override { document_ = mark; }
  void OnDocumentEnd() override { ++documents_; }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode node = Begin(YamlNode::Kind::kNull, mark, "?");
    const bool at_key = !stack_.empty() && stack_.back().key_mark.pos == mark.pos;
    const bool said = !at_key && source_.SaysNull(mark.line, mark.column);
    if (!stack_.empty() && stack_.back().has_key && !said) {
      const Level& level = stack_.back();
      const YAML::Mark& key = level.key_mark;
      const size_t length = level.key.text.size();
      const bool alone = level.flow && source_.FlowEntryEnds(key.line, key.column, length);
      if (!alone && !source_.ColonFollows(key.line, key.column, length)) {
        if (source_.OnlyBlankAfter(level.key_mark.line)) RefuseOpenBracket();
        Refuse(level.key_mark, "not YAML: " + Quoted(level.key.text) + " is no 'key: value'",
               "Check the indentation, or put a ':' behind the key");
      }
      // The library places a missing value where it noticed: people look for it at the key.
      node.line = level.key.line;
      node.column = level.key.column;
    } else if (!stack_.empty() && stack_.back().node.IsList() && !said) {
      Refuse(mark, "an empty list item", "Write it, or remove its '-' or ','");
    }
    Finish(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) Refuse(mark, "an alias inside its own anchor");
    Pay(mark, Price(found->second));
    if (static_cast<int>(stack_.size()) + Height(found->second) > kMaxYamlDepth) TooDeep(mark);
    Finish(found->second, 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = Begin(YamlNode::Kind::kScalar, mark, tag);
    node.quoted = tag == "!";
    node.text = value;
    Pay(mark, static_cast<int64_t>(value.size()));
    if (value.find('\0') != std::string::npos) Refuse(mark, "a NUL character in a value");
    if (!stack_.empty() && !stack_.back().has_key) stack_.back().key_mark = mark;
    // yaml-cpp 0.7 turns \N and \_ into single bytes, which are no UTF-8.
    if (!IsUtf8(value)) {
      Refuse(mark, "an escape that is not supported: \\N or \\_", "Write \\u0085 or \\u00a0");
    }
    if (node.quoted && source_.QuoteStaysOpen(mark.line, mark.column)) {
      Refuse(mark, "not YAML: a quote that is not closed", "Close it");
    }
    Finish(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Push(Begin(YamlNode::Kind::kList, mark, tag), mark, anchor);
  }
  void OnSequenceEnd() override { Pop(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    Push(Begin(YamlNode::Kind::kMap, mark, tag), mark, anchor);
    stack_.back().flow = style == YAML::EmitterStyle::Flow;
  }
  void OnMapEnd() override { Pop(); }

 private:
  struct Level {
    YamlNode node;
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
    YamlNode key;
    YAML::Mark key_mark;
    bool has_key = false;
    bool flow = false;
    std::set<std::string> seen;
  };

  [[noreturn]] void Refuse(const YAML::Mark& mark, std::string message, std::string hint = "") {
    throw Refusal{source_.ErrorAt(mark.line, mark.column, std::move(message), std::move(hint))};
  }
  void RefuseOpenBracket() {
    if (std::optional<SpecError> error = OpenBracket()) throw Refusal{*std::move(error)};
  }
  [[noreturn]] void TooDeep(const YAML::Mark& mark) {
    Refuse(mark, "nested more than " + std::to_string(kMaxYamlDepth) + " deep");
  }
  void Pay(const YAML::Mark& mark, int64_t price) {
    spent_ += price;
    if (spent_ > kBudget) Refuse(mark, "too many values, or aliases that expand to too many");
  }

  YamlNode Begin(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag) {
    const bool separator_only =
        kind == YamlNode::Kind::kNull && source_.StartsDocument(document_.line);
    if (documents_ > 0 && !separator_only) SecondDocument(mark);
    if (static_cast<int>(stack_.size()) >= kMaxYamlDepth) TooDeep(mark);
    Pay(mark, kNodePrice);
    const bool tagged = tag != "?" && tag != "!" && !tag.empty();
    const bool refused = tags_ == YamlTags::kRefused;
    if (refused && (tagged || source_.At(mark.line, mark.column) == '!')) {
      Refuse(mark, "the tag " + Quoted(tag == "?" ? "!" : tag),
             "Remove it: tags are not used here");
    }
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = source_.CharacterColumn(mark.line, mark.column);
    return node;
  }

  [[noreturn]] void SecondDocument(const YAML::Mark& mark) {
    if (!source_.StartsDocument(document_.line) && !source_.StartsDocument(mark.line)) {
      Refuse(mark, "not YAML: text after the end of the document", "Check the indentation");
    }
    Refuse(mark, "a second document: pipelines and job groups are understood but not built yet",
           "Write one job a file");
  }

  void Push(YamlNode node, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (!stack_.empty() && stack_.back().node.IsMap() && !stack_.back().has_key) {
      const char bracket = source_.At(mark.line, mark.column);
      if (bracket == '[' || bracket == '{') {
        Refuse(mark, std::string("not YAML: a '") + bracket + "' that is not closed, or is a key",
               "A key is plain text");
      }
      KeyMustBeText(node);
    }
    Level level;
    level.node = std::move(node);
    level.mark = mark;
    level.anchor = anchor;
    stack_.push_back(std::move(level));
  }

  void Pop() {
    Level level = std::move(stack_.back());
    stack_.pop_back();
    Finish(std::move(level.node), level.anchor);
  }

  [[noreturn]] void KeyMustBeText(const YamlNode& key) {
    throw Refusal{Located(key, "a key that is " + Describe(key), "A key is plain text")};
  }

  SpecError Located(const YamlNode& node, std::string message, std::string hint) {
    SpecError error = source_.ErrorAt(node.line - 1, 0, std::move(message), std::move(hint));
    error.column = node.column;
    error.text = node.text.substr(0, 60);
    return error;
  }

  // Puts a whole node where it belongs: the key or value of a map, an item of a list, the root.
  void Finish(YamlNode node, YAML::anchor_t anchor) {
    if (anchor != 0) {
      spent_ += Price(node);
      if (spent_ > kBudget) throw Refusal{Located(node, "anchors that hold too much", "")};
      anchors_[anchor] = node;
    }
    if (stack_.empty()) {
      if (documents_ == 0) root_ = std::move(node);
      return;
    }
    Level& level = stack_.back();
    if (level.node.IsList()) {
      level.node.items.push_back(std::move(node));
    } else if (level.has_key) {
      level.node.entries.push_back({std::move(level.key), std::move(node)});
      level.has_key = false;
    } else {
      if (!node.IsScalar()) KeyMustBeText(node);
      if (!node.quoted && node.text.find('\n') != std::string::npos) KeyMustBeText(node);
      if (!node.quoted && node.text == "<<") {
        throw Refusal{Located(node, "the merge key '<<'", "Write the keys out")};
      }
      if (!level.seen.insert(node.text).second) {
        throw Refusal{
            Located(node, "the key " + Quoted(node.text) + " comes twice", "Keep one of them")};
      }
      level.key = std::move(node);
      level.has_key = true;
    }
  }

  const YamlText& source_;
  const YamlTags tags_;
  YamlNode root_;
  std::vector<Level> stack_;
  std::map<YAML::anchor_t, YamlNode> anchors_;
  YAML::Mark document_;
  int documents_ = 0;
  int64_t spent_ = 0;
};

}  // namespace

std::string Describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "no value";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
    case YamlNode::Kind::kScalar:
      break;
  }
  return Quoted(node.text);
}

YamlNode ParseYamlTree(std::string_view text, const std::string& file,
                       std::vector<SpecError>* errors, YamlTags tags) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  const YamlText source(text, file);
  std::optional<SpecError> error = source.CheckBytes();
  if (!error) error = source.CheckDirectives();
  if (error) {
    errors->push_back(*std::move(error));
    return {};
  }
  TreeBuilder builder(source, tags);
  try {
    // A blank last line without an end becomes part of a folded scalar in the library.
    const size_t last = text.find_last_not_of(" \t");
    if (last != std::string_view::npos && text[last] == '\n') text = text.substr(0, last + 1);
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.Take();
  } catch (const Refusal& refusal) {
    errors->push_back(refusal.error);
  } catch (const YAML::Exception& e) {
    if (e.msg == YAML::ErrorMsg::EOF_IN_SCALAR && !text.empty() && text.back() != '\n') {
      // With a line end the library goes on, and TreeBuilder says where the quote was opened.
      return ParseYamlTree(std::string(text) + "\n", file, errors, tags);
    }
    const bool bracket =
        e.msg == YAML::ErrorMsg::END_OF_MAP_FLOW || e.msg == YAML::ErrorMsg::END_OF_SEQ_FLOW;
    if (std::optional<SpecError> open = builder.OpenBracket(); open && bracket) {
      errors->push_back(*std::move(open));
      return {};
    }
    errors->push_back(source.SyntaxError(e.mark.line, e.mark.column, e.msg));
  } catch (const std::exception& e) {
    errors->push_back(source.ErrorAt(0, 0, std::string("not YAML: ") + e.what()));
  }
  return {};
}

}  // namespace stoker
