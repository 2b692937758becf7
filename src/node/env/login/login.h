// SPDX-License-Identifier: Apache-2.0
// Users and passwords that requirements have in their addresses. Pip and uv would hand them to git,
// and pip to itself, as words of a command, which every user of the machine can read. So they are
// given beside the addresses: to git by variables that it reads as settings, to pip and uv by a
// netrc. Formats: git-config(1), GIT_CONFIG_COUNT and http.extraHeader; pip.pypa.io,
// Authentication. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stoker::node {

struct AddressLogin {
  bool git = false;
  std::string origin;  // "https://host:8080"
  std::string url;     // without the login, and without a revision or fragment behind it
  std::string user;
  std::string password;
  bool operator==(const AddressLogin&) const = default;
};

using VariableSource = std::function<std::optional<std::string>(const std::string& name)>;

// `text` with what ${NAME} stands for, as pip replaces it; nullopt: one of them is not known.
std::optional<std::string> FilledIn(std::string text, const VariableSource& variable);

// `text` without the logins of http and https, each of which is appended to `logins` once. Those
// stay that have a variable without a value; of indexes also such as a netrc cannot hold: without a
// password, or another one for a host that is in `logins`.
std::string TakeLogins(std::string_view text, const VariableSource& variable,
                       std::vector<AddressLogin>* logins);

// Of git: NAME, value. `already`: how many such settings there are (GIT_CONFIG_COUNT).
std::vector<std::pair<std::string, std::string>> GitLogins(const std::vector<AddressLogin>& logins,
                                                           int already);

// Of indexes, as a netrc has them; "" = there is none.
std::string NetrcOf(const std::vector<AddressLogin>& logins);

}  // namespace stoker::node
