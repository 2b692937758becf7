// SPDX-License-Identifier: Apache-2.0
// TLS against OpenSSL's own server side, with certificates made here.
#include "net/tls.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "net/ca_bundle.h"
#include "net/connect.h"
#include "net/http_client.h"

namespace stoker {
namespace {

struct Identity {
  EVP_PKEY* key = EVP_RSA_gen(2048);
  X509* certificate = X509_new();
  ~Identity() {
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
};

// Signed by itself, for `names` ("DNS:localhost,IP:127.0.0.1"), valid from `begin` to `end` seconds
// from now.
void Make(Identity* identity, const char* names, long begin, long end) {
  X509* x = identity->certificate;
  X509_set_version(x, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
  X509_gmtime_adj(X509_getm_notBefore(x), begin);
  X509_gmtime_adj(X509_getm_notAfter(x), end);
  X509_set_pubkey(x, identity->key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(x, X509_get_subject_name(x));
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, x, x, nullptr, nullptr, 0);
  for (const auto& [id, value] : {std::pair{NID_subject_alt_name, names},
                                  std::pair{NID_basic_constraints, "critical,CA:TRUE"}}) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value);
    X509_add_ext(x, extension, -1);
    X509_EXTENSION_free(extension);
  }
  X509_sign(x, identity->key, EVP_sha256());
}

// Answers each connection's requests until it closes; `rude` hangs up in the middle of the answer.
class Server {
 public:
  Server(const char* names, long begin, long end, bool rude = false) {
    Make(&identity_, names, begin, end);
    context_ = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(context_, identity_.certificate);
    SSL_CTX_use_PrivateKey(context_, identity_.key);
    thread_ = std::thread([this, rude] {
      while (true) {
        pollfd waiting{listener_.fd(), POLLIN, 0};
        if (poll(&waiting, 1, 20) == 0) {
          if (over_) return;
          continue;
        }
        const int fd = accept(listener_.fd(), nullptr, nullptr);
        Serve(fd, rude);
        close(fd);
      }
    });
  }
  ~Server() {
    over_ = true;
    thread_.join();
    SSL_CTX_free(context_);
    unlink(path_.c_str());
  }
  HttpUrl url(const std::string& host) const {
    return {host, LocalPort(listener_).value(), "", true};
  }
  // The certificate as a file of trusted ones.
  std::string trusted() {
    char name[] = "/tmp/stoker-tls-XXXXXX";
    const int fd = mkstemp(name);
    path_ = name;
    FILE* file = fdopen(fd, "w");
    PEM_write_X509(file, identity_.certificate);
    fclose(file);
    return path_;
  }
  std::atomic<int> handshakes = 0;

 private:
  void Serve(int fd, bool rude) {
    const timeval limit{5, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    SSL* ssl = SSL_new(context_);
    SSL_set_fd(ssl, fd);
    if (SSL_accept(ssl) == 1) {
      ++handshakes;
      std::string got;
      char buffer[4096];
      for (int n = 0; (n = SSL_read(ssl, buffer, sizeof buffer)) > 0;) {
        got.append(buffer, static_cast<size_t>(n));
        if (got.find("\r\n\r\n") == std::string::npos) continue;
        const std::string body(rude ? 10 : 100'000, 'x');
        const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + body;
        if (SSL_write(ssl, answer.data(), static_cast<int>(answer.size())) <= 0 || rude) break;
        got.clear();
      }
      if (!rude) SSL_shutdown(ssl);
    }
    SSL_free(ssl);
  }

  Identity identity_;
  SSL_CTX* context_ = nullptr;
  Socket listener_ = ListenTcp("127.0.0.1", 0).value();
  std::atomic<bool> over_ = false;
  std::thread thread_;
  std::string path_;
};

HttpPoolOptions Trusting(const std::string& ca_file) {
  HttpPoolOptions options;
  options.ca_file = ca_file;
  return options;
}

constexpr char kNames[] = "DNS:localhost,IP:127.0.0.1";
constexpr long kYear = 365L * 86'400;

TEST(Tls, VerifiedConnectionsAreKept) {
  for (const std::string host : {"127.0.0.1", "localhost"}) {
    Server server(kNames, -60, kYear);
    HttpPool pool(Trusting(server.trusted()));
    for (int time = 0; time < 3; ++time) {
      const auto answer = pool.Call(server.url(host), {"GET", "/", {}, ""});
      ASSERT_TRUE(answer.ok()) << answer.status().ToString();
      EXPECT_EQ(answer->body, std::string(100'000, 'x'));
      EXPECT_EQ(server.handshakes, 1);
    }
  }
}

TEST(Tls, WhoIsNotTrustedGetsNothing) {
  {
    Server server(kNames, -60, kYear);
    HttpPool pool(Trusting(""));  // the system's
    const auto answer = pool.Call(server.url("127.0.0.1"), {"GET", "/secret", {}, ""});
    EXPECT_EQ(answer.code(), Code::kDenied) << answer.status().ToString();
    EXPECT_EQ(server.handshakes, 0);
  }
  {
    Server server("DNS:elsewhere.example", -60, kYear);
    HttpPool pool(Trusting(server.trusted()));
    for (const std::string host : {"127.0.0.1", "localhost"}) {
      const auto answer = pool.Call(server.url(host), {"GET", "/", {}, ""});
      EXPECT_EQ(answer.code(), Code::kDenied) << answer.status().ToString();
    }
  }
  {
    Server server(kNames, -2 * kYear, -kYear);
    HttpPool pool(Trusting(server.trusted()));
    const auto answer = pool.Call(server.url("127.0.0.1"), {"GET", "/", {}, ""});
    EXPECT_EQ(answer.code(), Code::kDenied);
    EXPECT_NE(answer.status().message().find("expired"), std::string::npos);
  }
}

// What a machine without any list of certificates goes by.
TEST(Tls, TheEmbeddedListTrustsMozillasAndNobodyElse) {
  size_t certificates = 0;
  const std::string begin = "-----BEGIN CERTIFICATE-----";
  for (size_t at = 0; (at = kCaBundle.find(begin, at)) != std::string_view::npos; ++at) {
    ++certificates;
  }
  EXPECT_GE(certificates, 100u);
  const auto trust = TlsTrust::Embedded();
  ASSERT_TRUE(trust.ok()) << trust.status().ToString();
  Server server(kNames, -60, kYear);
  const Deadline deadline(Duration::Seconds(10));
  auto socket = ConnectTcp("127.0.0.1", server.url("").port, deadline);
  ASSERT_TRUE(socket.ok()) << socket.status().ToString();
  EXPECT_EQ((*trust)->Connect(std::move(*socket), "127.0.0.1", deadline).code(), Code::kDenied);
}

TEST(Tls, ACutAnswerIsNoAnswer) {
  Server server(kNames, -60, kYear, true);
  HttpPool pool(Trusting(server.trusted()));
  const auto answer = pool.Call(server.url("127.0.0.1"), {"GET", "/", {}, ""});
  EXPECT_TRUE(answer.code() == Code::kUnavailable || answer.code() == Code::kCorrupt)
      << answer.status().ToString();
}

TEST(Tls, WhoSpeaksNoTlsIsSaid) {
  const Socket listener = ListenTcp("127.0.0.1", 0).value();
  std::thread plain([&] {
    pollfd waiting{listener.fd(), POLLIN, 0};
    poll(&waiting, 1, 5'000);
    const Socket peer(accept(listener.fd(), nullptr, nullptr));
    (void)SendAll(peer, "HTTP/1.1 400 Bad Request\r\n\r\n", Deadline(Duration::Seconds(1)));
  });
  Server server(kNames, -60, kYear);
  HttpPool pool(Trusting(server.trusted()));
  const auto answer =
      pool.Call({"127.0.0.1", LocalPort(listener).value(), "", true}, {"GET", "/", {}, ""});
  plain.join();
  EXPECT_EQ(answer.code(), Code::kUnavailable) << answer.status().ToString();
}

TEST(Tls, AListWithoutCertificatesIsRefused) {
  EXPECT_EQ(TlsTrust::Load("/dev/null").code(), Code::kInvalid);
  EXPECT_EQ(TlsTrust::Load("/no/such/file").code(), Code::kInvalid);
}

}  // namespace
}  // namespace stoker
