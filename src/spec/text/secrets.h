// SPDX-License-Identifier: Apache-2.0
// What looks like a secret must not enter the ledger.
#pragma once

#include <string>
#include <string_view>

namespace stoker {

// Why `value` looks like a secret whatever it is called ("an AWS access key", "a private key", …);
// "" when it does not. Looks anywhere in the text, so a whole script can be given. Knows the public
// formats of common credentials and is tuned to be right when it speaks.
std::string SecretInText(std::string_view value);

// The same for an environment variable, whose name may tell too (AWS_SECRET_ACCESS_KEY, HF_TOKEN,
// DB_PASSWORD, WANDB_API_KEY). Not for an empty value, nor for names of files (…_FILE, …_PATH).
std::string SecretInEnv(std::string_view name, std::string_view value);

// Whether a variable that nobody has named for this purpose should be left where it is: what
// SecretInEnv knows, and whatever may be one by a word of its name (PASS, COOKIE, MY_PWD, DB_CREDS)
// or of its value (a webhook, "token="). Says yes too often rather than too seldom; never of a
// number.
bool MayBeSecret(std::string_view name, std::string_view value);

// What to do instead, one sentence.
std::string SecretAdvice(std::string_view name);

}  // namespace stoker
