// SPDX-License-Identifier: Apache-2.0
// What a job file says of the container that its program runs in. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// Of the image's registry, for machines that have none of their own; "$NAME" is a secret of the
// job.
struct ContainerLogin {
  std::string user;      // as it is, or "$NAME"
  std::string password;  // "$NAME"; "" = no login
  bool operator==(const ContainerLogin&) const = default;
};

// What images are called that stoker builds of a Dockerfile; the tag names the content.
inline constexpr char kBuiltImage[] = "localhost/stoker-built";

struct ContainerSpec {
  std::string image;       // IsImageName; "" = the program runs on the machine itself
  std::string dockerfile;  // in the work directory; "" = none, else `image` is kBuiltImage
  std::string engine;      // "podman", "docker", "apptainer"; "" = what the machine has
  // Each one word for an engine's `run`, "--name" or "--name=value", none of those that stoker sets
  // itself (container/run_options.h).
  std::vector<std::string> run_options;
  std::optional<int64_t> shm_size;  // bytes; > 0
  std::vector<std::string> cap_add;
  std::vector<std::string> devices;
  std::vector<std::string> volumes;  // SOURCE:TARGET or SOURCE:TARGET:OPTIONS, both absolute
  std::string user;                  // IsContainerUser; "" = who submitted the job
  // The program is begun through it: the image's own, or these words; neither = not at all.
  bool image_entrypoint = false;
  std::vector<std::string> entrypoint;
  ContainerLogin login = {};
  bool operator==(const ContainerSpec&) const = default;
};

// As engines write an image: "pytorch/pytorch:2.5", "localhost:5000/a/b@sha256:…". What is none of
// these is never put into a command line.
bool IsImageName(std::string_view text);
// "SYS_ADMIN", "CAP_SYS_ADMIN", "ALL".
bool IsCapability(std::string_view text);
// "/dev/x", "/dev/x:/dev/y:rwm", or the name of a CDI device as "nvidia.com/gpu=all".
bool IsDevice(std::string_view text);
// SOURCE:TARGET[:OPTIONS]: absolute paths without "..", options of letters and commas.
bool IsVolume(std::string_view text);

}  // namespace stoker
