// SPDX-License-Identifier: Apache-2.0
#include "store/gcs/gcs_compose.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"
#include "base/json.h"
#include "store/gcs/gcs_condition.h"
#include "store/gcs/gcs_insert.h"

namespace stoker::gcs {
namespace {

constexpr size_t kMostSources = 32;

// Of exactly these generations, so that what another writer of the same upload has put there
// meanwhile is not taken for what was checked here.
Request ComposeRequest(const Bucket& in, const std::string& name, const std::vector<Piece>& pieces,
                       const Condition& condition, bool executable) {
  nlohmann::json sources = nlohmann::json::array();
  for (const Piece& piece : pieces) {
    sources.push_back({{"name", piece.name}, {"generation", piece.generation}});
  }
  nlohmann::json body = {{"sourceObjects", sources},
                         {"destination", {{"contentType", kContentType}}}};
  if (executable) {
    body["destination"]["metadata"] = {{bucket::kExecutable, bucket::kIsExecutable}};
  }
  Request request = OnObject(in.name, "POST", name);
  const std::string query = ConditionQuery(condition);
  request.target += "/compose" + (query.empty() ? "" : "?" + query);
  request.conditional = condition.kind != Condition::Kind::kNone;
  request.headers = {{"Content-Type", "application/json; charset=UTF-8"}};
  request.body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return request;
}

Result<Piece> Compose(const Bucket& bucket, const std::string& name,
                      const std::vector<Piece>& pieces, const Condition& condition,
                      bool executable = false) {
  Piece out{name, "", 0, 0};
  for (const Piece& piece : pieces) {
    out.crc = Crc32cCombine(out.crc, piece.crc, piece.size);
    out.size += piece.size;
  }
  const Request request = ComposeRequest(bucket, name, pieces, condition, executable);
  const auto answer = bucket.carrier.Call(request);
  if (answer.status().Is(Code::kNotFound)) {
    return Status(Code::kInvalid,
                  bucket.carrier.Describe(request) + ": parts of the upload are gone",
                  "Write it again: somebody has ended the same upload, or swept it");
  }
  if (!answer.ok()) return Meant(bucket, name, condition, answer.status());
  Version wrong;
  auto made = Made(bucket, request, *answer, out.crc, &wrong);
  // The service joins what it has and compares it with nothing: nobody shall go on from this.
  if (!wrong.empty()) {
    (void)bucket.carrier.Call(OnObject(bucket.name, "DELETE", name, "ifGenerationMatch=" + wrong));
  }
  if (!made.ok()) return made.status();
  out.generation = std::move(made->info.version);
  return out;
}

}  // namespace

Result<Version> ComposeAll(const Bucket& bucket, const std::string& key, std::vector<Piece> pieces,
                           const std::string& folder, const Condition& condition, bool executable) {
  for (int round = 0; pieces.size() > kMostSources; ++round) {
    std::vector<Piece> joined;
    for (size_t at = 0; at < pieces.size(); at += kMostSources) {
      const auto begin = pieces.begin() + static_cast<std::ptrdiff_t>(at);
      const auto count = static_cast<std::ptrdiff_t>(std::min(kMostSources, pieces.size() - at));
      const std::string name =
          folder + "joined-" + std::to_string(round) + "-" + std::to_string(joined.size());
      STOKER_ASSIGN(Piece one, Compose(bucket, name, {begin, begin + count}, {}));
      joined.push_back(std::move(one));
    }
    pieces = std::move(joined);
  }
  STOKER_ASSIGN(Piece whole, Compose(bucket, key, pieces, condition, executable));
  return std::move(whole.generation);
}

}  // namespace stoker::gcs
