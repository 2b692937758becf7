// SPDX-License-Identifier: Apache-2.0
#include "google/jwt.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>

#include "base/base64.h"
#include "base/json.h"

namespace stoker {
namespace {

constexpr int64_t kLifeSeconds = 3600;

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

// An encrypted key has no one here who could be asked for its password.
int NoPassword(char*, int, int, void*) { return -1; }

Key ReadKey(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> text(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  Key key(PEM_read_bio_PrivateKey(text.get(), nullptr, NoPassword, nullptr), EVP_PKEY_free);
  ERR_clear_error();
  return key;
}

Result<std::string> Rs256(const std::string& pem, const std::string& text) {
  const Status bad(Code::kInvalid, "its private key is not an RSA key in PEM form",
                   "Make a new key file for the service account");
  const Key key = ReadKey(pem);
  if (key == nullptr || EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA) return bad;
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  std::string signature(static_cast<size_t>(EVP_PKEY_size(key.get())), '\0');
  size_t size = signature.size();
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  const bool done =
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes, text.size()) == 1;
  ERR_clear_error();
  if (!done) return bad;
  signature.resize(size);
  return signature;
}

}  // namespace

Result<std::string> SignGoogleAssertion(const GoogleAssertion& assertion) {
  nlohmann::json header = {{"typ", "JWT"}, {"alg", "RS256"}};
  if (!assertion.key_id.empty()) header["kid"] = assertion.key_id;
  const int64_t issued = assertion.now.ms / 1000;
  const nlohmann::json claims = {{"iss", assertion.issuer},
                                 {"aud", assertion.audience},
                                 {"scope", assertion.scope},
                                 {"iat", issued},
                                 {"exp", issued + kLifeSeconds}};
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;  // never throws
  const std::string text = Base64Url(header.dump(-1, ' ', false, kReplace)) + "." +
                           Base64Url(claims.dump(-1, ' ', false, kReplace));
  STOKER_ASSIGN(const std::string signature, Rs256(assertion.key_pem, text));
  return text + "." + Base64Url(signature);
}

}  // namespace stoker
