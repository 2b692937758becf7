// SPDX-License-Identifier: Apache-2.0
// Event files out of what the store has of runs, and TensorBoard on them.
#include "cli/verb.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/glob.h"
#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/terminal/interrupts.h"
#include "ledger/index.h"
#include "ledger/metrics/segments.h"
#include "ledger/records.h"
#include "metrics/event_writer.h"
#include "sys/child_process.h"
#include "sys/file.h"
#include "sys/program_lookup.h"

extern char** environ;

namespace stoker::cli {
namespace {

using metrics::CurveEntry;
using metrics::Entry;

constexpr size_t kMostRuns = 200;
constexpr Duration kLookFree = Duration::Seconds(2);
constexpr Duration kLookPaid = Duration::Seconds(30);

struct TensorboardOptions {
  std::vector<std::string> jobs;
  std::string name;
  std::string dir;
  std::string port;
  int last = 0;
  bool once = false;
};

double Seconds(WallTime time) { return static_cast<double>(time.ms) / 1000; }

// "digits-3k9f2": what a job file may call a job is no path, but the store is others' to write.
std::string FolderName(const Job& job) {
  std::string text = job.name + "-" + job.id;
  for (char& c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '.' && c != '-' && c != '_') c = '_';
  }
  return text[0] == '.' ? "_" + text : text;
}

// The event file of one run, which grows as the run does.
class RunFile {
 public:
  RunFile(std::string job, std::string path) : job_(std::move(job)), path_(std::move(path)) {}

  // What is new in the store. True: the job has ended, and all of it is in the file.
  Result<bool> Look(Ledger& ledger) {
    STOKER_ASSIGN(const JobRead read, ReadJob(ledger, job_));
    STOKER_ASSIGN(RunMetrics run, ReadMetrics(ledger.store(), job_, 0, {}));
    std::string bytes;
    if (!begun_) bytes = metrics::EventFileBegin(Seconds(read.job.created));
    std::vector<Point> points;
    for (auto& [name, parts] : run.series) {
      Take(name, metrics::MakeCurve(std::move(parts)), &points);
    }
    std::stable_sort(points.begin(), points.end(),
                     [](const Point& a, const Point& b) { return a.time < b.time; });
    for (const Point& point : points) {
      bytes += point.restart ? metrics::SessionStartRecord(Seconds(point.time), point.step)
                             : metrics::ScalarRecord(Seconds(point.time), point.step, point.name,
                                                     point.value);
    }
    STOKER_ASSIGN(const sys::ScopedFd fd,
                  sys::Open(path_, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW));
    STOKER_TRY(sys::WriteAll(fd.get(), bytes, path_));
    begun_ = true;
    return IsFinal(read.job.state);
  }

 private:
  struct Point {
    WallTime time;
    int64_t step = 0;
    std::string name;
    double value = 0;
    bool restart = false;
  };

  // What of a curve is not in the file. Of a bucket, its extremes and its last point.
  void Take(const std::string& name, const std::vector<CurveEntry>& curve,
            std::vector<Point>* points) {
    std::map<int, int64_t> counted;
    for (const CurveEntry& at : curve) {
      counted[at.attempt] += at.entry.count;
      int64_t& written = written_[{name, at.attempt}];
      if (counted[at.attempt] <= written) continue;
      // An attempt that begins behind our back: the points that it does again go from the picture.
      if (written == 0 && begun_ && at.attempt > 1 && restarted_.insert(at.attempt).second) {
        points->push_back({at.entry.first_time, at.entry.first_step, "", 0, true});
      }
      written = counted[at.attempt];
      if (at.redone) continue;
      const Entry& e = at.entry;
      std::map<int64_t, double> of;
      if (e.count > 1 && e.finite > 0) of = {{e.min_step, e.min}, {e.max_step, e.max}};
      of[e.last_step] = e.last;
      for (const auto& [step, value] : of) {
        const bool last = step == e.last_step;
        points->push_back({last ? e.last_time : e.first_time, step, name, value, false});
      }
    }
  }

  std::string job_;
  std::string path_;
  bool begun_ = false;
  std::map<std::pair<std::string, int>, int64_t> written_;
  std::set<int> restarted_;
};

Result<std::vector<std::string>> Chosen(Context& context, Ledger& ledger,
                                        const TensorboardOptions& options) {
  std::vector<std::string> ids;
  for (const std::string& word : options.jobs) {
    STOKER_ASSIGN(ids.emplace_back(), context.ResolveJob(word));
  }
  if (options.name.empty() && options.last == 0) {
    if (!ids.empty()) return ids;
    STOKER_ASSIGN(ids.emplace_back(), context.ResolveJob("-"));
    return ids;
  }
  STOKER_ASSIGN(const JobList list, ListJobs(ledger));
  const Glob glob(options.name.empty() ? "*" : options.name);
  size_t left = options.last > 0 ? static_cast<size_t>(options.last) : kMostRuns;
  for (const Summary& job : list.jobs) {
    if (left == 0) break;
    if (!glob.Matches(job.name)) continue;
    if (std::find(ids.begin(), ids.end(), job.id) == ids.end()) ids.push_back(job.id);
    --left;
  }
  return ids;
}

// The user's TensorBoard, with its own words on this terminal.
class TensorBoard {
 public:
  static Result<TensorBoard> Start(const std::string& dir, const std::string& port) {
    const char* path = std::getenv("PATH");
    const auto program = FindProgram("tensorboard", path != nullptr ? path : "", "/");
    if (!program.ok()) {
      return Status(Code::kNotFound, "there is no 'tensorboard' in PATH",
                    "pip install tensorboard; or write the event files alone: --once --dir DIR");
    }
    ChildCommand command;
    command.program = *program;
    command.argv = {"tensorboard", "--logdir", dir};
    if (!port.empty()) command.argv.insert(command.argv.end(), {"--port", port});
    for (char** each = environ; *each != nullptr; ++each) command.env.emplace_back(*each);
    command.cwd = "/";
    command.fds = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    command.die_with_thread = true;
    STOKER_ASSIGN(const pid_t pid, SpawnChild(command));
    return TensorBoard(pid);
  }
  // Its exit code, once it has ended.
  std::optional<int> Ended() {
    int status = 0;
    if (!ended_ && waitpid(pid_, &status, WNOHANG) == pid_) {
      ended_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return ended_;
  }
  void Stop() {
    if (Ended()) return;
    kill(pid_, SIGTERM);
    for (int i = 0; i < 50 && !Ended(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    if (Ended()) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  explicit TensorBoard(pid_t pid) : pid_(pid) {}
  pid_t pid_;
  std::optional<int> ended_;
};

// Says once what does not work, and goes on.
class Looker {
 public:
  Looker(Context& context, Ledger& ledger, std::vector<RunFile> files)
      : context_(context), ledger_(ledger), files_(std::move(files)) {}
  Status Look() {
    Status first;
    std::erase_if(files_, [&](RunFile& file) {
      const auto done = file.Look(ledger_);
      if (!done.ok() && first.ok()) first = done.status();
      return done.ok() && *done;
    });
    if (!first.ok() && said_.insert(first.message()).second) context_.Say(first.ToString());
    return first;
  }
  bool done() const { return files_.empty(); }

 private:
  Context& context_;
  Ledger& ledger_;
  std::vector<RunFile> files_;
  std::set<std::string> said_;
};

Status Watch(Context& context, Looker& looker, const TensorboardOptions& options,
             const std::string& folder, bool free) {
  CatchInterrupts();
  STOKER_ASSIGN(TensorBoard board, TensorBoard::Start(folder, options.port));
  const Duration every = free ? kLookFree : kLookPaid;
  MonoTime next = context.clock().Mono() + every;
  while (!Interrupted() && !board.Ended()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (looker.done() || context.clock().Mono() < next) continue;
    (void)looker.Look();
    next = context.clock().Mono() + every;
  }
  const std::optional<int> code = board.Ended();
  board.Stop();
  if (code && *code != 0) {
    return Status(Code::kInternal, "tensorboard ended with exit code " + std::to_string(*code),
                  "It says why, above");
  }
  return Status::Ok();
}

Status Run(Context& context, const TensorboardOptions& options) {
  if (options.last < 0) return Status(Code::kUsage, "--last takes no negative number", "--last 20");
  if (options.once && options.dir.empty()) {
    return Status(Code::kUsage, "--once writes event files and ends: it needs a place for them",
                  "--once --dir DIR");
  }
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const std::vector<std::string> ids, Chosen(context, *ledger, options));
  if (ids.empty()) return Status(Code::kNotFound, "no job has such a name", "stoker ls");
  std::string folder = options.dir;
  std::optional<sys::TempDir> ours;  // goes with this
  if (folder.empty()) {
    STOKER_ASSIGN(ours, sys::TempDir::Make("stoker-tensorboard"));
    folder = ours->path();
  } else {
    STOKER_TRY(sys::MakeDirs(folder, 0755));
    STOKER_ASSIGN(folder, sys::RealPath(folder));
  }
  std::vector<RunFile> files;
  for (const std::string& id : ids) {
    STOKER_ASSIGN(const JobRead read, ReadJob(*ledger, id));
    const std::string of = folder + "/" + FolderName(read.job);
    const std::string path =
        of + "/events.out.tfevents." + std::to_string(read.job.created.ms / 1000) + ".stoker";
    STOKER_TRY(sys::MakeDirs(of, 0755));
    if (unlink(path.c_str()) != 0 && errno != ENOENT) {  // of an earlier call
      return Status(Code::kInternal, path + " cannot be written anew", "Name another folder");
    }
    files.emplace_back(id, path);
  }
  Looker looker(context, *ledger, std::move(files));
  const Status first = looker.Look();
  Status status = first;
  if (options.once) {
    if (first.ok()) context.Say("the event files are there: tensorboard --logdir " + folder);
  } else {
    status = Watch(context, looker, options, folder, ledger->store().traits().requests_are_free);
  }
  return status;
}

}  // namespace

Verb TensorboardVerb() {
  auto options = std::make_shared<TensorboardOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "tensorboard";
  verb.summary = "Start TensorBoard on what runs learn";
  verb.description =
      "Writes what the store has of runs' metrics into event files, a folder for each run, starts "
      "your TensorBoard on them, and adds what comes until TensorBoard ends or you press Ctrl-C. "
      "All attempts of a run are one curve. The files go with it, unless you name a place.";
  verb.examples = {"stoker tensorboard digits", "stoker tensorboard --name 'digits*' --last 5",
                   "stoker tensorboard digits --once --dir ./events"};
  verb.options = {{"JOB", "Which jobs; your last one, if none is named", &options->jobs, ""},
                  {"--name", "The jobs with names like this", &options->name, "GLOB"},
                  {"--last", "At most so many of them, the newest", &options->last, "N"},
                  {"--dir", "Put the files there, and leave them", &options->dir, "DIR"},
                  {"--port", "As TensorBoard takes it", &options->port, "PORT"},
                  {"--once", "Only write the files, once", &options->once}};
  return verb;
}

}  // namespace stoker::cli
