// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "google/credential_source.h"
#include "port/object_store.h"
#include "store/gcs/gcs_store.h"

namespace stoker {

// "gs://bucket" or "gs://bucket/prefix", with the credentials that the user's other programs would
// use (google/). Where STORAGE_EMULATOR_HOST is set, that server and no credentials, as Google's
// own clients have it. Sends nothing yet.
Result<GcsStoreOptions> FindGcsOptions(const std::string& url);
// `type_of` as GcsStoreOptions.
Result<std::unique_ptr<ObjectStore>> OpenGcs(
    const std::string& url, std::function<bool()> stopped,
    std::function<std::string(const std::string& key)> type_of = {});

// The address in STORAGE_EMULATOR_HOST, as "http://host:port"; "" = Google's own.
std::string GcsEmulator();

// Looks for the credentials that OpenGcs would use, now; Describe() says what they are. `secret` is
// "" with an emulator.
Result<GoogleToken> FindGcsCredentials();

}  // namespace stoker
