// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/verb.h"
#include "client/local_shell.h"
#include "job/job.h"
#include "ledger/records.h"
#include "provider/cloud/ssh_words.h"
#include "provider/local/local_boot.h"
#include "provider/local/local_provider.h"
#include "spec/parse.h"
#include "sys/file.h"

extern char** environ;

namespace stoker::cli {
namespace {

struct SshOptions {
  std::string job = "-";
  int rank = 0;
  std::string user;
  std::string identity;
  std::string from;
  bool outside = false;
};

// One node of a job, and what is known of its machine.
struct Node {
  Job job;
  Request request;
  Launch launch;
  int rank = 0;
  int attempt = 0;
  std::vector<std::string> host_keys;
  std::string user;
  bool inside = false;  // a container
};

Result<Node> FindNode(Context& context, const SshOptions& options) {
  STOKER_ASSIGN(const std::string id, context.ResolveJob(options.job, NameMeans::kRunning));
  STOKER_ASSIGN(Controller * controller, context.controller());
  STOKER_ASSIGN(const PassResult pass, controller->Pass(id));
  const Attempt* attempt = NewestNeeded(pass.job);
  if (attempt == nullptr) {
    return Status(Code::kInvalid,
                  "job " + id + " has no machine yet: it is " + std::string(Name(pass.job.state)));
  }
  if (options.rank < 0 || options.rank >= static_cast<int>(attempt->launches.size())) {
    return Status(Code::kUsage, "--rank " + std::to_string(options.rank) +
                                    ": the job has nodes 0 to " +
                                    std::to_string(attempt->launches.size() - 1));
  }
  const Launch* launch = FindLaunch(pass.job, attempt->launches[static_cast<size_t>(options.rank)]);
  Node node;
  node.job = pass.job;
  node.rank = options.rank;
  node.attempt = attempt->number;
  if (launch == nullptr) return Status(Code::kCorrupt, "the record lacks the node's launch");
  node.launch = *launch;
  node.request = RequestOf(pass.job, *launch);
  if (launch->closed && !IsKept(*launch, pass.store_now)) {
    return Status(
        Code::kInvalid,
        "the machine of node " + std::to_string(options.rank) + " of job " + id +
            " is not there any more: " + Printable(launch->close_why),
        node.request.ask.place.provider == kLocalProvider
            ? "'stoker get " + id + "' has what it made"
            : "'keep_failed: 30m' in the job file lets a cloud's machine stay where a job fails");
  }
  for (const MachineSeen& machine : pass.machines) {
    const bool up = machine.state == MachineState::kRunning;
    if (machine.launch == launch->number && up) node.launch.instance_id = machine.instance_id;
  }
  int newest = 0;
  for (const ReportSeen& seen : pass.reports) {
    if (seen.report.launch != launch->number || seen.report.attempt < newest) continue;
    newest = seen.report.attempt;
    node.host_keys = seen.report.host_keys;
    node.user = seen.report.ssh_user;
  }
  if (!options.user.empty()) node.user = options.user;
  if (options.outside) return node;
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  const auto text = ReadSpec(*ledger, pass.job);
  const auto spec = text.ok() ? ParseStoredSpec(*text) : Result<JobSpec>(text.status());
  node.inside = spec.ok() && !spec->container.image.empty();
  return node;
}

// In this terminal; its exit code. Ctrl-C is the child's. `env`: null = that of this process.
Result<int> RunHere(const std::vector<std::string>& words, char** env = environ) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT
  argv.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE}) sigaddset(&set, signal);
  posix_spawnattr_setsigdefault(&attributes, &set);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  // What closes the door comes after it, whatever ends it.
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGTERM}) ::signal(signal, SIG_IGN);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], nullptr, &attributes, argv.data(), env);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return Status(Code::kNotFound, words[0] + ": " + std::strerror(error),
                  "Install it: it is what goes there");
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

constexpr char kInContainer[] = "in the container of the program (--outside: on its machine)";

// On this machine there is nothing to connect to: a shell beside the program.
Status BesideProgram(Context& context, const Node& node) {
  STOKER_ASSIGN(LocalProvider * local, context.local_provider());
  const std::string which = "node " + std::to_string(node.rank) + " of job " + node.job.id;
  if (node.job.host != local->host()) {
    return Status(Code::kInvalid, which + " runs on another computer, whose 'local' it is",
                  "Log in there, and run 'stoker ssh " + node.job.id + "'");
  }
  const std::string dir =
      LocalWorkDir(context.places().state + "/instances/" + node.launch.instance_id);
  if (!IsSafeName(node.launch.instance_id) || !sys::DirExists(dir)) {
    return Status(Code::kUnavailable, which + " has no work directory yet",
                  "'stoker show " + node.job.id + "' says what it waits for");
  }
  if (node.inside) {
    STOKER_ASSIGN(const std::vector<std::string> inside,
                  client::ContainerShell(context.places().state, node.launch.instance_id,
                                         cloud::CommandLine(context.command)));
    context.Say(kInContainer);
    STOKER_ASSIGN(context.exit_code, RunHere(inside));
    return Status::Ok();
  }
  auto env = client::EnvironmentOfProgram(node.job.id, node.attempt, node.rank);
  if (!env) {
    context.Say(which + " runs no program now: the shell has your own environment");
    env.emplace();
    for (char** at = environ; *at != nullptr; ++at) env->emplace_back(*at);
  }
  for (const char* own : {"TERM", "SHELL"}) {  // of this terminal
    const char* value = std::getenv(own);
    std::erase_if(*env,
                  [&](const std::string& one) { return StartsWith(one, own + std::string("=")); });
    if (value != nullptr) env->push_back(own + std::string("=") + value);
  }
  if (::chdir(dir.c_str()) != 0) return ErrnoStatus("going to " + dir, errno);
  const char* shell = std::getenv("SHELL");
  std::vector<std::string> words = {shell != nullptr && shell[0] == '/' ? shell : "/bin/sh"};
  if (!context.command.empty()) words = {"/bin/sh", "-c", cloud::CommandLine(context.command)};
  std::vector<char*> pointers;
  for (std::string& one : *env) pointers.push_back(one.data());
  pointers.push_back(nullptr);
  STOKER_ASSIGN(context.exit_code, RunHere(words, pointers.data()));
  return Status::Ok();
}

Status There(Context& context, const Node& node, const SshOptions& options) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  ShellAsk ask;
  ask.ledger = {ledger->id(), &ledger->store()};
  ask.job = node.job.id;
  ask.place = node.request.ask.place;
  ask.instance_id = node.launch.instance_id;
  ask.node = "node " + std::to_string(node.rank);
  ask.host_keys = node.host_keys;
  ask.user = node.user;
  ask.user_given = !options.user.empty();
  ask.identity = options.identity;
  ask.from = options.from;
  ask.command = cloud::CommandLine(context.command);
  ask.until = node.launch.kept_until;
  ask.inside = node.inside && !ask.until;  // the container of what is kept is gone
  STOKER_ASSIGN(Broker * broker, context.broker(ask.place.provider));
  STOKER_ASSIGN(const Shell shell, broker->Enter(ask));
  if (node.inside)
    context.Say(shell.inside ? kInContainer
                             : "on the machine: outside of the container of the program");
  const auto code = RunHere(shell.words);
  if (shell.close) shell.close();
  STOKER_TRY(code.status());
  context.exit_code = *code;
  return Status::Ok();
}

Status Run(Context& context, const SshOptions& options) {
  STOKER_ASSIGN(const Node node, FindNode(context, options));
  const std::string& provider = node.request.ask.place.provider;
  if (provider == kLocalProvider) return BesideProgram(context, node);
  if (!options.user.empty() && !cloud::IsUserName(options.user)) {
    return Status(Code::kUsage, "--user: not a name of a user: " + Printable(options.user));
  }
  if (node.launch.instance_id.empty() || node.launch.instance_id[0] == '-') {
    return Status(Code::kUnavailable,
                  "node " + std::to_string(node.rank) + " has no machine that is known yet");
  }
  return There(context, node, options);
}

}  // namespace

Verb SshVerb() {
  auto options = std::make_shared<SshOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "ssh";
  verb.summary = "Open a shell on a job's machine";
  verb.description =
      "Opens a shell on the machine of a job's node, or runs the command after '--' there: while "
      "the job runs, or after it failed as long as 'keep_failed' keeps its machines. On EC2 it "
      "opens port 22 of the ledger's security group to your address alone, by a rule that goes at "
      "the end (and that 'stoker gc' removes should it be left), sends a key that is made for this "
      "call by EC2 Instance Connect, and takes only the host key that the node has told in its "
      "report. On Google it calls 'gcloud compute ssh' through IAP; on a box, ssh. Of a job on "
      "this "
      "machine the shell, or '/bin/sh -c' with the command, starts in its work directory with the "
      "environment of its program, and outside its limits of CPU and memory: what it changes "
      "there, "
      "the program sees. Where the program runs in a container, so does the shell: with the "
      "program's environment, user and limits, until setup or the program ends (on nodes of Slurm "
      "as a step beside the job's own); --outside is the machine itself. Ends with the exit code "
      "of "
      "ssh, or of the shell.";
  verb.exit_codes = {{"CODE", "That of the command, or of the shell"},
                     {"255", "ssh could not connect"}};
  verb.examples = {"stoker ssh digits", "stoker ssh digits --rank 1 -- nvidia-smi",
                   "stoker ssh - -- ls checkpoints",
                   "stoker ssh - -- sudo ls -l /var/lib/stoker/node/work"};
  verb.options = {
      {"JOB", "Which job ('-' = your last)", &options->job, ""},
      {"--rank", "Which of its nodes", &options->rank, "N"},
      {"--user", "Whom to log in as (usual: the image's own user)", &options->user, "NAME"},
      {"--outside", "On the machine, where the program runs in a container", &options->outside},
      {"--identity", "Your own private key, which the machine knows already", &options->identity,
       "FILE"},
      {"--from", "Your address, as EC2 sees it (usual: it is asked for)", &options->from,
       "ADDRESS"}};
  verb.takes_command = true;
  return verb;
}

}  // namespace stoker::cli
