// SPDX-License-Identifier: Apache-2.0
#include "base/profiles.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(Profiles, AreKnownByTheirNames) {
  for (const char* path :
       {"log/host_123.1700000000.pt.trace.json", "host_1.2.pt.trace.json.gz", "a/trace.json",
        "logs/plugins/profile/2026_11_24/host.xplane.pb", "x/host.trace.json.gz",
        "report1.nsys-rep", "old.qdrep", "a/b/kernels.ncu-rep"}) {
    EXPECT_TRUE(IsProfile(path)) << path;
  }
  for (const char* path : {"", "trace.json/model.pt", "mytrace.json", ".nsys-rep",
                           "a/.pt.trace.json", "model.pt", "report.nsys-rep.bak", "stack.json"}) {
    EXPECT_FALSE(IsProfile(path)) << path;
  }
}

}  // namespace
}  // namespace stoker
