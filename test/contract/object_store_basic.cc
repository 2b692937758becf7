// SPDX-License-Identifier: Apache-2.0
// The contract for one caller at a time.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "test/contract/object_store_suite.h"

namespace stoker::contract {
namespace {

std::string AllBytes(size_t size) {
  std::string data(size, '\0');
  for (size_t i = 0; i < size; ++i) data[i] = static_cast<char>(i * 131 + i / 251);
  return data;
}

void Same(ObjectStore& store, Findings& f, const std::string& key, const std::string& data,
          const std::string& when) {
  const auto object = store.Get(key);
  if (!f.ExpectOk(object.status(), "get " + key + " " + when)) return;
  f.Expect(object->data == data, key + " holds something else " + when);
  f.Expect(object->info.key == key, "get says another key " + when);
  f.Expect(object->info.size == static_cast<int64_t>(data.size()), "get says another size " + when);
}

void RoundTrips(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1024}, size_t{4096}, size_t{3'000'001}}) {
    const std::string key = "a/b/size-" + std::to_string(size);
    const std::string data = AllBytes(size);
    const auto version = store.Put(key, data);
    if (!f.ExpectOk(version.status(), "put " + key)) continue;
    Same(store, f, key, data, "after put");
    const auto head = store.Head(key);
    if (!f.ExpectOk(head.status(), "head")) continue;
    f.Expect(head->key == key && head->size == static_cast<int64_t>(size), "head is wrong");
    f.Expect(head->version == *version, "put and head disagree about the version");
    const auto object = store.Get(key);
    f.Expect(object.ok() && object->info.version == *version, "put and get disagree");
    if (object.ok()) {
      const Duration age = object->store_now - object->info.last_modified;
      // A Date header is whole seconds, and some servers write one for a whole second.
      f.Expect(age >= Duration::Seconds(-1) && age < Duration::Minutes(5),
               "a new object has age " + std::to_string(age.ms) + " ms");
    }
    const auto list = store.List(key);
    f.Expect(list.ok() && list->objects.size() == 1 && list->objects[0].version == *version &&
                 list->objects[0].size == static_cast<int64_t>(size),
             "list disagrees about " + key);
  }
}

void Missing(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  f.ExpectOk(store.Put("there/x", "1").status(), "put");
  for (const char* key : {"gone", "there", "there/y", "there/x/y", "x.json"}) {
    f.ExpectCode(store.Get(key).status(), Code::kNotFound, std::string("get ") + key);
    f.ExpectCode(store.Head(key).status(), Code::kNotFound, std::string("head ") + key);
    f.ExpectCode(store.OpenDownload(key).status(), Code::kNotFound, std::string("open ") + key);
    if (std::string(key) == "there/x/y") continue;
    f.ExpectCode(store.Put(key, "2", Condition::Match("0")).status(), Code::kNotFound,
                 std::string("match on ") + key);
    f.ExpectOk(store.Delete(key), std::string("delete ") + key);
  }
  Same(store, f, "there/x", "1", "after deleting others");
}

void CreatesOnce(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  const auto first = store.Put("k/one", "first", Condition::Absent());
  f.ExpectOk(first.status(), "create");
  f.ExpectCode(store.Put("k/one", "second", Condition::Absent()).status(), Code::kExists, "again");
  Same(store, f, "k/one", "first", "after a refused create");
  if (!first.ok()) return;
  f.ExpectOk(store.Put("k/one", "changed", Condition::Match(*first)).status(), "match");
  f.ExpectCode(store.Put("k/one", "third", Condition::Absent()).status(), Code::kExists,
               "create over a changed one");
  Same(store, f, "k/one", "changed", "after a refused create");
  f.ExpectOk(store.Delete("k/one"), "delete");
  f.ExpectOk(store.Put("k/one", "fourth", Condition::Absent()).status(), "create after delete");
  Same(store, f, "k/one", "fourth", "after delete and create");
}

void ComparesAndSwaps(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  auto version = store.Put("r/job.json", "0", Condition::Absent());
  if (!f.ExpectOk(version.status(), "create")) return;
  std::vector<Version> old;
  for (int i = 1; i <= 20; ++i) {
    old.push_back(*version);
    version = store.Put("r/job.json", std::to_string(i), Condition::Match(*version));
    if (!f.ExpectOk(version.status(), "match")) return;
    const auto head = store.Head("r/job.json");
    f.Expect(head.ok() && head->version == *version, "put and head disagree after a match");
    for (const Version& stale : old) {
      f.ExpectCode(store.Put("r/job.json", "stale", Condition::Match(stale)).status(),
                   Code::kConflict, "a stale match");
    }
    Same(store, f, "r/job.json", std::to_string(i), "after stale matches");
  }
  for (const char* nonsense : {"", "x", "0", "-1", "../../x", "000000000001-zz-zz"}) {
    f.ExpectCode(store.Put("r/job.json", "no", Condition::Match(nonsense)).status(),
                 Code::kConflict, "a match with nonsense");
  }
  f.ExpectOk(store.Put("r/job.json", "any").status(), "an unconditional write");
  f.ExpectCode(store.Put("r/job.json", "no", Condition::Match(*version)).status(), Code::kConflict,
               "a match that an unconditional write overtook");
  Same(store, f, "r/job.json", "any", "after an unconditional write");
  f.ExpectOk(store.Delete("r/job.json"), "delete");
  f.ExpectCode(store.Get("r/job.json").status(), Code::kNotFound, "get after delete");
  f.ExpectCode(store.Put("r/job.json", "no", Condition::Match(*version)).status(), Code::kNotFound,
               "a match after delete");
}

// Also when the content is what it was before (no A-B-A), and across delete and create.
void VersionsNeverRepeat(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  std::set<Version> seen;
  Version last;
  for (int i = 0; i < 300; ++i) {
    std::string data = i % 2 == 0 ? "A" : "B";
    if (subject.versions_name_contents()) data += std::to_string(i);
    Condition condition = Condition::None();
    if (i % 50 == 49)
      f.ExpectOk(store.Delete("v/x"), "delete");
    else if (i >= 150 && i % 50 != 0)
      condition = Condition::Match(last);
    const auto version = store.Put("v/x", data, condition);
    if (!f.ExpectOk(version.status(), "put")) return;
    f.Expect(seen.insert(*version).second, "version " + *version + " came twice");
    last = *version;
  }
}

void DeletesWhole(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  const auto plain = store.Put("d/plain", "1");
  auto version = store.Put("d/changed", "1");
  for (int i = 0; i < 3 && version.ok(); ++i) {
    version = store.Put("d/changed", "2", Condition::Match(*version));
  }
  f.ExpectOk(version.status(), "match");
  for (const char* key : {"d/plain", "d/changed"}) {
    f.ExpectOk(store.Delete(key), "delete");
    f.ExpectCode(store.Head(key).status(), Code::kNotFound, "head after delete");
    f.ExpectOk(store.Delete(key), "delete again");
  }
  const auto list = store.List("");
  f.Expect(list.ok() && list->objects.empty(), "something is left after delete");
  f.ExpectOk(store.Put("d", "now a name of its own").status(), "a key where a folder was");
}

void RefusesBadKeys(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  const std::vector<std::string> bad = {"",
                                        "/a",
                                        "a//b",
                                        "a/",
                                        ".",
                                        "..",
                                        "a/../b",
                                        "./a",
                                        "a/.",
                                        std::string("a\0b", 3),
                                        std::string(1025, 'k')};
  for (const std::string& key : bad) {
    const std::string name = "'" + key.substr(0, 20) + "'";
    f.ExpectCode(store.Put(key, "x").status(), Code::kInvalid, "put " + name);
    f.ExpectCode(store.Put(key, "x", Condition::Absent()).status(), Code::kInvalid, "new " + name);
    f.ExpectCode(store.Get(key).status(), Code::kInvalid, "get " + name);
    f.ExpectCode(store.Head(key).status(), Code::kInvalid, "head " + name);
    f.ExpectCode(store.OpenDownload(key).status(), Code::kInvalid, "open " + name);
    f.ExpectCode(store.BeginUpload(key).status(), Code::kInvalid, "upload " + name);
    f.ExpectCode(store.Delete(key), Code::kInvalid, "delete " + name);
  }
  const auto list = store.List("");
  f.Expect(list.ok() && list->objects.empty(), "a refused key left something");
}

// A file that is gone when the check ends.
class Scratch {
 public:
  explicit Scratch(const std::string& data) : file_(std::tmpfile()) {
    if (file_ == nullptr) return;
    std::fwrite(data.data(), 1, data.size(), file_);
    std::fflush(file_);
  }
  ~Scratch() {
    if (file_ != nullptr) std::fclose(file_);
  }
  int fd() const { return file_ == nullptr ? -1 : fileno(file_); }

 private:
  std::FILE* file_;
};

void Uploads(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  const std::string data = AllBytes(5'000'003);
  const Scratch file(data);
  auto upload = store.BeginUpload("u/big");
  if (!f.ExpectOk(upload.status(), "begin")) return;
  f.ExpectOk((*upload)->Write("head"), "write");
  f.ExpectOk((*upload)->WriteFile(file.fd(), static_cast<int64_t>(data.size())), "write file");
  f.ExpectOk((*upload)->Write("tail"), "write");
  f.ExpectCode(store.Head("u/big").status(), Code::kNotFound, "visible before commit");
  const auto version = (*upload)->Commit();
  f.ExpectOk(version.status(), "commit");
  Same(store, f, "u/big", "head" + data + "tail", "after upload");

  upload = store.BeginUpload("u/file", Condition::Absent());
  f.ExpectOk((*upload)->WriteFile(file.fd(), static_cast<int64_t>(data.size())), "write file");
  f.ExpectOk((*upload)->Commit().status(), "commit");
  Same(store, f, "u/file", data, "after upload of one file");
  upload = store.BeginUpload("u/part");
  f.ExpectOk((*upload)->WriteFile(file.fd(), 1000), "write the beginning of a file");
  f.ExpectOk((*upload)->Commit().status(), "commit");
  Same(store, f, "u/part", data.substr(0, 1000), "after upload of a beginning");
  upload = store.BeginUpload("u/short");
  f.Expect(!(*upload)->WriteFile(file.fd(), static_cast<int64_t>(data.size()) + 1).ok(),
           "a file shorter than said was taken");
  upload->reset();
  {
    const auto abandoned = store.BeginUpload("u/abandoned");
    f.ExpectOk((*abandoned)->Write("x"), "write");
  }
  const auto list = store.List("");
  f.Expect(list.ok() && list->objects.size() == 3, "uploads that were given up left something");
}

void UploadsKeepConditions(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  const auto write = [&](const Condition& condition, const std::string& data) -> Result<Version> {
    STOKER_ASSIGN(auto upload, store.BeginUpload("u/x", condition));
    STOKER_TRY(upload->Write(data));
    return upload->Commit();
  };
  const auto first = write(Condition::Absent(), "1");
  f.ExpectOk(first.status(), "create");
  f.ExpectCode(write(Condition::Absent(), "2").status(), Code::kExists, "create again");
  const auto second = write(Condition::Match(first.value_or("")), "3");
  f.ExpectOk(second.status(), "match");
  f.ExpectCode(write(Condition::Match(first.value_or("")), "4").status(), Code::kConflict, "stale");
  Same(store, f, "u/x", "3", "after refused uploads");
}

void DownloadsOneVersion(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  const std::string data = AllBytes(1'000'000);
  const auto version = store.Put("w/x", data);
  auto download = store.OpenDownload("w/x");
  if (!f.ExpectOk(download.status(), "open")) return;
  f.Expect((*download)->info().size == 1'000'000, "wrong size");
  f.Expect((*download)->info().version == version.value_or("?"), "wrong version");
  std::string got;
  std::vector<char> buffer(70'001);
  for (int i = 0;; ++i) {
    const auto count = (*download)->Read(buffer.data(), static_cast<int64_t>(buffer.size()));
    if (!count.ok() || *count == 0) {
      f.ExpectOk(count.status(), "read");
      break;
    }
    got.append(buffer.data(), static_cast<size_t>(*count));
    if (i == 3) f.ExpectOk(store.Put("w/x", std::string(2'000'000, 'z')).status(), "overwrite");
  }
  f.Expect(got == data, "a download mixes two versions");
}

// What is written in parts comes from: memory, and also a file where it has one.
class SourceReader : public ObjectReader {
 public:
  SourceReader(const std::string& data, int fd) : data_(data), fd_(fd) {
    info_.key = "source";
    info_.size = static_cast<int64_t>(data.size());
  }
  const ObjectInfo& info() const override { return info_; }
  bool ranged() const override { return true; }
  int fd() const override { return fd_; }
  Status Read(int64_t offset, int64_t size, const TakeBytes& take) override {
    constexpr int64_t kPiece = 100'000;
    for (int64_t at = 0; at < size; at += kPiece) {
      const auto from = static_cast<size_t>(offset + at);
      const auto count = static_cast<size_t>(std::min(kPiece, size - at));
      STOKER_TRY(take(std::string_view(data_).substr(from, count)));
    }
    return Status::Ok();
  }
  Status Confirm(const std::vector<PartSum>&) override { return changed_; }
  void Change() { changed_ = Status(Code::kConflict, "the source changed"); }

 private:
  const std::string& data_;
  const int fd_;
  ObjectInfo info_;
  Status changed_;
};

Result<std::string> ReadRange(ObjectReader& reader, int64_t offset, int64_t size) {
  std::string got;
  STOKER_TRY(reader.Read(offset, size, [&](std::string_view bytes) {
    got += bytes;
    return Status::Ok();
  }));
  return got;
}

void ReadsRanges(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  const std::string data = AllBytes(3'000'001);
  f.ExpectOk(store.Put("r/x", data).status(), "put");
  f.ExpectOk(store.Put("r/empty", "").status(), "put");
  const auto info = store.Head("r/x");
  const auto empty = store.Head("r/empty");
  if (!f.ExpectOk(info.status(), "head") || !f.ExpectOk(empty.status(), "head")) return;
  auto reader = store.OpenReader(*info);
  if (!f.ExpectOk(reader.status(), "open")) return;
  for (const auto& [offset, size] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 10}, {10, 1'000'000}, {5, 5}, {3'000'000, 1}, {0, 3'000'001}, {2'999'000, 1'001}}) {
    const auto got = ReadRange(**reader, offset, size);
    const std::string name = std::to_string(size) + " bytes at " + std::to_string(offset);
    if (!f.ExpectOk(got.status(), "read " + name)) continue;
    f.Expect(*got == data.substr(static_cast<size_t>(offset), static_cast<size_t>(size)),
             "read other than " + name);
  }
  const Status stop(Code::kCancelled, "enough");
  const auto stopped = (*reader)->Read(0, 1000, [&](std::string_view) { return stop; });
  f.ExpectCode(stopped, Code::kCancelled, "a read that is given up");
  auto nothing = store.OpenReader(*empty);
  f.Expect(nothing.ok() && ReadRange(**nothing, 0, 0).value_or("?").empty(), "an empty object");
  f.ExpectOk(store.Put("r/x", std::string(data.size(), 'z')).status(), "overwrite");
  auto late = store.OpenReader(*info);
  f.ExpectCode(late.ok() ? ReadRange(**late, 0, 10).status() : late.status(), Code::kConflict,
               "a read of what was overwritten");
}

void PutsFrom(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  for (const size_t size : {size_t{0}, size_t{1}, size_t{700'001}}) {
    const std::string data = AllBytes(size);
    const Scratch file(data);
    for (const int fd : {-1, file.fd()}) {
      SourceReader from(data, fd);
      const std::string key = "p/" + std::to_string(size) + (fd < 0 ? "m" : "f");
      const auto put = store.PutFrom(key, from, Condition::Absent());
      if (!f.ExpectOk(put.status(), "put " + key)) continue;
      Same(store, f, key, data, "after PutFrom");
      const auto head = store.Head(key);
      f.Expect(head.ok() && head->version == put->version, "PutFrom and head disagree");
      f.ExpectCode(store.PutFrom(key, from, Condition::Absent()).status(), Code::kExists, "again");
    }
  }
  const std::string data = AllBytes(1000);
  SourceReader changing(data, -1);
  changing.Change();
  f.ExpectCode(store.PutFrom("p/changed", changing).status(), Code::kConflict, "a changed source");
  f.ExpectCode(store.Head("p/changed").status(), Code::kNotFound, "of a changed source");
  SourceReader loose(data, -1);
  f.ExpectOk(store.PutUnsettled("p/unsettled", loose).status(), "put unsettled");
  f.ExpectOk(store.PutUnsettled("p/unsettled", loose).status(), "put unsettled again");
  f.ExpectOk(store.Settle(), "settle");
  Same(store, f, "p/unsettled", data, "after PutUnsettled");
  f.Expect(store.DeleteAll({"p/0m", "p/1f", "p/nothing"}).empty(), "delete several");
  const auto failed = store.DeleteAll({"p/../1", "p/700001f"});
  f.Expect(failed.size() == 1 && failed[0].key == "p/../1" && failed[0].why.Is(Code::kInvalid),
           "of several, one cannot be deleted");
  f.ExpectCode(store.Head("p/700001f").status(), Code::kNotFound, "deleted after one that failed");
  f.ExpectCode(store.Head("p/1f").status(), Code::kNotFound, "deleted with others");
  f.ExpectOk(store.Head("p/1m").status(), "not deleted");
}

// Every part that is not there, the last first where any order will do.
Status WriteRest(PartsUpload& upload, ObjectReader& from) {
  const int64_t size = upload.part_size();
  const auto count = static_cast<int>((from.info().size + size - 1) / size);
  for (int i = 0; i < count; ++i) {
    const int n = upload.parallel() ? count - 1 - i : i;
    if (upload.done().count(n) == 0) STOKER_TRY(upload.WritePart(n, from).status());
  }
  return Status::Ok();
}

void WritesParts(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  const std::string data = AllBytes(11'000'003);
  const auto size = static_cast<int64_t>(data.size());
  const Scratch file(data);
  for (const int fd : {-1, file.fd()}) {
    SourceReader from(data, fd);
    const std::string key = fd < 0 ? "m/memory" : "m/file";
    auto first = store.BeginParts(key, size, Condition::Absent());
    if (!f.ExpectOk(first.status(), "begin")) return;
    const std::string id = (*first)->id();
    if (!id.empty()) f.ExpectOk((*first)->WritePart(1, from).status(), "a part");
    first->reset();
    auto upload = store.BeginParts(key, size, Condition::Absent(), id);
    if (!f.ExpectOk(upload.status(), "go on")) return;
    f.Expect((*upload)->done().size() == (id.empty() ? 0u : 1u), "the part that was written");
    f.ExpectOk(WriteRest(**upload, from), "the other parts");
    f.ExpectCode(store.Head(key).status(), Code::kNotFound, "visible before commit");
    const auto info = (*upload)->Commit();
    if (!f.ExpectOk(info.status(), "commit")) return;
    Same(store, f, key, data, "after parts");
    const auto head = store.Head(key);
    f.Expect(head.ok() && head->version == info->version, "Commit and head disagree");
    auto again = store.BeginParts(key, size, Condition::Absent(), id);
    if (!f.ExpectOk(again.status(), "begin again, with an id that is over")) return;
    f.ExpectOk(WriteRest(**again, from), "all parts again");
    f.ExpectCode((*again)->Commit().status(), Code::kExists, "commit again");
    (*again)->Abort();
  }
  auto given_up = store.BeginParts("m/none", size);
  (*given_up)->Abort();
  const auto list = store.List("");
  f.Expect(list.ok() && list->objects.size() == 2, "parts that were given up left something");
}

}  // namespace

std::vector<Check> BasicChecks() {
  return {{"RoundTrips", false, false, RoundTrips},
          {"Missing", false, false, Missing},
          {"CreatesOnce", false, false, CreatesOnce},
          {"ComparesAndSwaps", false, false, ComparesAndSwaps},
          {"VersionsNeverRepeat", false, true, VersionsNeverRepeat},
          {"DeletesWhole", false, false, DeletesWhole},
          {"RefusesBadKeys", false, false, RefusesBadKeys},
          {"Uploads", false, false, Uploads},
          {"UploadsKeepConditions", false, false, UploadsKeepConditions},
          {"DownloadsOneVersion", false, false, DownloadsOneVersion},
          {"ReadsRanges", false, false, ReadsRanges},
          {"PutsFrom", false, false, PutsFrom},
          {"WritesParts", false, false, WritesParts}};
}

}  // namespace stoker::contract
