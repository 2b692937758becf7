// SPDX-License-Identifier: Apache-2.0
#include "net/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "net/ca_bundle.h"

namespace stoker {
namespace {

// Where distributions keep the bundle: Debian, Fedora, Alpine, openSUSE, RHEL.
constexpr const char* kBundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/var/lib/ca-certificates/ca-bundle.pem",
};
constexpr size_t kFilePiece = 256 << 10;
constexpr size_t kReadAhead = 64 << 10;

std::string WhyOfOpenSsl() {
  const unsigned long error = ERR_get_error();
  if (error == 0) return "no reason given";
  char text[256];
  ERR_error_string_n(error, text, sizeof text);
  return text;
}

// ---- a BIO over a socket that never raises SIGPIPE, as OpenSSL's own would ----

int BioWrite(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const int fd = static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
  const ssize_t n = send(fd, bytes, static_cast<size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(n);
}

int BioRead(BIO* bio, char* buffer, int size) {
  BIO_clear_retry_flags(bio);
  const int fd = static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
  const ssize_t n = recv(fd, buffer, static_cast<size_t>(size), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(n);
}

long BioControl(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* SocketMethod() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    BIO_meth_set_write(made, BioWrite);
    BIO_meth_set_read(made, BioRead);
    BIO_meth_set_ctrl(made, BioControl);
    return made;
  }();
  return method;
}

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

class TlsStream : public Stream {
 public:
  TlsStream(std::shared_ptr<TlsTrust> trust, Socket socket, std::unique_ptr<SSL, FreeSsl> ssl)
      : trust_(std::move(trust)), socket_(std::move(socket)), ssl_(std::move(ssl)) {
    BIO* bio = BIO_new(SocketMethod());
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(socket_.fd())));
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
  }
  ~TlsStream() override {
    if (!failed_) SSL_shutdown(ssl_.get());  // says goodbye and waits for no answer
  }

  Status ShakeHands(const std::string& host, const Deadline& deadline) {
    while (true) {
      ERR_clear_error();
      const int result = SSL_connect(ssl_.get());
      if (result == 1) return Status::Ok();
      const Status waited = WaitAfter(result, deadline, "the TLS handshake");
      if (waited.ok()) continue;
      const long verdict = SSL_get_verify_result(ssl_.get());
      if (verdict == X509_V_OK) return waited;
      return Status(Code::kDenied,
                    "the certificate of " + host +
                        " is not to be trusted: " + X509_verify_cert_error_string(verdict),
                    "If your network needs its own certificates, name them in $SSL_CERT_FILE");
    }
  }

  Result<size_t> Read(char* buffer, size_t size, Duration stall) override {
    const Deadline deadline(stall);
    while (true) {
      ERR_clear_error();
      size_t got = 0;
      const int result = SSL_read_ex(ssl_.get(), buffer, size, &got);
      if (result == 1) return got;
      if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_ZERO_RETURN) return size_t{0};
      STOKER_TRY(WaitAfter(result, deadline, "receiving"));
    }
  }

  Status Write(std::string_view bytes, Duration stall) override {
    while (!bytes.empty()) {
      const Deadline deadline(stall);
      ERR_clear_error();
      size_t sent = 0;
      const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent);
      if (result == 1) {
        bytes.remove_prefix(sent);
        continue;
      }
      STOKER_TRY(WaitAfter(result, deadline, "sending"));
    }
    return Status::Ok();
  }

  Status WriteFile(int fd, int64_t offset, int64_t size, Duration stall) override {
    const std::unique_ptr<char[]> buffer(new char[kFilePiece]);
    while (size > 0) {
      const size_t want = static_cast<size_t>(std::min<int64_t>(size, kFilePiece));
      const ssize_t got = pread(fd, buffer.get(), want, offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return ErrnoStatus("reading the file to be sent", errno);
      if (got == 0) return Status(Code::kCorrupt, "the file became shorter while it was sent");
      STOKER_TRY(Write({buffer.get(), static_cast<size_t>(got)}, stall));
      offset += got;
      size -= got;
    }
    return Status::Ok();
  }

  bool Quiet() override {
    // Session tickets may have come: reading takes them, and nothing else may be there.
    char byte = 0;
    size_t got = 0;
    ERR_clear_error();
    const int result = SSL_peek_ex(ssl_.get(), &byte, 1, &got);
    return result != 1 && SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ;
  }

 private:
  // Ok: try again.
  Status WaitAfter(int result, const Deadline& deadline, const char* what) {
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return AwaitSocket(socket_, POLLIN, deadline, what);
      case SSL_ERROR_WANT_WRITE:
        return AwaitSocket(socket_, POLLOUT, deadline, what);
      case SSL_ERROR_SYSCALL:
        failed_ = true;
        if (errno != 0 && ERR_peek_error() == 0) {
          return Status(Code::kUnavailable, ErrnoStatus(what, errno).message());
        }
        return Status(Code::kUnavailable, std::string(what) + ": the peer hung up");
      default:
        failed_ = true;
        return Status(Code::kUnavailable, std::string(what) + ": " + WhyOfOpenSsl());
    }
  }

  const std::shared_ptr<TlsTrust> trust_;
  Socket socket_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
  bool failed_ = false;
};

class Trust : public TlsTrust, public std::enable_shared_from_this<Trust> {
 public:
  explicit Trust(SSL_CTX* context) : context_(context) {}
  SSL_CTX* context() const { return context_.get(); }

  Result<std::unique_ptr<Stream>> Connect(Socket socket, const std::string& host,
                                          const Deadline& deadline) override {
    std::unique_ptr<SSL, FreeSsl> ssl(SSL_new(context_.get()));
    if (!ssl) return Status(Code::kInternal, "TLS: " + WhyOfOpenSsl());
    unsigned char number[16];
    const bool is_number = inet_pton(AF_INET, host.c_str(), number) == 1 ||
                           inet_pton(AF_INET6, host.c_str(), number) == 1;
    const int named = is_number
                          ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), host.c_str())
                          : SSL_set1_host(ssl.get(), host.c_str());
    if (named != 1) return Status(Code::kInvalid, "TLS: '" + host + "' is no host's name");
    if (!is_number) SSL_set_tlsext_host_name(ssl.get(), host.c_str());
    auto stream =
        std::make_unique<TlsStream>(shared_from_this(), std::move(socket), std::move(ssl));
    STOKER_TRY(stream->ShakeHands(host, deadline));
    return std::unique_ptr<Stream>(std::move(stream));
  }

 private:
  std::unique_ptr<SSL_CTX, FreeSsl> context_;
};

std::string FindBundle() {
  if (const char* named = std::getenv("SSL_CERT_FILE"); named != nullptr && *named != 0) {
    return named;
  }
  for (const char* path : kBundles) {
    if (access(path, R_OK) == 0) return path;
  }
  return "";
}

// A context that trusts nobody yet.
Result<std::shared_ptr<Trust>> NewTrust() {
  // The host's openssl.cnf may name engines and modules that a static program cannot load.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  auto trust = std::make_shared<Trust>(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* context = trust->context();
  if (context == nullptr) return Status(Code::kInternal, "TLS: " + WhyOfOpenSsl());
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, kReadAhead);
  ERR_clear_error();
  return trust;
}

}  // namespace

Result<std::shared_ptr<TlsTrust>> TlsTrust::Load(const std::string& ca_file) {
  const std::string path = ca_file.empty() ? FindBundle() : ca_file;
  if (path.empty()) return Embedded();
  STOKER_ASSIGN(const std::shared_ptr<Trust> trust, NewTrust());
  if (SSL_CTX_load_verify_file(trust->context(), path.c_str()) != 1) {
    return Status(Code::kInvalid, "TLS: no trusted certificate in " + path + ": " + WhyOfOpenSsl(),
                  "Name a file of PEM certificates in $SSL_CERT_FILE");
  }
  return std::shared_ptr<TlsTrust>(trust);
}

Result<std::shared_ptr<TlsTrust>> TlsTrust::Embedded() {
  STOKER_ASSIGN(const std::shared_ptr<Trust> trust, NewTrust());
  BIO* bio = BIO_new_mem_buf(kCaBundle.data(), static_cast<int>(kCaBundle.size()));
  X509_STORE* store = SSL_CTX_get_cert_store(trust->context());
  int added = 0;
  while (X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr)) {
    added += X509_STORE_add_cert(store, certificate);
    X509_free(certificate);
  }
  BIO_free(bio);
  ERR_clear_error();  // the end of the list counts as one
  if (added == 0) {
    return Status(Code::kNotFound, "TLS: neither this machine nor stoker has trusted certificates",
                  "Install the package ca-certificates, or name a file in $SSL_CERT_FILE");
  }
  return std::shared_ptr<TlsTrust>(trust);
}

}  // namespace stoker
