// SPDX-License-Identifier: Apache-2.0
#include "images/one_layer.h"

#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#include <memory>

#include "base/digest.h"
#include "base/json.h"

namespace stoker {
namespace {

using nlohmann::ordered_json;

constexpr int kGzip = 16;            // of zlib's window bits: a header of gzip, without a time
constexpr int kLevel = 6;            // the last percent of 7 MB costs seconds
constexpr char kNobody[] = "65532";  // as images without a distribution have it
constexpr size_t kRoom = 64 * 1024;  // around the program, in a tar
constexpr char kConfigType[] = "application/vnd.oci.image.config.v1+json";
constexpr char kLayerType[] = "application/vnd.oci.image.layer.v1.tar+gzip";

std::string DigestOf(std::string_view bytes) { return "sha256:" + Sha256Hex(bytes); }

// "" where there is no memory for it.
std::string Tar(std::string_view name, std::string_view program) {
  std::string out(program.size() + kRoom, '\0');
  const std::unique_ptr<archive, int (*)(archive*)> tar(archive_write_new(), archive_write_free);
  const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                       archive_entry_free);
  size_t used = 0;
  if (!tar || !entry || archive_write_set_format_ustar(tar.get()) != ARCHIVE_OK ||
      archive_write_open_memory(tar.get(), out.data(), out.size(), &used) != ARCHIVE_OK) {
    return "";
  }
  archive_entry_set_pathname(entry.get(), std::string(name).c_str());
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(program.size()));
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0755);
  archive_entry_set_mtime(entry.get(), 0, 0);
  if (archive_write_header(tar.get(), entry.get()) != ARCHIVE_OK ||
      archive_write_data(tar.get(), program.data(), program.size()) !=
          static_cast<la_ssize_t>(program.size()) ||
      archive_write_close(tar.get()) != ARCHIVE_OK) {
    return "";
  }
  out.resize(used);
  return out;
}

std::string Gzip(std::string_view data) {
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, MAX_WBITS + kGzip, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
    return "";
  }
  std::string out(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int done = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return done == Z_STREAM_END ? out : "";
}

ordered_json Descriptor(const char* type, std::string_view bytes) {
  return {{"mediaType", type}, {"digest", DigestOf(bytes)}, {"size", bytes.size()}};
}

}  // namespace

OneLayerImage MakeOneLayerImage(std::string_view name, std::string_view program,
                                const std::string& architecture) {
  OneLayerImage image;
  const std::string tar = Tar(name, program);
  if (tar.empty()) return image;
  image.layer = Gzip(tar);
  if (image.layer.empty()) return image;
  const ordered_json config = {{"architecture", architecture},
                               {"os", "linux"},
                               {"config",
                                {{"User", std::string(kNobody) + ":" + kNobody},
                                 {"Entrypoint", {"/" + std::string(name)}},
                                 {"WorkingDir", "/"}}},
                               {"rootfs", {{"type", "layers"}, {"diff_ids", {DigestOf(tar)}}}}};
  image.config = config.dump();
  const ordered_json manifest = {{"schemaVersion", 2},
                                 {"mediaType", kOciManifest},
                                 {"config", Descriptor(kConfigType, image.config)},
                                 {"layers", {Descriptor(kLayerType, image.layer)}}};
  image.manifest = manifest.dump();
  image.digest = DigestOf(image.manifest);
  return image;
}

}  // namespace stoker
