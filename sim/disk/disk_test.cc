// SPDX-License-Identifier: Apache-2.0
#include "sim/disk/disk.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stoker::sim {
namespace {

using Kind = FileEvent::Kind;

struct Bench {
  void Write(const std::string& path, const std::string& data) {
    EXPECT_TRUE(disk.Open(path).ok());
    EXPECT_TRUE(disk.Append(path, data).ok());
    disk.Close(path);
  }
  void Run(const std::function<void()>& body) {
    Process process(scheduler, "p");
    process.Spawn(body);
    while (scheduler.RunOne()) {
    }
    EXPECT_TRUE(process.idle());
  }
  SnapshotRequest All() {
    SnapshotRequest request;
    request.copy = view->Scan()->files;
    return request;
  }

  Scheduler scheduler;
  SimClock clock{scheduler};
  Disk disk{scheduler, clock};
  std::unique_ptr<CheckpointFiles> view = disk.OpenCheckpointFiles();
};

std::string Story(const std::vector<FileEvent>& events) {
  std::string out;
  for (const FileEvent& event : events) {
    const char* const names[] = {"changed", "closed", "moved", "gone", "lost"};
    out += names[static_cast<int>(event.kind)];
    if (!event.path.empty()) out += " " + event.path;
    if (event.directory) out += "/";
    if (!event.from.empty()) out += " from " + event.from;
    if (event.fate == Fate::kKilled) out += " killed";
    if (event.disk_full) out += " full";
    out += "; ";
  }
  return out;
}

std::string All(Snapshot& snapshot, size_t index) {
  std::string out;
  char buffer[7];
  for (int64_t at = 0;;) {
    const auto got = snapshot.Read(index, at, buffer, sizeof(buffer));
    if (!got.ok() || *got == 0) return out;
    out.append(buffer, static_cast<size_t>(*got));
    at += *got;
  }
}

TEST(Disk, FilesAreWrittenInPieces) {
  Bench bench;
  Disk& disk = bench.disk;
  EXPECT_EQ(disk.WriteAt("a", 0, "x").code(), Code::kNotFound);
  ASSERT_TRUE(disk.Open("a").ok());
  EXPECT_TRUE(disk.WriteAt("a", 0, "hello").ok());
  EXPECT_TRUE(disk.WriteAt("a", 3, "p me").ok());
  EXPECT_EQ(disk.files().at("a").data, "help me");
  disk.Close("a");
  EXPECT_EQ(disk.Append("a", "x").code(), Code::kInvalid);
  ASSERT_TRUE(disk.OpenInPlace("a").ok());
  EXPECT_TRUE(disk.WriteAt("a", 0, "H").ok());
  EXPECT_EQ(disk.files().at("a").data, "Help me");
  const uint64_t ino = disk.files().at("a").ino;
  ASSERT_TRUE(disk.Open("a").ok());
  EXPECT_EQ(disk.files().at("a").data, "");
  EXPECT_EQ(disk.files().at("a").ino, ino);
  EXPECT_EQ(disk.Open("../a").code(), Code::kInvalid);
}

TEST(Disk, HolesAreNotAllocated) {
  Bench bench;
  ASSERT_TRUE(bench.disk.Open("a").ok());
  EXPECT_TRUE(bench.disk.WriteAt("a", 100, "end").ok());
  const auto scan = bench.view->Scan();
  EXPECT_EQ(scan->files[0].size, 103);
  EXPECT_EQ(scan->files[0].allocated, 3);
  EXPECT_EQ(bench.disk.files().at("a").data[50], '\0');
}

TEST(Disk, EveryWriteHasATimeOfItsOwn) {
  Bench bench;
  ASSERT_TRUE(bench.disk.Open("a").ok());
  std::set<int64_t> times;
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(bench.disk.WriteAt("a", 0, "x").ok());
    times.insert(bench.disk.files().at("a").mtime_ns);
  }
  EXPECT_EQ(times.size(), 100U);
  EXPECT_EQ(*times.begin() / 1'000'000, kEpochMs);
}

TEST(Disk, TellsWhatTheKernelWouldTell) {
  Bench bench;
  Disk& disk = bench.disk;
  disk.TaskBegins();
  (void)disk.Open("d/a");
  for (int i = 0; i < 5; ++i) (void)disk.Append("d/a", "x");
  disk.Close("d/a");
  EXPECT_EQ(Story(bench.view->TakeEvents()), "changed d/; changed d/a; changed d/a; closed d/a; ");
  EXPECT_EQ(Story(bench.view->TakeEvents()), "");
  (void)disk.Open("d/a");  // cuts it
  disk.Close("d/a");
  (void)disk.OpenInPlace("d/a");
  disk.Close("d/a");
  EXPECT_EQ(Story(bench.view->TakeEvents()), "changed d/a; closed d/a; closed d/a; ");
  EXPECT_TRUE(disk.Rename("d/a", "e/b").ok());
  EXPECT_EQ(Story(bench.view->TakeEvents()), "changed e/; moved e/b from d/a; gone d/; ");
  EXPECT_TRUE(disk.Rename("e", "f").ok());
  EXPECT_EQ(Story(bench.view->TakeEvents()), "moved f/ from e; ");
  EXPECT_EQ(disk.files().count("f/b"), 1U);
  disk.Remove("f/b");
  disk.Remove("f/b");
  EXPECT_EQ(Story(bench.view->TakeEvents()), "gone f/b; gone f/; ");
  EXPECT_TRUE(disk.Link("latest", "f").ok());
  EXPECT_EQ(Story(bench.view->TakeEvents()), "changed latest; ");
  disk.LoseEvents();
  (void)disk.Open("g");
  EXPECT_EQ(Story(bench.view->TakeEvents()), "lost; changed g; ");
}

TEST(Disk, RenamesReplaceFilesAndNotFolders) {
  Bench bench;
  bench.Write("new", "2");
  bench.Write("old", "1");
  bench.Write("x/1", "x");
  bench.Write("y/1", "y");
  EXPECT_TRUE(bench.disk.Rename("new", "old").ok());
  EXPECT_EQ(bench.disk.files().at("old").data, "2");
  EXPECT_EQ(bench.disk.files().count("new"), 0U);
  EXPECT_EQ(bench.disk.Rename("x", "y").code(), Code::kExists);
  EXPECT_EQ(bench.disk.Rename("x", "old").code(), Code::kExists);
  EXPECT_EQ(bench.disk.Rename("x", "x/z").code(), Code::kInvalid);
  EXPECT_EQ(bench.disk.Rename("z", "old").code(), Code::kNotFound);
  EXPECT_EQ(bench.disk.Open("x").code(), Code::kInvalid);
}

TEST(Disk, AnOpenFileIsNamedAsOneAndFollowsItsRename) {
  Bench bench;
  (void)bench.disk.Open("a");
  EXPECT_EQ(bench.view->Scan()->written, (std::set<std::string>{"a"}));
  EXPECT_TRUE(bench.disk.Rename("a", "b").ok());
  EXPECT_EQ(bench.view->Scan()->written, (std::set<std::string>{"b"}));
  EXPECT_TRUE(bench.view->Scan()->writers_known);
  bench.disk.Close("b");
  EXPECT_TRUE(bench.view->Scan()->written.empty());
}

TEST(Disk, ATaskThatEndsLetsGoOfItsFiles) {
  for (const WriterFate fate : {WriterFate::kEndedWell, WriterFate::kKilled}) {
    Bench bench;
    EXPECT_FALSE(bench.view->Scan()->task_alive);
    bench.disk.TaskBegins();
    EXPECT_TRUE(bench.view->Scan()->task_alive);
    (void)bench.disk.Open("a");
    (void)bench.disk.Append("a", "half");
    (void)bench.view->TakeEvents();
    bench.disk.TaskEnds(fate);
    const bool killed = fate == WriterFate::kKilled;
    EXPECT_EQ(Story(bench.view->TakeEvents()), killed ? "closed a killed; " : "closed a; ");
    const auto scan = bench.view->Scan();
    EXPECT_EQ(scan->fate, killed ? Fate::kKilled : Fate::kLived);
    EXPECT_FALSE(scan->task_alive);
    EXPECT_TRUE(scan->written.empty());
    bench.disk.TaskBegins();
    EXPECT_EQ(bench.view->Scan()->fate, Fate::kLived);
  }
}

TEST(Disk, AFullDiskRefusesBytesAndNothingElse) {
  Bench bench;
  bench.Write("a", "whole");
  bench.disk.TaskBegins();
  (void)bench.view->TakeEvents();
  bench.disk.SetFull(true);
  EXPECT_TRUE(bench.disk.Open("b").ok());
  EXPECT_EQ(bench.disk.Append("b", "x").code(), Code::kNoSpace);
  bench.disk.Close("b");
  EXPECT_EQ(Story(bench.view->TakeEvents()), "changed b full; closed b full; ");
  EXPECT_TRUE(bench.view->Scan()->disk_full);
  EXPECT_EQ(bench.view->Take(bench.All()).code(), Code::kNoSpace);
  bench.disk.SetFull(false);
  EXPECT_TRUE(bench.view->Take(bench.All()).ok());
}

// Seed 415383: the next hint or look says so, whichever comes first.
TEST(Disk, ATimeWithoutRoomIsToldOfLater) {
  Bench bench;
  bench.Write("a", "whole");
  bench.disk.TaskBegins();
  (void)bench.view->TakeEvents();
  const auto full_for = [&](int64_t ms) {
    bench.disk.SetFull(true);
    bench.Run([&] { bench.scheduler.Sleep(ms); });
    bench.disk.SetFull(false);
  };
  full_for(600);
  bench.Write("b", "x");
  EXPECT_EQ(Story(bench.view->TakeEvents()), "changed b full; changed b; closed b; ");
  EXPECT_FALSE(bench.view->Scan()->disk_full);
  full_for(600);
  EXPECT_TRUE(bench.view->Scan()->disk_full);
  EXPECT_FALSE(bench.view->Scan()->disk_full);
  full_for(100);
  EXPECT_FALSE(bench.view->Scan()->disk_full);
}

TEST(Disk, SnapshotsAreOfOneMoment) {
  Bench bench;
  bench.disk.TaskBegins();
  bench.Write("a", "first of all");
  bench.Write("run.log", "line 1\nline 2\n");
  SnapshotRequest request = bench.All();
  request.prefix.assign(1, request.copy.back());
  request.prefix[0].size = 7;
  request.copy.pop_back();
  auto snapshot = bench.view->Take(request);
  ASSERT_TRUE(snapshot.ok());
  bench.Write("a", "second");
  bench.disk.Remove("run.log");
  ASSERT_EQ((*snapshot)->files().size(), 2U);
  EXPECT_EQ(All(**snapshot, 0), "first of all");
  EXPECT_EQ(All(**snapshot, 1), "line 1\n");
  EXPECT_EQ((*snapshot)->Descriptor(0), -1);
  EXPECT_EQ(bench.view->Take(request).code(), Code::kConflict);
}

TEST(Disk, SnapshotsAreRefusedWhenSomethingStirs) {
  Bench bench;
  Disk& disk = bench.disk;
  disk.TaskBegins();
  bench.Write("a", "1");
  bench.Write("b", "1");
  SnapshotRequest request = bench.All();
  request.stay.push_back(request.copy.back());
  request.copy.pop_back();
  ASSERT_TRUE(bench.view->Take(request).ok());
  for (const char* path : {"a", "b"}) {
    (void)disk.OpenInPlace(path);
    EXPECT_EQ(bench.view->Take(request).code(), Code::kBusy);
    request.even_if_open = true;
    EXPECT_TRUE(bench.view->Take(request).ok());
    request.even_if_open = false;
    disk.Close(path);
  }
  disk.TaskEnds(WriterFate::kKilled);
  EXPECT_EQ(bench.view->Take(request).code(), Code::kConflict);
  request.need_task = false;
  EXPECT_TRUE(bench.view->Take(request).ok());
  disk.Remove("b");
  EXPECT_EQ(bench.view->Take(request).code(), Code::kConflict);
}

TEST(Disk, WhatStirsWhileASnapshotIsMadeSpoilsIt) {
  const auto take_while = [](const std::function<void(Bench&)>& stir) {
    Bench bench;
    bench.disk.TaskBegins();
    bench.Write("a", "1");
    Code code = Code::kInternal;
    bench.scheduler.At(100 + bench.disk.copy_ms / 2, [&] { stir(bench); });
    bench.Run([&] {
      bench.scheduler.Sleep(100);
      const auto snapshot = bench.view->Take(bench.All());
      code = snapshot.code();
      if (!snapshot.ok()) return;
      EXPECT_EQ(All(**snapshot, 0), "1");
    });
    return code;
  };
  EXPECT_EQ(take_while([](Bench&) {}), Code::kOk);
  EXPECT_EQ(take_while([](Bench& bench) { bench.Write("b", "2"); }), Code::kOk);
  EXPECT_EQ(take_while([](Bench& bench) { (void)bench.disk.OpenInPlace("a"); }), Code::kBusy);
  EXPECT_EQ(take_while([](Bench& bench) { bench.Write("a", "2"); }), Code::kConflict);
  EXPECT_EQ(take_while([](Bench& bench) { bench.disk.Remove("a"); }), Code::kConflict);
  EXPECT_EQ(take_while([](Bench& bench) { bench.disk.TaskEnds(WriterFate::kKilled); }),
            Code::kConflict);
}

TEST(Disk, WaitEndsWithNewsOrAWakeOrItsTime) {
  Bench bench;
  std::vector<int64_t> woke;
  bench.scheduler.At(30, [&] { (void)bench.disk.Open("a"); });
  bench.scheduler.At(70, [&] { bench.view->Wake(); });
  bench.Run([&] {
    const auto wait = [&](int64_t ms) {
      bench.view->Wait(Duration::Ms(ms));
      woke.push_back(bench.scheduler.now());
    };
    wait(20);
    wait(1000);  // the file
    wait(1000);  // its event was not taken yet
    (void)bench.view->TakeEvents();
    wait(1000);  // Wake
    wait(50);
  });
  EXPECT_EQ(woke, (std::vector<int64_t>{20, 30, 30, 70, 120}));
}

TEST(Disk, ARebootForgetsWhoHadWhatOpen) {
  Bench bench;
  bench.disk.TaskBegins();
  (void)bench.disk.Open("a");
  (void)bench.disk.Append("a", "half");
  bench.disk.Reboot();
  EXPECT_TRUE(bench.view->TakeEvents().empty());
  const auto scan = bench.view->Scan();
  EXPECT_TRUE(scan->written.empty());
  EXPECT_FALSE(scan->task_alive);
  EXPECT_EQ(bench.disk.files().at("a").data, "half");
  EXPECT_EQ(bench.disk.Append("a", "x").code(), Code::kInvalid);
}

TEST(Disk, WhatUnwindsCannotChangeIt) {
  Bench bench;
  bench.Write("a", "1");
  const auto spool = bench.disk.OpenSpool("s");
  auto appender = *spool->OpenAppend("f");
  struct Meddles {
    Bench& bench;
    SpoolAppender& appender;
    ~Meddles() {
      EXPECT_EQ(bench.disk.Open("b").code(), Code::kUnavailable);
      EXPECT_EQ(bench.disk.Rename("a", "b").code(), Code::kUnavailable);
      bench.disk.Remove("a");
      EXPECT_FALSE(bench.view->Remove("a").ok());
      EXPECT_FALSE(bench.view->Scan().ok());
      EXPECT_FALSE(bench.disk.OpenWriter()->RemoveOthers({}).ok());
      EXPECT_FALSE(appender.Append("x").ok());
      bench.view->Wait(Duration::Seconds(1));
    }
  };
  Process process(bench.scheduler, "p");
  process.Spawn([&] {
    const Meddles meddles{bench, *appender};
    bench.scheduler.Sleep(1000);
  });
  bench.scheduler.At(500, [&] { process.Kill(); });
  while (bench.scheduler.RunOne()) {
  }
  EXPECT_EQ(bench.disk.files().size(), 1U);
  EXPECT_EQ(bench.disk.files().at("a").data, "1");
  EXPECT_EQ(*spool->Read("f", 0, 10), "");
}

TEST(DiskWriter, MakesTheDirectoryEqual) {
  Bench bench;
  bench.Write("in/the/way", "x");
  bench.Write("file", "x");
  bench.Write("left/over", "x");
  const auto writer = bench.disk.OpenWriter();
  auto file = *writer->Create("in");
  EXPECT_TRUE(file->Write("first ").ok());
  EXPECT_TRUE(file->Write("second").ok());
  EXPECT_EQ(bench.disk.files().count("in"), 0U);
  EXPECT_TRUE(file->Commit(0600, 1'234'000'000).ok());
  auto below = *writer->Create("file/below");
  EXPECT_TRUE(below->Commit(0644, 0).ok());
  EXPECT_TRUE(writer->MakeLink("latest", "in").ok());
  EXPECT_TRUE(writer->MakeDirectory("empty").ok());
  EXPECT_FALSE(writer->Create("../x").ok());
  { auto abandoned = *writer->Create("abandoned"); }
  EXPECT_TRUE(writer->RemoveOthers({"in", "file/below", "latest", "empty"}).ok());
  std::vector<std::string> names;
  for (const auto& [path, one] : bench.disk.files()) names.push_back(path);
  EXPECT_EQ(names, (std::vector<std::string>{"empty", "file/below", "in", "latest"}));
  const Disk::File& in = bench.disk.files().at("in");
  EXPECT_EQ(in.data, "first second");
  EXPECT_EQ(in.mode, 0600);
  EXPECT_EQ(in.mtime_ns, 1'234'000'000);
  EXPECT_FALSE(in.open);
  EXPECT_EQ(bench.disk.files().at("latest").target, "in");
  EXPECT_EQ(bench.view->Scan()->files.size(), 4U);
  EXPECT_EQ(bench.view->Scan()->files[0].kind, FileKind::kDirectory);
}

TEST(DiskWriter, WhatAKilledProcessWasWritingStaysUnderAnotherName) {
  Bench bench;
  Process process(bench.scheduler, "p");
  process.Spawn([&] {
    const auto writer = bench.disk.OpenWriter();
    const auto file = *writer->Create("d/a");
    (void)file->Write("half");
    bench.scheduler.Sleep(1000);
    (void)file->Commit(0644, 0);
  });
  bench.scheduler.At(500, [&] { process.Kill(); });
  while (bench.scheduler.RunOne()) {
  }
  ASSERT_EQ(bench.disk.files().size(), 1U);
  EXPECT_EQ(bench.disk.files().begin()->first.find("d/.stoker-new-"), 0U);
  EXPECT_TRUE(bench.view->Scan()->written.empty());
  EXPECT_TRUE(bench.disk.OpenWriter()->RemoveOthers({"d/a"}).ok());
  EXPECT_TRUE(bench.disk.files().empty());
}

TEST(DiskWriter, AFullDiskTakesNoFile) {
  Bench bench;
  bench.disk.SetFull(true);
  const auto writer = bench.disk.OpenWriter();
  const auto file = *writer->Create("a");
  EXPECT_EQ(file->Write("x").code(), Code::kNoSpace);
}

TEST(DiskSpool, KeepsWhatWasAppended) {
  Bench bench;
  const auto spool = bench.disk.OpenSpool("1-0");
  EXPECT_EQ(spool->Read("b", 0, 1).code(), Code::kNotFound);
  EXPECT_EQ(spool->Truncate("b", 0).code(), Code::kNotFound);
  EXPECT_TRUE(spool->Remove("b").ok());
  auto b = *spool->OpenAppend("b");
  auto a = *spool->OpenAppend("a");
  EXPECT_TRUE(b->Append("hello ").ok());
  EXPECT_TRUE((*spool->OpenAppend("b"))->Append("world").ok());
  const auto again = bench.disk.OpenSpool("1-0");
  const auto list = again->List();
  ASSERT_EQ(list->size(), 2U);
  EXPECT_EQ((*list)[0].name, "a");
  EXPECT_EQ((*list)[1].size, 11);
  EXPECT_EQ(*again->Read("b", 6, 100), "world");
  EXPECT_EQ(*again->Read("b", 100, 100), "");
  EXPECT_TRUE(again->Truncate("b", 5).ok());
  EXPECT_EQ(*again->Read("b", 0, 100), "hello");
  EXPECT_TRUE(bench.disk.OpenSpool("1-1")->List()->empty());
}

TEST(DiskSpool, AFullDiskTakesHalf) {
  Bench bench;
  const auto spool = bench.disk.OpenSpool("1-0");
  auto file = *spool->OpenAppend("a");
  bench.disk.SetFull(true);
  EXPECT_EQ(file->Append("12345678").code(), Code::kNoSpace);
  EXPECT_EQ(*spool->Read("a", 0, 100), "1234");
}

}  // namespace
}  // namespace stoker::sim
