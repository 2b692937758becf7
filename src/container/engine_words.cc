// SPDX-License-Identifier: Apache-2.0
#include "container/engine_words.h"

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
    {"manifest unknown", "the registry has no such image",
     "Correct container.image: name, tag or digest"},
    {"name unknown", "the registry has no such image",
     "Correct container.image: name, tag or digest"},
    {"repository does not exist", "there is no such image, or it wants a login",
     "Correct container.image, or log in with the engine's own login on the machine"},
    {"no basic auth credentials", "the registry wants a login",
     "Log in with the engine's own login on the machine"},
    {"unauthorized", "the registry wants a login",
     "Log in with the engine's own login on the machine"},
    {"authentication required", "the registry wants a login",
     "Log in with the engine's own login on the machine"},
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
    {"connection refused", "the registry does not answer",
     "See whether the machine reaches it; 'stoker retry' asks again"},
    {"no such host", "the registry's name is not known",
     "Correct container.image, or see whether the machine's names resolve"},
    {"i/o timeout", "the registry does not answer",
     "See whether the machine reaches it; 'stoker retry' asks again"},
    {"no such image", "there is no such image", "Correct container.image: name, tag or digest"},
};

// What is for people in it, on one line.
std::string OwnWords(const std::string& error) {
  std::string out;
  for (const std::string& line : Split(error, '\n')) {
    if (line.empty() || line.find("level=warning") != std::string::npos) continue;
    out += (out.empty() ? "" : "; ") + line;
  }
  if (out.size() > kMostWords) out = out.substr(0, kMostWords) + "…";
  return Printable(out);
}

}  // namespace

Status EngineFailure(const EngineFacts& engine, const std::string& what, int exit_code,
                     const std::string& error) {
  const std::string lower = LowerCase(error);
  const std::string head = TellEngine(engine) + " could not " + what;
  const std::string own = OwnWords(error);
  const std::string tail =
      own.empty() ? " (exit code " + std::to_string(exit_code) + ")" : " (" + own + ")";
  for (const Meaning& one : kMeanings) {
    if (lower.find(one.says) == std::string::npos) continue;
    return Status(one.code, head + ": " + std::string(one.means) + tail, std::string(one.next));
  }
  return Status(Code::kInvalid, head + tail,
                "Try it on the machine with the engine's own client, and correct 'container'");
}

}  // namespace stoker
