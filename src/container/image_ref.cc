// SPDX-License-Identifier: Apache-2.0
#include "container/image_ref.h"

#include <algorithm>

#include "base/text.h"
#include "container/container_spec.h"

namespace stoker {
namespace {

constexpr std::string_view kSha256 = "sha256:";
constexpr char kHub[] = "docker.io";

// Docker's rule (distribution/reference): a first part that cannot be a person's name there.
bool IsRegistryHost(std::string_view part) {
  return part == "localhost" || part.find_first_of(".:") != std::string_view::npos ||
         std::any_of(part.begin(), part.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

}  // namespace

bool IsImageDigest(std::string_view text) {
  if (!StartsWith(text, kSha256) || text.size() != kSha256.size() + 64) return false;
  text.remove_prefix(kSha256.size());
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); });
}

std::optional<ImageRef> ParseImageRef(std::string_view image) {
  if (!IsImageName(image) || IsImageDigest(image)) return std::nullopt;
  ImageRef ref;
  if (const size_t at = image.find('@'); at != std::string_view::npos) {
    ref.digest = image.substr(at + 1);
    image = image.substr(0, at);
  }
  const size_t slash = image.find('/');
  if (slash != std::string_view::npos && IsRegistryHost(image.substr(0, slash))) {
    ref.registry = image.substr(0, slash);
    image = image.substr(slash + 1);
  }
  if (ref.registry == "localhost") return std::nullopt;
  if (const size_t colon = image.rfind(':');
      colon != std::string_view::npos && image.find('/', colon) == std::string_view::npos) {
    ref.tag = image.substr(colon + 1);
    image = image.substr(0, colon);
  }
  if (ref.tag.empty() && ref.digest.empty()) ref.tag = "latest";
  ref.repository = image;
  if (ref.registry.empty() || ref.registry == "index.docker.io") {
    ref.registry = kHub;
  }
  if (ref.registry == kHub && image.find('/') == std::string_view::npos) {
    ref.repository = "library/" + ref.repository;
  }
  return ref;
}

bool IsRepositoryName(std::string_view text) {
  const size_t slash = text.find('/');
  const auto ref = ParseImageRef(text);
  return ref && slash != std::string_view::npos && IsRegistryHost(text.substr(0, slash)) &&
         text.find_first_of(":@", slash) == std::string_view::npos;
}

std::string PinnedImage(const ImageRef& ref, const std::string& digest) {
  return ref.registry + "/" + ref.repository + "@" + digest;
}

}  // namespace stoker
