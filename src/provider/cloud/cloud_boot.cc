// SPDX-License-Identifier: Apache-2.0
#include "provider/cloud/cloud_boot.h"

#include "base/text.h"
#include "net/percent.h"
#include "provider/cloud/cloud_launch.h"
#include "provider/cloud/cloud_scripts.h"

namespace stoker::cloud {
namespace {

constexpr char kEnd[] = "END_OF_FILE";

// A command of a shell that has `put`.
std::string PutFile(const std::string& path, const std::string& text) {
  const std::string end = EndsWith(text, "\n") ? "" : "\n";
  return "put " + path + " <<'" + kEnd + "'\n" + text + end + kEnd + "\n";
}

}  // namespace

std::string BootScript(const BootParts& parts) {
  std::string out = kArmHead;
  out += PutFile("/opt/stoker/env", parts.env);
  out += PutFile("/opt/stoker/guard", kGuardScript);
  out += PutFile("/opt/stoker/run", std::string(kRunHead) + parts.run + kRunTail);
  out += PutFile("/opt/stoker/off", kOffScript);
  for (const auto& [path, text] : parts.more) out += PutFile(path, text);
  out += PutFile(std::string(kNodeDir) + "/" + parts.launch_file, parts.launch);
  out += PutFile("/etc/systemd/system/stoker-guard.service", kGuardUnit);
  out += PutFile("/etc/systemd/system/stoker-agent.service", kAgentUnit);
  out += PutFile(kSliceFile, kSlice);
  return out + kArmTail;
}

std::string SetVariable(const char* name, const std::string& value) {
  return std::string(name) + "=" + ShellQuote(value) + "\n";
}

Status CheckLines(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    if (Printable(text) != text) {
      return Status(Code::kInvalid, "not a line of text: " + Printable(text));
    }
  }
  return Status::Ok();
}

Result<Bucket> BucketOf(const std::string& url, const std::string& scheme,
                        const std::string& machines) {
  if (!StartsWith(url, scheme)) {
    return Status(Code::kInvalid, machines + " cannot reach the store " + Printable(url),
                  "Give them a bucket: stoker config set store " + scheme + "bucket/prefix");
  }
  std::string rest = url.substr(scheme.size());
  while (EndsWith(rest, "/")) rest.pop_back();
  const size_t slash = rest.find('/');
  Bucket out{rest.substr(0, slash), ""};
  if (slash != std::string::npos) out.prefix = rest.substr(slash + 1) + "/";
  return out;
}

std::string GoogleBlobBase(const Bucket& bucket, const std::string& endpoint) {
  std::string base = endpoint.empty() ? "https://storage.googleapis.com" : endpoint;
  while (EndsWith(base, "/")) base.pop_back();
  return base + "/storage/v1/b/" + bucket.name + "/o/" + PercentEncode(bucket.prefix + "blobs/");
}

}  // namespace stoker::cloud
