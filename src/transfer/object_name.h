// SPDX-License-Identifier: Apache-2.0
// Names of users' files are bytes; keys of stores and JSON are text. How the one is written as the
// other, and back. Pure. docs/checkpoint-store.md tells it to people.
#pragma once

#include <string>
#include <string_view>

namespace stoker {

// Where a file lies below a folder of the store whose key is `before` bytes long: under its own
// name where every store holds that and lists it again, else under OddObject.
std::string ObjectOf(const std::string& path, size_t before);
// "odd-names/<SHA-256 of the path>": what a file is called where its own name cannot be a key.
std::string OddObject(const std::string& path);

// '%' and all that is not ASCII as %XX: what a name is in JSON that cannot be as it is.
std::string EncodeName(std::string_view name);
// The other way round; a '%' without two hex digits stays as it is.
std::string DecodeName(std::string_view text);

}  // namespace stoker
