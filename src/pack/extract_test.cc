// SPDX-License-Identifier: Apache-2.0
#include "pack/extract.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/digest.h"
#include "base/prng.h"
#include "pack/archive.h"
#include "test/kit/evil_tar.h"
#include "test/kit/tree.h"

namespace stoker::pack {
namespace {

ByteSource FromString(const std::string& bytes) {
  size_t at = 0;
  return [&bytes, at](char* buffer, int64_t size) mutable -> Result<int64_t> {
    // Odd pieces, as a network gives them.
    const size_t got = std::min({static_cast<size_t>(size), bytes.size() - at, size_t{777}});
    bytes.copy(buffer, got, at);
    at += got;
    return static_cast<int64_t>(got);
  };
}

// A destination with neighbours that nothing may touch.
class Arena {
 public:
  // In memory where that is to be had: thousands of small trees are slow on a disk.
  Arena()
      : dir_(sys::TempDir::Make("stoker-extract-test", sys::DirExists("/dev/shm") ? "/dev/shm" : "")
                 .value()) {
    EXPECT_TRUE(sys::MakeDirs(dir_.path() + "/in/victim").ok());
    EXPECT_TRUE(sys::WriteFileAtomic(dir_.path() + "/in/victim/file", "mine", 0644, false).ok());
  }
  std::string dest() const { return dir_.path() + "/in/dest"; }
  std::string victim() const { return dir_.path() + "/in/victim"; }
  Status Try(const std::string& archive, const ExtractOptions& options = {}) {
    return Extract(FromString(archive), dest(), options);
  }
  // After a failure: no destination, no building place, and the neighbours as they were.
  bool Untouched() const {
    return sys::ListDir(dir_.path())->size() == 1 &&
           sys::ListDir(dir_.path() + "/in")->size() == 1 && sys::ListDir(victim())->size() == 1 &&
           sys::ReadFile(victim() + "/file").value_or("") == "mine";
  }
  void ExpectRefused(const std::string& what, const std::string& archive, Code code,
                     const ExtractOptions& options = {}) {
    Status status = Try(archive, options);
    EXPECT_EQ(status.code(), code) << what << ": " << status.ToString();
    EXPECT_TRUE(Untouched()) << what;
    (void)sys::RemoveTree(dest());
  }

 private:
  sys::TempDir dir_;
};

TEST(Extract, NamesThatLeadOutside) {
  Arena arena;
  for (const char* name :
       {"../x", "/x", "a/../../x", "a/..", "..", "a/./b", "a//b", "./../x", "//x", "."}) {
    arena.ExpectRefused(name, EvilTar().Add(name, '0', "x").Packed(), Code::kInvalid);
  }
  arena.ExpectRefused("absolute", EvilTar().Add(arena.victim() + "/new", '0', "x").Packed(),
                      Code::kInvalid);
  arena.ExpectRefused("pax", EvilTar().AddPax("path", "../x").Add("ok", '0', "x").Packed(),
                      Code::kInvalid);
  arena.ExpectRefused("dir", EvilTar().Add("../d/", '5').Packed(), Code::kInvalid);
  arena.ExpectRefused("link", EvilTar().Add("../l", '2', "", "x").Packed(), Code::kInvalid);
  arena.ExpectRefused("long part",
                      EvilTar().AddPax("path", std::string(256, 'x')).Add("a", '0').Packed(),
                      Code::kInvalid);
  std::string deep = "a";
  for (int i = 0; i < 300; ++i) deep += "/a";
  arena.ExpectRefused("deep", EvilTar().AddPax("path", deep).Add("a", '0').Packed(),
                      Code::kInvalid);
}

TEST(Extract, LinksAreNeverWrittenThrough) {
  Arena arena;
  for (const std::string& target : {arena.victim(), std::string("../victim"), std::string(".")}) {
    arena.ExpectRefused("through " + target,
                        EvilTar().Add("l", '2', "", target).Add("l/file", '0', "evil").Packed(),
                        Code::kInvalid);
    arena.ExpectRefused("folder through " + target,
                        EvilTar().Add("l", '2', "", target).Add("l/d/", '5').Packed(),
                        Code::kInvalid);
    arena.ExpectRefused("link as folder " + target,
                        EvilTar().Add("l", '2', "", target).Add("l/", '5').Packed(),
                        Code::kCorrupt);
    arena.ExpectRefused("hard link through " + target,
                        EvilTar().Add("l", '2', "", target).Add("h", '1', "", "l/file").Packed(),
                        Code::kInvalid);
  }
  arena.ExpectRefused("file over link",
                      EvilTar().Add("l", '2', "", "../victim/file").Add("l", '0', "evil").Packed(),
                      Code::kCorrupt);
  // A link alone is harmless, and stays.
  ASSERT_TRUE(arena.Try(EvilTar().Add("l", '2', "", arena.victim() + "/file").Packed()).ok());
  char target[4096] = {};
  ASSERT_GT(readlink((arena.dest() + "/l").c_str(), target, sizeof(target) - 1), 0);
  EXPECT_EQ(target, arena.victim() + "/file");
}

TEST(Extract, HardLinksStayInside) {
  Arena arena;
  for (const std::string& target :
       {arena.victim() + "/file", std::string("../victim/file"), std::string("a/../../x")}) {
    arena.ExpectRefused("to " + target, EvilTar().Add("h", '1', "", target).Packed(),
                        Code::kInvalid);
  }
  arena.ExpectRefused("to nothing", EvilTar().Add("h", '1', "", "none").Packed(), Code::kCorrupt);
  arena.ExpectRefused("to nothing in a folder", EvilTar().Add("h", '1', "", "no/such").Packed(),
                      Code::kCorrupt);
  arena.ExpectRefused("to a folder", EvilTar().Add("d/", '5').Add("h", '1', "", "d").Packed(),
                      Code::kCorrupt);
  arena.ExpectRefused("to a link",
                      EvilTar().Add("l", '2', "", "../victim/file").Add("h", '1', "", "l").Packed(),
                      Code::kCorrupt);
  arena.ExpectRefused("to itself", EvilTar().Add("h", '1', "", "h").Packed(), Code::kCorrupt);
}

TEST(Extract, DevicesAndSetIdBits) {
  Arena arena;
  for (char type : {'3', '4', '6'}) {
    arena.ExpectRefused(std::string("type ") + type, EvilTar().Add("d", type).Packed(),
                        Code::kInvalid);
  }
  for (unsigned mode : {04755U, 02755U, 01755U}) {
    arena.ExpectRefused("file mode", EvilTar().Add("f", '0', "x", "", mode).Packed(),
                        Code::kInvalid);
    arena.ExpectRefused("dir mode", EvilTar().Add("f/", '5', "", "", mode).Packed(),
                        Code::kInvalid);
  }
}

TEST(Extract, TheSameNameTwice) {
  Arena arena;
  const std::vector<char> types = {'0', '2', '5'};
  for (char first : types) {
    for (char second : types) {
      auto name = [](char type) { return std::string(type == '5' ? "n/" : "n"); };
      arena.ExpectRefused(std::string("types ") + first + second,
                          EvilTar()
                              .Add(name(first), first, "", first == '2' ? "t" : "")
                              .Add(name(second), second, "", second == '2' ? "t" : "")
                              .Packed(),
                          Code::kCorrupt);
    }
  }
  arena.ExpectRefused("file as folder", EvilTar().Add("n", '0').Add("n/x", '0').Packed(),
                      Code::kInvalid);
  // The folder of an earlier entry may still get its own entry, once.
  EXPECT_TRUE(arena.Try(EvilTar().Add("d/x", '0').Add("d/", '5', "", "", 0750).Packed()).ok());
  struct stat info;
  ASSERT_EQ(stat((arena.dest() + "/d").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0750u);
}

TEST(Extract, DamagedAndForeignInput) {
  Arena arena;
  const std::string good = EvilTar().Add("a", '0', std::string(5000, 'x')).Packed();
  arena.ExpectRefused("empty", "", Code::kCorrupt);
  arena.ExpectRefused("text", "not an archive at all", Code::kCorrupt);
  arena.ExpectRefused("gzip", "\x1f\x8b\x08 and so on", Code::kCorrupt);
  for (size_t cut = 1; cut < good.size(); ++cut) {
    arena.ExpectRefused("cut at " + std::to_string(cut), good.substr(0, cut), Code::kCorrupt);
  }
  arena.ExpectRefused("byte behind", good + "x", Code::kCorrupt);
  arena.ExpectRefused("zero behind", good + std::string(1, '\0'), Code::kCorrupt);
  arena.ExpectRefused("two frames", good + good, Code::kCorrupt);
  const std::string tar = EvilTar().Add("a", '0', "x").Tar();
  arena.ExpectRefused("no checksum", EvilTar::Compress(tar, false), Code::kCorrupt);
  arena.ExpectRefused("bytes behind the tar file", EvilTar::Compress(tar + "evil"), Code::kCorrupt);
  arena.ExpectRefused("far behind the tar file",
                      EvilTar::Compress(tar + std::string(600'000, '\0') + "evil"), Code::kCorrupt);
  arena.ExpectRefused("endless padding", EvilTar::Compress(tar + std::string(3'000'000, '\0')),
                      Code::kCorrupt);
  arena.ExpectRefused("no tar file", EvilTar::Compress("hello"), Code::kCorrupt);
  arena.ExpectRefused("content cut", EvilTar::Compress(tar.substr(0, 512)), Code::kCorrupt);
  arena.ExpectRefused("size beyond the end", EvilTar().AddSized("a", '0', "x", 1 << 20).Packed(),
                      Code::kCorrupt);
  arena.ExpectRefused("sparse",
                      EvilTar()
                          .AddPax("GNU.sparse.map", "0,1")
                          .AddPax("GNU.sparse.size", "1000000")
                          .Add("a", '0', "x")
                          .Packed(),
                      Code::kCorrupt);
  ExtractOptions digest;
  digest.sha256 = Sha256Hex("other");
  arena.ExpectRefused("wrong digest", good, Code::kCorrupt, digest);
  digest.sha256 = Sha256Hex(good);
  EXPECT_TRUE(arena.Try(good, digest).ok());
}

TEST(Extract, BombsAndLimits) {
  Arena arena;
  ExtractOptions small;
  small.limits.max_bytes = 1 << 20;
  small.limits.max_files = 10;
  arena.ExpectRefused("bytes", EvilTar().Add("a", '0', std::string(2 << 20, 'x')).Packed(),
                      Code::kInvalid, small);
  arena.ExpectRefused("bytes in sum",
                      EvilTar()
                          .Add("a", '0', std::string(600'000, 'x'))
                          .Add("b", '0', std::string(600'000, 'x'))
                          .Packed(),
                      Code::kInvalid, small);
  arena.ExpectRefused("announced only",
                      EvilTar().AddSized("a", '0', "", uint64_t{1} << 32).Packed(), Code::kInvalid,
                      small);
  EvilTar many;
  for (int i = 0; i < 11; ++i) many.Add("f" + std::to_string(i), '0');
  arena.ExpectRefused("files", many.Packed(), Code::kInvalid, small);
  ExtractOptions ratio;
  ratio.limits.ratio_floor = 1 << 20;
  ratio.limits.max_ratio = 100;
  arena.ExpectRefused("ratio", EvilTar().Add("a", '0', std::string(64 << 20, '\0')).Packed(),
                      Code::kInvalid, ratio);
  // The same in headers, which hold no content.
  EvilTar headers;
  for (int i = 0; i < 40'000; ++i) headers.Add("d/", 'g', "9 a=bbbb\n");
  arena.ExpectRefused("headers", headers.Packed(), Code::kCorrupt, ratio);
}

TEST(Extract, DestinationsAndErrorsOfTheSource) {
  Arena arena;
  const std::string good = EvilTar().Add("a", '0', "x").Packed();
  EXPECT_EQ(Extract(FromString(good), arena.victim()).code(), Code::kExists);
  EXPECT_EQ(Extract(FromString(good), arena.victim() + "/file").code(), Code::kExists);
  EXPECT_EQ(Extract(FromString(good), arena.victim() + "/no/where").code(), Code::kNotFound);
  EXPECT_EQ(Extract(FromString(good), "/").code(), Code::kInvalid);
  EXPECT_EQ(ExtractFile(arena.victim() + "/none", arena.dest()).code(), Code::kNotFound);
  int calls = 0;
  const ByteSource broken = [&](char* buffer, int64_t) -> Result<int64_t> {
    if (++calls > 1) return Status(Code::kUnavailable, "network gone");
    good.copy(buffer, 20);
    return int64_t{20};
  };
  EXPECT_EQ(Extract(broken, arena.dest()).code(), Code::kUnavailable);
  EXPECT_TRUE(arena.Untouched());
  ASSERT_TRUE(sys::MakeDirs(arena.dest()).ok());
  EXPECT_TRUE(arena.Try(good).ok()) << "an empty directory is a fine destination";
  EXPECT_EQ(sys::ReadFile(arena.dest() + "/a").value_or(""), "x");
}

TEST(Extract, HarmlessFormsOfOtherTools) {
  Arena arena;
  Status status = arena.Try(
      EvilTar().Add("./", '5').Add("./a", '0', "x").Add("./d/", '5').Add("./d/b", '0').Packed());
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(sys::FileExists(arena.dest() + "/d/b"));
}

// Names are bytes to stoker, which marks them so. Other marks ask for a conversion, which is
// refused (see iconv_open in tar_stream.cc) unless there is nothing to convert.
TEST(Extract, CharacterSetsAreNotConverted) {
  Arena arena;
  EXPECT_TRUE(arena.Try(EvilTar().AddPax("path", "plain").Add("a", '0').Packed()).ok());
  ASSERT_TRUE(sys::RemoveTree(arena.dest()).ok());
  arena.ExpectRefused("utf-8", EvilTar().AddPax("path", "\xc3\xa9").Add("a", '0').Packed(),
                      Code::kCorrupt);
  const std::string binary =
      EvilTar::Record("hdrcharset", "BINARY") + EvilTar::Record("path", "\xc3\xa9\xff");
  EXPECT_TRUE(arena.Try(EvilTar().Add("pax", 'x', binary).Add("a", '0').Packed()).ok());
  EXPECT_TRUE(sys::FileExists(arena.dest() + "/\xc3\xa9\xff"));
}

// A process killed in the middle leaves no destination, and its remains go with the next try.
TEST(Extract, KilledHalfWay) {
  Arena arena;
  const std::string good =
      EvilTar().Add("a", '0', std::string(4000, 'x')).Add("b", '0', "x").Packed();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    bool given = false;
    (void)Extract(
        [&](char* buffer, int64_t) -> Result<int64_t> {
          if (!given) {
            given = true;
            good.copy(buffer, good.size() - 8);
            return static_cast<int64_t>(good.size() - 8);
          }
          (void)!write(ready[1], "x", 1);
          pause();
          return int64_t{0};
        },
        arena.dest());
    _exit(1);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  // While it lives, another extraction to the same place does not take its tree away.
  const std::string parent = arena.dest().substr(0, arena.dest().rfind('/'));
  EXPECT_EQ(sys::ListDir(parent)->size(), 2u);
  EXPECT_FALSE(arena.Try("garbage").ok());
  EXPECT_EQ(sys::ListDir(parent)->size(), 2u);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  EXPECT_FALSE(sys::FileExists(arena.dest()));
  EXPECT_TRUE(arena.Try(good).ok());
  EXPECT_EQ(sys::ListDir(parent)->size(), 2u) << "remains are left beside victim and dest";
}

// Damage anywhere gives an error or the same tree; never a crash, never a file elsewhere.
void Damage(std::string& bytes, Prng& prng) {
  for (uint64_t i = 1 + prng.Below(3); i > 0; --i) {
    const size_t at = prng.Below(bytes.size());
    switch (prng.Below(4)) {
      case 0:
        bytes[at] = static_cast<char>(prng.Next());
        break;
      case 1:
        bytes.erase(at, 1 + prng.Below(8));
        break;
      case 2:
        bytes.insert(at, 1 + prng.Below(8), static_cast<char>(prng.Next()));
        break;
      default:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << prng.Below(8)));
    }
    if (bytes.empty()) bytes = "x";
  }
}

TEST(Extract, RandomDamageOfTheArchive) {
  Arena arena;
  const std::string good = EvilTar()
                               .AddPax("path", "long/name")
                               .Add("a", '0', "content")
                               .Add("l", '2', "", "../victim")
                               .Add("d/", '5')
                               .Add("d/f", '0', std::string(2000, 'y'))
                               .Add("h", '1', "", "d/f")
                               .Packed();
  ASSERT_TRUE(arena.Try(good).ok());
  const std::string tree = Snapshot(arena.dest());
  ASSERT_TRUE(sys::RemoveTree(arena.dest()).ok());
  Prng prng(7);
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    Damage(bad, prng);
    Status status = arena.Try(bad);
    if (status.ok()) {
      // A few bits of a frame's header only say how to unpack it.
      ++accepted;
      ASSERT_EQ(Snapshot(arena.dest()), tree) << "round " << i;
      ASSERT_TRUE(sys::RemoveTree(arena.dest()).ok());
    } else {
      ASSERT_EQ(status.code(), Code::kCorrupt) << status.ToString();
    }
    ASSERT_TRUE(arena.Untouched()) << "round " << i;
  }
  EXPECT_LT(accepted, 100);
}

TEST(Extract, RandomDamageOfTheTarFile) {
  Arena arena;
  const std::string good = EvilTar()
                               .AddPax("path", "long/name")
                               .Add("a", '0', "content")
                               .Add("l", '2', "", "../victim")
                               .Add("d/", '5')
                               .Add("d/f", '0', std::string(600, 'y'))
                               .Add("h", '1', "", "d/f")
                               .Tar();
  ExtractOptions small;
  small.limits.max_bytes = 1 << 20;
  Prng prng(8);
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    Damage(bad, prng);
    // Half of the time with the checksums of the headers mended, so that the damage is believed.
    if (prng.Chance(1, 2)) {
      for (size_t at = 0; at + 512 <= bad.size(); at += 512) {
        if (bad.compare(at + 257, 5, "ustar") != 0) continue;
        std::fill_n(bad.begin() + static_cast<long>(at) + 148, 8, ' ');
        unsigned sum = 0;
        for (size_t j = at; j < at + 512; ++j) sum += static_cast<unsigned char>(bad[j]);
        char text[8];
        std::snprintf(text, sizeof(text), "%06o", sum & 0777777U);
        std::copy_n(text, 7, bad.begin() + static_cast<long>(at) + 148);
      }
    }
    Status status = arena.Try(EvilTar::Compress(bad), small);
    if (status.ok()) {
      ++accepted;
      ASSERT_TRUE(sys::RemoveTree(arena.dest()).ok());
    } else {
      ASSERT_TRUE(status.Is(Code::kCorrupt) || status.Is(Code::kInvalid)) << status.ToString();
    }
    ASSERT_TRUE(arena.Untouched()) << "round " << i;
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace stoker::pack
