// SPDX-License-Identifier: Apache-2.0
// A cloud's noes as data: which words, what class, for how much, and what a person types. Inside
// provider/ only. Pure. Each cloud has one table of them, and docs/refusals.md is printed from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "job/refusal.h"

namespace stoker::cloud {

struct RefusalRow {
  std::string_view code;  // as the cloud writes it; "" = any
  std::string_view says;  // part of the message; "" = whatever it says
  RefusalClass what;
  RefusalScope scope;
  int64_t wait_s = 0;
  std::string_view next = "";  // what a person types, or what happens by itself; never ""
};

// Does the row speak of an answer with that code, which says `message`?
bool Fits(const RefusalRow& row, std::string_view code, const std::string& message);

Refusal MakeRefusal(RefusalClass what, RefusalScope scope, int64_t wait_s, std::string message);

// "CODE: what the cloud says. What a person does": of what the cloud says as much as leaves the
// last whole, since that is what helps.
std::string RefusalText(const std::string& code, std::string said, std::string_view next);

// A row a line of Markdown, with head.
std::string RefusalTable(std::span<const RefusalRow> rows);

}  // namespace stoker::cloud
