// SPDX-License-Identifier: Apache-2.0
// The contract of listing, and of keys with every odd character.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "test/contract/object_store_suite.h"

namespace stoker::contract {
namespace {

std::vector<std::string> OddKeys() {
  std::vector<std::string> keys = {"a",
                                   "a-b",
                                   "a.b",
                                   "a b",
                                   "a0",
                                   "A",
                                   "a.rev.b",
                                   "rev",
                                   ".hidden",
                                   "..two",
                                   "a..",
                                   "...",
                                   "-x",
                                   "--help",
                                   "*",
                                   "?",
                                   "[a]",
                                   "~",
                                   "$HOME",
                                   "`ls`",
                                   "'",
                                   "\"",
                                   "\\",
                                   "%2F",
                                   "%",
                                   "+",
                                   "#",
                                   "&=;:@,",
                                   "<>|",
                                   "caf\xc3\xa9",
                                   "\xe6\xbc\xa2\xe5\xad\x97",
                                   "\xf0\x9f\x98\x80",
                                   "tab\there",
                                   "x.json",
                                   "x.json.tmp",
                                   "rev.",
                                   "a.re",
                                   "arev",
                                   "tmp",
                                   "x.tmp",
                                   "e\xcc\x81",
                                   "d/a",
                                   "d/a-b",
                                   "d/a.b/c",
                                   "d/a/b",
                                   "d-e/f",
                                   "d.e/f",
                                   "d/\xc3\xbf",
                                   "dd/x",
                                   "d0/x",
                                   "d/z/z/z/z/z/z/z/z/z/z/z"};
  keys.push_back(std::string(200, 'l'));
  keys.push_back(std::string(200, 'm') + "/" + std::string(200, 'n') + "/" + std::string(200, 'o'));
  return keys;
}

void OddKeysWork(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  std::map<std::string, std::string> expected;
  for (const std::string& key : OddKeys()) {
    // "d/a" is both an object and the folder of "d/a/b".
    if (key == "d/a/b" && !subject.shares_names()) continue;
    const auto version = store.Put(key, "1 " + key, Condition::Absent());
    if (!f.ExpectOk(version.status(), "create '" + key + "'")) continue;
    expected[key] = "1 " + key;
    if (key.size() % 2 == 0) continue;
    f.ExpectOk(store.Put(key, "2 " + key, Condition::Match(*version)).status(), "match " + key);
    expected[key] = "2 " + key;
  }
  for (const auto& [key, data] : expected) {
    const auto object = store.Get(key);
    f.Expect(object.ok() && object->data == data, "'" + key + "' does not hold its data");
  }
  std::vector<std::string> listed;
  f.ExpectOk(ListAll(store, "",
                     [&](const ObjectInfo& info) {
                       listed.push_back(info.key);
                       return Status::Ok();
                     }),
             "list");
  std::vector<std::string> wanted;
  for (const auto& [key, data] : expected) wanted.push_back(key);  // std::map sorts bytewise
  f.Expect(listed == wanted,
           "listed '" + Join(listed, "' '") + "', not '" + Join(wanted, "' '") + "'");
  for (const auto& [key, data] : expected) f.ExpectOk(store.Delete(key), "delete '" + key + "'");
  const auto rest = store.List("");
  f.Expect(rest.ok() && rest->objects.empty(), "something is left");
}

// What List(prefix, after) must give, out of all keys.
std::vector<std::string> Reference(const std::vector<std::string>& sorted,
                                   const std::string& prefix, const std::string& after) {
  std::vector<std::string> out;
  for (const std::string& key : sorted) {
    if (StartsWith(key, prefix) && (after.empty() || key > after)) out.push_back(key);
  }
  return out;
}

void PrefixesAndPages(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  std::vector<std::string> keys;
  for (const char* folder : {"", "a/", "a-/", "a0/", "a/b/", "a/b.c/", "b/"}) {
    for (const char* name : {"x1", "x10", "x2", "y", "x-"})
      keys.push_back(std::string(folder) + name);
  }
  std::sort(keys.begin(), keys.end());
  int turn = 0;
  for (const std::string& key : keys) {
    auto version = store.Put(key, key);
    f.ExpectOk(version.status(), "put");
    if (++turn % 3 == 0) version = store.Put(key, key, Condition::Match(version.value_or("")));
    f.ExpectOk(version.status(), "match");
  }
  const std::vector<std::string> prefixes = {"",     "a",      "a/",  "a/x", "a/x1", "a/b",
                                             "a/b/", "a/b.",   "a-",  "x",   "b/y",  "b/yy",
                                             "zz",   "a/b/x1", "a//", "/",   "../",  "a/../b/"};
  for (const std::string& prefix : prefixes) {
    std::vector<std::string> afters = keys;
    for (const char* odd : {"", "a", "a/", "a/x11", "zzz", "a/b/", "a/b0", "-"})
      afters.push_back(odd);
    for (size_t i = 0; i < afters.size(); i += 1 + prefix.size() % 3) {
      const auto wanted = Reference(keys, prefix, afters[i]);
      for (const int limit : {1, 2, 7, 1000}) {
        const auto page = store.List(prefix, afters[i], limit);
        const std::string what =
            "list('" + prefix + "', '" + afters[i] + "', " + std::to_string(limit) + ")";
        if (!f.ExpectOk(page.status(), what)) return;
        std::vector<std::string> got;
        for (const ObjectInfo& info : page->objects) got.push_back(info.key);
        const size_t count = std::min(wanted.size(), static_cast<size_t>(limit));
        f.Expect(std::equal(got.begin(), got.end(), wanted.begin(),
                            wanted.begin() + static_cast<long>(count)),
                 what + " gave " + Join(got, " "));
        const bool more = wanted.size() > static_cast<size_t>(limit);
        const bool said = !page->next.empty();
        f.Expect(said == more || (said && got.size() == count && !subject.knows_the_last_page()),
                 what + " is wrong about a next page");
        if (!said || more) continue;
        const auto next = store.List(prefix, page->next, limit);
        f.Expect(next.ok() && next->objects.empty() && next->next.empty(),
                 what + " has a next page that is not empty");
      }
    }
  }
}

void PagesJoin(Subject& subject, Findings& f) {
  ObjectStore& store = subject.store();
  std::vector<std::string> keys;
  for (int i = 0; i < 1234; ++i) keys.push_back("p/" + std::to_string(i * 7919 % 1234));
  for (const std::string& key : keys) f.ExpectOk(store.Put(key, "").status(), "put");
  std::sort(keys.begin(), keys.end());
  std::vector<std::string> got;
  std::string after;
  int pages = 0;
  do {
    const auto page = store.List("p/", after, 100);
    if (!f.ExpectOk(page.status(), "list")) return;
    f.Expect(page->objects.size() <= 100, "a page is too long");
    for (const ObjectInfo& info : page->objects) got.push_back(info.key);
    after = page->next;
  } while (!after.empty() && ++pages < 100);
  f.Expect(got == keys, "pages do not join to the whole");
}

}  // namespace

std::vector<Check> ListChecks() {
  return {{"OddKeysWork", false, true, OddKeysWork},
          {"PrefixesAndPages", false, true, PrefixesAndPages},
          {"PagesJoin", false, true, PagesJoin}};
}

}  // namespace stoker::contract
