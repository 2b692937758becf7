// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stoker {

// Makes name look-ups use only what is linked into a static binary: files and DNS. Without it a
// static glibc program aborts inside getaddrinfo on hosts whose nsswitch.conf names resolve, mdns4,
// myhostname and the like. Call it before anything else in main, once, before any thread.
void PinNameServices();

}  // namespace stoker
