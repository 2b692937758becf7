// SPDX-License-Identifier: Apache-2.0
// The job files that people copy: those in examples/ and those in docs/job-file.md.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "spec/parse.h"
#include "spec/places/sections.h"
#include "spec/text/known_keys.h"

namespace stoker {
namespace {

// Tests run in the repository's root.
std::filesystem::path Root() { return std::filesystem::current_path(); }

std::string Read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_TRUE(in.good()) << path;
  return text.str();
}

// The fenced blocks of a Markdown text whose fence says `language`.
std::vector<std::string> Blocks(const std::string& markdown, const std::string& language) {
  std::vector<std::string> blocks;
  bool inside = false;
  for (const std::string& line : Split(markdown, '\n')) {
    if (!inside && line == "```" + language) {
      inside = true;
      blocks.emplace_back();
    } else if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

void ExpectValid(const std::string& text, const std::string& where) {
  ParseOptions options;
  options.file_name = where;
  options.base_dir = "/work";
  options.home = "/home/ada";
  const auto spec = ParseJobSpec(text, options);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
}

TEST(Examples, JobFilesAreValid) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(Root() / "examples")) {
    const std::string extension = entry.path().extension();
    if (extension == ".yaml" || extension == ".yml") ExpectValid(Read(entry.path()), entry.path());
  }
}

TEST(Examples, BlocksOfTheReferenceAreValid) {
  const auto blocks = Blocks(Read(Root() / "docs/job-file.md"), "yaml");
  ASSERT_GE(blocks.size(), 3u);
  for (const std::string& block : blocks) ExpectValid(block, "docs/job-file.md");
}

TEST(Examples, SettingsBlockIsValid) {
  const auto blocks = Blocks(Read(Root() / "docs/job-file.md"), "yaml settings");
  ASSERT_EQ(blocks.size(), 1u);
  const auto settings = ParseSettings(blocks[0], "docs/job-file.md", "/home/ada");
  EXPECT_TRUE(settings.ok()) << settings.status().message();
}

TEST(Examples, EveryRefusedKeyIsInTheReference) {
  const std::string reference = Read(Root() / "docs/job-file.md");
  for (const RefusedKeys* keys : {&RefusedTopKeys(), &RefusedResourceKeys(), &RefusedLimitKeys(),
                                  &RefusedConfigKeys(), &PlaceConfigKeys()}) {
    for (const auto& [key, why] : *keys) {
      EXPECT_NE(reference.find("`" + std::string(key) + "`"), std::string::npos) << key;
    }
  }
  for (const SettingKey& key : SettingKeys()) {
    EXPECT_NE(reference.find("`" + key.name + "`"), std::string::npos) << key.name;
  }
}

}  // namespace
}  // namespace stoker
