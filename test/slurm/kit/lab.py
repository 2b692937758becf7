# SPDX-License-Identifier: Apache-2.0
"""A real Slurm on this machine for one test: the distribution's slurmctld and one slurmd a node, on
free ports of loopback, with folders and a munge key of their own, run by whoever runs the test.

    with Lab() as lab:
        lab.out("sbatch", …)         # Slurm's own programs, by lab.env

What is stood in for: the nodes n1…n6 are one machine, so they share its disk and its CPUs. Slurm
is told that each has CPUs of its own. Nothing of it is left when the Lab is closed; `left()` tells
what its jobs have left before."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

CONF = """\
ClusterName=lab
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={dir}/munge.socket,cred_expire=5
SlurmctldPort={port}
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool/%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.%n.pid
SlurmctldLogFile={dir}/log/slurmctld.log
SlurmdLogFile={dir}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
{accounting}
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
SlurmdParameters=config_overrides
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
EnforcePartLimits=ALL
PreemptType=preempt/partition_prio
PreemptMode={preempt}
KillWait=5
InactiveLimit=0
MinJobAge={keep}
SlurmdTimeout=10
MessageTimeout=10
{nodes}
PartitionName=main Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP PriorityTier=2
PartitionName=two Nodes=n[1-2] MaxTime=INFINITE State=UP PriorityTier=2
PartitionName=short Nodes=n[1-3] MaxTime={short} State=UP PriorityTier=2
PartitionName=low Nodes=n4 MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=15
PartitionName=high Nodes=n4 MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
PartitionName=under Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=5
PartitionName=over Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
PartitionName=frail Nodes=n[5-6] MaxTime=INFINITE State=UP PriorityTier=2
{gpus}"""

GPUS = """\
GresTypes=gpu
PartitionName=gpu Nodes={gpu_nodes} MaxTime={gpu_time} State=UP PriorityTier=2
"""

NO_ACCOUNTING = "AccountingStorageType=accounting_storage/none"
# slurmdbd's, and what of it slurmctld is told.
ACCOUNTING = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={dbd}
AccountingStoragePass={dir}/munge.socket
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu,gres/gpu:l4"""
DBD = """\
AuthType=auth/munge
AuthInfo=socket={dir}/munge.socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={dbd}
SlurmUser={user}
PidFile={dir}/slurmdbd.pid
LogFile={dir}/log/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={sql}
StorageUser=slurm
StoragePass={word}
StorageLoc=slurm_acct_db
"""
SQL = """\
[mariadbd]
datadir={dir}/sql
socket={dir}/sql.socket
pid-file={dir}/sql.pid
bind-address=127.0.0.1
port={sql}
innodb_buffer_pool_size=64M
innodb_log_file_size=8M
innodb_flush_log_at_trx_commit=0
innodb_lock_wait_timeout=900
performance_schema=off
"""

NODE = "NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory={memory} State=UNKNOWN"
DEVICES = ("null", "zero", "full", "random")


def free_ports(count):
    """Not of the range from which the kernel gives ports to whoever asks for none."""
    found = []
    port = 16000 + os.getpid() * 37 % 10000
    while len(found) < count:
        port = port + 1 if port < 30000 else 16000
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
    return found


class Lab:
    # `accounting`: MariaDB and slurmdbd, too, with the account "vision", which this user is in, and
    # the QOS "long", of which a user has at most `qos_cpus` CPUs at once.
    # `gpus`: more nodes, "gpu1" … in the partition "gpu", each with two GPUs: /dev/null and
    # /dev/zero stand in for them. `gpu_nodes` are how many, `big`: of 8 CPUs, 64 GB and 4 GPUs.
    def __init__(
        self, nodes=6, cpus=4, short="0:02:00", preempt="CANCEL", keep=300, gpus=False, accounting=False, qos_cpus=2, gpu_nodes=1, big=False
    ):
        wanted = ["slurmctld", "slurmd", "munged", "sbatch"]
        if accounting:
            wanted += ["slurmdbd", "mariadbd", "mariadb-install-db", "sacctmgr"]
        for program in wanted:
            if self.which(program) is None:
                sys.exit(f"{program} is not installed: './dev test' installs slurm-wlm and munge, and slurmdbd and mariadb-server")
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="stoker-slurm-"))
        self.dir.chmod(0o755)
        for folder in ("state", "spool", "log"):
            (self.dir / folder).mkdir()
        self.names = [f"n{i + 1}" for i in range(nodes)]
        with_gpus = [f"gpu{i + 1}" for i in range(gpu_nodes if gpus else 0)]
        self.names += with_gpus
        for name in self.names:
            (self.dir / "spool" / name).mkdir()
        controller, dbd, sql, *ports = free_ports(len(self.names) + 3)
        self.accounting, self.qos_cpus = accounting, qos_cpus
        devices = DEVICES[: 4 if big else 2]
        self.settings = {
            "dir": self.dir,
            "user": self.user(),
            "port": controller,
            "short": short,
            "preempt": preempt,
            "keep": keep,
            "dbd": dbd,
            "sql": sql,
            "nodes": "\n".join(
                NODE.format(
                    name=name, port=port, cpus=8 if big and name in with_gpus else cpus, memory=70000 if big and name in with_gpus else 4000
                )
                + (f" Gres=gpu:l4:{len(devices)} Feature=nvme" if name in with_gpus else "")
                for name, port in zip(self.names, ports)
            ),
            "gpus": GPUS.format(gpu_nodes=",".join(with_gpus), gpu_time="2-00:00:00" if big else "30:00") if gpus else "",
        }
        self.settings["accounting"] = ACCOUNTING.format(**self.settings) if accounting else NO_ACCOUNTING
        self.conf = self.dir / "slurm.conf"
        self.conf.write_text(CONF.format(**self.settings))
        if gpus:
            # Slurm wants character devices, and nobody opens them.
            (self.dir / "gres.conf").write_text(
                "".join(f"NodeName={name} Name=gpu Type=l4 File=/dev/{device}\n" for name in with_gpus for device in devices)
            )
        # The mark by which whatever it starts is found again.
        self.env = {**os.environ, "SLURM_CONF": str(self.conf)}
        self.daemons = {}
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    @staticmethod
    def which(program):
        return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")

    @staticmethod
    def user():
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def start(self):
        key = self.dir / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        self.daemon(
            "munged",
            "munged",
            "--foreground",
            f"--key-file={key}",
            "--force",
            f"--socket={self.dir}/munge.socket",
            f"--pid-file={self.dir}/munged.pid",
            f"--log-file={self.dir}/log/munged.log",
            f"--seed-file={self.dir}/munge.seed",
            "--num-threads=2",
        )
        self.wait_for("munged", lambda: (self.dir / "munge.socket").exists())
        if self.accounting:
            self.start_accounting()
        self.start_controller()
        for name in self.names:
            self.start_node(name)
        self.wait_for("all nodes to be idle", self.idle, 60)

    def start_accounting(self):
        user, word = self.user(), os.urandom(12).hex()
        (self.dir / "sql.cnf").write_text(SQL.format(**self.settings))
        with (self.dir / "log" / "sql-install.out").open("wb") as log:
            subprocess.run(
                [
                    self.which("mariadb-install-db"),
                    "--no-defaults",
                    f"--datadir={self.dir}/sql",
                    "--auth-root-authentication-method=normal",
                    "--skip-test-db",
                    "--skip-name-resolve",
                    "--innodb-log-file-size=8M",
                    f"--user={user}",
                ],
                check=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.env,
            )
        self.daemon("mariadbd", "mariadbd", f"--defaults-file={self.dir}/sql.cnf", f"--user={user}")
        self.wait_for("mariadbd", lambda: (self.dir / "sql.socket").exists())
        subprocess.run(
            [self.which("mariadb"), "--no-defaults", f"--socket={self.dir}/sql.socket", "--user=root"],
            check=True,
            text=True,
            env=self.env,
            stdout=subprocess.DEVNULL,
            input=f"create user 'slurm'@'127.0.0.1' identified by '{word}';grant all on slurm_acct_db.* to 'slurm'@'127.0.0.1';",
        )
        conf = self.dir / "slurmdbd.conf"  # found beside slurm.conf
        conf.touch(0o600)
        conf.write_text(DBD.format(word=word, **self.settings))
        self.daemon("slurmdbd", "slurmdbd", "-D")
        self.wait_for("slurmdbd", lambda: self.try_out("sacctmgr", "-n", "show", "cluster") is not None, 60, 0.2)
        for words in (
            ("add", "cluster", "lab"),
            ("add", "account", "vision", "cluster=lab"),
            ("add", "qos", "long", f"MaxTRESPerUser=cpu={self.qos_cpus}"),
            ("add", "user", user, "account=vision", "qos=normal,long"),
        ):
            self.out("sacctmgr", "-i", *words)

    def daemon(self, name, program, *words):
        log = (self.dir / "log" / f"{name}.out").open("ab")
        self.daemons[name] = subprocess.Popen(
            [self.which(program), *words], env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True
        )

    def start_controller(self):
        self.daemon("slurmctld", "slurmctld", "-D", "-f", str(self.conf))

    def stop_controller(self):
        self.stop("slurmctld")

    def saved(self):
        """What slurmctld would know now if it died: a folder for `lose`."""
        self.stop_controller()
        folder = self.dir / f"saved-{time.monotonic_ns()}"
        shutil.copytree(self.dir / "state", folder)
        self.start_controller()
        self.wait_for("slurmctld", lambda: self.try_out("squeue") is not None)
        return folder

    def lose(self, saved):
        """slurmctld dies, and knows what it had saved by then. It saves seconds after the fact, and
        numbers jobs from there on again."""
        self.stop("slurmctld", signal.SIGKILL)
        shutil.rmtree(self.dir / "state")
        shutil.copytree(saved, self.dir / "state")
        self.start_controller()

    def resume_nodes(self, but=()):
        """What an administrator does about nodes that slurmctld has drained: "Kill task failed" of
        one that was killed, "batch job complete failure" of one that could not begin a job beside
        a lost one of the same number. [(name, why)]"""
        found = []
        for line in (self.try_out("sinfo", "-h", "-N", "-R", "-o", "%N|%T|%E") or "").splitlines():
            name, state, why = line.split("|", 2)
            if "drain" in state and name not in but:
                found.append((name, why))
                self.try_out("scontrol", "update", f"NodeName={name}", "State=RESUME")
        return found

    def start_node(self, name):
        self.daemon(name, "slurmd", "-D", "-f", str(self.conf), "-N", name)

    def stop(self, name, how=signal.SIGTERM):
        daemon = self.daemons.pop(name, None)
        if daemon is None:
            return
        daemon.send_signal(how)
        try:
            daemon.wait(20)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()

    def kill_node(self, name):
        """As if its power failed: slurmd, and all that it has started, at once."""
        root = self.daemons[name].pid
        self.daemons.pop(name).kill()
        mark = f"SLURMD_NODENAME={name}".encode()
        for pid in self.processes():
            # A step's own daemon is a child of init by now, and has the node in its command line.
            if pid != root and (mark in self.environ(pid) or f"[{name}]" in self.command(pid) or self.is_stepd_of(pid, name)):
                self.kill(pid)

    def is_stepd_of(self, pid, name):
        """slurmstepd keeps its socket in its node's spool."""
        if "slurmstepd" not in self.command(pid):
            return False
        try:
            files = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            return False
        return any(f"slurmd.{name}.log" in file for file in files)

    @staticmethod
    def kill(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass

    def idle(self):
        states = self.try_out("sinfo", "-h", "-N", "-o", "%N %T")
        return states is not None and {tuple(line.split()) for line in states.splitlines()} == {(name, "idle") for name in self.names}

    def try_out(self, *words):
        done = subprocess.run(words, env=self.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return done.stdout if done.returncode == 0 else None

    def out(self, *words):
        done = subprocess.run(words, env=self.env, text=True, capture_output=True)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def queue(self):
        """(id, name, state) of all that has not ended."""
        text = self.out("squeue", "-h", "-a", "-o", "%i|%j|%T")
        return [tuple(line.split("|")) for line in text.splitlines()]

    OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED")

    def all_jobs(self):
        """The same, and what Slurm remembers of those that have ended."""
        text = self.try_out("squeue", "-h", "-a", "--states=all", "-o", "%i|%j|%T") or ""
        return [tuple(line.split("|")) for line in text.splitlines()]

    @staticmethod
    def wait_for(what, there, limit=30, pause=0.05):
        end = time.monotonic() + limit
        while True:
            found = there()
            if found:
                return found
            assert time.monotonic() < end, f"waited {limit} s for {what}"
            time.sleep(pause)

    @staticmethod
    def environ(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return b""

    @staticmethod
    def command(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""

    def processes(self):
        mark = f"SLURM_CONF={self.conf}".encode()
        me = os.getpid()
        return [
            int(p.name) for p in pathlib.Path("/proc").iterdir() if p.name.isdigit() and int(p.name) != me and mark in self.environ(p.name)
        ]

    def left(self):
        """Command lines of what its jobs have started and that still lives."""
        own = ("slurmctld", "slurmd ", "munged", "slurmd-", "slurmdbd", "mariadbd")
        all_of_it = {pid: self.command(pid) for pid in self.processes()}
        daemons = {daemon.pid for daemon in self.daemons.values()}
        return {pid: line for pid, line in all_of_it.items() if line and pid not in daemons and not line.split("/")[-1].startswith(own)}

    def close(self):
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # whoever asks twice waits for this
        for name in list(self.daemons):
            self.stop(name, signal.SIGTERM)
        end = time.monotonic() + 20
        while time.monotonic() < end and (pids := self.processes()):
            for pid in pids:
                self.kill(pid)
            time.sleep(0.05)
        shutil.rmtree(self.dir, ignore_errors=True)


if __name__ == "__main__":
    # For a look around: a shell in which Slurm's programs speak to a lab.
    with Lab() as lab:
        subprocess.run([os.environ.get("SHELL", "/bin/sh")], env=lab.env)
