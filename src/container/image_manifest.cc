// SPDX-License-Identifier: Apache-2.0
#include "container/image_manifest.h"

#include "base/json_fields.h"
#include "container/image_ref.h"

namespace stoker {
namespace {

constexpr int64_t kMostImageBytes = int64_t{1} << 50;

std::string TextOf(const json::Value& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

int64_t SizeOf(const json::Value& object) {
  const auto found = object.find("size");
  if (found == object.end() || !found->is_number_integer()) return 0;
  const int64_t size = found->get<int64_t>();
  return size > 0 && size < kMostImageBytes ? size : 0;
}

Status NoManifest(const std::string& name) {
  return Status(Code::kCorrupt, "what the registry has of " + Printable(name) +
                                    " is no image of a format that stoker reads");
}

}  // namespace

const char kManifestTypes[] =
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.docker.distribution.manifest.v2+json";

Result<ImageManifest> ReadImageManifest(const std::string& name, std::string_view text) {
  STOKER_ASSIGN(const json::Value object, json::ParseObject(name, text, kMostManifestBytes));
  ImageManifest out;
  const auto members = object.find("manifests");
  if (members != object.end() && members->is_array()) {
    for (const json::Value& one : *members) {
      const auto platform = one.is_object() ? one.find("platform") : one.end();
      if (!one.is_object() || platform == one.end() || !platform->is_object()) continue;
      const std::string digest = TextOf(one, "digest");
      if (!IsImageDigest(digest)) continue;
      out.platforms.push_back({TextOf(*platform, "os"), TextOf(*platform, "architecture"), digest});
    }
    if (out.platforms.empty()) return NoManifest(name);
    return out;
  }
  const auto config = object.find("config");
  const auto layers = object.find("layers");
  if (config == object.end() || !config->is_object() || layers == object.end() ||
      !layers->is_array()) {
    return NoManifest(name);
  }
  out.config_digest = TextOf(*config, "digest");
  if (!IsImageDigest(out.config_digest)) return NoManifest(name);
  out.bytes = SizeOf(*config);
  for (const json::Value& layer : *layers) {
    if (layer.is_object() && out.bytes < kMostImageBytes) out.bytes += SizeOf(layer);
  }
  return out;
}

Result<ImagePlatform> ReadImageConfig(const std::string& name, std::string_view text) {
  STOKER_ASSIGN(const json::Value object, json::ParseObject(name, text, kMostManifestBytes));
  return ImagePlatform{TextOf(object, "os"), TextOf(object, "architecture"), ""};
}

}  // namespace stoker
