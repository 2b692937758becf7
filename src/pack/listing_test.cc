// SPDX-License-Identifier: Apache-2.0
#include "pack/listing.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"
#include "pack/exclusions.h"
#include "pack/left_behind.h"
#include "test/kit/tree.h"

namespace stoker::pack {
namespace {

// "f:" and "l:" before files and links, a slash behind folders; in the order of the listing.
std::vector<std::string> Names(const Listing& listing) {
  std::vector<std::string> out;
  for (const ListedEntry& entry : listing.entries) {
    out.push_back((entry.kind == EntryKind::kLink ? "l:" : "") + entry.path +
                  (entry.kind == EntryKind::kDir ? "/" : ""));
  }
  return out;
}

std::vector<std::string> NamesIn(const std::string& root, const ListOptions& options = {}) {
  Result<Listing> listing = ListWorkdir(root, options);
  EXPECT_TRUE(listing.ok()) << listing.status().ToString();
  return listing.ok() ? Names(*listing) : std::vector<std::string>();
}

std::string Notes(const Listing& listing) { return Join(listing.notes, "\n"); }

using Strings = std::vector<std::string>;

void WriteSecrets(TestTree& tree) {
  for (const char* name : {".env", ".env.local", "sub/.envrc", "id_rsa", ".ssh/config",
                           ".aws/credentials", "store.p12", ".netrc", "__pycache__/x.pyc"}) {
    tree.Write(name, "x");
  }
  tree.Write("key.pem",
             "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq1xS0Yp2mVw3kzQ9tHc4eJd8fLg5nR\n");
  tree.Write("cert.pem", "-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----\n");
  tree.Write("venv/pyvenv.cfg", "home = /usr\n");
  tree.Write("venv/lib/big.py", "x");
  tree.Write("conda/conda-meta/history", "x");
  tree.Write("train.py", "print(1)\n");
}

TEST(Listing, LeavesCoreDumpsOutAndSaysSo) {
  TestTree tree;
  const std::string elf = std::string(
                              "\x7f"
                              "ELF\x02\x01\x01",
                              7) +
                          std::string(9, '\0');
  tree.Write("sub/core", elf + std::string("\x04\0memory", 8));
  tree.Write("core/train.py", "x");
  const Result<Listing> listing = ListWorkdir(tree.root());
  ASSERT_TRUE(listing.ok()) << listing.status().ToString();
  EXPECT_EQ(Names(*listing), (Strings{"core/", "core/train.py", "sub/"}));
  EXPECT_NE(Notes(*listing).find("sub/core"), std::string::npos) << Notes(*listing);
}

TEST(Listing, NeverTakesSecretsAndEnvironments) {
  TestTree tree;
  WriteSecrets(tree);
  Result<Listing> listing = ListWorkdir(tree.root());
  ASSERT_TRUE(listing.ok()) << listing.status().ToString();
  EXPECT_EQ(Names(*listing), (Strings{"cert.pem", "sub/", "train.py"}));
  EXPECT_NE(Notes(*listing).find(".env"), std::string::npos);
  EXPECT_NE(Notes(*listing).find("venv/"), std::string::npos);
  EXPECT_NE(Notes(*listing).find("and "), std::string::npos) << "long lists are cut";
  // Not even when git tracks them.
  tree.Git({"init", "-q"});
  tree.Git({"add", "-A", "-f"});
  tree.Git({"commit", "-q", "-m", "x"});
  EXPECT_EQ(NamesIn(tree.root()), (Strings{"cert.pem", "train.py"}));
}

TEST(Listing, WalksWithIgnoreFilesOutsideGit) {
  TestTree tree;
  tree.Write(".gitignore", "*.log\n/data/\n");
  tree.Write(".stokerignore", "big.bin\n!keep.log\n");
  tree.Write("a.log", "x");
  tree.Write("keep.log", "x");
  tree.Write("data/x", "x");
  tree.Write("sub/data/x", "x");
  tree.Write("sub/.gitignore", "!b.log\nc");
  tree.Write("sub/b.log", "x");
  tree.Write("sub/c/x", "x");
  tree.Write("big.bin", "12345");
  ASSERT_TRUE(sys::MakeDirs(tree.At("empty/inner")).ok());
  ASSERT_EQ(symlink("sub", tree.At("link").c_str()), 0);
  Result<Listing> listing = ListWorkdir(tree.root());
  ASSERT_TRUE(listing.ok());
  EXPECT_EQ(Names(*listing),
            (Strings{".gitignore", ".stokerignore", "empty/", "empty/inner/", "keep.log", "l:link",
                     "sub/", "sub/.gitignore", "sub/b.log", "sub/data/", "sub/data/x"}));
  EXPECT_FALSE(listing->git.used);
  EXPECT_EQ(listing->links, 1);
  EXPECT_EQ(listing->files, 6);
}

void WriteIgnored(TestTree& tree) {
  tree.Write(".gitignore", "*.bin\n/raw/\n.env\nnode_modules\n/out/\n");
  tree.Write("train.py", "x");
  tree.Write("data/prepare.py", "x");
  tree.Write("data/train.bin", "12345");
  tree.Write("data/.env", "A=1");
  tree.Write("raw/a/x.csv", "1");
  tree.Write("raw/b/y.csv", "2");
  tree.Write("raw/node_modules/z.csv", "3");
  tree.Write("out/ckpt.pt", "0123456789");
  tree.Write(".env", "A=1");
}

// By git and without it.
TEST(Listing, BringsBackWhatIsAskedFor) {
  for (const bool git : {false, true}) {
    TestTree tree;
    WriteIgnored(tree);
    if (git) {
      tree.Git({"init", "-q"});
      tree.Git({"add", "-A"});
      tree.Git({"commit", "-q", "-m", "x"});
    }
    const Strings plain = {".gitignore", "data/", "data/prepare.py", "train.py"};
    EXPECT_EQ(NamesIn(tree.root()), plain);
    ListOptions options;
    options.include = {"data", ".env", "none"};
    Result<Listing> listing = ListWorkdir(tree.root(), options);
    ASSERT_TRUE(listing.ok());
    EXPECT_EQ(Names(*listing),
              (Strings{".gitignore", "data/", "data/prepare.py", "data/train.bin", "train.py"}));
    EXPECT_EQ(listing->git.dirty, git);
    EXPECT_NE(Notes(*listing).find("--include none matches nothing"), std::string::npos);
    EXPECT_NE(Notes(*listing).find("hold secrets): .env, data/.env"), std::string::npos)
        << Notes(*listing);
    options.include = {"raw/a/"};
    EXPECT_EQ(NamesIn(tree.root(), options),
              (Strings{".gitignore", "data/", "data/prepare.py", "raw/", "raw/a/", "raw/a/x.csv",
                       "train.py"}));
    options.include = {"*.csv"};
    EXPECT_EQ(NamesIn(tree.root(), options),
              (Strings{".gitignore", "data/", "data/prepare.py", "raw/", "raw/a/", "raw/a/x.csv",
                       "raw/b/", "raw/b/y.csv", "train.py"}));
    options.include = {"raw"};
    tree.Write(".stokerignore", "raw/b\n!/out/\nckpt.pt\n");
    EXPECT_EQ(NamesIn(tree.root(), options),
              (Strings{".gitignore", ".stokerignore", "data/", "data/prepare.py", "raw/", "raw/a/",
                       "raw/a/x.csv", "raw/node_modules/", "raw/node_modules/z.csv", "train.py"}))
        << "within it, a .stokerignore counts";
    options.include = {"raw/b"};
    EXPECT_EQ(NamesIn(tree.root(), options),
              (Strings{".gitignore", ".stokerignore", "data/", "data/prepare.py", "raw/", "raw/b/",
                       "raw/b/y.csv", "train.py"}));
    tree.Write(".stokerignore", "/*\n!/data/\n!/train.py\n!/out/\n");
    EXPECT_EQ(NamesIn(tree.root()),
              (Strings{"data/", "data/prepare.py", "out/", "out/ckpt.pt", "train.py"}))
        << "a '!' brings back what git names itself, not what lies in a folder that it lists";
  }
}

TEST(Listing, WhatWasLeftBehind) {
  for (const bool git : {false, true}) {
    TestTree tree;
    WriteIgnored(tree);
    tree.Write("big.npy", "x");
    tree.Write("raw/env/pyvenv.cfg", "x");
    tree.Write(".stokerignore", "big.npy\n");
    if (git) {
      tree.Git({"init", "-q"});
      tree.Git({"add", "-A"});
    }
    ListOptions options;
    options.include = {"raw"};
    Result<Listing> listing = ListWorkdir(tree.root(), options);
    ASSERT_TRUE(listing.ok());
    const LeftBehind left = FindLeftBehind(*listing, AskIgnored(*listing));
    EXPECT_EQ(left.files, 2);
    EXPECT_EQ(left.bytes, 15);
    EXPECT_EQ(left.largest, "out/");
    Strings entries;
    for (const LeftEntry& entry : left.entries) {
      entries.push_back(entry.path + " " + std::to_string(static_cast<int>(entry.by)));
    }
    EXPECT_EQ(entries, (Strings{"out/ 0", "data/train.bin 0", "big.npy 1", ".env 2", "data/.env 2",
                                "raw/env/ 3"}));
  }
}

TEST(Listing, ListsWhatGitLists) {
  TestTree tree;
  tree.Write(".gitignore", "*.log\nout/\n");
  tree.Write("a.py", "one\n");
  tree.Write("forced.log", "x");
  tree.Write("gone.py", "x");
  tree.Write("was_file", "x");
  tree.Write("dir/in", "x");
  tree.Git({"init", "-q"});
  EXPECT_TRUE(ListWorkdir(tree.root())->git.dirty) << "nothing is committed yet";
  tree.Git({"add", "-A", "-f"});
  tree.Git({"commit", "-q", "-m", "first"});
  Result<Listing> clean = ListWorkdir(tree.root());
  ASSERT_TRUE(clean.ok());
  EXPECT_TRUE(clean->git.used);
  EXPECT_FALSE(clean->git.dirty);
  EXPECT_EQ(clean->git.commit + "\n", tree.Git({"rev-parse", "HEAD"}));
  tree.Git({"checkout", "-q", "-b", "some/branch"});
  EXPECT_EQ(ListWorkdir(tree.root())->git.branch, "some/branch");
  tree.Git({"checkout", "-q", "--detach"});
  EXPECT_EQ(ListWorkdir(tree.root())->git.branch, "");
  EXPECT_EQ(ListWorkdir(tree.root())->git.commit, clean->git.commit);
  EXPECT_EQ(clean->git.diff, "");

  tree.Write("a.py", "two\n");
  tree.Write("new.py", "x");
  tree.Write("new.log", "ignored");
  tree.Write("out/x", "ignored");
  ASSERT_EQ(unlink(tree.At("gone.py").c_str()), 0);
  ASSERT_EQ(unlink(tree.At("was_file").c_str()), 0);
  tree.Write("was_file/inner", "x");
  // A tracked folder that a link to elsewhere stands in for now.
  ASSERT_TRUE(sys::RemoveTree(tree.At("dir")).ok());
  ASSERT_TRUE(sys::MakeDirs(tree.Beside("other")).ok());
  ASSERT_TRUE(sys::WriteFileAtomic(tree.Beside("other/in"), "outside").ok());
  ASSERT_EQ(symlink("../other", tree.At("dir").c_str()), 0);
  Result<Listing> dirty = ListWorkdir(tree.root());
  ASSERT_TRUE(dirty.ok());
  EXPECT_EQ(Names(*dirty), (Strings{".gitignore", "a.py", "l:dir", "forced.log", "new.py",
                                    "was_file/", "was_file/inner"}));
  EXPECT_TRUE(dirty->git.dirty);
  EXPECT_NE(dirty->git.diff.find("-one\n+two\n"), std::string::npos) << dirty->git.diff;
  EXPECT_NE(dirty->git.diff.find("gone.py"), std::string::npos);
}

TEST(Listing, SubfolderOfAWorkTree) {
  TestTree tree;
  tree.Write(".gitignore", "*.log\n");
  tree.Write("top.py", "x");
  tree.Write("part/a.py", "x");
  tree.Write("part/a.log", "x");
  tree.Git({"init", "-q"});
  tree.Git({"add", "-A"});
  tree.Git({"commit", "-q", "-m", "x"});
  tree.Write("top.py", "changed outside the folder");
  Result<Listing> listing = ListWorkdir(tree.At("part"));
  ASSERT_TRUE(listing.ok());
  EXPECT_EQ(Names(*listing), (Strings{"a.py"}));
  EXPECT_FALSE(listing->git.dirty);
  tree.Write("part/a.py", "changed");
  listing = ListWorkdir(tree.At("part"));
  EXPECT_TRUE(listing->git.dirty);
  EXPECT_EQ(listing->git.diff.find("top.py"), std::string::npos);
  // The same without git: the rules of the folders above count.
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nonexistent", 1);
  listing = ListWorkdir(tree.At("part"));
  setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(listing.ok());
  EXPECT_EQ(Names(*listing), (Strings{"a.py"}));
  EXPECT_FALSE(listing->git.used);
  EXPECT_NE(Notes(*listing).find("git is not installed"), std::string::npos);
}

TEST(Listing, RepositoriesInside) {
  TestTree tree;
  TestTree library;
  library.Write("lib.py", "x");
  library.Git({"init", "-q"});
  library.Git({"add", "-A"});
  library.Git({"commit", "-q", "-m", "x"});
  tree.Write("main.py", "x");
  tree.Git({"init", "-q"});
  tree.Git({"submodule", "--quiet", "add", library.root(), "sub"});
  tree.Git({"add", "-A"});
  tree.Git({"commit", "-q", "-m", "x"});
  tree.Write("sub/untracked.py", "x");
  tree.Write("nested/.gitignore", "*.tmp\n");
  tree.Git({"init", "-q"}, "nested");
  tree.Write("nested/n.py", "x");
  tree.Write("nested/n.tmp", "x");
  EXPECT_EQ(NamesIn(tree.root()),
            (Strings{".gitmodules", "main.py", "nested/", "nested/.gitignore", "nested/n.py",
                     "sub/", "sub/lib.py", "sub/untracked.py"}));
  tree.Git({"submodule", "--quiet", "deinit", "-f", "sub"});
  Result<Listing> listing = ListWorkdir(tree.root());
  EXPECT_NE(Notes(*listing).find("submodule 'sub' is not checked out"), std::string::npos);
}

TEST(Listing, BrokenRepositoryFallsBackAloud) {
  TestTree tree;
  tree.Write(".git/HEAD", "garbage");
  tree.Write(".git/info/exclude", "*.tmp\n");
  tree.Write(".gitignore", "*.log\n");
  tree.Write("a.py", "x");
  tree.Write("a.log", "x");
  tree.Write("a.tmp", "x");
  Result<Listing> listing = ListWorkdir(tree.root());
  ASSERT_TRUE(listing.ok());
  EXPECT_EQ(Names(*listing), (Strings{".gitignore", "a.py"}));
  EXPECT_NE(Notes(*listing).find("git could not list"), std::string::npos) << Notes(*listing);
}

TEST(Listing, ForeignGitEnvironmentDoesNotMislead) {
  TestTree tree;
  tree.Write("a.py", "x");
  tree.Git({"init", "-q"});
  setenv("GIT_DIR", "/nonexistent/.git", 1);
  setenv("GIT_INDEX_FILE", "/nonexistent/index", 1);
  Result<Listing> listing = ListWorkdir(tree.root());
  unsetenv("GIT_DIR");
  unsetenv("GIT_INDEX_FILE");
  ASSERT_TRUE(listing.ok());
  EXPECT_TRUE(listing->git.used) << Notes(*listing);
}

TEST(Listing, DiffLeavesOutWhatIsNotPackedAndCredentials) {
  TestTree tree;
  tree.Write(".stokerignore", "private.txt\n");
  for (const char* name : {".env", "private.txt", "a.py", "b.py"}) tree.Write(name, "old\n");
  tree.Git({"init", "-q"});
  tree.Git({"add", "-A", "-f"});
  tree.Git({"commit", "-q", "-m", "x"});
  tree.Write(".env", "SECRET=hunter2\n");
  tree.Write("private.txt", "hunter2\n");
  EXPECT_FALSE(ListWorkdir(tree.root())->git.dirty) << "what is packed is as committed";
  ASSERT_EQ(unlink(tree.At("private.txt").c_str()), 0);
  tree.Write("a.py", "new\n");
  Result<Listing> listing = ListWorkdir(tree.root());
  EXPECT_NE(listing->git.diff.find("+new"), std::string::npos);
  EXPECT_EQ(listing->git.diff.find("hunter2"), std::string::npos);
  EXPECT_EQ(listing->git.diff.find("private.txt"), std::string::npos);
  // The removed line of a diff is a secret as much as an added one.
  tree.Write("b.py", "t = 'ghp_" + std::string("aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z5A") + "'\n");
  tree.Git({"commit", "-q", "-a", "-m", "oops"});
  tree.Write("b.py", "t = None\n");
  listing = ListWorkdir(tree.root());
  EXPECT_TRUE(listing->git.dirty);
  EXPECT_EQ(listing->git.diff, "");
  EXPECT_NE(Notes(*listing).find("credential"), std::string::npos);
  ListOptions tight;
  tight.max_diff = 20;
  listing = ListWorkdir(tree.root(), tight);
  ASSERT_TRUE(listing.ok()) << listing.status().ToString();
  EXPECT_EQ(listing->git.diff, "");
  EXPECT_NE(Notes(*listing).find("longer than"), std::string::npos);
}

TEST(Listing, OddNamesComeThroughGit) {
  TestTree tree;
  const std::vector<std::string> odd = {"-dash",    "a\nb",     "sp ace", "q\"uote",    "tab\t",
                                        "\xff\xfe", "\xc3\xa9", ":(x)",   "back\\slash"};
  for (const std::string& name : odd) tree.Write(name, "x");
  tree.Git({"init", "-q"});
  tree.Git({"add", "-A"});
  tree.Git({"commit", "-q", "-m", "x"});
  tree.Write("a\nb", "changed");
  tree.Write("new\nline", "x");
  Result<Listing> listing = ListWorkdir(tree.root());
  ASSERT_TRUE(listing.ok());
  EXPECT_EQ(listing->files, static_cast<int64_t>(odd.size()) + 1);
  EXPECT_NE(listing->git.diff.find("+changed"), std::string::npos);
}

TEST(Listing, SpecialFilesAndExcludedFolders) {
  TestTree tree;
  tree.Write("a", "x");
  tree.Write("ledger/records/x", "x");
  ASSERT_EQ(mkfifo(tree.At("pipe").c_str(), 0600), 0);
  sys::ScopedFd sock(socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(tree.At("sock").size(), sizeof(address.sun_path));
  tree.At("sock").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(sock.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ListOptions options;
  options.exclude = {sys::RealPath(tree.At("ledger")).value()};
  Result<Listing> listing = ListWorkdir(tree.root(), options);
  ASSERT_TRUE(listing.ok());
  EXPECT_EQ(Names(*listing), (Strings{"a"}));
  EXPECT_NE(Notes(*listing).find("pipe, sock"), std::string::npos) << Notes(*listing);
}

TEST(Listing, Errors) {
  TestTree tree;
  tree.Write("a/b", "x");
  tree.Write("a/c", "x");
  EXPECT_EQ(ListWorkdir(tree.At("none")).code(), Code::kNotFound);
  EXPECT_EQ(ListWorkdir(tree.At("a/b")).code(), Code::kInvalid);
  ListOptions few;
  few.max_entries = 1;
  EXPECT_EQ(ListWorkdir(tree.root(), few).code(), Code::kInvalid);
  EXPECT_EQ(NamesIn(tree.At("a")), (Strings{"b", "c"}));
}

// Whether they are there or not, and wherever it is said: a node has neither.
TEST(Listing, KnowsWhichDownloadsGitIgnores) {
  TestTree tree;
  tree.Git({"init", "-q"});
  tree.Write("job/train.py", "x");
  const auto downloads = [&] { return ListWorkdir(tree.At("job"))->git.downloads; };
  EXPECT_EQ(downloads(), "");
  tree.Write(".gitignore", "datasets\n/job/data/*\n*.bin\n/dataset\n");
  EXPECT_EQ(downloads(), "/data/\ndatasets/\n");
  tree.Write(".git/info/exclude", ".cache/\n");
  EXPECT_EQ(downloads(), "/data/\ndatasets/\n.cache/\n");
  EXPECT_EQ(ListWorkdir(tree.root())->git.downloads, "datasets/\n/dataset/\n.cache/\n");
}

TEST(Listing, LeavesOutWhatGetHasFetched) {
  TestTree tree;
  tree.Write("train.py", "x");
  tree.Write("digits-1a2b/.stokerignore", std::string(kFetchedFolder));
  tree.Write("digits-1a2b/deep/model.pt", "x");
  EXPECT_EQ(NamesIn(tree.root()), Strings{"train.py"});
  tree.Git({"init", "-q"});
  EXPECT_EQ(NamesIn(tree.root()), Strings{"train.py"});
}

}  // namespace
}  // namespace stoker::pack
