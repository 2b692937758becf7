// SPDX-License-Identifier: Apache-2.0
#include "ledger/envs/kept_envs.h"

#include <map>
#include <set>
#include <type_traits>
#include <utility>

#include "base/json_fields.h"
#include "base/text.h"
#include "ledger/paths.h"
#include "ledger/scan.h"

namespace stoker {
namespace {

constexpr int kEnvFormat = 1;
constexpr size_t kMostOfManifest = size_t{4} << 20;
constexpr int64_t kPiece = 1 << 20;

struct ManifestText : EnvManifest {
  int format = kEnvFormat;
};

bool IsDigest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

template <class A, class T>
requires std::is_same_v<std::remove_const_t<T>, EnvPart>
void Fields(A& a, T& t) {
  a("path", t.path);
  a.Need("sha256", t.sha256);
  a.Need("bytes", t.bytes);
  a.Check(t.path.empty() || IsSafeRelativePath(t.path), "path", "is no path");
  a.Check(IsDigest(t.sha256), "sha256", "is no digest");
  a.Check(t.bytes > 0, "bytes", "is no size");
}

template <class A, class T>
requires std::is_same_v<std::remove_const_t<T>, ManifestText>
void Fields(A& a, T& t) {
  a.Need("format", t.format);
  a("python", t.python);
  a("platform", t.platform);
  a("bound", t.bound);
  a.Need("parts", t.parts);
  a.Check(!t.parts.empty() && t.parts[0].path.empty(), "parts", "does not begin with the rest");
  for (size_t at = 1; at < t.parts.size(); ++at) {
    a.Check(!t.parts[at].path.empty(), "parts", "has two of the rest");
  }
}

int64_t EnvManifest::Bytes() const {
  int64_t bytes = 0;
  for (const EnvPart& part : parts) bytes += part.bytes;
  return bytes;
}

std::string EncodeEnv(const EnvManifest& manifest) {
  const ManifestText text{manifest, kEnvFormat};
  json::JsonOut out;
  Fields(out, text);
  return json::Dump(out.Take(), 1) + "\n";
}

Result<EnvManifest> ParseEnv(const std::string& key, const std::string& text) {
  STOKER_ASSIGN(const json::Value object, json::ParseObject(key, text, kMostOfManifest));
  STOKER_TRY(json::CheckFormat(key, object, kEnvFormat));
  ManifestText manifest;
  json::JsonIn in(object, key + ": ");
  Fields(in, manifest);
  if (!in.status().ok()) return in.status();
  return EnvManifest(std::move(manifest));
}

Result<std::optional<FoundEnv>> FindEnv(ObjectStore& store, const std::string& env) {
  const std::string key = paths::EnvManifest(env);
  const auto object = store.Get(key);
  if (object.status().Is(Code::kNotFound)) return std::optional<FoundEnv>();
  if (!object.ok()) return object.status().WithContext("reading " + key);
  FoundEnv found;
  found.version = object->info.version;
  found.age = object->store_now - object->info.last_modified;
  auto parsed = ParseEnv(key, object->data);
  found.why = parsed.status();
  if (parsed.ok()) found.manifest = std::move(*parsed);
  return std::optional(std::move(found));
}

Result<bool> PutEnv(ObjectStore& store, const std::string& env, const EnvManifest& manifest,
                    const std::optional<Version>& instead) {
  const std::string key = paths::EnvManifest(env);
  const auto put = store.Put(key, EncodeEnv(manifest),
                             instead ? Condition::Match(*instead) : Condition::Absent());
  if (put.ok()) return true;
  const Status& why = put.status();
  if (why.Is(Code::kExists) || why.Is(Code::kConflict) || why.Is(Code::kNotFound)) return false;
  return why.WithContext("writing " + key);
}

Status MarkEnvUsed(ObjectStore& store, const std::string& env) {
  const std::string key = paths::EnvUsed(env);
  WallTime now;
  STOKER_ASSIGN(const auto found, ListBelow(store, key, &now));
  if (!found.empty() && now - found[0].object.last_modified < kEnvUsedEvery) return Status::Ok();
  return store.Put(key, "used\n").status();
}

Result<bool> PutEnvPart(ObjectStore& store, const EnvPart& part, bool again,
                        const std::function<Result<int64_t>(char* buffer, int64_t size)>& read) {
  const std::string key = paths::EnvPart(part.sha256);
  WallTime now;
  STOKER_ASSIGN(const auto found, ListBelow(store, key, &now));
  if (!again && !found.empty() && found[0].object.size == part.bytes &&
      now - found[0].object.last_modified < kEnvPartAge) {
    return false;
  }
  // Without condition: the content is the same whoever writes it.
  STOKER_ASSIGN(const auto upload, store.BeginUpload(key));
  const std::unique_ptr<char[]> buffer(new char[kPiece]);
  for (;;) {
    STOKER_ASSIGN(const int64_t got, read(buffer.get(), kPiece));
    if (got == 0) break;
    STOKER_TRY(upload->Write(std::string_view(buffer.get(), static_cast<size_t>(got))));
  }
  STOKER_TRY(upload->Commit().status());
  return true;
}

Result<std::unique_ptr<Download>> OpenEnvPart(ObjectStore& store, const EnvPart& part) {
  return store.OpenDownload(paths::EnvPart(part.sha256));
}

namespace {

struct Env {
  WallTime used;  // or written
  bool manifest = false;
  std::vector<ObjectInfo> objects;
};

struct Lists {
  WallTime now;
  std::map<std::string, Env> envs;
  std::vector<ObjectInfo> parts;
};

Result<Lists> ListEnvs(ObjectStore& store) {
  Lists lists;
  STOKER_ASSIGN(const auto found, ListBelow(store, paths::Envs(), &lists.now));
  for (const Listed& one : found) {
    const std::string_view name = std::string_view(one.object.key).substr(paths::Envs().size());
    const std::string first(name.substr(0, name.find('/')));
    if (StartsWith(one.object.key, paths::EnvParts())) {
      lists.parts.push_back(one.object);
    } else if (IsDigest(first)) {  // else it is not ours to judge
      Env& env = lists.envs[first];
      env.used = std::max(env.used, one.object.last_modified);
      env.manifest = env.manifest || one.object.key == paths::EnvManifest(first);
      env.objects.push_back(one.object);
    }
  }
  return lists;
}

Status Remove(ObjectStore& store, const ObjectInfo& object, bool dry_run, ClearedEnvs* out) {
  if (!dry_run) STOKER_TRY(store.Delete(object.key));
  out->bytes += object.size;
  return Status::Ok();
}

}  // namespace

Result<ClearedEnvs> ClearOldEnvs(ObjectStore& store, bool dry_run) {
  ClearedEnvs out;
  STOKER_ASSIGN(const Lists lists, ListEnvs(store));
  std::set<std::string> named;
  bool blind = false;
  for (const auto& [name, env] : lists.envs) {
    if (lists.now - env.used >= kEnvAge) {
      // The manifest comes first by its name: without it the rest is nothing.
      for (const ObjectInfo& object : env.objects) STOKER_TRY(Remove(store, object, dry_run, &out));
      out.envs += env.manifest ? 1 : 0;
      continue;
    }
    if (!env.manifest) continue;
    STOKER_ASSIGN(const auto found, FindEnv(store, name));
    if (!found) continue;
    blind = blind || !found->manifest;
    if (!found->manifest) continue;
    for (const EnvPart& part : found->manifest->parts) named.insert(paths::EnvPart(part.sha256));
  }
  for (const ObjectInfo& part : lists.parts) {
    if (blind || named.contains(part.key) || lists.now - part.last_modified < kEnvAge) continue;
    STOKER_TRY(Remove(store, part, dry_run, &out));
    ++out.parts;
  }
  return out;
}

}  // namespace stoker
