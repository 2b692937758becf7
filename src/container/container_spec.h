// SPDX-License-Identifier: Apache-2.0
// What a job file says of the container that its program runs in. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

struct ContainerSpec {
  std::string image;   // IsImageName; "" = the program runs on the machine itself
  std::string engine;  // "podman", "docker", "apptainer"; "" = what the machine has
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
