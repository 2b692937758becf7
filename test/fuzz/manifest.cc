// SPDX-License-Identifier: Apache-2.0
// What a checkpoint consists of: restored by whoever reads it, so its names must be harmless.
#include "checkpoint/manifest.h"

#include <set>

#include "base/text.h"
#include "test/fuzz/target.h"

namespace stoker::fuzz {
namespace {

// Links are followed by text: where the tree is, nothing else is known of.
bool LeadsOut(const std::string& path, const std::string& target) {
  if (StartsWith(target, "/")) return true;
  int depth = -1;
  for (const char c : path) depth += c == '/';
  depth += 1;
  for (const std::string& part : Split(target, '/')) {
    if (part.empty() || part == ".") continue;
    depth += part == ".." ? -1 : 1;
    if (depth < 0) return true;
  }
  return false;
}

void ExpectHarmless(const ManifestFile& file) {
  FUZZ_EXPECT(IsSafeRelativePath(file.path), file.path);
  FUZZ_EXPECT((file.mode & ~0777) == 0, std::to_string(file.mode));
  FUZZ_EXPECT(file.size >= 0, std::to_string(file.size));
  if (file.kind == FileKind::kFile) {
    FUZZ_EXPECT(IsSafeRelativePath(file.object), file.object);
    FUZZ_EXPECT(file.sha256.size() == 64, file.sha256);
  }
  if (file.kind == FileKind::kLink) FUZZ_EXPECT(!LeadsOut(file.path, file.target), file.target);
}

// What is checked here takes the square of it.
constexpr size_t kLongPath = 1000;

// The files of a restore: each path once, in order, none below one that is a file.
void ExpectRestorable(const Manifest& manifest, int rank) {
  std::set<std::string> taken;
  std::string last;
  for (const ManifestFile& file : UnionFor(manifest, rank)) {
    FUZZ_EXPECT(last < file.path, last + " " + file.path);
    last = file.path;
    if (file.path.size() > kLongPath) continue;
    for (size_t at = file.path.find('/'); at != std::string::npos;
         at = file.path.find('/', at + 1)) {
      FUZZ_EXPECT(taken.count(file.path.substr(0, at)) == 0, file.path);
    }
    if (file.kind != FileKind::kDirectory) taken.insert(file.path);
  }
}

template <typename T, typename Decode, typename Encode>
bool SameAgain(const Result<T>& decoded, Decode decode, Encode encode) {
  if (!decoded.ok()) {
    FUZZ_EXPECT(Refused(decoded.status(), Code::kCorrupt, Code::kTooNew),
                decoded.status().ToString());
    return false;
  }
  const std::string text = encode(*decoded);
  const auto again = decode(text);
  FUZZ_EXPECT(again.ok(), again.status().ToString() + "\n" + text);
  FUZZ_EXPECT(encode(*again) == text, text + encode(*again));
  return true;
}

}  // namespace
}  // namespace stoker::fuzz

FUZZ_TARGET(manifest) {
  using namespace stoker;
  using namespace stoker::fuzz;
  const std::string text(input);
  const auto manifest = DecodeManifest(text);
  if (SameAgain(manifest, DecodeManifest, EncodeManifest)) {
    const auto again = DecodeManifest(EncodeManifest(*manifest));
    FUZZ_EXPECT(ContentOf(*again) == ContentOf(*manifest), ContentOf(*manifest));
    for (const Part& part : manifest->parts) {
      for (const ManifestFile& file : part.files) ExpectHarmless(file);
    }
    for (const int rank : {-1, 0, 1}) ExpectRestorable(*manifest, rank);
    const auto id = IdOfManifestKey(ManifestKey("j", manifest->id));
    FUZZ_EXPECT(id && *id == manifest->id, manifest->id.ToString());
  }
  const auto part = DecodePart(text);
  const auto round = DecodeRound(text);
  if (SameAgain(part, DecodePart, EncodePart)) {
    for (const ManifestFile& file : part->files) ExpectHarmless(file);
    if (round.ok()) (void)Matches(*round, *part);
  }
  SameAgain(round, DecodeRound, EncodeRound);
}
