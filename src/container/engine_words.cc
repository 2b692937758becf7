// SPDX-License-Identifier: Apache-2.0
#include "container/engine_words.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/letter_case.h"
#include "base/text.h"

namespace stoker {
namespace {

constexpr size_t kMostWords = 600;

struct Meaning {
  std::string_view says;  // in lower case
  std::string_view means;
  std::string_view next;
  Code code = Code::kInvalid;
};

constexpr std::string_view kCorrect = "Correct container.image: name, tag or digest";
constexpr std::string_view kLogIn = "Log in with the engine's own login on the machine";
constexpr std::string_view kReach = "See whether the machine reaches it; 'stoker retry' asks again";
constexpr std::string_view kLater = "'stoker retry' asks again";

// The first that fits. What each stands for was tried with podman 4.3, 5.4 and docker 20.10, 26.1.
constexpr Meaning kMeanings[] = {
    {"rlimit", "it may not set the limits (ulimits) that it gives its containers",
     "Give them in containers.conf: default_ulimits = [\"nofile=N:N\", \"nproc=N:N\"], no more "
     "than 'ulimit -Hn' and 'ulimit -Hu' say"},
    {"the requested cgroup controller",
     "systemd has not handed this user the control group's controller for a limit",
     "As root: systemctl edit user@.service, with the lines [Service] and Delegate=cpu cpuset io "
     "memory pids, then log in anew; or leave resources.memory and resources.cpus out"},
    {"/etc/subuid", "this user has no range of user ids of its own",
     "As root: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER, then podman "
     "system migrate as that user"},
    {"no space left on device", "the disk has no room for the image",
     "Make room where the engine keeps its images, or name a smaller image"},
    {"disk quota exceeded", "the disk has no room for the image",
     "Make room where the engine keeps its images, or name a smaller image"},
    {"manifest unknown", "the registry has no such image", kCorrect},
    {"name unknown", "the registry has no such image", kCorrect},
    {"repository does not exist", "there is no such image, or it wants a login",
     "Correct container.image, or log in with the engine's own login on the machine"},
    {"no basic auth credentials", "the registry wants a login", kLogIn},
    {"toomanyrequests", "the registry is asked too often", kLater, Code::kBusy},  // advises a login
    {"unauthorized", "the registry wants a login", kLogIn},
    {"authentication required", "the registry wants a login", kLogIn},
    {"requested access to the resource is denied", "there is no such image, or it wants a login",
     "Correct container.image, or log in with the engine's own login on the machine"},
    {"permission denied while trying to connect", "this user may not ask its daemon",
     "Add the user to the group docker, or use podman"},
    {"short-name", "the name of the image names no registry",
     "Write it whole: docker.io/library/NAME:TAG"},
    {"no matching manifest", "the image is of another architecture",
     "Name one of the machine's architecture"},
    {"no image found in manifest list for architecture", "the image is of another architecture",
     "Name one of the machine's architecture"},
    {"unresolvable cdi devices", "the machine has no CDI file for these devices",
     "Make one on the machine: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"},
    {"could not select device driver", "the engine has no runtime for these devices",
     "Install NVIDIA's container toolkit on the machine"},
    {"unknown flag", "it does not know one of these options", "Correct container.run_options"},
    {"cannot connect to the docker daemon", "its daemon does not answer",
     "Start it on the machine: systemctl start docker", Code::kUnavailable},
    {"is the docker daemon running", "its daemon does not answer",
     "Start it on the machine: systemctl start docker", Code::kUnavailable},
    {"error during connect", "its daemon does not answer",
     "Start it on the machine: systemctl start docker", Code::kUnavailable},
    {"no such image", "there is no such image", kCorrect},
};

// Of a client that asks a registry, after those: what stays so comes before what may pass, as an
// engine that has tried again by itself shows both. By Go's network, containers/image and
// distribution; elsewhere in an engine the same words have other causes.
constexpr Meaning kOfRegistries[] = {
    {"invalid username/password", "the registry takes no such login", kLogIn},
    {"403 (forbidden)", "the registry does not give it to this login", kLogIn},
    {"403 forbidden", "the registry does not give it to this login", kLogIn},
    {"denied: ", "the registry does not give it to this login", kLogIn},
    {"x509: ", "the registry's certificate is not trusted on the machine",
     "Put its authority where the engine looks for it (certs.d), and see the machine's clock"},
    {"server gave http response to https client", "the registry speaks without TLS",
     "Allow that in the settings of the engine on the machine"},
    {"too many requests", "the registry is asked too often", kLater, Code::kBusy},
    {"http status: 5", "the registry has a trouble of its own", kLater, Code::kBusy},
    {"bad gateway", "the registry has a trouble of its own", kLater, Code::kBusy},
    {"service unavailable", "the registry has a trouble of its own", kLater, Code::kBusy},
    {"internal server error", "the registry has a trouble of its own", kLater, Code::kBusy},
    {"connection refused", "the registry does not answer", kReach, Code::kBusy},
    {"connection reset", "the registry ends the connection", kReach, Code::kBusy},
    {"broken pipe", "the registry ends the connection", kReach, Code::kBusy},
    {"unexpected eof", "the registry ends the connection", kReach, Code::kBusy},
    {": eof", "the registry ends the connection", kReach, Code::kBusy},
    {"no such host", "the registry's name is not known",
     "Correct container.image, or see whether the machine's names resolve", Code::kBusy},
    {"server misbehaving", "the registry's name is not known",
     "See whether the machine's names resolve", Code::kBusy},
    {"i/o timeout", "the registry does not answer", kReach, Code::kBusy},
    {"tls handshake timeout", "the registry does not answer", kReach, Code::kBusy},
    {"connection timed out", "the registry does not answer", kReach, Code::kBusy},
    {"deadline exceeded", "the registry does not answer", kReach, Code::kBusy},
    {"client.timeout", "the registry does not answer", kReach, Code::kBusy},
    {"timeout awaiting response headers", "the registry does not answer", kReach, Code::kBusy},
    {"no route to host", "the registry cannot be reached", kReach, Code::kBusy},
    {"network is unreachable", "the registry cannot be reached", kReach, Code::kBusy},
};

// What is for people in it, on one line; `last`: its last line alone, as how far it came is above.
std::string OwnWords(const std::string& error, bool last) {
  std::string out;
  for (const std::string& line : Split(error, '\n')) {
    if (line.empty() || line.find("level=warning") != std::string::npos) continue;
    out = (out.empty() || last ? "" : out + "; ") + line;
  }
  if (out.size() > kMostWords) out = out.substr(0, kMostWords) + "…";
  return Printable(out);
}

// Null: none fits.
const Meaning* Find(std::span<const Meaning> among, const std::string& lower) {
  const auto one = std::find_if(among.begin(), among.end(), [&](const Meaning& row) {
    return lower.find(row.says) != std::string::npos;
  });
  return one == among.end() ? nullptr : &*one;
}

// `meaning`: null = it is not known.
Status Failure(const EngineFacts& engine, const std::string& what, int exit_code,
               const std::string& error, bool pulls, const Meaning* meaning) {
  const std::string head = TellEngine(engine) + " could not " + what;
  const std::string own = OwnWords(error, pulls);
  const std::string tail =
      own.empty() ? " (exit code " + std::to_string(exit_code) + ")" : " (" + own + ")";
  if (meaning != nullptr) {
    return Status(meaning->code, head + ": " + std::string(meaning->means) + tail,
                  std::string(meaning->next));
  }
  return Status(pulls ? Code::kBusy : Code::kInvalid, head + tail,
                "Try it on the machine with the engine's own client, and correct 'container'");
}

const Meaning* FindOfRegistry(const std::string& error) {
  const std::string lower = LowerCase(error);
  const Meaning* known = Find(kMeanings, lower);
  return known != nullptr ? known : Find(kOfRegistries, lower);
}

}  // namespace

Status EngineFailure(const EngineFacts& engine, const std::string& what, int exit_code,
                     const std::string& error) {
  const Meaning* known = Find(kMeanings, LowerCase(error));
  return Failure(engine, what, exit_code, error, false, known);
}

Status RegistryFailure(const EngineFacts& engine, const std::string& what, int exit_code,
                       const std::string& error) {
  return Failure(engine, what, exit_code, error, false, FindOfRegistry(error));
}

Status PullFailure(const EngineFacts& engine, const std::string& image, int exit_code,
                   const std::string& error) {
  return Failure(engine, "pull " + image, exit_code, error, true, FindOfRegistry(error));
}

}  // namespace stoker
