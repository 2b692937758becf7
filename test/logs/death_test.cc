// SPDX-License-Identifier: Apache-2.0
// What is left on a real disk when the capturing process dies, at any byte, or the disk is full.
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "sys/real_clock.h"
#include "sys/spool_file.h"
#include "test/logs/log_fixture.h"

namespace stoker {
namespace {

std::unique_ptr<LogSpool> OpenOnDisk(const std::string& path, Clock& clock,
                                     const LogSpoolOptions& options = {}) {
  Result<std::unique_ptr<SpoolFolder>> folder = OpenSpoolFolder(path);
  EXPECT_TRUE(folder.ok()) << folder.status().ToString();
  Result<std::unique_ptr<LogSpool>> spool =
      LogSpool::Open(std::move(folder).value(), clock, nullptr, options);
  EXPECT_TRUE(spool.ok()) << spool.status().ToString();
  return std::move(spool).value();
}

// Texts of all records from line 1 on, in order.
std::vector<std::string> Texts(LogSpool& spool) {
  std::vector<std::string> texts;
  for (int64_t line = 1;;) {
    Result<LogSpool::Chunk> chunk = spool.Read(line, 1 << 20);
    EXPECT_TRUE(chunk.ok()) << chunk.status().ToString();
    if (!chunk.ok() || chunk->lines == 0) return texts;
    EXPECT_EQ(chunk->first, line);
    for (const std::string& record : Split(chunk->text.substr(0, chunk->text.size() - 1), '\n')) {
      std::optional<RecordView> view = ParseRecord(record);
      EXPECT_TRUE(view.has_value()) << record;
      texts.emplace_back(view ? view->text : "");
    }
    EXPECT_EQ(static_cast<int64_t>(texts.size()), line + chunk->lines - 1);
    line += chunk->lines;
  }
}

TEST(Death, AFileTornAtAnyByteIsRecoveredToItsLastWholeRecord) {
  ManualClock clock;
  std::string whole;
  {
    SpoolDisk disk;
    std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
    for (int i = 0; i < 12; ++i) spool->Write(LogStream::kOut, "text " + std::to_string(i) + "\n");
    whole = disk.files.begin()->second;
  }
  for (size_t size = 0; size <= whole.size(); ++size) {
    SpoolDisk disk;
    disk.files["000000000001.log"] = whole.substr(0, size);
    std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
    const int64_t kept = std::count(whole.begin(), whole.begin() + static_cast<long>(size), '\n');
    ASSERT_EQ(spool->counters().records, kept) << size;
    spool->Write(LogStream::kErr, "after the death\n");
    std::vector<std::string> texts = Texts(*spool);
    ASSERT_EQ(static_cast<int64_t>(texts.size()), kept + 1);
    ASSERT_EQ(texts.back(), "after the death");
    for (int64_t i = 0; i < kept; ++i) ASSERT_EQ(texts[i], "text " + std::to_string(i));
  }
}

TEST(Death, GarbageAtTheEndIsCutOff) {
  ManualClock clock;
  SpoolDisk disk;
  disk.files["000000000001.log"] = "1000 o good\n" + std::string(5000, '\0') + "\nmore\n";
  disk.files["notes.txt"] = "not ours";
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
  spool->Write(LogStream::kOut, "next\n");
  EXPECT_EQ(Texts(*spool), (std::vector<std::string>{"good", "next"}));
  EXPECT_EQ(disk.files["notes.txt"], "not ours");
}

struct Shared {
  std::atomic<int64_t> accepted;  // Write has returned for this many lines
};

// Writes lines "N" from `next` on, in random chunks, until it is killed.
[[noreturn]] void SpoolUntilKilled(const std::string& path, uint64_t seed, int64_t next,
                                   Shared* shared) {
  RealClock clock;
  Prng prng(seed);
  LogSpoolOptions options;
  options.rotate_bytes = 200'000;
  std::unique_ptr<LogSpool> spool = OpenOnDisk(path, clock, options);
  while (true) {
    std::string chunk;
    const int64_t lines = prng.Between(1, 2000);
    for (int64_t i = 0; i < lines; ++i) chunk += std::to_string(next++) + "\n";
    spool->Write(LogStream::kOut, chunk);
    shared->accepted = next;
  }
}

TEST(Death, KilledAtAnyMomentKeepsEveryLineThatItTook) {
  TempFolder folder;
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* shared = new (page) Shared{};
  Prng prng(7);
  int64_t next = 0;
  for (int round = 0; round < 25; ++round) {
    shared->accepted = next;
    const uint64_t seed = prng.Next();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) SpoolUntilKilled(folder.path(), seed, next, shared);
    usleep(static_cast<useconds_t>(prng.Between(2'000, 40'000)));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    ManualClock clock;
    std::unique_ptr<LogSpool> spool = OpenOnDisk(folder.path(), clock);
    const int64_t kept = spool->counters().records;
    ASSERT_GE(kept, shared->accepted) << "round " << round;
    next = kept;
  }
  ASSERT_GT(next, 0);
  ManualClock clock;
  std::unique_ptr<LogSpool> spool = OpenOnDisk(folder.path(), clock);
  std::vector<std::string> texts = Texts(*spool);
  ASSERT_EQ(static_cast<int64_t>(texts.size()), next);
  for (int64_t i = 0; i < next; ++i) ASSERT_EQ(texts[static_cast<size_t>(i)], std::to_string(i));
  munmap(page, 4096);
}

// In a child, because the limit is the process's: 0 = as expected.
int WriteBeyondTheLimit(const std::string& path) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit limit{100'000, 10'000'000};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
  ManualClock clock;
  std::unique_ptr<LogSpool> spool = OpenOnDisk(path, clock);
  for (int i = 0; i < 10'000; ++i) spool->Write(LogStream::kOut, "0123456789012345678901234567\n");
  const int64_t lost = spool->counters().lost_lines;
  if (lost < 5000 || spool->trouble().empty()) return 2;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 3;
  spool->Write(LogStream::kOut, "there is room again\n");
  const std::vector<std::string> texts = Texts(*spool);
  if (static_cast<int64_t>(texts.size()) != 10'000 - lost + 2) return 4;
  if (texts[texts.size() - 2] != "stoker: " + std::to_string(lost) + " lines lost: disk full") {
    return 5;
  }
  return texts.back() == "there is room again" && spool->trouble().empty() ? 0 : 6;
}

TEST(Death, ARealFileThatCannotGrowLosesLinesAloud) {
  TempFolder folder;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(WriteBeyondTheLimit(folder.path()));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Death, TheSpoolFolderSaysWhatIsWrong) {
  TempFolder folder;
  EXPECT_EQ(OpenSpoolFolder("/dev/null/x").status().code(), Code::kNotFound);
  Result<std::unique_ptr<SpoolFolder>> spool = OpenSpoolFolder(folder.path() + "/a/b");
  ASSERT_TRUE(spool.ok()) << spool.status().ToString();
  EXPECT_EQ((*spool)->Read("missing", 0, 10).code(), Code::kNotFound);
  EXPECT_TRUE((*spool)->Remove("missing").ok());
  std::filesystem::create_symlink("/etc/passwd", folder.path() + "/a/b/link");
  EXPECT_FALSE((*spool)->OpenAppend("link").ok());
  EXPECT_EQ((*spool)->List()->size(), 0u);
}

}  // namespace
}  // namespace stoker
