// SPDX-License-Identifier: Apache-2.0
#include "metrics/patterns.h"

#include <re2/re2.h>

#include "base/text.h"
#include "metrics/numbers.h"

namespace stoker::metrics {

struct Pattern::Compiled {
  explicit Compiled(const std::string& regex, const re2::RE2::Options& options)
      : expression(regex, options) {}
  re2::RE2 expression;
};

Result<Pattern> Pattern::Make(const std::string& name, const std::string& regex) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(4 << 20);
  auto compiled = std::make_shared<Compiled>(regex, options);
  const re2::RE2& expression = compiled->expression;
  if (!expression.ok()) {
    return Status(
        Code::kInvalid,
        "the regex of '" + Printable(name) +
            "' is not one that RE2 knows: " + Printable(expression.error()),
        "Look-around and back-references are not in it: write the text around the number, "
        "and the number in parentheses");
  }
  if (expression.NumberOfCapturingGroups() < 1) {
    return Status(Code::kInvalid, "the regex of '" + Printable(name) + "' has no group",
                  "Put the number in parentheses: 'loss: ([0-9.]+)'");
  }
  Pattern pattern;
  pattern.name_ = name;
  pattern.compiled_ = std::move(compiled);
  return pattern;
}

std::optional<double> Pattern::Find(std::string_view line) const {
  re2::StringPiece found;
  const re2::StringPiece text(line.data(), line.size());
  if (!re2::RE2::PartialMatch(text, compiled_->expression, &found)) return std::nullopt;
  return ParseNumber(std::string_view(found.data(), found.size()));
}

}  // namespace stoker::metrics
