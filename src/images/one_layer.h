// SPDX-License-Identifier: Apache-2.0
// An image of one layer, in which one program is the only file. Pure. Sources: OCI image-spec 1.1
// (manifest, config, layer); "pax" and "ustar" of POSIX for the layer.
#pragma once

#include <string>
#include <string_view>

namespace stoker {

// The same bytes each time: its digest tells whether the program is another.
struct OneLayerImage {
  std::string layer;     // gzip of a tar
  std::string config;    // JSON
  std::string manifest;  // the same; of the media type kOciManifest
  std::string digest;    // of the manifest: "sha256:…"
};

inline constexpr char kOciManifest[] = "application/vnd.oci.image.manifest.v1+json";

// `program` is "/NAME" in it, and what it starts with, as nobody's user. `architecture`: as Go
// names it. All empty where there is no memory for it.
OneLayerImage MakeOneLayerImage(std::string_view name, std::string_view program,
                                const std::string& architecture);

}  // namespace stoker
