// SPDX-License-Identifier: Apache-2.0
// What a registry has of an image: a manifest, or an index of several. Sources: OCI image-spec 1.1
// (manifest, image-index, config), docker's "Image Manifest Version 2, Schema 2". Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace stoker {

inline constexpr size_t kMostManifestBytes = size_t{4} << 20;  // as registries bound it

// The media types that a registry is to be asked for, as an Accept header has them.
extern const char kManifestTypes[];

struct ImagePlatform {
  std::string os;
  std::string architecture;  // as Go names it: "amd64", "arm64"
  std::string digest;        // of its manifest
};

struct ImageManifest {
  std::vector<ImagePlatform> platforms;  // of an index; else empty, and what follows is known
  std::string config_digest;             // of the object that tells its platform
  int64_t bytes = 0;                     // what is to be pulled, compressed
};

// kCorrupt: it is neither. `name`: of the image, for messages.
Result<ImageManifest> ReadImageManifest(const std::string& name, std::string_view text);
// What an image's config says of its platform; `digest` stays empty.
Result<ImagePlatform> ReadImageConfig(const std::string& name, std::string_view text);

}  // namespace stoker
