// SPDX-License-Identifier: Apache-2.0
#include "client/rights.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/text.h"
#include "provider/registry.h"
#include "spec/text/infra.h"
#include "store/rights.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

constexpr int64_t kLargest = 1 << 20;

// False: there is none yet. kExists: another one is.
Result<bool> IsThere(const std::string& path, const std::string& text) {
  if (!sys::FileExists(path)) return false;
  const auto found = sys::ReadFile(path, kLargest);
  if (found.ok() && *found == text) return true;
  return Status(Code::kExists,
                QuotedPath(path) +
                    (found.ok() ? " is there and says something else"
                                : " is there and cannot be compared: " + found.status().message()),
                "Nothing of another's is overwritten: name another folder, or remove that file "
                "first");
}

// Whole before it has its name, and never in place of another.
Status Create(const std::string& path, const std::string& text) {
  const std::string staged = path + ".tmp-" + Hex64(sys::RandomU64());
  STOKER_TRY(sys::WriteFileAtomic(staged, text));
  const int linked = ::link(staged.c_str(), path.c_str());
  const int error = errno;
  (void)::unlink(staged.c_str());
  if (linked == 0) return Status::Ok();
  if (error != EEXIST) return ErrnoStatus("writing " + QuotedPath(path), error);
  return IsThere(path, text).status();
}

}  // namespace

Result<Rights> FindRights(Client& client, const std::string& infra) {
  STOKER_ASSIGN(const stoker::Settings* settings, client.settings());
  STOKER_ASSIGN(Rights rights, RightsFor(settings->store, RegionOfRights(settings->store)));
  AllowTopics(settings->notify, &rights);
  if (infra.empty()) return rights;
  const auto word = CheckInfra("--infra", infra);
  if (!word.ok()) return Status(Code::kUsage, word.status().message(), word.status().next());
  const Infra parts = ParseInfra(*word);
  STOKER_ASSIGN(Broker * broker, client.broker(parts.provider));
  return broker->AddRights(std::move(rights), settings->store, parts.where);
}

Result<std::vector<RightsWritten>> WriteRights(const Rights& rights, const std::string& folder) {
  std::vector<RightsWritten> out;
  for (const RightsFile& file : rights.files) {
    const std::string path = folder + "/" + file.name;
    STOKER_ASSIGN(const bool there, IsThere(path, file.text + "\n"));
    out.push_back({path, !there});
  }
  STOKER_TRY(sys::MakeDirs(folder));
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].anew) STOKER_TRY(Create(out[i].path, rights.files[i].text + "\n"));
  }
  return out;
}

}  // namespace stoker::client
