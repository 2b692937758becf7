// SPDX-License-Identifier: Apache-2.0
// AWS Signature Version 4. Pure: no clock, no I/O. Sources: "Create a signed AWS API request" (IAM
// user guide), "Authenticating Requests (AWS Signature Version 4)" (S3 API reference); details
// that these leave open are as botocore has them, which test/aws compares with.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "aws/credentials.h"
#include "base/status.h"
#include "base/time.h"
#include "net/http_message.h"

namespace stoker {

// Instead of a payload's hash: the body is not covered by the signature. For bodies that are read
// once only, over TLS.
inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";

// Signs for one region and one service, named as in the credential scope ("s3", "sts", "ec2").
// "s3" follows S3's own rules: the path is signed as it stands on the wire, and the payload's hash
// is sent along; for all others the path is normalised and encoded once more. Thread-safe.
class AwsSigner {
 public:
  AwsSigner(std::string region, std::string service);
  ~AwsSigner();
  AwsSigner(const AwsSigner&) = delete;
  AwsSigner& operator=(const AwsSigner&) = delete;

  // Puts Authorization, x-amz-date and, where they belong, x-amz-content-sha256 and
  // x-amz-security-token into `request`, in place of any there: signing again renews. The headers
  // must name the Host that will be sent; all headers are signed but those that a proxy may change.
  // `request->target` is on the wire what it is here: its parts percent-encoded (net/percent.h).
  // `payload_hash` is the lower-case hex of the body's SHA-256 or kUnsignedPayload; empty = that of
  // `request->body`. kInternal: no Host.
  Status Sign(const AwsCredentials& credentials, WallTime now, HttpRequest* request,
              std::string_view payload_hash = "") const;

 private:
  struct LastKey;
  std::string Signature(const AwsCredentials& credentials, const std::string& timestamp,
                        const std::string& canonical_request) const;
  std::string Scope(const std::string& timestamp) const;

  const std::string region_;
  const std::string service_;
  const bool s3_;
  const std::unique_ptr<LastKey> last_key_;
};

}  // namespace stoker
