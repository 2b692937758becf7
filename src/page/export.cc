// SPDX-License-Identifier: Apache-2.0
#include "page/export.h"

#include "base/json.h"
#include "base/text.h"
#include "page/files.h"
#include "page/jobs_book.h"
#include "page/json_text.h"

namespace stoker::page {
namespace {

using nlohmann::json;

constexpr std::string_view kJs = "text/javascript; charset=utf-8";

// JSON as part of a script: what ends a script, or a line of one, is spelled out.
std::string ScriptText(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i);
    if (text[i] == '<') {
      out += "\\u003c";
    } else if (StartsWith(rest, "\xe2\x80\xa8") || StartsWith(rest, "\xe2\x80\xa9")) {
      out += StartsWith(rest, "\xe2\x80\xa8") ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// A call that hands `json` to the page, as what is called `name`.
std::string Script(const std::string& name, const std::string& json_text) {
  return "stoker.data.take(\"" + name + "\"," + ScriptText(json_text) + ");\n";
}

// The newest lines, so many bytes of them.
Result<json> LogOf(JobReader& jobs, const std::string& id, int64_t most) {
  json lines = json::array();
  std::vector<size_t> sizes;
  LogPage page;
  int64_t bytes = 0;
  bool whole = true;
  for (;;) {
    STOKER_ASSIGN(json got, jobs.Log(id, page));
    if (got["lines"].empty()) break;
    page.cursor = got["cursor"].get<std::string>();
    for (json& line : got["lines"]) {
      sizes.push_back(line["x"].get_ref<const std::string&>().size() + 60);
      bytes += static_cast<int64_t>(sizes.back());
      lines.push_back(std::move(line));
    }
    size_t drop = 0;
    while (bytes > most) bytes -= static_cast<int64_t>(sizes[drop++]);
    whole = whole && drop == 0;
    lines.erase(lines.begin(), lines.begin() + static_cast<int64_t>(drop));
    sizes.erase(sizes.begin(), sizes.begin() + static_cast<int64_t>(drop));
  }
  return json{{"lines", std::move(lines)}, {"cursor", ""}, {"whole", whole}};
}

// All that the page asks of a job; what cannot be had is left out and said.
json JobOf(const ExportConfig& config, JobReader& jobs, const std::string& id,
           std::vector<std::string>* troubles) {
  json all = json::object();
  const auto add = [&](const char* what, const Result<json>& got) {
    if (got.ok()) all[what] = *got;
    if (!got.ok()) troubles->push_back(id + ": " + what + ": " + got.status().message());
  };
  SeriesRange range;
  range.pixels = config.pixels;
  add("job", jobs.Job(id));
  add("series", jobs.Series(id, 0, {}, range));
  add("usage", jobs.Usage(id));
  add("kept", jobs.KeptFiles(id));
  add("code", jobs.Code(id));
  add("compared", jobs.Compared(id));
  add("log", LogOf(jobs, id, config.most_log_bytes));
  return all;
}

// The page that begins with what it is as of.
std::string IndexOf(std::string_view page) {
  const std::string mark = "<!-- data -->";
  std::string text(page);
  const size_t at = text.find(mark);
  if (at == text.npos) return text;
  return text.replace(at, mark.size(), "<script src=\"export.js\"></script>");
}

}  // namespace

Result<std::vector<std::string>> Export(
    const ExportConfig& config, JobReader& jobs,
    const std::function<Status(const std::string&, std::string_view, std::string_view)>& write) {
  std::vector<std::string> troubles;
  JobsBook book(jobs.ledger());
  STOKER_TRY(book.Refresh(SIZE_MAX).status());
  // First: by it a later export knows that what lies there is its own, however this one ends.
  const json about = {{"at", config.now.ms}, {"version", config.version}, {"jobs", config.jobs}};
  STOKER_TRY(
      write(kExportMark, kJs, "window.stokerExport = " + ScriptText(JsonText(about)) + ";\n"));
  for (const std::string& id : config.jobs) {
    const json all = JobOf(config, jobs, id, &troubles);
    STOKER_TRY(write("data/job-" + id + ".js", kJs, Script("job-" + id, JsonText(all))));
  }
  STOKER_TRY(write("data/jobs.js", kJs, Script("jobs", book.Since(0))));
  for (const File& file : Files()) {
    if (file.name == "index.html") continue;
    STOKER_TRY(write(std::string(file.name), file.type, file.text));
  }
  // Last: whoever finds it finds all that it names.
  STOKER_TRY(write("index.html", Files().front().type, IndexOf(Files().front().text)));
  return troubles;
}

}  // namespace stoker::page
