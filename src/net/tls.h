// SPDX-License-Identifier: Apache-2.0
// TLS as a client: certificates and names are always verified.
#pragma once

#include <memory>
#include <string>

#include "net/stream.h"

namespace stoker {

// What is trusted. Thread-safe once made; outlives the streams made with it.
class TlsTrust {
 public:
  // `ca_file` "" = $SSL_CERT_FILE, else where the distributions keep their bundle, else Embedded()
  // (slim images have none). kInvalid when the file holds no certificate.
  static Result<std::shared_ptr<TlsTrust>> Load(const std::string& ca_file);
  // Mozilla's list as Debian had it when this program was built.
  static Result<std::shared_ptr<TlsTrust>> Embedded();
  virtual ~TlsTrust() = default;
  // Shakes hands over `socket` with who must be `host`, a name or a number. kDenied when the
  // certificate is not to be trusted, else as the stream's calls. At least TLS 1.2.
  virtual Result<std::unique_ptr<Stream>> Connect(Socket socket, const std::string& host,
                                                  const Deadline& deadline) = 0;
};

}  // namespace stoker
