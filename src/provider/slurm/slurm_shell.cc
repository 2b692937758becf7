// SPDX-License-Identifier: Apache-2.0
// Source: srun(1), "--overlap", "--relative", "--jobid".
#include "provider/slurm/slurm_shell.h"

#include "base/text.h"
#include "provider/slurm/slurm_job.h"

namespace stoker {
namespace {

// On the node: the agent of the instance is a process of this user, "stoker __agent FOLDER", whose
// folder's name begins with the token. $1 is what that name is like, $2 the state folder, $3 the
// command.
constexpr char kFind[] = R"sh(like=$1 state=$2 command=$3
set -f
IFS='
'
for each in $(ls /proc); do
  each=/proc/$each
  set -- $({ tr '\0' '\n' <"$each/cmdline"; } 2>/dev/null)
  [ "${2:-}" = __agent ] || continue
  case "${3:-}" in
    */$like) exec "$each/exe" __enter "$state" "$3" ${command:+"$command"} ;;
  esac
done
echo 'stoker: no agent of this job runs on that node now' >&2
exit 1
)sh";

}  // namespace

Result<std::vector<std::string>> SlurmShellWords(const SlurmShell& shell) {
  const std::vector<std::string> parts = Split(shell.instance_id, '.');
  const bool whole = parts.size() == 3 && WholeNumber(parts[0], 1, kMostSlurmJob) &&
                     WholeNumber(parts[1], 0, 100'000) && IsSafeName(parts[2]);
  if (!whole)
    return Status(Code::kInvalid, "not an instance of Slurm: " + Printable(shell.instance_id));
  std::vector<std::string> words = {
      "srun",      "--jobid=" + parts[0], "--overlap", "--quiet",
      "--nodes=1", "--ntasks=1",          "--chdir=/", "--relative=" + parts[1]};
  if (shell.terminal) words.emplace_back("--pty");
  words.insert(words.end(), {"sh", "-c", kFind, "sh", parts[2] + "*-" + parts[1], shell.state_dir,
                             shell.command});
  if (shell.login.empty()) return words;
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + ShellQuote(word);
  std::vector<std::string> out = {"ssh"};
  if (shell.terminal) out.emplace_back("-t");
  out.insert(out.end(), {"--", shell.login, line});
  return out;
}

}  // namespace stoker
