// SPDX-License-Identifier: Apache-2.0
#include "aws/ini.h"
#include "base/text.h"
#include "google/exchange.h"
#include "google/external.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr char kAllow[] = "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES";
constexpr int64_t kDefaultMs = 30'000;
constexpr int64_t kNewest = 1;  // version of what the program writes

struct Executable {
  std::string command;
  std::string output_file;  // "" = none
  Duration timeout;
};

// A number of milliseconds from `low` to `high`; missing and 0: `otherwise`.
Result<int64_t> TimeOf(const GoogleFile& of, const char* name, int64_t otherwise, int64_t low,
                       int64_t high) {
  const auto at = of.json.find(name);
  if (at == of.json.end() || at->is_null() || *at == 0) return otherwise;
  if (!at->is_number_integer() || *at < low || *at > high) {
    return Status(Code::kInvalid, of.where + ": " + name + " must be from " + std::to_string(low) +
                                      " to " + std::to_string(high));
  }
  return at->get<int64_t>();
}

Result<Executable> Read(const GoogleFile& file, const GoogleFile& source) {
  const Json& of = source.json.at("executable");
  if (!of.is_object()) return Status(Code::kInvalid, file.where + ": 'executable' is no object");
  const GoogleFile description{file.where + ", executable", of};
  Executable out;
  STOKER_ASSIGN(out.command, description.Need("command"));
  out.output_file = description.Text("output_file");
  STOKER_ASSIGN(out.timeout.ms, TimeOf(description, "timeout_millis", kDefaultMs, 5000, 120'000));
  STOKER_TRY(TimeOf(description, "interactive_timeout_millis", 30'000, 30'000, 1'800'000).status());
  return out;
}

// What the program wrote. kCorrupt: it is not what the contract says; other errors: it says that
// there is no token, or none any more. None of its text stands in an error but its own message.
Result<std::string> TokenOf(const GoogleLookup& lookup, const std::string& found,
                            const Json& said) {
  const auto corrupt = [&](const std::string& why) {
    return Status(Code::kCorrupt, found + ": the program's answer " + why);
  };
  if (!said.is_object()) return corrupt("is not a JSON object");
  const auto version = said.find("version");
  if (version == said.end() || !version->is_number()) return corrupt("has no version");
  if (*version > kNewest) {
    return Status(Code::kTooNew, found + ": the program's answer is of version " +
                                     Printable(version->dump()) + "; stoker knows 1");
  }
  const auto success = said.find("success");
  if (success == said.end() || !success->is_boolean()) return corrupt("does not say 'success'");
  const GoogleFile answer{found, said};
  if (!success->get<bool>()) {
    if (!said.contains("code") || !said.contains("message")) {
      return corrupt("has no 'code' and 'message'");
    }
    const std::string code = said["code"].is_string() ? answer.Text("code") : said["code"].dump();
    return Status(Code::kDenied,
                  found + ": the program says: " +
                      Printable((code + ": " + answer.Text("message")).substr(0, 300)));
  }
  const auto expires = said.find("expiration_time");
  if (expires != said.end()) {
    if (!expires->is_number()) return corrupt("has no number as expiration_time");
    if (expires->get<double>() * 1000 < static_cast<double>(lookup.environment.now().ms)) {
      return Status(Code::kDenied, found + ": the program's token has expired");
    }
  }
  if (!said.contains("token_type")) return corrupt("has no token_type");
  const std::string type = answer.Text("token_type");
  const std::string prefix = "urn:ietf:params:oauth:token-type:";
  const bool oidc = type == prefix + "jwt" || type == prefix + "id_token";
  if (!oidc && type != prefix + "saml2") {
    return Status(Code::kDenied, found + ": the program's token is of type '" + Printable(type) +
                                     "', which nobody takes");
  }
  const char* member = oidc ? "id_token" : "saml_response";
  std::string token = answer.Text(member);
  if (token.empty()) return corrupt(std::string("has no ") + member);
  return token;
}

Json ReadOutput(const GoogleLookup& lookup, const std::string& path) {
  const auto text = lookup.environment.read_file(path);
  return text.ok() ? Json::parse(*text, nullptr, /*allow_exceptions=*/false) : Json();
}

GoogleVariables VariablesFor(const GoogleFile& file, const Executable& executable) {
  const std::string email = ImpersonatedBy(file.Text("service_account_impersonation_url"));
  GoogleVariables out = {
      {"GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE", file.Text("audience")},
      {"GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE", file.Text("subject_token_type")},
      {"GOOGLE_EXTERNAL_ACCOUNT_ID", email},
      {"GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE", "0"},
      {"GOOGLE_EXTERNAL_ACCOUNT_REVOKE", "0"},
  };
  if (!email.empty()) out.emplace_back("GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL", email);
  if (!executable.output_file.empty()) {
    out.emplace_back("GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE", executable.output_file);
  }
  return out;
}

Result<Json> RunIt(const GoogleLookup& lookup, const GoogleFile& file, const std::string& found,
                   const Executable& executable) {
  const auto words = ShellWords(executable.command);
  if (!words.ok() || words->empty()) {
    return Status(Code::kInvalid, found + ": its command is no command line");
  }
  const auto done =
      lookup.environment.run(*words, VariablesFor(file, executable), executable.timeout);
  if (!done.ok()) return done.status().WithContext(found);
  if (done->exit_code != 0) {
    return Status(Code::kDenied,
                  found + " failed with exit code " + std::to_string(done->exit_code),
                  "Run it by hand: the command is in " + file.where);
  }
  if (!done->out.empty()) return Json::parse(done->out, nullptr, /*allow_exceptions=*/false);
  return executable.output_file.empty() ? Json() : ReadOutput(lookup, executable.output_file);
}

}  // namespace

Result<ExternalSubject> SubjectOfExecutable(const GoogleLookup& lookup, const GoogleFile& file,
                                            const GoogleFile& source) {
  ExternalSubject subject;
  subject.found = "workload identity of " + file.where + " (token of a program)";
  STOKER_ASSIGN(const Executable executable, Read(file, source));
  if (lookup.environment.variable(kAllow).value_or("") != "1") {
    return Status(Code::kDenied, subject.found + ": " + kAllow + " is not 1",
                  "Set it where you trust whoever wrote the file: it names a program to run");
  }
  if (!executable.output_file.empty()) {
    const Json kept = ReadOutput(lookup, executable.output_file);
    if (!kept.is_discarded() && !kept.is_null()) {
      auto token = TokenOf(lookup, subject.found, kept);
      if (token.code() == Code::kCorrupt && !token.ok()) return token.status();
      if (token.ok() && kept.contains("expiration_time")) {
        subject.text = std::move(*token);
        return subject;
      }
    }
  }
  STOKER_ASSIGN(const Json said, RunIt(lookup, file, subject.found, executable));
  STOKER_ASSIGN(subject.text, TokenOf(lookup, subject.found, said));
  return subject;
}

}  // namespace stoker
