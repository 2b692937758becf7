// SPDX-License-Identifier: Apache-2.0
// Puts an image into a registry. Source: OCI distribution-spec 1.1 ("push").
#pragma once

#include "base/status.h"
#include "images/one_layer.h"
#include "images/registry_client.h"

namespace stoker {

// Under the tag of `to.ref`. What is there already is not sent again, so it may be repeated, and
// two may do it at once. Whether anything was sent. kDenied: not with this login; other errors: it
// could not be asked, or took it not. Thread-safe.
Result<bool> PushImage(const RegistryAsk& to, const OneLayerImage& image);

}  // namespace stoker
