# SPDX-License-Identifier: Apache-2.0
"""Sources of packages for dnf, as packages.py is one for apt: dnf itself as Debian has it, and docker and
podman as Debian has them, packed as rpm packages under the names that Amazon Linux and Fedora have for
them. Neither's own packages can be had where these tests run: dnf's words are tried, and not what their
packages do. Made once under $XDG_CACHE_HOME/stoker-test."""

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

from test.cloud import packages
from test.cloud_env import cache_root
from test.limits.machine import need

SPEC = """Name: {name}
Version: 1
Release: 1
Summary: of the lab
License: none
AutoReqProv: no
{more}
%global debug_package %{{nil}}
%global __os_install_post %{{nil}}
%global _build_id_links none
%global _binary_payload w1.gzdio
%description
As Debian has it.
%install
cp -a {tree}/. %{{buildroot}}/
%pre
{before}
%files -f {files}
"""
# As the packages of docker do, whose socket is the group's.
BEFORE = {"docker": "getent group docker >/dev/null || groupadd --system docker"}
# Of what a system has of its own, this is asked for.
MORE = {"system": "Provides: /bin/sh"}
# Of Amazon Linux, podman lies in a source that a package of its own adds.
SPAL = "[spal]\nname=spal\nbaseurl=$lab/spal\ngpgcheck=0\n"
MAIN = "[lab]\nname=lab\nbaseurl=$lab/{system}\ngpgcheck=0\n"
SOURCES = {"amzn": ("system", "docker", "spal-release"), "spal": ("podman",), "fedora": ("system", "podman")}


def unpack(source, tree):
    """All of a source of Debian's packages, with everything of /lib and the like where /usr has it."""
    tree.mkdir(parents=True)
    for package in sorted(pathlib.Path(source).glob("*.deb")):
        subprocess.run(["dpkg-deb", "--extract", str(package), str(tree)], check=True)
    for name in ("bin", "sbin", "lib"):
        if (tree / name).is_dir():
            subprocess.run(["cp", "--archive", f"{tree / name}/.", str(tree / "usr" / name)], check=True)
            shutil.rmtree(tree / name)


def build(folder, name, tree):
    """folder/NAME-1-1.ARCH.rpm, which has the files of `tree`, and no folder as its own."""
    files = [f"/{one.relative_to(tree)}" for one in tree.rglob("*") if one.is_symlink() or not one.is_dir()]
    (folder / "files").write_text("".join(f'"{one}"\n' for one in files))
    words = {"more": MORE.get(name, ""), "before": BEFORE.get(name, ":")}
    (folder / "spec").write_text(SPEC.format(name=name, tree=tree, files=folder / "files", **words))
    where = ["--define", f"_topdir {folder}/build", "--define", f"_rpmdir {folder}", "--define", "_build_name_fmt %{NAME}.rpm"]
    done = subprocess.run(["rpmbuild", "-bb", "--quiet", *where, str(folder / "spec")], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"rpm_source: {name} cannot be packed:\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
    shutil.rmtree(folder / "build")


def make(folder, tree):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, debian in (("docker", "docker.io"), ("podman", "podman")):
        unpack(packages.of(tree, debian), folder / "tree")
        build(folder, name, folder / "tree")
        shutil.rmtree(folder / "tree")
    for name, file, text in (("spal-release", "etc/yum.repos.d/spal.repo", SPAL), ("system", "etc/of-the-lab", "")):
        (folder / "tree" / file).parent.mkdir(parents=True)
        (folder / "tree" / file).write_text(text)
        build(folder, name, folder / "tree")
        shutil.rmtree(folder / "tree")
    for source, names in SOURCES.items():
        (folder / source).mkdir()
        for name in names:
            os.link(folder / f"{name}.rpm", folder / source / f"{name}.rpm")
        subprocess.run(["createrepo_c", "--quiet", str(folder / source)], check=True)
    unpack(packages.of(tree, "dnf"), folder / "dnf")
    (folder / "whole").touch()


def of(tree):
    """The folder of the sources; waits while another test makes it."""
    version = hashlib.sha256(repr((SPEC, BEFORE, MORE, SPAL, SOURCES)).encode()).hexdigest()[:12]
    room = os.path.basename(os.path.dirname(tree))
    folder = pathlib.Path(cache_root()) / f"rpms-{room}-{version}"
    with open(f"{folder}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            need("rpmbuild", "rpm")
            need("createrepo_c", "createrepo-c")
            make(folder, tree)
    return folder


def dress(disk, folder, system, address):
    """Makes of a room's disk one of `system` (an ID of os-release), which has dnf, and no apt."""
    subprocess.run(["cp", "--archive", f"{folder / 'dnf'}/.", str(disk)], check=True)
    for name in ("apt-get", "apt"):
        os.mknod(disk / "usr/bin" / name, 0o020000, 0)  # as an overlay notes that a file is gone
    texts = {
        "etc/os-release": f'NAME="As the lab has it"\nID="{system}"\nVERSION_ID="2023"\n',
        "etc/yum.repos.d/lab.repo": MAIN.format(system=system),
        "etc/dnf/vars/lab": f"{address}\n",
    }
    for name, text in texts.items():
        (disk / name).parent.mkdir(parents=True, exist_ok=True)
        (disk / name).unlink(missing_ok=True)
        (disk / name).write_text(text)
