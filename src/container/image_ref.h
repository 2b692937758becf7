// SPDX-License-Identifier: Apache-2.0
// The name of an image, taken apart as docker does. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stoker {

struct ImageRef {
  std::string registry;    // "docker.io", "localhost:5000"
  std::string repository;  // "library/python"
  std::string tag;         // "latest" where the name has neither tag nor digest
  std::string digest;      // "sha256:…", "" = none
  bool operator==(const ImageRef&) const = default;
};

// Names without a registry are docker.io's, those of one word in its "library". Nullopt: it is no
// IsImageName, or in no registry: "localhost/…", as podman names what was built on a machine, and
// "sha256:…", an id.
std::optional<ImageRef> ParseImageRef(std::string_view image);

// "registry.example.org/team/images": a host and a name there, without tag and digest.
bool IsRepositoryName(std::string_view text);

// "docker.io/library/python@sha256:…", as every engine takes it: podman 4 wants no tag beside it.
std::string PinnedImage(const ImageRef& ref, const std::string& digest);

// "sha256:" and 64 small hex digits.
bool IsImageDigest(std::string_view text);

}  // namespace stoker
