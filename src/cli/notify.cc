// SPDX-License-Identifier: Apache-2.0

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/verb.h"
#include "client/tell_test.h"
#include "spec/parse.h"
#include "sys/file.h"

namespace stoker::cli {
namespace {

constexpr int64_t kMostFile = 2 << 20;

struct NotifyOptions {
  bool test = false;
  std::string file;
};

// Of a job file with the settings below it; of the settings alone.
Result<JobSpec> SpecOf(Context& context, const NotifyOptions& options) {
  STOKER_ASSIGN(const Settings* settings, context.settings());
  ParseOptions parse;
  parse.defaults = *settings;
  if (options.file.empty()) {
    parse.file_name = "settings";
    return ParseJobSpec("run: 'true'\n", parse);
  }
  STOKER_ASSIGN(const std::string text, sys::ReadFile(options.file, kMostFile));
  STOKER_ASSIGN(const std::string path, sys::RealPath(options.file));
  parse.file_name = options.file;
  parse.base_dir = path.substr(0, path.rfind('/'));
  return ParseJobSpec(text, parse);
}

Status Run(Context& context, const NotifyOptions& options) {
  if (!options.test) {
    return Status(Code::kUsage, "jobs tell of their events by themselves, as 'notify' says",
                  "To try whom it names: stoker notify --test");
  }
  STOKER_ASSIGN(const JobSpec spec, SpecOf(context, options));
  if (spec.notify.empty()) {
    const std::string where = options.file.empty() ? "the settings" : options.file;
    return Status(Code::kInvalid, "'notify' of " + Printable(where) + " names nobody",
                  "Name somebody: docs/job-file.md#notify");
  }
  STOKER_ASSIGN(const auto told, client::TellTest(context, spec));
  nlohmann::json all = nlohmann::json::array();
  for (const client::TestTold& one : told) {
    const std::string answer = one.answer.ok() ? "it was taken" : one.answer.ToString();
    all.push_back({{"to", one.whom}, {"taken", one.answer.ok()}, {"answer", answer}});
    if (!context.json) context.Print(one.whom + ": " + answer + "\n");
    if (!one.answer.ok()) context.exit_code = 1;
  }
  if (context.json) context.Print(all.dump() + "\n");
  return Status::Ok();
}

}  // namespace

Verb NotifyVerb() {
  auto options = std::make_shared<NotifyOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "notify";
  verb.summary = "Try whom jobs tell of their events";
  verb.description =
      "Sends a test event to each whom 'notify' names, of the settings or of a job file, from this "
      "machine, and says what each answered. A job's nodes have addresses and rights of their own.";
  verb.examples = {"stoker notify --test", "stoker notify --test train.yaml"};
  verb.options = {{"FILE", "A job file; without it, the settings", &options->file, ""},
                  {"--test", "Send a test event", &options->test}};
  return verb;
}

}  // namespace stoker::cli
