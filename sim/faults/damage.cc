// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/damage.h"

#include <algorithm>

#include "base/digest.h"
#include "base/text.h"

namespace stoker::sim {
namespace {

std::string Flip(Prng& rng, std::string text) {
  if (text.empty()) return "x";
  const uint64_t at = rng.Below(text.size());
  const uint64_t bit = rng.Below(7);
  text[at] = static_cast<char>(text[at] ^ (1 << bit));
  return text;
}

// "format":1 becomes 99. What has no format becomes garbage.
std::string Newer(std::string text) {
  const std::string word = "\"format\":";
  const size_t at = text.find(word);
  if (at == std::string::npos) return "{\"format\":99}";
  return text.replace(at + word.size(), 1, "99");
}

// The same JSON with one of its words changed: of another type, or of another job.
std::string OtherWord(Prng& rng, std::string text) {
  static constexpr const char* kWords[] = {
      "\"id\":", "\"instance_id\":", "\"incarnation\":", "\"state\":", "\"launch\":"};
  const uint64_t kind = rng.Below(8);
  const uint64_t which = kind < 5 ? kind : 0;
  const std::string word = kWords[which];
  const size_t at = text.find(word);
  if (at == std::string::npos) return "[1, \"two\"]";
  const size_t value = text.find_first_not_of(' ', at + word.size());
  if (value == std::string::npos) return "[1, \"two\"]";
  if (text[value] == '"') return text.insert(value + 1, "x");
  return text.insert(value, "\"x\",\"was\":");
}

}  // namespace

std::string Spoil(Prng& rng, const std::string& text) {
  const uint64_t form = rng.Below(7);
  switch (form) {
    case 0:
      return "";
    case 1:
      return "garbage\n";
    case 2: {
      const uint64_t length = rng.Below(text.size() + 1);
      return text.substr(0, length);
    }
    case 3:
      return Newer(text);
    case 4:
      return OtherWord(rng, text);
    case 5:
      return "{}";
    default:
      return Flip(rng, text);
  }
}

std::string HostileSegment(Prng& rng, const std::string& segment) {
  static constexpr const char* kLines[] = {
      "[",
      "[]",
      "[\"x",
      "[\"x\\n",
      "[\"x\\\"y\\\\z",
      "[1,2,3]",
      "[\"x\",99999999999999999999]",
      "[\"x\",-7,\"n\"]",
      "no array",
  };
  const uint64_t which = rng.Below(17);
  const size_t first = segment.find('\n');
  std::string line = segment.substr(0, std::min(first, segment.size()));
  if (which < 9) {
    line = kLines[which];
  } else if (which == 9) {
    line.insert(std::min<size_t>(2, line.size()), "../");  // an id that is no name
  } else if (which == 10 && !line.empty()) {
    line.back() = 'x';
  } else if (which == 11 && !line.empty()) {
    line.insert(line.size() - 1, ",\"what newer versions add\",1");
  } else if (which == 13 && !line.empty()) {
    line.pop_back();
  } else if (which == 14 && !line.empty()) {
    line.insert(line.size() - 1, "x");
  } else if (which == 15) {
    line = "[\"x\\";  // ends in the middle of an escape
  } else if (which == 16) {
    line = "[\"x\",1,\"n\",\"u\",\"Failed\",99999999999]";  // of that many nodes
  } else {
    line = Flip(rng, line);
  }
  // A line is a line: what would end it is left out.
  std::erase(line, '\n');
  const std::string lines = line + "\n";
  return lines + "{\"format\":1,\"lines\":1,\"sha256\":\"" + Sha256Hex(lines) + "\"}\n";
}

}  // namespace stoker::sim
