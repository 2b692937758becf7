// SPDX-License-Identifier: Apache-2.0
#include "cli/verb.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/terminal/interrupts.h"
#include "ledger/index.h"
#include "page/export.h"
#include "page/server.h"
#include "store/open_side.h"
#include "sys/command.h"
#include "sys/file.h"
#include "sys/file_lock.h"

namespace stoker::cli {
namespace {

constexpr size_t kMostExported = 100;  // jobs, where none are named
// A report within a work directory belongs to no job.
constexpr char kIgnore[] =
    "# Written by stoker ui --export: jobs take nothing of a report along.\n*\n";

struct UiOptions {
  int port = 0;
  bool no_browser = false;
  bool link = false;
  std::string export_to;
  std::vector<std::string> jobs;
};

std::vector<std::string> Environment() {
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) all.emplace_back(*each);
  return all;
}

bool HasDisplay() {
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
  };
  return !set("SSH_CONNECTION") && (set("DISPLAY") || set("WAYLAND_DISPLAY"));
}

// Links of a page that runs: an empty file each, in the folder of its port, named by the token and
// gone once it is spent. The lock beside it is held while the page runs.
std::string LinksOf(const Context& context, int port) {
  return context.places().state + "/ui/" + std::to_string(port);
}
constexpr char kLock[] = ".lock";

bool SpendLink(const std::string& folder, const std::string& token) {
  return IsSafeName(token) && ::unlink((folder + "/" + token).c_str()) == 0;
}

// The ports of the pages that run here, as `wanted` has them (0: any).
std::vector<int> RunningPages(const Context& context, int wanted) {
  std::vector<int> ports;
  const std::string folder = context.places().state + "/ui";
  const auto entries = sys::ListDir(folder);
  for (const auto& entry : entries.ok() ? *entries : std::vector<sys::DirEntry>()) {
    if (!EndsWith(entry.name, kLock)) continue;
    const auto port =
        WholeNumber(entry.name.substr(0, entry.name.size() - std::string(kLock).size()), 1, 65535);
    if (!port || (wanted != 0 && *port != wanted)) continue;
    if (!sys::TryFileLock(folder + "/" + entry.name).status().Is(Code::kBusy)) continue;
    ports.push_back(static_cast<int>(*port));
  }
  return ports;
}

Status PrintLink(Context& context, int wanted) {
  const std::vector<int> ports = RunningPages(context, wanted);
  if (ports.empty()) {
    return Status(Code::kNotFound, "no page of yours runs on this computer",
                  "'stoker ui' starts one, and prints its link");
  }
  if (ports.size() > 1) {
    std::vector<std::string> names;
    for (const int port : ports) names.push_back(std::to_string(port));
    return Status(Code::kUsage, "pages run on the ports " + Join(names, ", "),
                  "Say which: stoker ui --link --port " + names[0]);
  }
  const std::string token = Hex64(sys::RandomU64()) + Hex64(sys::RandomU64()) +
                            Hex64(sys::RandomU64()) + Hex64(sys::RandomU64());
  STOKER_TRY(sys::WriteFileAtomic(LinksOf(context, ports[0]) + "/" + token, "", 0600, false));
  const std::string url = "http://127.0.0.1:" + std::to_string(ports[0]) + "/?token=" + token;
  context.Print(context.json ? nlohmann::json({{"url", url}, {"port", ports[0]}}).dump() + "\n"
                             : url + "\n");
  context.Say("it works once");
  return Status::Ok();
}

// A file that leads to `url`, for this user alone: arguments of programs are seen by others.
Status WriteLeader(const std::string& path, const std::string& url) {
  return sys::WriteFileAtomic(path,
                              "<!doctype html><meta charset=\"utf-8\"><title>stoker</title>"
                              "<meta http-equiv=\"refresh\" content=\"0;url=" +
                                  url + "\">\n",
                              0600, false);
}

// Where there is a display, the browser; else how one gets there from elsewhere.
void OpenOrSay(Context& context, const UiOptions& options, const page::PageServer& server,
               const std::string& leader) {
  if (context.json) {
    context.Print(nlohmann::json({{"url", server.url()}, {"port", server.port()}}).dump() + "\n");
    return;
  }
  context.Print(server.url() + "\n");
  const std::string port = std::to_string(server.port());
  if (!options.no_browser && HasDisplay() && WriteLeader(leader, server.url()).ok()) {
    const auto opened =
        sys::RunCommands({{{"xdg-open", leader}, Environment(), "/dev/null", 4096}}, 10'000);
    if (opened[0].ok() && opened[0]->exit_code == 0) {
      context.Say("opened in your browser; Ctrl-C ends the page, jobs go on");
      return;
    }
  }
  context.Say(
      "open it in a browser on this machine; it works once. From another one, first: ssh "
      "-L " +
      port + ":127.0.0.1:" + port + " " + context.user() + "@" + sys::Hostname());
  context.Say("Ctrl-C ends the page, jobs go on");
}

// The jobs that were named, else the newest.
Result<std::vector<std::string>> Exported(Context& context, Ledger& ledger,
                                          const UiOptions& options) {
  std::vector<std::string> ids;
  for (const std::string& word : options.jobs) {
    STOKER_ASSIGN(ids.emplace_back(), context.ResolveJob(word));
  }
  if (!ids.empty()) return ids;
  STOKER_ASSIGN(const JobList list, ListJobs(ledger));
  for (const Summary& job : list.jobs) {
    if (ids.size() < kMostExported) ids.push_back(job.id);
  }
  if (list.jobs.size() > ids.size()) {
    context.Say("the newest " + std::to_string(ids.size()) + " of " +
                std::to_string(list.jobs.size()) + " jobs have a page; name those that you want");
  }
  return ids;
}

// What others have there is not written over: an app.js in a work directory, a store's own files.
Status CheckPlace(const std::string& to, ObjectStore* bucket) {
  bool empty = true, ours = false;
  if (bucket != nullptr) {
    STOKER_ASSIGN(const auto first, bucket->List("", "", 1));
    empty = first.objects.empty();
    if (!empty) {
      const auto mark = bucket->Head(page::kExportMark);
      if (!mark.ok() && !mark.status().Is(Code::kNotFound)) return mark.status();
      ours = mark.ok();
    }
  } else if (sys::DirExists(to)) {
    STOKER_ASSIGN(const auto entries, sys::ListDir(to));
    empty = entries.empty();
    ours = sys::FileExists(to + "/" + page::kExportMark);
  }
  if (empty || ours) return Status::Ok();
  return Status(Code::kExists,
                Printable(to) + " has other files in it, which could be written over",
                "Name a new folder, an empty one, or one that an earlier --export has made");
}

Status ExportTo(Context& context, const UiOptions& options, Ledger& ledger, page::JobReader& jobs) {
  const std::string& to = options.export_to;
  page::ExportConfig config;
  config.version = STOKER_VERSION;
  config.now = context.clock().Wall();
  STOKER_ASSIGN(config.jobs, Exported(context, ledger, options));
  std::unique_ptr<ObjectStore> bucket;
  if (NamesBucket(to)) {
    STOKER_ASSIGN(bucket, OpenSite(to));
  }
  STOKER_TRY(CheckPlace(to, bucket.get()));
  if (bucket == nullptr) STOKER_TRY(sys::MakeDirs(to));
  int64_t bytes = 0;
  const auto write = [&](const std::string& path, std::string_view, std::string_view text) {
    context.Progress("writing " + path + " …");
    bytes += static_cast<int64_t>(text.size());
    if (bucket != nullptr) return bucket->Put(path, text).status();
    // Behind the mark by which a later export knows its own.
    if (StartsWith(path, "data/")) STOKER_TRY(sys::MakeDirs(to + "/data"));
    return sys::WriteFileAtomic(to + "/" + path, text, 0644, false);
  };
  STOKER_ASSIGN(const auto troubles, page::Export(config, jobs, write));
  if (bucket == nullptr) {
    STOKER_TRY(sys::WriteFileAtomic(to + "/.stokerignore", kIgnore, 0644, false));
  }
  for (const std::string& trouble : troubles) context.Say("left out: " + Printable(trouble));
  if (context.json) {
    context.Print(nlohmann::json({{"to", to}, {"jobs", config.jobs}, {"bytes", bytes}}).dump() +
                  "\n");
    return Status::Ok();
  }
  context.Say(std::to_string(config.jobs.size()) + " jobs, " + HumanSize(bytes) + ": open " + to +
              "/index.html");
  if (bucket == nullptr) context.Say("jobs leave it out of what they pack (.stokerignore in it)");
  return Status::Ok();
}

Status Run(Context& context, const UiOptions& options) {
  if (options.port < 0 || options.port > 65535) {
    return Status(Code::kUsage, "--port is 0 to 65535", "0, or no --port, takes a free one");
  }
  if (options.link) return PrintLink(context, options.port);
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(Controller * controller, context.controller());
  page::JobReader jobs(context, *ledger, *controller);
  if (!options.export_to.empty()) return ExportTo(context, options, *ledger, jobs);
  if (!options.jobs.empty()) {
    return Status(Code::kUsage, "jobs are named for an export alone",
                  "stoker ui shows all of them; stoker ui --export DIR JOB… writes some");
  }
  page::PageConfig config;
  config.port = options.port;
  config.version = STOKER_VERSION;
  config.user = context.user();
  config.spend_later = [&context](int port, const std::string& token) {
    return SpendLink(LinksOf(context, port), token);
  };
  CatchInterrupts();
  auto server = page::PageServer::Start(std::move(config), jobs);
  if (server.status().Is(Code::kExists)) {
    return Status(Code::kExists, "port " + std::to_string(options.port) + " is taken",
                  "Choose another one, or leave --port out");
  }
  if (!server.ok()) return server.status();
  const std::string leader =
      context.places().state + "/ui-" + std::to_string((*server)->port()) + ".html";
  // Links that nobody used are of an earlier page.
  const std::string links = LinksOf(context, (*server)->port());
  (void)sys::RemoveTree(links);
  (void)sys::MakeDirs(links, 0700);
  const auto lock = sys::TryFileLock(links + kLock);
  OpenOrSay(context, options, **server, leader);
  while (!Interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  if ((*server)->acting() > 0) {
    context.Say("what was asked for on the page is being done; another Ctrl-C leaves it");
  }
  server->reset();
  (void)::unlink(leader.c_str());
  (void)sys::RemoveTree(links);
  (void)::unlink((links + kLock).c_str());
  return Status::Ok();
}

}  // namespace

Verb UiVerb() {
  auto options = std::make_shared<UiOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "ui";
  verb.summary = "Look at jobs in a browser: table, curves, live log, comparison";
  verb.description =
      "Serves a page on this machine, 127.0.0.1 alone, and opens it in the browser, or prints its "
      "link where there is no display. The link works once; the browser that opened it stays in "
      "for a day, and --link prints another one. While somebody looks, running jobs are moved "
      "along. Ctrl-C ends the page; jobs "
      "go on without it. --export writes the same page as plain files, which need no server: of "
      "the jobs that are named, or of the newest hundred.";
  verb.examples = {"stoker ui", "stoker ui --port 8080 --no-browser",
                   "stoker ui --export report digits digits2"};
  verb.options = {
      {"--port", "Serve on this port; a free one if not given", &options->port, "N"},
      {"--export", "Write the page as files into a folder or bucket", &options->export_to, "DIR"},
      {"JOB", "For --export: only these jobs", &options->jobs, ""},
      {"--link", "Print another link of the page that runs (of --port, if several do)",
       &options->link},
      {"--no-browser", "Only print the link", &options->no_browser}};
  return verb;
}

}  // namespace stoker::cli
