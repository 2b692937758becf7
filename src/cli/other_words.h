// SPDX-License-Identifier: Apache-2.0
// What people type who come from another tool, or who leave a word out: what to write instead.
#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"

namespace stoker::cli {

// For the name of a verb that stoker does not have, "submit" or "squeue": a sentence, or "".
std::string HintForForeignVerb(const std::string& name);

// For an option that `verb` does not have, "--gpus": a sentence, or "".
std::string HintForForeignFlag(const std::string& verb, const std::string& name);

// For a word that `verb` has no place for, "ls train", "config store": a sentence, or "".
std::string HintForExtraWord(const Verb& verb, const std::vector<std::string>& args);

// For words that mean something else to other tools, "logs -n 3": a sentence, or "".
std::string HintForOtherMeaning(const std::string& verb, const std::vector<std::string>& args);

// For a command line of `stoker run` with a program where a job file belongs: the same line with
// the "--" where it is missing, as a sentence; "" when that is not what happened, as when an option
// before it is unknown. `args` are the words behind the verb.
std::string HintForMissingDashes(const Verb& verb, const std::vector<std::string>& args);

// `word` as one would type it in a shell: in quotes only where they are needed.
std::string AsTyped(const std::string& word);

// The options that `args` give a name to but, as in "--env= x", no value; "" for none. The library
// would take the next word for it.
std::string OptionWithoutValue(const Verb& verb, const std::vector<std::string>& args);

}  // namespace stoker::cli
