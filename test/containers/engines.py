# SPDX-License-Identifier: Apache-2.0
"""Engines for containers, each with folders of its own that go with the test: podman with a storage
and settings of its own, docker with a daemon of its own. What is missing comes by apt, and no
service of it is started."""

import fcntl
import json
import os
import pathlib
import pwd
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import time

from test.cloud_env import cache_root

PACKAGES = {
    "podman": ["podman", "runc", "conmon", "busybox-static"],
    "docker": ["docker.io", "runc", "busybox-static"],
    "rootless": ["podman", "runc", "conmon", "uidmap", "slirp4netns", "catatonit", "busybox-static"],
    "registry": ["docker-registry", "apache2-utils", "openssl", "skopeo"],
    "inits": ["tini", "dumb-init"],
    "crun": ["crun"],
}
PROGRAMS = {
    "podman": ["podman", "runc", "busybox"],
    "docker": ["dockerd", "docker", "runc", "busybox"],
    "rootless": ["podman", "runc", "newuidmap", "catatonit", "busybox"],
    "registry": ["docker-registry", "htpasswd", "openssl", "skopeo"],
    "inits": ["tini-static", "dumb-init"],
    "crun": ["crun"],
}
USER = "stoker-boxed"  # has user ids below it, which takes a name
POLICY = pathlib.Path("/usr/sbin/policy-rc.d")
# What a machine lets its root give away: here one may be a container without CAP_SYS_RESOURCE, where
# podman's own limits are refused. runc, as crun of Debian 12 wants one version of cgroups.
SETTINGS = """[containers]
default_ulimits = ["nofile=%(files)s:%(files)s", "nproc=%(processes)s:%(processes)s"]
[engine]
runtime = "runc"
"""
BUSYBOX = "sh ls cat sleep id env mount ps hostname kill true false stat df dd grep tr".split()


def sbin():
    return os.environ["PATH"] + ":/usr/sbin:/sbin"


def bring(kind):
    """Installs what is missing of an engine, or of a registry; a test without it is a failure, not a pass."""
    packages = PACKAGES[kind]
    if all(shutil.which(one, path=sbin()) for one in PROGRAMS[kind]):
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        sys.exit(f"containers: as root, run: apt-get install {' '.join(packages)}")
    with open(os.path.join(cache_root(), "engines.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mine = not POLICY.exists()
        if mine:
            POLICY.write_text("#!/bin/sh\nexit 101\n")
            POLICY.chmod(0o755)
        try:
            quiet = {"DEBIAN_FRONTEND": "noninteractive", **os.environ}
            for words in (["update", "-q"], ["install", "-q", "-y", "--no-install-recommends", *packages]):
                done = subprocess.run(["apt-get", *words], env=quiet, capture_output=True, text=True)
                if done.returncode != 0:
                    sys.exit(f"containers: apt-get {words[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        finally:
            if mine:
                POLICY.unlink()


def hard(name):
    most = resource.getrlimit(name)[1]
    return 32768 if most == resource.RLIM_INFINITY else min(most, 32768)


def libraries(program):
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return sorted({word for line in told.splitlines() for word in line.split() if word.startswith("/")})


def add(tar, path):
    """What `path` leads to, and all links on the way."""
    while os.path.islink(path):
        tar.add(path, path.lstrip("/"), recursive=False)
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
    tar.add(path, path.lstrip("/"), recursive=True)


def skip_caches(info):
    return None if "__pycache__" in info.name or "/test/" in info.name else info


def add_busybox(tar, *more):
    """The folders of a small system, `more`, and busybox by each of its names."""
    for folder in ("tmp", "etc", "proc", "sys", "dev", "bin", *more):
        entry = tarfile.TarInfo(folder)
        entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
        tar.addfile(entry)
    tar.add(shutil.which("busybox"), "bin/busybox")
    for name in BUSYBOX:
        link = tarfile.TarInfo("bin/" + name)
        link.type, link.linkname = tarfile.SYMTYPE, "busybox"
        tar.addfile(link)


def image(path):
    """A tar of an image's tree: busybox, and this system's python3 with its library."""
    python = os.path.realpath("/usr/bin/python3")
    library = subprocess.run(
        ["/usr/bin/python3", "-c", "import os; print(os.path.dirname(os.__file__))"], capture_output=True, text=True, check=True
    ).stdout.strip()
    modules = [str(one) for one in pathlib.Path(library, "lib-dynload").glob("*.so")]
    needed = set(libraries(python))
    for module in modules:
        needed.update(libraries(module))
    with tarfile.open(path, "w") as tar:
        add_busybox(tar, "root", "data")
        tar.add(python, python.lstrip("/"))
        link = tarfile.TarInfo("usr/bin/python3")
        link.type, link.linkname = tarfile.SYMTYPE, python
        tar.addfile(link)
        tar.add(library, library.lstrip("/"), filter=skip_caches)
        for file in needed:
            real = os.path.realpath(file)
            tar.add(real, file.lstrip("/"))


HOST_IMAGE = "localhost/host:1"


def host_image(path):
    """A tar of an image whose /usr is this machine's, mounted: for programs that need torch."""
    with tarfile.open(path, "w") as tar:
        for folder in ("tmp", "root", "etc", "proc", "sys", "dev", "usr", "var"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(entry)
        for name in ("bin", "sbin", "lib", "lib64"):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, "usr/" + name
            tar.addfile(link)
        for name in ("/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/passwd", "/etc/group"):
            tar.add(name, name.lstrip("/"))


def host_container(engine, folders=(), image=HOST_IMAGE, usr="/usr"):
    """The section of a job file."""
    volumes = [f"{usr}:/usr:ro", *(f"{folder}:{folder}" for folder in folders)]
    return f"container:\n  image: {image}\n  engine: {engine}\n  volumes: {json.dumps(volumes)}\n"


def owner(pid):
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return -1


def make_user():
    """An ordinary user's id, who has a range of others; goes with remove_user. One test has it at a time."""
    held = os.open(os.path.join(cache_root(), "user.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)  # until this process ends: at a user's end all of its processes go
    remove_user()
    words = ["useradd", "--no-create-home", "--shell", "/bin/sh"]
    # Who has no password is let in by ssh with a key, who is locked is not.
    subprocess.run([*words, "--password", "*", USER], check=True, capture_output=True, env={"PATH": sbin()})
    return pwd.getpwnam(USER).pw_uid


def remove_user():
    subprocess.run(["userdel", USER], check=False, capture_output=True, env={"PATH": sbin()})


class Engine:
    """`env` leads its client, and stoker, to this one alone. `world`: whose user has it."""

    def __init__(self, kind, world, which="localhost/py:1"):
        """`which`: the image that it has."""
        self.which = which
        self.name = "docker" if kind == "docker" else "podman"
        self.image = "localhost/py:1"
        self.world = world
        self.folder = world.root / "engine"
        self.folder.mkdir()
        world.own(self.folder)
        self.daemon = None
        bring(kind)
        self.client = shutil.which(self.name, path=sbin())
        self.env = {"PATH": sbin(), "HOME": str(world.home)}
        if world.user:
            self.env.update(USER=USER, LOGNAME=USER)
        if self.name == "podman":
            self.settle_podman()
        else:
            self.start_docker()
        self.load()

    def settle_podman(self):
        settings, storage = self.folder / "containers.conf", self.folder / "storage.conf"
        settings.write_text(SETTINGS % {"files": hard(resource.RLIMIT_NOFILE), "processes": hard(resource.RLIMIT_NPROC)})
        places = f'graphroot = "{self.folder}/root"\nrunroot = "{self.folder}/run"\n'
        if self.world.user:  # it takes no graphroot: that is of its home, which on a box is another
            places += f'rootless_storage_path = "{self.folder}/root"\n'
        storage.write_text(f'[storage]\ndriver = "overlay"\n{places}')
        runtime = self.folder / "user"
        runtime.mkdir(mode=0o700)
        self.world.own(settings, storage, runtime)
        self.env.update(XDG_RUNTIME_DIR=str(runtime))
        self.env.update(CONTAINERS_CONF=str(settings), CONTAINERS_STORAGE_CONF=str(storage))

    def start_docker(self):
        socket = f"unix://{self.folder}/docker.sock"
        self.env["DOCKER_HOST"] = socket
        self.log = open(self.folder / "daemon.log", "w", encoding="utf-8")
        self.daemon = subprocess.Popen(
            [shutil.which("dockerd", path=sbin()), "--iptables=false", "--bridge=none", f"--data-root={self.folder}/root"]
            + [f"--exec-root={self.folder}/exec", f"--pidfile={self.folder}/pid", f"--host={socket}"]
            + [f"--group={self.world.user.get('group', 0)}"],  # who may ask it
            env=self.env,
            stdout=self.log,
            stderr=self.log,
        )
        end = time.monotonic() + 60
        while self.run("version", check=False).returncode != 0:
            if self.daemon.poll() is not None or time.monotonic() > end:
                sys.exit("containers: dockerd does not come up:\n" + (self.folder / "daemon.log").read_text()[-3000:])
            time.sleep(0.1)

    def stop(self):
        """docker's daemon; podman has none."""
        if self.daemon:
            self.daemon.terminate()
            self.daemon.wait(60)

    def go_on(self):
        """After stop."""
        if self.daemon:
            self.start_docker()

    def restart(self):
        """docker's daemon, which was killed: what it left of its containerd is in the way of the next."""
        self.daemon.wait()
        for file in (self.folder / "exec/containerd").glob("*.pid"):
            try:
                os.kill(int(file.read_text()), 9)
            except (OSError, ValueError):
                pass
        for file in [*(self.folder / "exec/containerd").glob("*.pid"), *(self.folder / "exec/containerd").glob("*.sock*")]:
            file.unlink(missing_ok=True)
        (self.folder / "pid").unlink(missing_ok=True)
        self.start_docker()

    def load(self):
        tree = self.folder / "image.tar"
        (host_image if self.which == HOST_IMAGE else image)(tree)
        self.world.own(tree)
        self.run("import", str(tree), self.which)
        tree.unlink()

    def run(self, *words, check=True):
        done = subprocess.run([self.client, *words], env=self.env, capture_output=True, text=True, cwd="/", **self.world.user)
        if check and done.returncode != 0:
            raise AssertionError(f"{self.name} {' '.join(words)} -> {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def containers(self):
        return self.run("ps", "--all", "--quiet", "--no-trunc").stdout.split()

    def unnamed(self):
        """Volumes without a name: of images' VOLUMEs."""
        names = self.run("volume", "ls", "--quiet").stdout.split()
        return [one for one in names if re.fullmatch("[0-9a-f]{64}", one)]

    def build(self, name, text, files=None):
        """An image localhost/NAME:1 of a Dockerfile; `files`: what lies beside it, by name."""
        folder = self.folder / f"build-{name}"
        folder.mkdir()
        (folder / "Dockerfile").write_text(text)
        for path, source in (files or {}).items():
            shutil.copy(source, folder / path)
        self.world.own(folder, *folder.iterdir())
        form = ["--format=docker"] if self.name == "podman" else []  # else a HEALTHCHECK is left out
        self.run("build", *form, "--network=host", f"--tag=localhost/{name}:1", str(folder))
        return f"localhost/{name}:1"

    def left(self):
        """Of any container, as the kernel has it: mounts of this engine's storage, its groups."""
        root = str(self.folder)
        mounts = [line.split()[1] for line in open("/proc/mounts", encoding="utf-8") if line.split()[1].startswith(root)]
        inside = [one for one in mounts if "/merged" in one or "/overlay-containers/" in one or "/containers/" in one]
        return inside

    def strays(self):
        """Of the user that this world made: podman's own keeper of names."""
        if not self.world.user:
            return []
        uid = self.world.user["user"]
        return [int(one) for one in os.listdir("/proc") if one.isdigit() and owner(one) == uid]

    def close(self):
        for one in self.containers():
            self.run("rm", "--force", one, check=False)
        for pid in self.strays():
            os.kill(pid, 15)  # what keeps a user's namespace after its last container
        if self.daemon:
            self.daemon.terminate()
            try:
                self.daemon.wait(30)
            except subprocess.TimeoutExpired:
                self.daemon.kill()
            self.log.close()
        for line in reversed(open("/proc/mounts", encoding="utf-8").read().splitlines()):
            where = line.split()[1]
            if where.startswith(str(self.folder) + "/"):
                subprocess.run(["umount", "--lazy", where], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
