// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/slurm_job.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "provider/slurm/slurm_folder.h"
#include "provider/slurm/slurm_queue.h"
#include "spec/places/slurm/words.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

// Of an older stoker, and of a request that tells no name.
constexpr std::string_view kOldPrefix = "stoker-";
constexpr size_t kTokenInName = 8;
constexpr int64_t kMebibyte = int64_t{1} << 20;
constexpr int64_t kMostSpan = int64_t{100'000'000'000'000};

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Slurm counts in minutes; a second more than one is two.
int64_t Minutes(Duration time) { return (time.ms + 59'999) / 60'000; }

std::string Gres(const SlurmAsk& ask) {
  return "--gres=gpu:" + (ask.gpu_name.empty() ? "" : ask.gpu_name + ":") +
         std::to_string(*ask.gpus);
}

}  // namespace

std::string SlurmJobName(const LaunchRequest& request) {
  const std::string before =
      request.job_name.empty() ? std::string(kOldPrefix) : request.job_name + ":";
  return before + request.job + "." + request.token;
}

std::string TokenOfSlurmName(std::string_view name) {
  if (JobOfSlurmName(name).empty()) return "";
  const std::string token(name.substr(name.rfind('.') + 1));
  return IsSlurmToken(token) ? token : "";
}

std::string JobOfSlurmName(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return "";
  name = name.substr(0, dot);
  const size_t colon = name.find(':');
  if (colon != std::string_view::npos) {
    name.remove_prefix(colon + 1);
  } else if (StartsWith(name, kOldPrefix)) {
    name.remove_prefix(kOldPrefix.size());
  } else {
    return "";
  }
  const std::string job(name);
  return IsSafeName(job) ? job : "";
}

std::string SlurmInstanceId(int64_t job, size_t index, const std::string& token) {
  return std::to_string(job) + "." + std::to_string(index) + "." + token.substr(0, kTokenInName);
}

int64_t JobOfSlurmInstance(const std::string& id) {
  return WholeNumber(id.substr(0, id.find('.')), 1, kMostSlurmJob).value_or(0);
}

bool IsOfSlurmInstance(const std::string& id, std::string_view token) {
  const std::vector<std::string> words = Split(id, '.');
  return words.size() < 3 || token.substr(0, kTokenInName) == words[2];
}

std::string SlurmComment(const LaunchRequest& request) {
  return Dump({{"stoker", 1},
               {"ledger", request.ledger_id},
               {"job", request.job},
               {"token", request.token},
               {"launches", request.launches}});
}

std::optional<LaunchRequest> ParseSlurmComment(std::string_view comment) {
  const Json json = Json::parse(comment, nullptr, false);
  if (!json.is_object() || json.value("stoker", Json()) != 1) return std::nullopt;
  LaunchRequest out;
  const auto text = [&](const char* key, std::string* into) {
    const auto it = json.find(key);
    if (it != json.end() && it->is_string()) *into = it->get<std::string>();
  };
  text("ledger", &out.ledger_id);
  text("job", &out.job);
  text("token", &out.token);
  const auto launches = json.find("launches");
  if (launches == json.end() || !launches->is_array()) return std::nullopt;
  for (const Json& launch : *launches) {
    if (!launch.is_number_integer()) return std::nullopt;
    out.launches.push_back(launch.get<int>());
  }
  if (!IsSlurmToken(out.token) || !IsSafeName(out.job) || out.launches.empty()) return std::nullopt;
  return out;
}

Result<std::vector<std::string>> SbatchWords(const LaunchRequest& request, const SlurmAsk& ask,
                                             const SlurmPaths& paths) {
  const std::string& partition = request.ask.place.region;
  if (!partition.empty() && !IsSlurmWord(partition)) {
    return Status(Code::kInvalid, "not a partition: " + Printable(partition));
  }
  std::vector<std::string> words = {"--parsable",
                                    "--job-name=" + SlurmJobName(request),
                                    "--comment=" + SlurmComment(request),
                                    "--dependency=singleton",
                                    "--no-requeue",
                                    "--nodes=" + std::to_string(request.launches.size()),
                                    "--ntasks-per-node=1",
                                    "--chdir=/",
                                    "--input=/dev/null",
                                    "--open-mode=append",
                                    "--output=" + paths.folder + "/slurm-%j.log"};
  const auto give = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.push_back("--" + std::string(name) + "=" + value);
  };
  give("partition", partition);
  give("account", ask.account);
  give("qos", ask.qos);
  give("constraint", ask.constraint);
  give("reservation", ask.reservation);
  if (ask.exclusive) words.emplace_back("--exclusive");
  if (ask.time) give("time", std::to_string(Minutes(*ask.time)));
  if (ask.cpus) give("cpus-per-task", std::to_string(*ask.cpus));
  if (ask.memory) give("mem", std::to_string((*ask.memory + kMebibyte - 1) / kMebibyte) + "M");
  if (ask.gpus && *ask.gpus > 0) words.push_back(Gres(ask));
  words.insert(words.end(), ask.options.begin(), ask.options.end());
  return words;
}

std::string BatchScript(const LaunchRequest& request, const SlurmAsk& ask,
                        const SlurmPaths& paths) {
  const std::string nodes = std::to_string(request.launches.size());
  std::string out =
      "#!/bin/sh\n"
      "# stoker: job " +
      request.job + ", " + nodes + (request.launches.size() == 1 ? " node\n" : " nodes\n") +
      "folder=" + ShellQuote(paths.folder) + "\nstoker=" + ShellQuote(paths.binary) +
      "\n"
      "# Begun once, whatever is requeued or sent twice: what follows is another request.\n"
      "if [ \"${SLURM_RESTART_COUNT:-0}\" != 0 ]; then\n"
      "  echo \"stoker: Slurm has requeued job $SLURM_JOB_ID; stoker goes on in a new one\"\n"
      "  exit 0\n"
      "fi\n"
      "if [ ! -x \"$stoker\" ]; then\n"
      "  echo \"$(hostname) does not see ${folder%/slurm/*}, or may not run programs there;\" \\\n"
      "    \"that folder must lie on a disk that all nodes see\"\n"
      "  exit 65\n"
      "fi\n"
      "if [ -e \"$folder/end\" ]; then echo 'stoker: this request is over'; exit 0; fi\n"
      "end() {\n"  // The first end counts.
      "  end=\"$folder/.end-$SLURM_JOB_ID\"\n"
      "  printf '{\"by\":\"%s\",\"why\":\"%s\"}\\n' \"$1\" \"$2\" >\"$end\"\n"
      "  ln \"$end\" \"$folder/end\" 2>/dev/null\n"
      "  rm -f \"$end\"\n"
      "}\n"
      "if ! (set -C; echo \"$SLURM_JOB_ID\" >\"$folder/started\"); then\n"
      "  echo 'stoker: this request has begun before, or its folder cannot be written'\n"
      "  if [ \"$(cat \"$folder/started\")\" = \"$SLURM_JOB_ID\" ]; then\n"
      "    end platform \"Slurm's controller lost job $SLURM_JOB_ID and began it anew\"\n"
      "  fi\n"
      "  exit 0\n"
      "fi\n"
      "export " +
      std::string(kSlurmRequest) + "=" + ShellQuote(EncodeSlurmRequest(request)) + "\n";
  if (!ask.path.empty()) out += "PATH=" + ShellQuote(ask.path) + "\nexport PATH\n";
  // Slurm tells this shell, too, that the job is to end: the nodes decide when they are done.
  out += "told=\ntrap told=1 TERM\nsrun --nodes=" + nodes + " --ntasks=" + nodes +
         " --ntasks-per-node=1 --export=ALL --kill-on-bad-exit=0 --wait=0 --unbuffered ";
  if (ask.cpus) out += "--cpus-per-task=" + std::to_string(*ask.cpus) + " ";
  out += "\"$stoker\" " + std::string(kSlurmNodeVerb) +
         " \"$folder\"\n"
         // Why it was told to end is not known here, and nobody may take it for its own doing. Else
         // the first end counts: it may have been cancelled.
         "code=$?\n"
         "if [ -n \"$told\" ]; then : >\"$folder/left\"; exit $code; fi\n"
         "end self 'its nodes left it'\n"
         "exit $code\n";
  return out;
}

std::string EncodeSlurmRequest(const LaunchRequest& r) {
  return Dump({{"format", 1},
               {"token", r.token},
               {"ledger_id", r.ledger_id},
               {"store_url", r.store_url},
               {"job", r.job},
               {"job_name", r.job_name},
               {"partition", r.ask.place.region},
               {"options", r.ask.options},
               {"launches", r.launches},
               {"slots", r.slots},
               {"binary_digest", r.binary_digest},
               {"limit_ms", r.limit.ms},
               {"not_after_ms", r.not_after.ms},
               {"ending", r.ending}});
}

Result<LaunchRequest> ParseSlurmRequest(std::string_view text) {
  const Status bad(Code::kCorrupt, "the request of a Slurm node is not one that stoker writes");
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return bad;
  const auto text_of = [&](const char* key, std::string* out) {
    const auto it = json.find(key);
    const bool there = it != json.end() && it->is_string();
    if (there) *out = it->get<std::string>();
    return there;
  };
  const auto number_of = [&](const char* key, int64_t* out) {
    const auto it = json.find(key);
    const bool there = it != json.end() && it->is_number_integer() && it->get<int64_t>() >= 0 &&
                       it->get<int64_t>() <= kMostSpan;
    if (there) *out = it->get<int64_t>();
    return there;
  };
  const auto list_of = [&](const char* key, std::vector<int>* out) {
    const auto it = json.find(key);
    if (it == json.end() || !it->is_array()) return false;
    for (const Json& item : *it) {
      if (!item.is_number_integer()) return false;
      out->push_back(item.get<int>());
    }
    return true;
  };
  LaunchRequest r;
  int64_t format = 0;
  const bool whole = number_of("format", &format) && text_of("token", &r.token) &&
                     text_of("ledger_id", &r.ledger_id) && text_of("store_url", &r.store_url) &&
                     text_of("job", &r.job) && text_of("partition", &r.ask.place.region) &&
                     text_of("options", &r.ask.options) && list_of("launches", &r.launches) &&
                     list_of("slots", &r.slots) && text_of("binary_digest", &r.binary_digest) &&
                     number_of("limit_ms", &r.limit.ms) &&
                     number_of("not_after_ms", &r.not_after.ms) && text_of("ending", &r.ending);
  (void)text_of("job_name", &r.job_name);  // of an older stoker there is none
  r.ask.place.provider = "slurm";
  if (!whole || format != 1 || r.launches.empty() || !IsSlurmToken(r.token)) return bad;
  return r;
}

namespace {

bool AreNumbers(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789,") == std::string::npos;
}

}  // namespace

std::string SlurmGpus(const std::string& cuda, const std::string& rocr, bool amd) {
  if (AreNumbers(rocr) && (amd || !AreNumbers(cuda))) return "rocm:" + rocr;
  return AreNumbers(cuda) ? "cuda:" + cuda : "";
}

std::string SlurmGpuDevices(const std::string& step, const std::string& job, bool one_node) {
  if (!step.empty()) return AreNumbers(step) ? step : "";
  return one_node && AreNumbers(job) ? job : "";
}

}  // namespace stoker
