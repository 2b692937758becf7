# SPDX-License-Identifier: Apache-2.0
"""What lets in whom it knows: an index of packages, and a git repository over HTTP."""

import base64
import email.message
import http.server
import io
import os
import pathlib
import subprocess
import tarfile
import threading
import time
import urllib.parse
import zipfile

INFO = "Metadata-Version: 2.1\nName: %s\nVersion: 1.0\n"
# A build that needs no package but the one that it names.
BACKEND = """
import os, zipfile
NAME = "%s"
def build_wheel(folder, config_settings=None, metadata_directory=None):
    info, whole = NAME + "-1.0.dist-info/", NAME + "-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, whole), "w") as out:
        out.write(NAME + ".py", NAME + ".py")
        out.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: " + NAME + "\\nVersion: 1.0\\n")
        out.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: hand\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        out.writestr(info + "RECORD", "")
    return whole
"""
PROJECT = '[project]\nname = "%s"\nversion = "1.0"\n[build-system]\nrequires = [%s]\nbuild-backend = "backend"\nbackend-path = ["."]\n'


def wheel(name):
    held, info = io.BytesIO(), f"{name}-1.0.dist-info/"
    with zipfile.ZipFile(held, "w") as out:
        out.writestr(f"{name}.py", f"WORD = '{name}'\n")
        out.writestr(info + "METADATA", INFO % name)
        out.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        out.writestr(info + "RECORD", "")
    return held.getvalue()


def source(name, needs=""):
    """Files of a package that is built where it is installed, with `needs` out of the index."""
    project = PROJECT % (name, f'"{needs}"' if needs else "")
    return {f"{name}.py": f"WORD = '{name}'\n", "backend.py": BACKEND % name, "pyproject.toml": project}


def sdist(name, needs=""):
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as out:
        for path, text in {**source(name, needs), "PKG-INFO": INFO % name}.items():
            member = tarfile.TarInfo(f"{name}-1.0/{path}")
            member.size, member.mtime = len(text), 1e9
            out.addfile(member, io.BytesIO(text.encode()))
    return held.getvalue()


class Private(http.server.BaseHTTPRequestHandler):
    """`password`: as it stands in a URL. Slow enough for who looks at the processes that wait for it."""

    user = "me"
    password = ""
    slow = 0.0
    let_in = 0

    def log_message(self, *_):
        pass

    def knows(self):
        login = f"{self.user}:{urllib.parse.unquote(self.password)}"
        if self.headers.get("Authorization") == "Basic " + base64.b64encode(login.encode()).decode():
            type(self).let_in += 1
            time.sleep(self.slow)
            return True
        self.out(401, b"", {"WWW-Authenticate": 'Basic realm="x"'})
        return False

    def out(self, status, body, headers):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    @classmethod
    def serve(cls, address, **more):
        """The port; until this process ends."""
        server = http.server.ThreadingHTTPServer((address, 0), type(cls.__name__, (cls,), more))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server


class Index(Private):
    """A simple index (PEP 503): `files` by name."""

    files = {}

    def do_GET(self):
        if not self.knows():
            return None
        name = self.path.rstrip("/").rsplit("/", 1)[1]
        if name in self.files:
            return self.out(200, self.files[name], {"Content-Type": "application/octet-stream"})
        there = [f'<a href="/files/{each}">{each}</a>' for each in self.files if each.split("-")[0] == name]
        return self.out(200 if there else 404, "\n".join(there).encode(), {"Content-Type": "text/html"})

    do_HEAD = do_GET


class Git(Private):
    """Repositories below `root`, by git's own http-backend."""

    root = ""

    def do_GET(self):
        if not self.knows():
            return
        path, _, query = self.path.partition("?")
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": self.root,
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REMOTE_USER": self.user,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        done = subprocess.run(["git", "http-backend"], env=env, input=body, capture_output=True, timeout=30)
        head, _, told = done.stdout.partition(b"\r\n\r\n")
        headers = email.message_from_bytes(head + b"\r\n\r\n")
        self.out(int(headers.get("Status", "200").split()[0]), told, {name: headers[name] for name in headers if name != "Status"})

    do_POST = do_GET


def repository(root, name, files):
    """A bare one below `root`, with `files` on its branch main."""
    work = pathlib.Path(root) / f"{name}-work"
    work.mkdir(parents=True)
    for path, text in files.items():
        (work / path).write_text(text)
    env = {"PATH": os.environ["PATH"], "HOME": str(work), "GIT_CONFIG_NOSYSTEM": "1"}
    env |= {f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    bare = f"{root}/{name}.git"
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "x"], ["clone", "-q", "--bare", ".", bare]):
        subprocess.run(["git", *words], cwd=work, env=env, check=True, timeout=60)
