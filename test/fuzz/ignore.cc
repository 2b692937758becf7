// SPDX-License-Identifier: Apache-2.0
// Ignore files, and patterns of outputs. Input: the file; its last line is a path.
#include "pack/ignore.h"

#include "base/glob.h"
#include "base/text.h"
#include "outputs/output_pattern.h"
#include "test/fuzz/target.h"

namespace stoker::fuzz {
namespace {

// A pattern that is this path and nothing else; "" where no line can say it.
std::string Literal(const std::string& path) {
  if (path.find_first_of("\r\n") != path.npos || path.find('\0') != path.npos) return "";
  std::string out = "/";
  for (const char c : path) {
    if (c != '/') out += '\\';
    out += c;
  }
  return out;
}

// A folder is looked into when something in it may match.
void ExpectFound(const std::string& pattern, const std::string& path) {
  const OutputPattern output(OutputSpec{pattern});
  if (!output.Matches(path)) return;
  FUZZ_EXPECT(path == output.folder() || StartsWith(path, output.folder()),
              output.folder() + " " + path);
  for (size_t at = path.find('/'); at != path.npos; at = path.find('/', at + 1)) {
    FUZZ_EXPECT(output.MayHold(path.substr(0, at)), pattern + " " + path);
  }
  FUZZ_EXPECT(output.Matches(path + "/below"), pattern + " " + path);
}

}  // namespace
}  // namespace stoker::fuzz

FUZZ_TARGET(ignore) {
  using namespace stoker;
  using namespace stoker::fuzz;
  const size_t last = input.rfind('\n');
  const std::string text(input.substr(0, last == input.npos ? 0 : last));
  const std::string path(input.substr(last == input.npos ? 0 : last + 1));
  const pack::IgnoreFile file(text);
  const bool safe = IsSafeRelativePath(path);
  for (const bool folder : {false, true}) {
    const pack::Verdict verdict = file.Decide(path, folder);
    pack::IgnoreTree tree;
    tree.Add("", text);
    FUZZ_EXPECT(tree.IgnoresEntry(path, folder) == (verdict == pack::Verdict::kIgnore), path);
    const std::string comments = "# none\n\n" + text + "\n#!x\n\n";
    const bool bom = StartsWith(text, "\xef\xbb\xbf");
    FUZZ_EXPECT(bom || pack::IgnoreFile(comments).Decide(path, folder) == verdict, text);
    const std::string literal = safe ? Literal(path) : "";
    if (literal.empty()) continue;
    const auto with = [&](const std::string& line) {
      return pack::IgnoreFile(text + "\n" + line).Decide(path, folder);
    };
    FUZZ_EXPECT(with(literal) == pack::Verdict::kIgnore, literal);
    FUZZ_EXPECT(with("!" + literal) == pack::Verdict::kKeep, literal);
    FUZZ_EXPECT(with(literal + "/") == (folder ? pack::Verdict::kIgnore : verdict), literal);
    FUZZ_EXPECT(with(literal + "x") == verdict, literal);
  }
  const std::string first = text.substr(0, text.find('\n'));
  if (!safe) return;
  if (IsSafeRelativePath(first)) ExpectFound(first, path);
  FUZZ_EXPECT(
      Glob(Literal(path).substr(0, 1) == "/" ? Literal(path).substr(1) : "").Matches(path) ==
          !Literal(path).empty(),
      path);
}
