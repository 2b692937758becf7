// SPDX-License-Identifier: Apache-2.0
#include "images/registry_client.h"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/text.h"
#include "container/image_manifest.h"
#include "images/registry_session.h"

namespace stoker {
namespace {

Status OfOther(const std::string& name, const std::string& has, const std::string& wanted) {
  return Status(Code::kInvalid,
                name + " is an image for " + Printable(has) + ", not for linux/" + wanted +
                    ", which the job's machines are",
                "Name one of that architecture");
}

// Of a manifest for one platform: of which its config tells.
Result<int64_t> SizeFor(RegistrySession& session, const ImageManifest& manifest,
                        const std::string& architecture) {
  STOKER_ASSIGN(const std::string text, session.Body("blobs/" + manifest.config_digest, ""));
  STOKER_ASSIGN(const ImagePlatform is, ReadImageConfig(session.Name(), text));
  // What is no program's tree (charts, signatures) says nothing of platforms.
  if (is.os == "linux" && is.architecture == architecture) return manifest.bytes;
  return OfOther(session.Name(), is.os.empty() ? "no machine" : is.os + "/" + is.architecture,
                 architecture);
}

}  // namespace

std::string OwnArchitecture() {
#if defined(__x86_64__)
  return "amd64";
#elif defined(__aarch64__)
  return "arm64";
#else
#error "name it as Go does"
#endif
}

namespace {

Result<FoundImage> AskOnce(const RegistryAsk& ask) {
  RegistrySession session(ask);
  const std::string wanted = ask.ref.digest.empty() ? ask.ref.tag : ask.ref.digest;
  STOKER_ASSIGN(const std::string text, session.Body("manifests/" + wanted, kManifestTypes));
  FoundImage found;
  found.digest = "sha256:" + Sha256Hex(text);
  if (!ask.ref.digest.empty() && found.digest != ask.ref.digest) {
    return Status(Code::kCorrupt, session.Name() + ": what came is not of the digest asked for");
  }
  STOKER_ASSIGN(ImageManifest manifest, ReadImageManifest(session.Name(), text));
  if (manifest.platforms.empty()) {
    STOKER_ASSIGN(found.bytes, SizeFor(session, manifest, ask.architecture));
    return found;
  }
  std::vector<std::string> has;
  for (const ImagePlatform& one : manifest.platforms) {
    if (one.os != "unknown") has.push_back(one.os + "/" + one.architecture);
    if (one.os != "linux" || one.architecture != ask.architecture) continue;
    STOKER_ASSIGN(const std::string inner, session.Body("manifests/" + one.digest, kManifestTypes));
    STOKER_ASSIGN(manifest, ReadImageManifest(session.Name(), inner));
    found.bytes = manifest.bytes;
    return found;
  }
  return OfOther(session.Name(), Join(has, ", "), ask.architecture);
}

}  // namespace

Result<FoundImage> AskRegistry(const RegistryAsk& ask) {
  for (const Duration pause : ask.pauses) {
    auto found = AskOnce(ask);
    if (!found.status().Is(Code::kBusy)) return found;
    std::this_thread::sleep_for(std::chrono::milliseconds(pause.ms));
  }
  return AskOnce(ask);
}

}  // namespace stoker
