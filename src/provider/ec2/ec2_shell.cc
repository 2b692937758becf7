// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_shell.h"

#include <unistd.h>

#include <utility>

#include "aws/account/account.h"
#include "base/text.h"
#include "net/http_client.h"
#include "provider/cloud/ssh_words.h"
#include "provider/ec2/ec2_door.h"
#include "sys/command.h"
#include "sys/file.h"

extern char** environ;

namespace stoker {
namespace {

constexpr int64_t kKeygenMs = 30'000;
// A rule whose session nobody ended properly: `gc` removes it then.
constexpr Duration kOpenFor = Duration::Hours(12);

// Made for this call alone; "DIR/key" and "DIR/key.pub".
Status MakeKey(const std::string& dir) {
  sys::Command make;
  make.argv = {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "stoker", "-f", dir + "/key"};
  for (char** at = environ; *at != nullptr; ++at) make.env.emplace_back(*at);
  const auto made = sys::RunCommands({make}, kKeygenMs);
  STOKER_TRY(made[0].status());
  if (made[0]->exit_code == 0) return Status::Ok();
  return Status(Code::kInternal, "ssh-keygen: " + Printable(made[0]->err));
}

// As Amazon sees it.
Result<std::string> OwnAddress() {
  STOKER_ASSIGN(const HttpUrl url, ParseHttpUrl("https://checkip.amazonaws.com"));
  STOKER_ASSIGN(const AwsAccount account, FindAwsAccount());
  HttpPool pool(account.http);
  HttpRequest request;
  request.method = "GET";
  request.target = "/";
  request.headers = {{"Host", HostHeader(url)}};
  const auto answer = pool.Call(url, request);
  const Status unknown(Code::kUnavailable,
                       "your address is not known: checkip.amazonaws.com does "
                       "not say it",
                       "Say it: --from ADDRESS");
  if (!answer.ok() || answer->status != 200) return unknown;
  const std::string address = answer->body.substr(0, answer->body.find('\n'));
  return AloneAsRange(address).ok() ? Result<std::string>(address) : unknown;
}

using Say = std::function<void(const std::string&)>;

Result<Ec2Door> Find(ec2::AwsApi& api, const ShellAsk& ask, const Say& say) {
  STOKER_ASSIGN(Ec2Door door, FindEc2Door(api, ask.place.region, ask.instance_id, ask.ledger.id));
  if (door.state != "running" || door.address.empty()) {
    return Status(Code::kUnavailable, door.id + " is " + door.state + ", and cannot be reached");
  }
  if (!door.is_public) {
    say(door.id + " has no address of the internet: " + door.address +
        " is reached only from inside its VPC");
  }
  return door;
}

Result<cloud::SshCall> Prepare(const Ec2Door& door, const ShellAsk& ask, const std::string& dir) {
  if (ask.host_keys.empty()) {
    return Status(
        Code::kUnavailable,
        ask.node + " has not told the host keys of its sshd: it has none, or still starts");
  }
  if (!cloud::IsUserName(ask.user)) {
    return Status(Code::kInvalid, "it is not known which user the image has",
                  "Say it: --user NAME");
  }
  cloud::SshCall call;
  call.address = door.address;
  call.user = ask.user;
  call.alias = door.id;
  call.identity = ask.identity.empty() ? dir + "/key" : ask.identity;
  call.known_hosts = dir + "/known_hosts";
  call.command = ask.inside ? cloud::InsideLine(ask.command) : ask.command;
  call.terminal = ask.inside && isatty(STDIN_FILENO) != 0;
  STOKER_ASSIGN(const std::string known, cloud::KnownHosts(call.alias, ask.host_keys));
  STOKER_TRY(sys::WriteFileAtomic(call.known_hosts, known, 0600));
  if (ask.identity.empty()) STOKER_TRY(MakeKey(dir));
  return call;
}

// Port 22 for one address. Its id; "" = there is none of ours.
Result<std::string> Open(ec2::AwsApi& api, const Ec2Door& door, const ShellAsk& ask,
                         std::string* range, const Say& say) {
  if (door.group.empty()) {
    say("its security groups are your own: they must let you reach port 22");
    return std::string();
  }
  std::string from = ask.from;
  if (from.empty()) {
    STOKER_ASSIGN(from, OwnAddress());
  }
  STOKER_ASSIGN(*range, AloneAsRange(from));
  const WallTime until = ask.until.value_or(api.Now() + kOpenFor);
  return OpenEc2Door(api, door, ask.ledger.id, ask.job, *range, until);
}

Status SendKey(ec2::AwsApi& api, const Ec2Door& door, const ShellAsk& ask, const std::string& dir) {
  if (!ask.identity.empty()) return Status::Ok();
  STOKER_ASSIGN(const std::string key, sys::ReadFile(dir + "/key.pub", 4096));
  return SendEc2Key(api, door, ask.user, key.substr(0, key.find('\n')));
}

}  // namespace

Result<Shell> EnterEc2(const std::shared_ptr<ec2::AwsApi>& api, const ShellAsk& ask,
                       const Say& say) {
  STOKER_ASSIGN(const Ec2Door door, Find(*api, ask, say));
  STOKER_ASSIGN(sys::TempDir made, sys::TempDir::Make("stoker-ssh"));
  const auto dir = std::make_shared<sys::TempDir>(std::move(made));
  STOKER_ASSIGN(const cloud::SshCall call, Prepare(door, ask, dir->path()));
  std::string range;
  STOKER_ASSIGN(const std::string rule, Open(*api, door, ask, &range, say));
  Shell shell{SshTo(call)};
  shell.inside = ask.inside;
  // The folder goes with it.
  shell.close = [api, door, rule, range, dir, say] {
    const Status closed = rule.empty() ? Status::Ok() : CloseEc2Door(*api, door, rule);
    if (closed.ok()) return;
    say("port 22 stays open to " + range + " until 'stoker gc' removes " + rule +
        ", which is then past its time: " + closed.ToString());
  };
  const Status key = SendKey(*api, door, ask, dir->path());
  if (key.ok()) return shell;
  shell.close();
  return key;
}

}  // namespace stoker
