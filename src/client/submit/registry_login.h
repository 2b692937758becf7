// SPDX-License-Identifier: Apache-2.0
// Who submits, at the registry of an image.
#pragma once

#include "container/container_spec.h"
#include "container/image_ref.h"
#include "images/registry_client.h"
#include "provider/local/local_private.h"

namespace stoker::client {

// How to ask the registry of `ref`: with the job's own login, else that of docker or podman here,
// else that of the credentials for the registry's cloud. `own` has the secrets that the job's is
// made of. kUnavailable: that one lies in a vault.
Result<RegistryAsk> AskAs(const ContainerSpec& container, const ImageRef& ref,
                          const LocalPrivate& own);

}  // namespace stoker::client
