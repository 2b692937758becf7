# SPDX-License-Identifier: Apache-2.0
"""What a program finds in its environment: docs/environment.md both ways, the shell's variables,
secrets that leave no trace, and what setup installs and hands on."""

import base64
import fcntl
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import PYTHON, Results, World

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECRET = "hf_" + "aB3dE5gH7jK9" * 3 + "+/x"
DUMP = "import json,os,sys; json.dump(dict(os.environ), open(sys.argv[1], 'w'))"
SHELL = {"PWD", "SHLVL", "_", "OLDPWD"}


def tables():
    """The page's tables of names: section to {name: where}."""
    page, section = {}, ""
    for line in (ROOT / "docs" / "environment.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
        row = re.fullmatch(r"\| `([^`]+)` \| (both|setup|run) \|.*", line)
        if row:
            page.setdefault(section, {})[row[1]] = row[2]
    return page


def free(lock):
    """Whether nobody holds the file `lock`. By fcntl's lock, as stoker's are: of flock's it knows
    nothing."""
    with open(lock, "r+", encoding="utf-8") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def run_dumping(world, text, *flags, env=None):
    (world.work / "job.yaml").write_text(text)
    done = world.stoker("run", *flags, "job.yaml", env=env, timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr + world.stoker("logs", "-", "--stream", "system").stdout
    return done


def page_and_code(results, world):
    (world.work / "data").mkdir()
    (world.work / "data" / "x").write_text("x")
    # A folder in a git work tree, with its commit.
    (world.work / "job.yaml").write_text("")
    for words in (["init", "-q", "-b", "trunk"], ["add", "."], ["commit", "-qm", "1"]):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=n@example.com", *words], cwd=world.work, env=world.env, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=world.work, env=world.env, check=True, capture_output=True, text=True
    ).stdout.strip()
    for phase in ("setup", "run"):
        (world.evidence / f"{phase}.json").unlink(missing_ok=True)
    run_dumping(
        world,
        f"""
workdir: .
inputs: {{val-1: {world.work}/data}}
hyperparameters: {{lr: 0.1}}
setup: {PYTHON} -c "{DUMP}" {world.evidence}/setup.json
command: [{PYTHON}, -c, "{DUMP}", {world.evidence}/run.json]
""",
    )
    page = tables()
    some = {"STOKER_CHANNEL_<NAME>": "STOKER_CHANNEL_VAL_1", "STOKER_HP_<name>": "STOKER_HP_lr"}
    for phase in ("setup", "run"):
        values = json.loads((world.evidence / f"{phase}.json").read_text())
        git = [values.get(f"STOKER_GIT_{name}") for name in ("COMMIT", "BRANCH", "DIRTY")]
        results.check(f"page: {phase} finds what was packed", git == [head, "trunk", "1"], git)
        found = set(values)
        if phase == "setup":
            found -= SHELL
        told = {some.get(name, name) for section in page.values() for name, where in section.items() if where in (phase, "both")}
        results.check(f"page: {phase} finds nothing that it does not name", found <= told, found - told)
        results.check(f"page: all that it names for {phase} is there", told <= found, told - found)


def shell(results, world):
    env = {
        "CUDA_VISIBLE_DEVICES": "1",
        "NCCL_DEBUG": "INFO",
        "OMP_NUM_THREADS": "3",
        "MINE": "m",
        "PYTHONPATH": f"{world.work}/src:/elsewhere",
        "https_proxy": "http://me:pass-word@proxy:1",
    }
    (world.work / "src").mkdir()
    (world.work / "src" / "lib.py").write_text("")
    command = ["--", PYTHON, "-c", DUMP, f"{world.evidence}/shell.json"]
    done = world.stoker("run", "--env", "OMP_NUM_THREADS=7", *command, env=env)
    got = json.loads((world.evidence / "shell.json").read_text())
    results.check(
        "shell: names that programs heed go along", got.get("CUDA_VISIBLE_DEVICES") == "1" and got.get("NCCL_DEBUG") == "INFO", got
    )
    results.check("shell: others do not", "MINE" not in got, got)
    results.check("shell: --env wins", got["OMP_NUM_THREADS"] == "7", got)
    results.check(
        "shell: paths into the folder lead into its copy",
        got["PYTHONPATH"] == f"{got['STOKER_OUTPUT_DIR'][:-7]}/src:/elsewhere",
        got["PYTHONPATH"],
    )
    results.check(
        "shell: one line says it, without a password",
        "from your shell: CUDA_VISIBLE_DEVICES=1, NCCL_DEBUG=INFO, PYTHONPATH, https_proxy" in done.stderr
        and "pass-word" not in done.stderr,
        done.stderr,
    )
    log = world.stoker("logs", "-", "--stream", "system").stdout
    results.check(
        "shell: an attached run says it once, and the log keeps it",
        (done.stdout + done.stderr).count("CUDA_VISIBLE_DEVICES") == 1 and "from the submitter's shell: CUDA_VISIBLE_DEVICES" in log,
        done.stdout + done.stderr,
    )
    world.stoker("run", "--no-shell-env", *command, env=env, check=True)
    got = json.loads((world.evidence / "shell.json").read_text())
    results.check("shell: --no-shell-env leaves them", "NCCL_DEBUG" not in got, got)
    world.stoker("config", "set", "shell_env", "MI* -NCCL_*", check=True)
    (world.work / "some.env").write_text('# a file\nexport FROM_FILE="a b"  # c\nDB_PASSWORD=letmein1\n')
    world.stoker(
        "run",
        "--env-file",
        "some.env",
        "--env",
        "WAND*",
        *command,
        env={**env, "WANDB_API_KEY": "0123456789", "WANDB_NOTES": "n"},
        check=True,
    )
    world.stoker("config", "unset", "shell_env", check=True)
    got = json.loads((world.evidence / "shell.json").read_text())
    results.check("shell: the setting adds and takes away", got.get("MINE") == "m" and "NCCL_DEBUG" not in got, got)
    results.check(
        "shell: a file, and a pattern",
        got.get("FROM_FILE") == "a b"
        and got.get("WANDB_NOTES") == "n"
        and got.get("WANDB_API_KEY") == "0123456789"
        and got.get("DB_PASSWORD") == "letmein1",
        got,
    )
    spec = world.stoker("run", "--dry-run", "--env-file", "some.env", *command).stdout
    results.check("shell: what looks like a secret in a file is one", 'secrets: ["DB_PASSWORD"]' in spec and "letmein1" not in spec, spec)


def named(results, world):
    """What the packed code names goes along, is kept, and is the same in a retry elsewhere."""
    work = world.work / "named"
    work.mkdir()
    (work / "train.sh").write_text(f'echo "${{EPOCHS:-20}} $HF_TOKEN" >> {world.evidence}/named\nexit 1\n')
    token = "hf_" + "aB3" * 12
    env = {"EPOCHS": "3", "HF_TOKEN": token, "MINE": "m"}
    done = world.stoker("run", "--", "bash", "train.sh", cwd=work, env=env)
    results.check("named: one line with values", "the job names them: EPOCHS=3 (" in done.stderr and "MINE" not in done.stderr, done.stderr)
    results.check("named: a secret is left, and said", "--secret HF_TOKEN" in done.stderr and token not in done.stderr, done.stderr)
    shown = world.stoker("show", "-").stdout
    results.check("named: show has them", "  variables   EPOCHS=3\n" in shown, shown)
    done = world.stoker("run", "--checkpoints", "ck.pt", "--", "true", cwd=work, env=env)
    results.check(
        "a folder of checkpoints with a file's name is said",
        "if the program writes a file ck.pt, give the folder" in done.stderr,
        done.stderr,
    )
    world.stoker("run", "--", "bash", "train.sh", cwd=work, env=env)
    world.stoker("retry", "-", cwd=work, env={"EPOCHS": "9"})
    world.stoker("run", "--no-shell-env", "--", "bash", "train.sh", cwd=work, env=env)
    world.stoker("run", "--env", "EPOCHS=4", "--", "bash", "train.sh", cwd=work, env=env)
    got = (world.evidence / "named").read_text().split("\n")
    results.check(
        "named: in the job and its retry, not with --no-shell-env, and --env wins", got == ["3 ", "3 ", "3 ", "20 ", "4 ", ""], got
    )
    spec = world.stoker("run", "--dry-run", "--", "bash", "train.sh", cwd=work, env=env).stdout
    results.check("named: --dry-run shows it", 'EPOCHS: "3"' in spec and token not in spec, spec)


def whole(results, world):
    value = "a-value-that-nobody-else-has"
    program = ["--", PYTHON, "-c", f"import os, sys; sys.exit(os.environ['MINE'] != '{value[:8]}' + '{value[8:]}')"]
    done = world.stoker("run", "--shell-env", "all", *program, env={"MINE": value})
    shown = world.stoker("show", "-").stdout
    results.check("whole shell: the program has it", done.returncode == 0, done.stderr)
    line = [one for one in shown.split("\n") if one.startswith("  shell ")]
    results.check("whole shell: show names it", len(line) == 1 and "MINE" in line[0] and "PATH" in line[0], shown)
    world.wait_for("its machine is gone", lambda: not world.instances())
    found = traces(world.home, value)
    results.check("whole shell: no value is anywhere", not found and value not in done.stderr and value not in shown, found)
    for place in ("ssh/lab", "aws/us-east-1"):
        done = world.stoker("run", "--shell-env", "all", "--infra", place, *program)
        results.check(f"whole shell: refused at {place}", done.returncode != 0 and "for this machine and Slurm" in done.stderr, done.stderr)
    world.stoker("config", "set", "store", str(world.home), check=True)
    done = world.stoker("run", *program, env={"OMP_NUM_THREADS": "7"})
    world.stoker("config", "unset", "store", check=True)
    results.check(
        "a store that would hold the shell's variables is refused",
        done.returncode == 1 and "variables of your shell would lie" in done.stderr,
        done.stderr,
    )


def traces(folder, secret):
    """Files below `folder` that hold it, packed or not."""
    out = []
    for path in pathlib.Path(folder).rglob("*"):
        if not path.is_file():
            continue
        data = path.read_bytes()
        if path.suffix in (".zst", ".log") or data[:4] == b"\x28\xb5\x2f\xfd":
            data += subprocess.run(["zstd", "-dcq", path], capture_output=True, check=False).stdout
        if secret.encode() in data:
            out.append(str(path))
    return out


def secrets(results, world):
    program = world.program(f"""
import base64, os, sys, time
if os.environ["STOKER_ATTEMPT"] == "1":
    sys.exit(3)
token = os.environ["HF_TOKEN"]
assert token == os.environ["CHECK"][::-1], token
sys.stdout.write("begin " + token[:9]); sys.stdout.flush(); time.sleep(0.3)
print(token[9:], "end")
print(base64.b64encode(b"user:" + token.encode()).decode(), file=sys.stderr)
open("{world.evidence}/seen", "w").write(token)
while not os.path.exists("{world.evidence}/go"): time.sleep(0.05)
""")
    (world.work / "job.yaml").write_text(f"""
workdir: .
envs: {{CHECK: "{SECRET[::-1]}"}}
secrets: {{HF_TOKEN: null}}
resources: {{job_recovery: {{max_restarts_on_errors: 1}}}}
setup: echo "setup has $HF_TOKEN"
run: {PYTHON} {program.name}
""")
    job = world.submit("job.yaml", env={"HF_TOKEN": SECRET})
    # Whoever goes on with it knows nothing of the secret.
    waiter = world.start("wait", job)
    world.wait_for("the second attempt has it", (world.evidence / "seen").exists, timeout=60)
    kept = list((world.state / "private").iterdir())
    results.check("secrets: one file that nobody else may read", len(kept) == 1 and stat.S_IMODE(kept[0].stat().st_mode) == 0o600, kept)
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    results.check("secrets: in no list of processes", SECRET not in listed.stdout)
    (world.evidence / "go").touch()
    waiter.wait(60)
    world.wait_for("its machine is gone", lambda: not world.instances(), timeout=30)
    log = world.stoker("logs", job).stdout + world.stoker("logs", job, "--stream", "system").stdout
    inside = base64.b64encode(b"user:" + SECRET.encode()).decode()[8:40]
    results.check(
        "secrets: masked in the log, cut in two and in base64",
        "begin *** end" in log and "setup has ***" in log and SECRET not in log and inside not in log,
        log,
    )
    results.check("secrets: in nothing that is kept", not traces(world.state, SECRET), traces(world.state, SECRET))
    results.check("secrets: gone with the job, and their folder", not (world.state / "private").exists())
    refused = world.stoker("retry", job)
    results.check(
        "secrets: a retry wants them again",
        refused.returncode != 0 and "no value for the secret HF_TOKEN" in refused.stderr,
        refused.stderr,
    )
    (world.work / "token").write_text(SECRET + "\n")
    os.unlink(world.work / "job.yaml")
    (world.work / "code").mkdir()
    got = world.stoker(
        "run", "--workdir", "code", "--secret", "T=@token", "--", PYTHON, "-c", "import os; print(len(os.environ['T']), os.environ['T'])"
    )
    results.check("secrets: from a file", f"{len(SECRET)} ***" in got.stdout, got.stdout + got.stderr)
    given = world.stoker("run", "--secret", "T=value", "--", "true")
    results.check("secrets: no value on the command line", given.returncode != 0 and "comes with its value" in given.stderr, given.stderr)
    before = len(world.json("ls"))
    lost = world.stoker("run", "--secret", "T=ssm:/team/hf", "--", "true")
    told = "the secret T: no region of AWS is set on this machine" in lost.stderr and "Set AWS_REGION" in lost.stderr
    results.check("secrets: a name that cannot be read here is refused at submit", lost.returncode != 0 and told, lost.stderr)
    results.check("secrets: and no job is made", len(world.json("ls")) == before, lost.stdout)
    os.unlink(world.work / "token")
    (world.work / "requirements.txt").write_text("--index-url https://me:hunter22@host/simple\n")
    url = world.stoker("run", "--", "true")
    results.check(
        "secrets: none in requirements.txt",
        url.returncode != 0 and "requirements.txt:1: holds what looks like a password" in url.stderr,
        url.stderr,
    )
    os.unlink(world.work / "requirements.txt")


def lost_and_swept(results, world):
    job = world.submit("--secret", "T", "--", "sh", "-c", "pwd; sleep 60", env={"T": "some-secret"})
    world.wait_for("its machine", lambda: world.job(job)["state"] == "Running", timeout=60)
    own = world.state / "work" / f"{job}-0"
    world.wait_for("it says where it is", lambda: str(own) in world.stoker("logs", job).stdout)
    results.check("path: of the job, held by the attempt", own.is_dir() and (own.parent / (own.name + ".lock")).exists())
    os.unlink(next((world.state / "private").iterdir()))
    world.stoker("preempt", job, "--in", "5s", check=True)
    done = world.stoker("wait", job, timeout=90)
    told = world.stoker("show", job).stdout
    results.check(
        "secrets: one that is lost is missed by name",
        done.returncode != 0 and "the secret T is not on this machine" in told + done.stdout,
        told,
    )
    world.wait_for("its path is given back", lambda: not os.listdir(own.parent))
    ended = world.submit("--secret", "T", "--", "true", env={"T": "some-secret"})
    world.stoker("wait", ended)
    (world.state / "private").mkdir(exist_ok=True)
    ledger = json.loads((world.store / "ledger.json").read_text())["id"]
    (world.state / "private" / f"{ledger}-{ended}").write_text("left by a crash")
    torn = world.state / "private" / ".tmp-0123456789abcdef"
    torn.write_text("left by a crash while it was written")
    os.utime(torn, (0, time.time() - 3600))
    fresh = world.state / "private" / ".tmp-fedcba9876543210"
    fresh.write_text("being written")
    world.stoker("gc", check=True)
    left = os.listdir(world.state / "private")
    results.check("secrets: gc removes what a crash left", left == [fresh.name], left)
    os.utime(fresh, (0, time.time() - 3600))
    world.stoker("gc", check=True)
    results.check("secrets: and then the folder", not (world.state / "private").exists())


def setup(results, world):
    (world.home / ".bashrc").write_text("# mine\n")
    install = "import sysconfig,pathlib; pathlib.Path(sysconfig.get_paths()['purelib'],'brought.py').write_text('X=5')"
    text = f"""
workdir: .
setup: |
  python3 -c "{install}"
  pip --version
  echo "FOUND=a b" >> $STOKER_ENV
  echo nonsense >> $STOKER_ENV
  echo "export Y=1" >> ~/.bashrc
run: python3 -c "import brought, os; print('brought', brought.X, os.environ['FOUND'])"
"""
    done = run_dumping(world, text)
    log = world.stoker("logs", "-", "--stream", "system").stdout
    results.check("setup: what it installs and writes reaches run", "brought 5 a b" in done.stdout, done.stdout + log)
    results.check(
        "setup: said: a wrong line, and ~/.bashrc",
        "line 2: nonsense has no value" in log and "setup changed ~/.bashrc" in log and "~/.bashrc" in done.stderr,
        log + done.stderr,
    )
    other = world.stoker("run", "--", "python3", "-c", "import brought")
    results.check(
        "setup: nobody else finds it", other.returncode != 0 and "No module named 'brought'" in other.stderr + other.stdout, other.stderr
    )
    # An environment is free again when the node that had it is gone.
    world.wait_for("the first job's environment is free", lambda: all(free(p) for p in (world.home / ".cache/stoker/venv").glob("*.lock")))
    again = run_dumping(world, text.replace("run: ", "num_nodes: 2\nrun: "))
    results.check("setup: nodes that run at once have one each", again.stdout.count("brought 5 a b") == 2, again.stdout)
    made = sorted((world.home / ".cache/stoker/venv").glob("*[0-9]"))
    results.check("setup: kept for the next", len(made) == 2, made)
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", world.home / "mine"], check=True)
    packages = next((world.home / "mine" / "lib").iterdir()) / "site-packages"
    (packages / "own.py").write_text("Y = 6")
    path = {"PATH": f"{world.home}/mine/bin:{world.env['PATH']}", "VIRTUAL_ENV": f"{world.home}/mine"}
    done = world.stoker("run", "job.yaml", env=path, timeout=90)
    mine = world.stoker("run", "--", "python3", "-c", "import own; print('own', own.Y)", env=path)
    (world.work / "job.yaml").write_text(text.replace("import brought", "import own, brought"))
    both = world.stoker("run", "job.yaml", env=path, timeout=90)
    results.check("setup: an activated environment is used", "own 6" in mine.stdout, mine.stderr)
    results.check(
        "setup: and seen, not written to",
        "brought 5 a b" in both.stdout and not (packages / "brought.py").exists(),
        both.stdout + both.stderr,
    )


def nodes(results, world):
    code = (
        "import os, socket; n = os.environ['NODES'].split(); "
        "print('found', n.index(socket.gethostname()), "
        "socket.gethostbyname(n[0]) == os.environ['MASTER_ADDR'])"
    )
    done = world.stoker("run", "--num-nodes", "2", "--", PYTHON, "-c", code)
    results.check(
        "nodes: each finds itself by gethostname()",
        "found 0 True" in done.stdout and "found 1 True" in done.stdout,
        done.stdout + done.stderr,
    )
    one = world.stoker("run", "--", PYTHON, "-c", "import os, socket; print('alone', os.environ['NODES'] == socket.gethostname())")
    results.check("nodes: one alone keeps the machine's name", "alone True" in one.stdout, one.stderr)
    told = world.stoker("run", "--num-nodes", "2", "--ending", "subreaper", "--", "sh", "-c", 'echo "$NODES" = $(echo $STOKER_NODE_IPS)')
    log = world.stoker("logs", "-", "--stream", "system").stdout
    lines = [line.split("] ")[-1] for line in told.stdout.splitlines() if " = " in line]
    results.check(
        "nodes: without namespaces addresses, and it is said",
        len(lines) == 2 and all(a == b for a, b in (x.split(" = ") for x in lines)) and "no host names of their own" in log,
        told.stdout + log,
    )


def retried(results, world):
    """A retry has no secret but what it is given anew, as its error says."""
    job = world.submit("--secret", "TOKEN", "--", "sh", "-c", "echo got ${#TOKEN}; exit 3", env={"TOKEN": SECRET})
    world.stoker("wait", job, timeout=60)
    refused = world.stoker("retry", job)
    results.check(
        "retry: without its secret it is refused, and says how to give it",
        refused.returncode == 1 and "--secret TOKEN=@FILE" in refused.stderr,
        refused.stderr,
    )
    (world.root / "token").write_text("another\n")
    again = world.stoker("retry", job, "--secret", f"TOKEN=@{world.root}/token", timeout=60)
    results.check("retry --secret: it has it", "got 7" in again.stdout, again.stdout + again.stderr)
    other = world.stoker("retry", job, "--secret", f"OTHER=@{world.root}/token")
    results.check("retry --secret: no other", other.returncode == 2 and "no such secret" in other.stderr, other.stderr)


def main():
    results = Results()
    for test in (page_and_code, shell, named, whole, secrets, retried, lost_and_swept, setup, nodes):
        if sys.argv[1:] and test.__name__ not in sys.argv[1:]:
            continue
        with World("environment") as world:
            results.run(test.__name__, test, results, world)
    results.finish()


main()
