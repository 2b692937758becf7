// SPDX-License-Identifier: Apache-2.0
#include "spec/places/slurm/words.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace stoker {
namespace {

constexpr size_t kMostWord = 200;

// Those that stoker sets itself, or that would make of the request something else than one job.
constexpr std::string_view kOwnOptions[] = {"job-name",
                                            "comment",
                                            "dependency",
                                            "nodes",
                                            "ntasks",
                                            "ntasks-per-node",
                                            "output",
                                            "error",
                                            "input",
                                            "chdir",
                                            "wrap",
                                            "requeue",
                                            "array",
                                            "export",
                                            "parsable",
                                            "no-requeue",
                                            "export-file",
                                            "test-only",
                                            "wait",
                                            "hold",
                                            "signal",
                                            "open-mode",
                                            "kill-on-invalid-dep",
                                            "get-user-env",
                                            "uid",
                                            "gid",
                                            "clusters",
                                            "cluster-constraint",
                                            "batch",
                                            "begin",
                                            "help",
                                            "usage",
                                            "version",
                                            "quiet",
                                            "verbose",
                                            "bb",
                                            "bbf"};

bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) != 0x7f;
  });
}

}  // namespace

bool IsSlurmWord(std::string_view word) {
  constexpr std::string_view kMarks = "._,:&|*()[]+@%/-";
  return !word.empty() && word.size() <= kMostWord && word[0] != '-' &&
         std::all_of(word.begin(), word.end(), [&](char c) {
           return IsAlnum(c) || kMarks.find(c) != std::string_view::npos;
         });
}

std::string WhyNoSlurmOption(std::string_view option) {
  if (option.size() > 1000 || !IsPrintable(option)) return "it is too long, or not printable";
  const std::string_view name = option.substr(0, option.find('='));
  const bool is_long =
      name.size() > 2 && StartsWith(name, "--") && IsAlnum(name[2]) &&
      std::all_of(name.begin(), name.end(), [](char c) { return IsAlnum(c) || c == '-'; });
  if (!is_long) return "write it as --name or --name=value";
  // sbatch takes the start of a name for the name.
  for (const std::string_view own : kOwnOptions) {
    if (StartsWith(own, name.substr(2))) {
      return "stoker sets --" + std::string(own) + " itself";
    }
  }
  return "";
}

Result<Duration> ParseSlurmTime(std::string_view text) {
  const Status bad(Code::kInvalid, "not a time",
                   "Give it a unit, 30m or 8h, or write it as sbatch takes it: 1-12:00:00");
  if (text.find_first_of(":-") == std::string_view::npos) {
    const auto length = ParseDuration(text);
    return length.ok() ? *length : Result<Duration>(bad);
  }
  const size_t dash = text.find('-');
  const bool days = dash != std::string_view::npos;
  std::vector<int64_t> parts;
  for (const std::string& part : Split(text.substr(days ? dash + 1 : 0), ':')) {
    const auto number = WholeNumber(part, 0, 1'000'000);
    if (!number) return bad;
    parts.push_back(*number);
  }
  // Behind days: hours first; else "12:00:00", for "30:00" could be hours to who reads it.
  if (parts.size() > 3 || (!days && parts.size() != 3)) return bad;
  parts.resize(3);
  const auto whole = days ? WholeNumber(text.substr(0, dash), 0, 10'000) : int64_t{0};
  if (!whole) return bad;
  return Duration::Hours(*whole * 24 + parts[0]) + Duration::Minutes(parts[1]) +
         Duration::Seconds(parts[2]);
}

}  // namespace stoker
