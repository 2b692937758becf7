#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may ask the page for what, by raw sockets: without the token, with a foreign Host or Origin,
with tricks in paths, slowly, and by five hundred at once."""

import json
import os
import pathlib
import shutil
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results, World
from test.page import served

FACTS = (
    "/api/session",
    "/api/jobs",
    "/api/events",
    "/api/job?id={id}",
    "/api/log?id={id}",
    "/api/series?id={id}",
    "/api/usage?id={id}",
    "/api/kept?id={id}",
    "/api/code?id={id}",
    "/download?id={id}&of=output&path=output/model.txt",
)

TRICKS = (
    "/../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "//etc/passwd",
    "/api/../api/jobs",
    "/api%2fjobs",
    "/app.css/",
    "/./app.css",
    "/app.css%00",
    "/\\app.css",
    "/%5capp.css",
    "/app.css%20",
    "/%ff",
    "/api/jobs/.",
    "http://127.0.0.1/api/jobs",
    "*",
    "/" + "a" * 600,
)

# Everything of a request that a page of another site may cause.
FOREIGN_HOSTS = (
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example:80",
    "127.0.0.1:0",
    "127.0.0.1:x",
    "0.0.0.0",
    "[::1]",
    "127.1",
    "LOCALHOST\t.x",
)
FOREIGN_ORIGINS = (
    "http://evil.example",
    "null",
    "https://127.0.0.1:{port}",
    "http://127.0.0.1",
    "http://localhost:{port}",
    "http://127.0.0.1:{port}.evil.example",
)


def test_refused(results, page, job):
    ask = page.ask
    locked = {path: ask(path.format(id=job))[0] for path in FACTS + ("/", "/app.js")}
    results.check("without the cookie nothing is answered", set(locked.values()) == {401}, locked)
    wrong = [ask(f"/?token={token}")[0] for token in ("", "x", page.token[:-1], page.token + "0")]
    results.check("a wrong token opens nothing", wrong == [401, 403, 403, 403], wrong)
    looked = ask(f"/?token={page.token}", method="HEAD")
    results.check("HEAD spends nothing and gets no cookie", looked[0] == 200 and "set-cookie" not in looked[1], looked)
    status, headers, _ = ask(f"/?token={page.token}")
    given = headers.get("set-cookie", "")
    results.check(
        "the token is exchanged for a cookie named by the port",
        status == 200
        and given.startswith(f"stoker_{page.port}=")
        and "HttpOnly" in given
        and "SameSite=Strict" in given
        and page.token not in given,
        given,
    )
    spent = ask(f"/?token={page.token}")
    results.check(
        "the token works once, and the answer names the command for another", spent[0] == 403 and b"stoker ui --link" in spent[2], spent
    )
    links = [page.world.json("ui", "--link") for _ in "ab"]
    tokens = [link["url"].split("token=")[1] for link in links]
    opened = [ask(f"/?token={token}")[0] for token in (*tokens, *tokens)]
    results.check(
        "ui --link: each is another one, good once", {k["port"] for k in links} == {page.port} and opened == [200, 200, 403, 403], opened
    )
    cookie = ("Cookie", given.split(";")[0])
    name, value = given.split(";")[0].split("=")
    near = [
        ask("/api/jobs", headers=[("Cookie", f"{n}={v}")])[0]
        for n, v in ((name, value[:-1]), (name, ""), (name, value + "0"), ("stoker", value), (f"stoker_{page.port + 1}", value))
    ]
    results.check("another cookie is none", set(near) == {401}, near)
    opened = {path: ask(path.format(id=job), headers=[cookie])[0] for path in FACTS if path not in ("/api/events",)}
    results.check("with it, all is answered", set(opened.values()) == {200}, opened)
    return cookie


def test_foreign(results, page, job, cookie):
    hosts = {h: page.ask("/api/jobs", host=h, headers=[cookie])[0] for h in FOREIGN_HOSTS}
    hosts["none"] = page.ask("/api/jobs", host="", headers=[cookie])[0]
    hosts["two"] = page.ask("/api/jobs", headers=[cookie, ("Host", "evil.example")])[0]
    results.check("a foreign Host is refused, with the cookie, too", set(hosts.values()) <= {400, 421}, hosts)
    token = page.ask("/?token=" + page.token, host="evil.example")[0]
    results.check("and gets no cookie", token == 421, token)
    origins = {o: page.ask("/api/jobs", headers=[cookie, ("Origin", o.format(port=page.port))])[0] for o in FOREIGN_ORIGINS}
    results.check("a foreign Origin is refused", set(origins.values()) == {403}, origins)
    site = [page.ask("/api/jobs", headers=[cookie, ("Sec-Fetch-Site", s)])[0] for s in ("cross-site", "same-site", "same-origin", "none")]
    results.check("what another site causes is refused", site == [403, 403, 200, 200], site)
    link = page.ask("/", headers=[("Sec-Fetch-Site", "cross-site")])
    again = page.ask("/?again=1", headers=[("Sec-Fetch-Site", "same-origin")])[0]
    results.check(
        "a link on another site's page gets a page that holds nothing",
        link[0] == 200 and len(link[2]) < 200 and "set-cookie" not in link[1] and again == 401,
        (link, again),
    )
    # ssh -L forwards from another port.
    far = page.ask("/api/jobs", host="localhost:8080", headers=[cookie])[0]
    results.check("another port of this machine's name is not foreign", far == 200, far)


def test_changes(results, page, job, cookie):
    own = ("Origin", f"http://127.0.0.1:{page.port}")
    session = json.loads(page.ask("/api/session", headers=[cookie])[2])
    token = ("X-Stoker-Token", session["token"])
    act = f"/api/act?verb=cancel&id={job}"
    asked = {
        "get": page.ask(act, headers=[cookie, own, token])[0],
        "no cookie": page.ask(act, "POST", [own, token])[0],
        "no token": page.ask(act, "POST", [cookie, own])[0],
        "wrong token": page.ask(act, "POST", [cookie, own, ("X-Stoker-Token", "0" * 64)])[0],
        "cookie's": page.ask(act, "POST", [cookie, own, ("X-Stoker-Token", cookie[1].split("=")[1])])[0],
        "no origin": page.ask(act, "POST", [cookie, token])[0],
        "foreign": page.ask(act, "POST", [cookie, token, ("Origin", "http://evil.example")])[0],
    }
    results.check("a change wants cookie, origin and token together", asked.pop("get") == 405 and set(asked.values()) <= {401, 403}, asked)
    all_three = [cookie, own, token]
    odd = [
        page.ask(f"/api/act?verb={verb}&id={name}", "POST", all_three)[0]
        for verb, name in (("gc", job), ("cancel", "--all"), ("cancel", "a%20b"), ("cancel", "..%2f.."), ("", job), ("cancel", ""))
    ]
    results.check("only the verbs of the page, and only ids", set(odd) == {400}, odd)
    ended = page.ask(act, "POST", all_three)
    results.check("with all three it is done", ended[0] == 200, ended)
    gone = page.ask("/api/act?verb=cancel&id=zzzzzzzz", "POST", all_three)
    results.check("what the verb refuses is told", gone[0] == 409 and b"zzzzzzzz" in gone[2], gone)


def test_acts(results, world, job):
    """By the page's own process: the stoker that it was started from is gone by then, as after an
    update."""
    before, copy = world.binary, world.root / "stoker-of-before"
    shutil.copy(before, copy)
    world.binary = str(copy)
    page = served.Page(world)
    world.binary = before
    copy.unlink()
    cookie = page.enter()
    token = json.loads(page.ask("/api/session", headers=[cookie])[2])["token"]
    rights = [cookie, ("Origin", f"http://127.0.0.1:{page.port}"), ("X-Stoker-Token", token)]

    def act(verb, of):
        status, _, body = page.ask(f"/api/act?verb={verb}&id={of}", "POST", rights)
        return status, json.loads(body)

    status, again = act("retry", job)
    made = again.get("made", "")
    retried = made and world.json("show", made)["job"]
    results.check("a job is begun again, and the answer names the new one", status == 200 and retried["retry_of"] == job, again)
    world.stoker("wait", made, check=True)
    status, told = act("preempt", made)
    results.check("what has ended has no machine to take", status == 409 and "has no machine to take" in told["text"], told)
    status, told = act("cancel", made)
    results.check("nor anything to cancel", status == 200 and "had ended already" in told["text"] and not told["made"], told)
    results.check("Ctrl-C ends that page", page.end() == 0)


def test_paths(results, page, job, cookie):
    found = {path: page.ask(path, headers=[cookie]) for path in TRICKS}
    results.check(
        "tricks in paths open nothing",
        all(status in (400, 404) and b"root:" not in body for status, _, body in found.values()),
        {path: answer[0] for path, answer in found.items()},
    )
    files = [
        page.ask(f"/download?id={job}&of={of}&path={path}", headers=[cookie])[0]
        for of, path in (
            ("output", "../../../records"),
            ("output", "%2fetc%2fpasswd"),
            ("..", "0:x"),
            ("1-1", "0:../x"),
            ("1-1", "x"),
            ("", ""),
        )
    ]
    results.check("nor do they among downloads", set(files) <= {400, 404}, files)
    status, headers, body = page.ask(f"/download?id={job}&of=output&path=output/model.txt", headers=[cookie])
    results.check(
        "a download is whole, and never shown as a page",
        status == 200
        and body == b"m" * 70_000
        and headers["content-disposition"].startswith("attachment")
        and headers["content-type"] == "application/octet-stream"
        and headers["x-content-type-options"] == "nosniff",
        headers,
    )
    policy = page.ask("/", headers=[cookie])[1].get("content-security-policy", "")
    results.check(
        "no script and no style that is not the page's own",
        "default-src 'none'" in policy
        and "script-src 'self';" in policy
        and "style-src 'self';" in policy
        and "unsafe" not in policy
        and "frame-ancestors 'none'" in policy,
        policy,
    )


def test_bounds(results, page, job, cookie, slow):
    long = page.ask("/api/jobs", headers=[cookie, ("X-Long", "a" * 20_000)])[0]
    big = page.ask(f"/api/act?verb=cancel&id={job}", "POST", [cookie], body=b"a" * 100_000)[0]
    bad = served.parse(page.raw(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nbad header\r\n\r\n"))[0]
    results.check(
        "long headers, long bodies and damaged requests are refused",
        long in (0, 400, 413, 431) and big in (0, 401, 413) and bad == 400,
        (long, big, bad),
    )
    rest = served.read_all(slow)  # what was begun with the first check
    results.check("who is slow to ask is cut off", rest == b"", rest)


def test_crowd(results, page, job, cookie):
    before = served.memory_of(page.pid)
    crowd = [page.connect() for _ in range(500)]
    half = crowd[::2]
    for each in half:
        each.sendall(b"GET /api/jobs HTTP/1.1\r\nHost:")
    status = page.ask("/api/jobs", headers=[cookie])[0]
    threads, open_ = served.threads_of(page.pid), served.descriptors_of(page.pid)
    more = served.memory_of(page.pid) - before
    for each in crowd:
        each.close()
    print(f"    among 500 connections: {threads} threads, {open_} descriptors, {more / 1e6:.1f} MB more")
    results.check("among 500 connections the page still answers", status == 200, status)
    results.check("and they are bounded", threads <= 80 and open_ <= 120 and more < 64e6, (threads, open_, more))
    streams = [page.connect() for _ in range(30)]
    request = f"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n{cookie[0]}: {cookie[1]}\r\n\r\n"
    answers = []
    for each in streams:
        each.sendall(request.encode())
        answers.append(each.recv(12).decode().split()[1])
    for each in streams:
        each.close()
    results.check("at most 16 streams at once", answers.count("200") <= 16 and set(answers) == {"200", "503"}, answers)


def test_export(results, world):
    mine = world.work / "site"
    mine.mkdir()
    (mine / "app.js").write_text("mine")
    said = world.stoker("ui", "--export", "site")
    results.check(
        "an export writes over nobody's files",
        said.returncode != 0
        and "other files" in said.stderr
        and sorted(os.listdir(mine)) == ["app.js"]
        and (mine / "app.js").read_text() == "mine",
        said.stderr,
    )
    (world.work / "empty").mkdir()
    for where in ("empty", "new", "new"):
        said = world.stoker("ui", "--export", where)
        results.check(
            f"but into a folder that is {where}", said.returncode == 0 and (world.work / where / "index.html").exists(), said.stderr
        )
    world.stoker("run", "--name", "packs", "--", "ls", "-A", ".", "new", "site", check=True)
    packed = world.stoker("logs", "packs", check=True).stdout.split()
    results.check("a job packs no report", "index.html" not in packed and "data" not in packed and "app.js" in packed, packed)
    (world.work / "new" / "index.html").unlink()
    said = world.stoker("ui", "--export", "new")
    results.check("and goes on where one was cut off", said.returncode == 0, said.stderr)


def main():
    results = Results()
    with World("page") as world:
        program = world.program(
            "import pathlib; pathlib.Path('output').mkdir(exist_ok=True);"
            "pathlib.Path('output/model.txt').write_text('m' * 70_000); print('done')"
        )
        world.stoker("run", "--name", "small", "--", "python3", program, check=True)
        job = world.json("show", "small")["job"]["id"]
        page = served.Page(world)
        slow = page.connect()
        slow.sendall(b"GET /api/jobs HTTP/1.1\r\nHost: 127")
        cookie = []
        results.run("refused", lambda: cookie.append(test_refused(results, page, job)))
        for name, test in (
            ("foreign", test_foreign),
            ("changes", test_changes),
            ("paths", test_paths),
            ("bounds", lambda *a: test_bounds(*a, slow)),
            ("crowd", test_crowd),
        ):
            results.run(name, test, results, page, job, cookie[0])
        results.check("Ctrl-C ends it", page.end() == 0)
        results.run("acts", test_acts, results, world, job)
        results.run("export", test_export, results, world)
    results.finish()


main()
