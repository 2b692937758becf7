// SPDX-License-Identifier: Apache-2.0
// ~/.aws/config and ~/.aws/credentials, which other tools and people write, and which hold secrets.
#include "aws/ini.h"

#include "aws/config.h"
#include "aws/url.h"
#include "base/letter_case.h"
#include "base/text.h"
#include "test/fuzz/target.h"

namespace stoker::fuzz {
namespace {

using Sections = std::map<std::string, IniSection>;

// As somebody would write it by hand; "" where it cannot be written: names with signs in them that
// mean something at the place where they would stand.
std::string Written(const Sections& sections) {
  std::string text;
  for (const auto& [name, section] : sections) {
    text += "[ " + name + " ]\n";
    for (const auto& [key, value] : section) {
      if (key.empty() || key.find_first_of("=:") != key.npos) return "";
      if (std::string_view("[#;").find(key[0]) != std::string_view::npos) return "";
      std::string indented;
      for (const char c : value) indented += c == '\n' ? std::string("\n    ") : std::string(1, c);
      text += key + " = " + indented + "\n";
    }
  }
  return text;
}

void ExpectSettings(const std::string& text) {
  AwsEnvironment world;
  world.home = "/home/u";
  world.variable = [](const std::string&) { return std::nullopt; };
  world.read_file = [&](const std::string&) { return Result<std::string>(text); };
  for (const char* profile : {"", "a"}) {
    const auto config = ReadAwsConfig(world, profile);
    if (!config.ok()) {
      FUZZ_EXPECT(Refused(config.status(), Code::kInvalid, Code::kNotFound),
                  config.status().ToString());
      continue;
    }
    (void)AwsRegionalUrl("sts", AwsRegion(world, *config), AwsVariantOf(world, *config, "s3"));
    const auto endpoint = AwsEndpointUrl(world, *config, "s3");
    if (!endpoint.ok()) continue;
    const auto url = ParseAwsUrl("endpoint_url", *endpoint);
    if (!url.ok()) continue;
    FUZZ_EXPECT(url->base.find_first_of(" \r\n@") == url->base.npos, url->base);
    FUZZ_EXPECT(url->host_header.find_first_of("/\r\n") == url->host_header.npos, *endpoint);
  }
}

}  // namespace
}  // namespace stoker::fuzz

FUZZ_TARGET(ini) {
  using namespace stoker;
  using namespace stoker::fuzz;
  const std::string text(input);
  const auto sections = ParseIni("file", text);
  if (!sections.ok()) {
    // The number of a line, and nothing of what stands there.
    const std::string& said = sections.status().message();
    const size_t digits = said.find_first_not_of("0123456789", 5);
    FUZZ_EXPECT(sections.status().Is(Code::kInvalid) && StartsWith(said, "file:") && digits > 5 &&
                    said.substr(digits) == ": neither [section] nor key = value",
                said);
  } else {
    for (const auto& [name, section] : *sections) {
      for (const auto& [key, value] : section) FUZZ_EXPECT(LowerCase(key) == key, key);
    }
    const std::string written = Written(*sections);
    const auto again = ParseIni("file", written);
    FUZZ_EXPECT(written.empty() || (again.ok() && *again == *sections), written);
  }
  ExpectSettings(text);

  if (const auto words = ShellWords(text); words.ok()) {
    std::string line;
    for (const std::string& word : *words) line += ShellQuote(word) + " ";
    const auto again = ShellWords(line);
    FUZZ_EXPECT(again.ok() && *again == *words, line);
  }
}
