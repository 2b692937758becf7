// SPDX-License-Identifier: Apache-2.0
// The documents that S3, and services that speak as it does, answer with.
#include "base/text.h"
#include "base/utf8.h"
#include "net/percent.h"
#include "store/bucket_check.h"
#include "store/s3/s3_answer.h"
#include "test/fuzz/target.h"

namespace stoker::fuzz {
namespace {

std::string Element(const std::string& name, const std::string& text) {
  return "<" + name + ">" + text + "</" + name + ">";
}

// A list as S3 writes it, with the same keys.
std::string ListXml(const Listing& listing, const std::string& root) {
  std::string xml = Element("EncodingType", "url");
  for (const ObjectInfo& object : listing.objects) {
    const std::string etag = object.version.find_first_of("<&\r") == std::string::npos
                                 ? object.version
                                 : std::string("e");
    xml += Element("Contents", Element("Key", PercentEncodePath(root + object.key)) +
                                   Element("Size", std::to_string(object.size)) +
                                   Element("ETag", etag) +
                                   Element("LastModified", FormatRfc3339(object.last_modified)));
  }
  xml += Element("KeyCount", std::to_string(listing.objects.size()));
  return Element("ListBucketResult", xml);
}

void ExpectListing(std::string_view input, const std::string& root) {
  const auto page = s3::ParseListing("GET", input, root);
  if (!page.ok()) {
    FUZZ_EXPECT(page.status().Is(Code::kCorrupt), page.status().ToString());
    return;
  }
  const Listing& listing = page->listing;
  for (const ObjectInfo& object : listing.objects) FUZZ_EXPECT(object.size >= 0, object.key);
  // More is to come: then there is a way to it.
  FUZZ_EXPECT(listing.next.empty() || listing.next == listing.objects.back().key, listing.next);
  const std::string xml = ListXml(listing, root);
  const auto again = s3::ParseListing("GET", xml, root);
  FUZZ_EXPECT(again.ok(), again.status().ToString() + "\n" + xml);
  FUZZ_EXPECT(again->listing.objects.size() == listing.objects.size(), xml);
  for (size_t i = 0; i < listing.objects.size(); ++i) {
    const ObjectInfo& one = listing.objects[i];
    const ObjectInfo& other = again->listing.objects[i];
    FUZZ_EXPECT(one.key == other.key && one.size == other.size, one.key);
    FUZZ_EXPECT(one.last_modified == other.last_modified, xml);
  }
}

}  // namespace
}  // namespace stoker::fuzz

FUZZ_TARGET(s3_xml) {
  using namespace stoker;
  using namespace stoker::fuzz;
  const std::string text(input);
  ExpectListing(input, "");
  ExpectListing(input, "team/a/");
  const auto uploads = s3::ParseUploads("GET", input);
  const auto parts = s3::ParseParts("GET", input);
  if (parts.ok()) {
    FUZZ_EXPECT(parts->next >= 0, std::to_string(parts->next));
    for (const s3::ListedPart& part : parts->parts) {
      FUZZ_EXPECT(part.number >= 0 && part.size >= 0, std::to_string(part.number));
    }
  }
  const auto deleted = s3::ParseDeleted("POST", input);
  for (const Status& status : {uploads.status(), parts.status(), deleted.status()}) {
    FUZZ_EXPECT(status.ok() || status.Is(Code::kCorrupt), status.ToString());
  }
  FUZZ_EXPECT(uploads.ok() + parts.ok() + deleted.ok() <= 1, "one document is two things");
  (void)s3::ElementOf("POST", input, "InitiateMultipartUploadResult", "UploadId");
  for (const int status : {200, 403, 503}) {
    const s3::Failure failure = s3::ParseFailure({status, {}, text});
    const Status said = s3::FailureStatus("GET", status, failure);
    FUZZ_EXPECT(!said.ok() && said.message().size() < 1000, said.ToString());
    FUZZ_EXPECT(Printable(said.message()) == said.message(), said.message());
  }
  for (const char* prefix : {"", "team/a"}) {
    BucketCheck facts;
    ReadVersioning(text, &facts);
    ReadLifecycle(text, prefix, &facts);
    for (const BucketFinding& fact : facts.facts) FUZZ_EXPECT(!fact.text.empty(), fact.what);
  }
}
