// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/log_printer.h"

#include <gtest/gtest.h>

namespace stoker::cli {
namespace {

LogRecord Record(int rank, const std::string& text, bool continues = false) {
  LogRecord record;
  record.attempt = 1;
  record.rank = rank;
  record.time = WallTime{1'763'739'845'123};
  record.continues = continues;
  record.text = text;
  return record;
}

TEST(LogPrinter, TimesBeginLinesAndNotTheirParts) {
  LogPrinter plain(false, false, false, true);
  EXPECT_EQ(plain.Format({Record(0, "a"), Record(0, "b", true), Record(0, "c")}),
            "2025-11-21T15:44:05.123Z a\n2025-11-21T15:44:05.123Z bc\n");
  LogPrinter nodes(false, true, false, true);
  EXPECT_EQ(nodes.Format({Record(0, "a", true), Record(1, "b")}),
            "2025-11-21T15:44:05.123Z [node 0] a\n2025-11-21T15:44:05.123Z [node 1] b\n");
  LogRecord note = Record(0, "lines 1-9 are missing");
  note.note = true;
  EXPECT_EQ(plain.Format({note}), "stoker: lines 1-9 are missing\n");
}

TEST(LogPrinter, SaysWhereOneAttemptEndsAndTheNextBegins) {
  LogPrinter printer(false, true, false);
  printer.set_between([](int from, int to) {
    return "from " + std::to_string(from) + " to " + std::to_string(to);
  });
  LogRecord next = Record(1, "c");
  next.attempt = Record(0, "").attempt + 2;
  LogRecord late = Record(0, "late");
  EXPECT_EQ(printer.Format({Record(0, "a"), Record(1, "b", true), next, late, next}),
            "[node 0] a\n[node 1] b\nstoker: from 1 to 3\n[node 1] c\n[node 0] late\n"
            "[node 1] c\n");
  LogPrinter quiet(false, false, false);
  EXPECT_EQ(quiet.Format({Record(0, "a"), next}), "a\nc\n");
}

TEST(LogPrinter, NoTimesUnlessAskedFor) {
  LogPrinter printer(false, false, false);
  EXPECT_EQ(printer.Format({Record(0, "a\x1b[31m")}), "a\x1b[31m\n");
  const LogRecord wild = Record(0, "1 %\r2 %\x1b[31m\x1b[A\x1b]0;title\x07\x1b[2J!");
  LogPrinter terminal(true, false, true);
  EXPECT_EQ(terminal.Format({wild}), "1 %\r2 %\x1b[31m!\x1b[0m\n");
  LogPrinter plain(true, false, false);
  EXPECT_EQ(plain.Format({wild}), "1 %\r2 %!\n");
}

}  // namespace
}  // namespace stoker::cli
