// SPDX-License-Identifier: Apache-2.0
#include "client/open/reserve.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/prng.h"
#include "base/text.h"
#include "sys/file.h"
#include "sys/task/usage.h"

namespace stoker::client {
namespace {

constexpr int64_t kReserve = 4 << 20;
constexpr int64_t kPlenty = 256 << 20;  // of free room, before any of it is kept back

bool OnOneDisk(const std::string& a, const std::string& b) {
  struct stat one {};
  struct stat other {};
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 &&
         one.st_dev == other.st_dev;
}

// In the store's folder under a name that no list of objects shows.
std::vector<std::string> Files(Client& client) {
  const std::string& state = client.places().state;
  std::vector<std::string> files = {state + "/reserve"};
  const std::string folder = client.store_url().value_or("");
  if (StartsWith(folder, "/") && !OnOneDisk(folder, state)) {
    files.push_back(folder + "/.tmp-reserve");
  }
  return files;
}

// Bytes that no file system can make smaller.
std::string Noise() {
  Prng prng(sys::RandomU64());
  std::string bytes(kReserve, '\0');
  for (char& byte : bytes) byte = static_cast<char>(prng.Below(256));
  return bytes;
}

bool Remove(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return false;
  return S_ISDIR(info.st_mode) ? sys::RemoveTree(path).ok() : ::unlink(path.c_str()) == 0;
}

}  // namespace

void KeepReserve(Client& client) {
  for (const std::string& file : Files(client)) {
    struct stat info {};
    if (::stat(file.c_str(), &info) == 0 && info.st_size == kReserve) continue;
    const auto space = ReadDiskSpace(file.substr(0, file.rfind('/')));
    if (!space.ok() || space->available_bytes < kPlenty) continue;
    (void)sys::WriteFileAtomic(file, Noise(), 0600, false);
  }
}

bool LetGoOfReserve(Client& client) {
  bool any = false;
  for (const std::string& file : Files(client)) any |= Remove(file);
  const std::string& cache = client.places().cache;
  const auto entries = sys::ListDir(cache);
  for (const auto& entry : entries.ok() ? *entries : std::vector<sys::DirEntry>()) {
    if (StartsWith(entry.name, "index-")) any |= Remove(cache + "/" + entry.name);
  }
  return any;
}

}  // namespace stoker::client
