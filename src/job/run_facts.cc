// SPDX-License-Identifier: Apache-2.0
#include "job/run_facts.h"

#include "base/json_fields.h"

namespace stoker {
namespace {

constexpr int kRunFactsFormat = 1;
constexpr size_t kMostBytes = size_t{8} << 20;

struct PackageList {
  int format = 1;
  std::vector<Package> packages;
};

// T or const T.
template <typename T, typename Noun>
concept IsFact = std::is_same_v<std::remove_const_t<T>, Noun>;

}  // namespace

// Not in the anonymous namespace: json_fields.h finds these by argument-dependent lookup.

template <class A, IsFact<Package> T>
void Fields(A& a, T& t) {
  a.Need("name", t.name);
  a("version", t.version);
  a("from", t.from);
}

template <class A, IsFact<ToldVariable> T>
void Fields(A& a, T& t) {
  a.Need("name", t.name);
  a("value", t.value);
  a("by", t.by);
  a("hidden", t.hidden);
}

template <class A, IsFact<PackageList> T>
void Fields(A& a, T& t) {
  a.Need("format", t.format);
  a.Need("packages", t.packages);
  a.Check(t.packages.size() <= kMostPackages, "packages", "are too many");
}

template <class A, IsFact<RunFacts> T>
void Fields(A& a, T& t) {
  a.Need("format", t.format);
  a.Need("attempt", t.attempt);
  a.Need("rank", t.rank);
  a("image", t.image);
  a("image_id", t.image_id);
  a("stoker", t.stoker);
  a("kernel", t.kernel);
  a("os", t.os);
  a("architecture", t.architecture);
  a("cpu", t.cpu);
  a("cpus", t.cpus);
  a("nvidia_driver", t.nvidia_driver);
  a("cuda", t.cuda);
  a("python", t.python);
  a("python_version", t.python_version);
  a("python_assumed", t.python_assumed);
  a("python_trouble", t.python_trouble);
  a("environment", t.environment);
  a("environment_key", t.environment_key);
  a("packages", t.packages);
  a("package_count", t.package_count);
  a("variables", t.variables);
  a("variables_left_out", t.variables_left_out);
  a.Check(t.packages.empty() || IsSafeName(t.packages), "packages", "is no digest");
  a.Check(t.variables.size() <= kMostToldVariables, "variables", "are too many");
  a.Extra(t.extra);
}

namespace {

template <typename T>
std::string Encode(const T& noun) {
  json::JsonOut out;
  Fields(out, noun);
  return json::Dump(out.Take()) + "\n";
}

template <typename T>
Result<T> Decode(const std::string& key, std::string_view text) {
  STOKER_ASSIGN(const json::Value object, json::ParseObject(key, text, kMostBytes));
  STOKER_TRY(json::CheckFormat(key, object, kRunFactsFormat));
  T noun;
  json::JsonIn in(object, key + ": ");
  Fields(in, noun);
  if (!in.status().ok()) return in.status();
  return noun;
}

}  // namespace

std::string EncodeRunFacts(const RunFacts& facts) { return Encode(facts); }

Result<RunFacts> DecodeRunFacts(const std::string& key, std::string_view text) {
  return Decode<RunFacts>(key, text);
}

std::string EncodePackages(const std::vector<Package>& packages) {
  return Encode(PackageList{kRunFactsFormat, packages});
}

Result<std::vector<Package>> DecodePackages(const std::string& key, std::string_view text) {
  STOKER_ASSIGN(PackageList list, Decode<PackageList>(key, text));
  return std::move(list.packages);
}

}  // namespace stoker
