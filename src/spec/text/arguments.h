// SPDX-License-Identifier: Apache-2.0
// What a command gives its program by name: hyperparameters that nobody has named with --hp.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stoker {

// `--lr 0.1`, `--lr=0.1`, `-b 64`, `lr=0.1` (Hydra), `--amp` alone as "true": names without the
// hyphens in front, those within as '_'. Only behind the script ("train.py", `-m MODULE`) where the
// command names one, so that a launcher's own options do not count. At most 200; the last of a name
// counts.
std::vector<std::pair<std::string, std::string>> NamedArguments(
    const std::vector<std::string>& argv);

// Why the value of what is called so looks like a secret, "" when it does not: as SecretInEnv, but
// for what stands for one ("$HF_TOKEN", "<image>", "[PAD]", numbers, "true").
std::string SecretInArgument(std::string_view name, std::string_view value);

// `value`, or "***" where SecretInArgument says something.
std::string ShownArgument(std::string_view name, std::string_view value);

}  // namespace stoker
