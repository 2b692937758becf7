// SPDX-License-Identifier: Apache-2.0
#include "agent/signals.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace stoker {
namespace {

TEST(Signals, AreKnownByTheirNames) {
  EXPECT_EQ(SignalNumber("SIGUSR1"), SIGUSR1);
  EXPECT_EQ(SignalNumber("SIGTERM"), SIGTERM);
  EXPECT_EQ(SignalNumber("SIGKILL"), 0);
}

TEST(Signals, AreToldWithWhoGotThem) {
  EXPECT_EQ(TellSignal("SIGTERM", {{7, "/usr/bin/python3 train.py"}}, ""),
            "SIGTERM to python3 train.py (process 7)");
  EXPECT_EQ(TellSignal("SIGTERM", {{7, "a"}, {8, "b"}, {9, "c"}, {10, "d"}, {11, "e"}}, ""),
            "SIGTERM to a (process 7), b (process 8), c (process 9) and 2 more");
  EXPECT_EQ(TellSignal("SIGUSR1", {}, "it was sent to nobody"),
            "no process of the program handles SIGUSR1: it was sent to nobody");
  EXPECT_EQ(TellSignal("SIGTERM", {{7, std::string(100, 'x')}}, ""),
            "SIGTERM to " + std::string(57, 'x') + "... (process 7)");
}

}  // namespace
}  // namespace stoker
