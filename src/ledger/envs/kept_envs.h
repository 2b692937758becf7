// SPDX-License-Identifier: Apache-2.0
// Python environments that are kept in the store, so that one machine builds what others unpack.
// docs/ledger.md has the format. A cache: nothing is lost where any of it is missing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "port/object_store.h"

namespace stoker {

// An environment that no job has begun with for so long goes; what is in use is written down again
// when that is a day old; a part that is older than half of it is written anew rather than relied
// on.
inline constexpr Duration kEnvAge = Duration::Hours(24 * 30);
inline constexpr Duration kEnvUsedEvery = Duration::Hours(24);
inline constexpr Duration kEnvPartAge = Duration::Hours(24 * 15);

// An archive (pack/archive.h's format) of one folder, named by its digest.
struct EnvPart {
  std::string path;  // of the folder in the environment; "" = of all that no other part has
  std::string sha256;
  int64_t bytes = 0;
};

// Says what an environment is made of. It's written last, so that what it names is there.
struct EnvManifest {
  std::string python;    // version, for people
  std::string platform;  // the same
  // The folder that its files name: it can be used there alone. "" = anywhere.
  std::string bound;
  std::vector<EnvPart> parts;  // that of "" first
  int64_t Bytes() const;
};
std::string EncodeEnv(const EnvManifest& manifest);
// kCorrupt, kTooNew. What it names is safe to be unpacked below a folder.
Result<EnvManifest> ParseEnv(const std::string& key, const std::string& text);

struct FoundEnv {
  std::optional<EnvManifest> manifest;  // unset: damaged, which `why` says
  Status why;
  Version version;
  Duration age;  // since it was written, by the store's clock
};
// nullopt: there is none. `env`: 64 hex digits, for what it was built from.
Result<std::optional<FoundEnv>> FindEnv(ObjectStore& store, const std::string& env);

// Lets the first who writes it win; `instead`: of one that was found damaged, that version is
// replaced. False: somebody was quicker, and theirs counts.
Result<bool> PutEnv(ObjectStore& store, const std::string& env, const EnvManifest& manifest,
                    const std::optional<Version>& instead);

// A job begins with it. Writes at most once a day.
Status MarkEnvUsed(ObjectStore& store, const std::string& env);

// Makes sure that the part is there and young, with what `read` gives (as Download::Read). `again`:
// also where one is there, since it was found damaged. Returns whether it was sent.
Result<bool> PutEnvPart(ObjectStore& store, const EnvPart& part, bool again,
                        const std::function<Result<int64_t>(char* buffer, int64_t size)>& read);
// Content is to be held against `sha256` by who reads it. kNotFound.
Result<std::unique_ptr<Download>> OpenEnvPart(ObjectStore& store, const EnvPart& part);

struct ClearedEnvs {
  int envs = 0;
  int parts = 0;
  int64_t bytes = 0;
};
// Removes environments that no job has begun with for kEnvAge, and then parts of that age that none
// names; no part while a manifest cannot be read. `dry_run` only counts. Safe beside jobs: who
// finds a part gone builds, and puts the environment there anew.
Result<ClearedEnvs> ClearOldEnvs(ObjectStore& store, bool dry_run);

}  // namespace stoker
