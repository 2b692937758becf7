// SPDX-License-Identifier: Apache-2.0
#include "container/apptainer_argv.h"

#include "base/digest.h"
#include "base/text.h"

namespace stoker {
namespace {

using Words = std::vector<std::string>;

// $1 apptainer, $2 the image, $3 its file. Several nodes may share that folder: the file is whole
// or not there, and what it is called by is written last.
constexpr char kPull[] = R"sh(set -e
mkdir -p "${3%/*}"
part=$(mktemp "$3.XXXXXX")
trap 'rm -f "$part" "$part.id"' EXIT
"$1" pull --force --disable-cache "$part" "docker://$2"
sum=$(sha256sum <"$part")
echo "${sum%% *}" >"$part.id"
mv "$part" "$3"
mv "$part.id" "$3.id"
)sh";

std::string Capability(const std::string& name) {
  if (name == "ALL") return "all";
  return StartsWith(name, "CAP_") ? name : "CAP_" + name;
}

}  // namespace

std::string ApptainerFile(const EngineFacts& engine, const std::string& image) {
  return engine.folder + "/" + Sha256Hex(image) + kSif;
}

Status CheckForApptainer(const ContainerSpec& spec) {
  if (spec.shm_size) {
    return Status(Code::kInvalid, "container.shm_size: apptainer's /dev/shm has no size of its own",
                  "Leave it out: half of the machine's memory may lie there");
  }
  if (!spec.user.empty()) {
    return Status(Code::kInvalid,
                  "container.user: apptainer runs a program as who submitted the job",
                  "Leave it out");
  }
  if (!spec.login.password.empty()) {
    return Status(Code::kInvalid, "container.login: apptainer is given none by stoker",
                  "On the machine: apptainer registry login");
  }
  if (!spec.dockerfile.empty()) {
    return Status(Code::kInvalid, "container.dockerfile: apptainer builds no Dockerfile",
                  "Build the image elsewhere, push it, and name it under container.image");
  }
  if (spec.image_entrypoint) {
    return Status(Code::kInvalid,
                  "container.entrypoint: apptainer does not say what the image's is",
                  "Write it as a list: [/entrypoint.sh]");
  }
  for (const std::string& device : spec.devices) {
    if (StartsWith(device, "/")) continue;
    return Status(Code::kInvalid, "container.devices: apptainer has no CDI device " + device,
                  "Write resources.gpus: the machine's GPUs come by --nv");
  }
  return Status::Ok();
}

std::string ApptainerScratch(const ContainerPlan& plan) { return plan.socket_dir + "/scratch"; }

Words ApptainerExec(const EngineFacts& engine, const ContainerPlan& plan) {
  const std::string scratch = ApptainerScratch(plan);
  // Nothing of the machine's but what is named; without a first process of apptainer's own.
  Words out = {engine.program,
               "--quiet",
               "exec",
               "--containall",
               "--cleanenv",
               "--no-home",
               "--no-init",
               "--pwd=/",
               "--overlay=" + scratch + "/" + kOverlay,
               "--workdir=" + scratch + "/" + kTemporary};
  const auto mount = [&out](const std::string& source, const std::string& target, bool read_only) {
    out.push_back("--bind=" + source + ":" + target + (read_only ? ":ro" : ""));
  };
  mount(plan.program, kContainerProgram, true);
  const std::string socket = kContainerSocket;
  mount(plan.socket_dir, socket.substr(0, socket.rfind('/')), true);
  for (const std::string& folder : plan.folders) mount(folder, folder, false);
  for (const std::string& volume : plan.spec.volumes) out.push_back("--bind=" + volume);
  for (const std::string& device : plan.spec.devices) out.push_back("--bind=" + device);
  if (!plan.host_name.empty()) {
    out.push_back("--hostname=" + plan.host_name);
    mount(plan.hosts_file, "/etc/hosts", true);
  }
  if (!plan.gpus.empty()) out.push_back("--nv");
  if (!plan.amd_gpus.empty()) out.push_back("--rocm");
  // It asks for all capabilities as root, and fails where one is missing.
  if (plan.uid == 0 && !plan.whole_root) out.push_back("--userns");
  for (const std::string& one : plan.spec.cap_add) out.push_back("--add-caps=" + Capability(one));
  out.insert(out.end(), plan.spec.run_options.begin(), plan.spec.run_options.end());
  out.push_back(ApptainerFile(engine, plan.image));
  out.push_back(kContainerProgram);
  out.push_back(plan.verb);
  out.push_back(kContainerSocket);
  return out;
}

Words ApptainerInspect(const EngineFacts& engine, const std::string& image) {
  return {"/bin/cat", ApptainerFile(engine, image) + kSifId};
}

Words ApptainerPull(const EngineFacts& engine, const std::string& image) {
  return {"/bin/sh", "-c", kPull, "sh", engine.program, image, ApptainerFile(engine, image)};
}

}  // namespace stoker
