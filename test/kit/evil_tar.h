// SPDX-License-Identifier: Apache-2.0
// Hand-made tar files for tests: everything that an honest packer would refuse to write.
#pragma once

#include <zstd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace stoker::pack {

// POSIX ustar headers, field by field; types are the letters of that format.
class EvilTar {
 public:
  EvilTar& Add(const std::string& name, char type, const std::string& content = "",
               const std::string& link = "", unsigned mode = 0644) {
    return AddSized(name, type, content, content.size(), link, mode);
  }
  // Announces `size` bytes whatever `content` has.
  EvilTar& AddSized(const std::string& name, char type, const std::string& content, uint64_t size,
                    const std::string& link = "", unsigned mode = 0644) {
    std::string header(512, '\0');
    name.substr(0, 100).copy(&header[0], 100);
    Octal(header, 100, 8, mode);
    Octal(header, 108, 8, 0);
    Octal(header, 116, 8, 0);
    Octal(header, 124, 12, size);
    Octal(header, 136, 12, 1'000'000'000);
    header[156] = type;
    link.substr(0, 100).copy(&header[157], 100);
    std::string_view("ustar\00000", 8).copy(&header[257], 8);
    Octal(header, 329, 8, 0);
    Octal(header, 337, 8, 0);
    std::string(8, ' ').copy(&header[148], 8);
    unsigned sum = 0;
    for (char c : header) sum += static_cast<unsigned char>(c);
    std::snprintf(&header[148], 8, "%06o", sum);
    header[155] = ' ';
    bytes_ += header + content + std::string((512 - content.size() % 512) % 512, '\0');
    return *this;
  }
  // Pax records for the entry that comes next.
  EvilTar& AddPax(const std::string& key, const std::string& value) {
    return Add("pax", 'x', Record(key, value));
  }
  static std::string Record(const std::string& key, const std::string& value) {
    size_t length = key.size() + value.size() + 3;
    length += std::to_string(length + std::to_string(length).size()).size();
    return std::to_string(length) + " " + key + "=" + value + "\n";
  }
  std::string Tar() const { return bytes_ + std::string(1024, '\0'); }
  std::string Packed() const { return Compress(Tar()); }

  static std::string Compress(const std::string& tar, bool checksum = true) {
    ZSTD_CCtx* context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum ? 1 : 0);
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1);
    std::string out(ZSTD_compressBound(tar.size()), '\0');
    out.resize(ZSTD_compress2(context, out.data(), out.size(), tar.data(), tar.size()));
    ZSTD_freeCCtx(context);
    return out;
  }

 private:
  static void Octal(std::string& header, size_t at, int width, uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof(text), "%0*llo", width - 1, static_cast<unsigned long long>(value));
    std::string(text).copy(&header[at], static_cast<size_t>(width) - 1);
  }
  std::string bytes_;
};

}  // namespace stoker::pack
