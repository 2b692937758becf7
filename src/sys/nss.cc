// SPDX-License-Identifier: Apache-2.0
#include "sys/nss.h"

// Exported by glibc for nscd's sake, but declared in no installed header.
extern "C" int __nss_configure_lookup(const char* database, const char* services);

namespace stoker {

void PinNameServices() {
  __nss_configure_lookup("hosts", "files dns");
  __nss_configure_lookup("passwd", "files");
  __nss_configure_lookup("group", "files");
  __nss_configure_lookup("services", "files");
}

}  // namespace stoker
