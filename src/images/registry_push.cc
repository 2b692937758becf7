// SPDX-License-Identifier: Apache-2.0
#include "images/registry_push.h"

#include <string>
#include <utility>

#include "base/digest.h"
#include "base/text.h"
#include "images/registry_session.h"

namespace stoker {
namespace {

class Push {
 public:
  explicit Push(const RegistryAsk& to)
      : session_(to), base_("/v2/" + to.ref.repository + "/"), tag_(to.ref.tag) {}

  Status Blob(const std::string& bytes) {
    const std::string digest = "sha256:" + Sha256Hex(bytes);
    STOKER_ASSIGN(const bool there, Has("blobs/" + digest, digest));
    if (there) return Status::Ok();
    STOKER_ASSIGN(const HttpResponse begun, Send("POST", base_ + "blobs/uploads/", "", ""));
    const std::string* where = FindHeader(begun.headers, "Location");
    if (begun.status != 202 || where == nullptr) return Unexpected("to an upload", begun);
    const char* join = where->find('?') == std::string::npos ? "?" : "&";
    STOKER_ASSIGN(const HttpResponse put, Send("PUT", *where + join + "digest=" + digest,
                                               "application/octet-stream", bytes));
    return put.status == 201 ? Status::Ok() : Unexpected("to a layer", put);
  }

  // Last, since it names the others.
  Status Manifest(const OneLayerImage& image) {
    STOKER_ASSIGN(const HttpResponse put,
                  Send("PUT", base_ + "manifests/" + tag_, kOciManifest, image.manifest));
    return put.status == 201 ? Status::Ok() : Unexpected("to a manifest", put);
  }

  // Whether it has `what` with that digest.
  Result<bool> Has(const std::string& what, const std::string& digest) {
    HttpRequest request;
    request.method = "HEAD";
    request.target = base_ + what;
    request.headers = {{"Accept", kOciManifest}};
    STOKER_ASSIGN(const HttpResponse answer, session_.Call(request));
    if (answer.status == 404) return false;
    if (answer.status != 200) return Unexpected("to a question", answer);
    const std::string* told = FindHeader(answer.headers, "Docker-Content-Digest");
    return told == nullptr ? what == "blobs/" + digest : *told == digest;
  }

 private:
  Result<HttpResponse> Send(const char* method, const std::string& target, const std::string& type,
                            const std::string& body) {
    HttpRequest request;
    request.method = method;
    request.target = target;
    if (!type.empty()) request.headers = {{"Content-Type", type}};
    request.body = body;
    return session_.Call(request);
  }

  Status Unexpected(const std::string& what, const HttpResponse& answer) const {
    if (answer.status == 401 || answer.status == 403) return session_.Refused();
    return Status(answer.status == 404 ? Code::kNotFound : Code::kUnavailable,
                  session_.Name() + ": the registry answers " + std::to_string(answer.status) +
                      " " + what + ": " + Printable(CutText(answer.body, 300)));
  }

  RegistrySession session_;
  const std::string base_, tag_;
};

}  // namespace

Result<bool> PushImage(const RegistryAsk& to, const OneLayerImage& image) {
  RegistryAsk ask = to;
  ask.pushes = true;
  Push push(ask);
  STOKER_ASSIGN(const bool there, push.Has("manifests/" + ask.ref.tag, image.digest));
  if (there) return false;
  STOKER_TRY(push.Blob(image.layer));
  STOKER_TRY(push.Blob(image.config));
  STOKER_TRY(push.Manifest(image));
  return true;
}

}  // namespace stoker
