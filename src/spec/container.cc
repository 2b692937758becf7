// SPDX-License-Identifier: Apache-2.0
// The section `container`: what the program runs in.
#include "container/container_spec.h"

#include "base/text.h"
#include "container/apptainer_argv.h"
#include "container/inside.h"
#include "container/run_options.h"
#include "spec/sections.h"
#include "spec/text/json_text.h"

namespace stoker {
namespace {

constexpr size_t kMostRunWords = 200;
constexpr size_t kLongestRunWord = 4096;
constexpr std::string_view kImageEntrypoint = "image";

// A word, or a list of them, each as `is_one` wants it.
void ReadWords(const YamlNode& node, const std::string& what, bool (*is_one)(std::string_view),
               const std::string& example, const std::string& hint, SpecReader* reader,
               std::vector<std::string>* out) {
  const auto add = [&](const YamlNode& item) {
    const auto word = reader->Line(item, what);
    if (!word) return;
    if (is_one(*word)) {
      out->push_back(*word);
    } else {
      reader->Error(item, "'" + what + "' cannot be " + Quoted(*word),
                    "Write it as " + example + hint);
    }
  };
  if (node.IsScalar() && !node.text.empty()) return add(node);
  if (!reader->ExpectList(node, what, "[" + example + "]")) return;
  if (!reader->ExpectAtMost(node, what, node.items.size(), kMostRunWords)) return;
  for (const YamlNode& item : node.items) add(item);
}

// A list, or one text with blanks between the words, as people have it in their scripts.
void ReadRunOptions(const YamlNode& node, SpecReader* reader, ContainerSpec* container) {
  constexpr std::string_view kWhat = "container.run_options";
  std::vector<std::string> words;
  const auto add = [&](const YamlNode& item) {
    const auto line = reader->Line(item, kWhat);
    if (!line) return;
    for (const std::string& word : Split(*line, ' ')) {
      if (word.empty()) continue;
      if (word.size() > kLongestRunWord || word.find_first_of("'\"\\$`") != std::string::npos) {
        reader->Error(item, "'container.run_options' is taken as written: " + Quoted(word),
                      "Write it without quotes and without '$'");
        return;
      }
      words.push_back(word);
    }
  };
  if (node.IsScalar() && !node.text.empty()) {
    add(node);
  } else {
    if (!reader->ExpectList(node, kWhat, "[--ipc=host]")) return;
    if (!reader->ExpectAtMost(node, kWhat, node.items.size(), kMostRunWords)) return;
    for (const YamlNode& item : node.items) add(item);
  }
  auto options = CheckRunOptions(words);
  if (!options.ok()) {
    return reader->Error(node, "'container.run_options': " + options.status().message(),
                         options.status().next());
  }
  container->run_options = std::move(*options);
}

void ReadShmSize(const YamlNode& node, SpecReader* reader, ContainerSpec* container) {
  const auto line = reader->Line(node, "container.shm_size");
  if (!line) return;
  const auto size = ParseSize(*line);
  if (size.ok() && *size > 0) {
    container->shm_size = *size;
  } else {
    reader->Error(node, "'container.shm_size' is not a size: " + Quoted(*line), "Write 8GiB");
  }
}

// Two sizes, or one of what has none.
void CheckShared(const YamlNode& node, SpecReader* reader, const ContainerSpec& container) {
  const std::vector<std::string>& options = container.run_options;
  const bool sized = Gives(options, "--shm-size");
  const std::string by_option = "'--shm-size' in container.run_options";
  if (container.shm_size && sized) {
    return reader->Error(node, "both 'container.shm_size' and " + by_option, "Keep one of them");
  }
  if (HasOwnShared(options) || (!container.shm_size && !sized)) return;
  reader->Error(node,
                (sized ? by_option : "'container.shm_size'") +
                    " has nothing to size: with this '--ipc' the container has no /dev/shm of its "
                    "own",
                "Keep one of them");
}

// A secret of the job, which it becomes by being named.
void ReadLoginWord(const YamlNode& node, const std::string& what, Judge judge, SpecReader* reader,
                   JobSpec* spec, std::string* out) {
  const auto line = reader->Line(node, what);
  if (!line) return;
  *out = *line;
  if (!StartsWith(*line, "$")) return;
  YamlNode name = node;
  name.text = line->substr(1);
  for (const SecretSpec& one : spec->secrets) {
    if (one.name == name.text) return;
  }
  SetSecret(name, "", judge, reader, spec);
}

void ReadDockerfile(const YamlNode& node, SpecReader* reader, ContainerSpec* container) {
  const auto line = reader->Line(node, "container.dockerfile");
  if (!line) return;
  if (!IsSafeRelativePath(*line)) {
    return reader->Error(
        node, "'container.dockerfile' is no path in the work directory: " + Quoted(*line),
        "Write it as dockerfile: docker/Dockerfile");
  }
  container->dockerfile = *line;
}

void ReadLogin(const YamlNode& node, Judge judge, SpecReader* reader, JobSpec* spec) {
  if (!reader->ExpectMap(node, "container.login")) return;
  ContainerLogin* login = &spec->container.login;
  const size_t before = reader->errors().size();
  reader->ReadMap(node, "container.login",
                  {{"user",
                    [=](const YamlNode& v) {
                      ReadLoginWord(v, "container.login.user", judge, reader, spec, &login->user);
                    }},
                   {"password",
                    [=](const YamlNode& v) {
                      const std::string what = "container.login.password";
                      if (v.IsScalar() && !StartsWith(v.text, "$")) {
                        YamlNode place = v;
                        place.text.clear();
                        return reader->Error(
                            place, "'" + what + "' is in the file, which is kept in the ledger",
                            "Write $NAME, of a variable that has it: it becomes one of the job's "
                            "secrets");
                      }
                      ReadLoginWord(v, what, judge, reader, spec, &login->password);
                    }}},
                  {});
  if (reader->errors().size() == before && (login->user.empty() || login->password.empty())) {
    reader->Error(node, "'container.login' needs 'user' and 'password'",
                  "Write {user: me, password: $REGISTRY_PASSWORD}");
  }
}

void ReadEngine(const YamlNode& node, SpecReader* reader, ContainerSpec* container) {
  const auto engine =
      reader->Choice(node, "container.engine", {"podman", "docker", "apptainer", "singularity"});
  // As the first was called before; a machine may have it by either name.
  if (engine) container->engine = *engine == "singularity" ? "apptainer" : *engine;
}

void ReadUser(const YamlNode& node, SpecReader* reader, ContainerSpec* container) {
  const auto line = reader->Line(node, "container.user");
  if (!line) return;
  if (IsContainerUser(*line)) {
    container->user = *line;
  } else {
    reader->Error(node, "'container.user' cannot be " + Quoted(*line),
                  "Write it as 1000, 1000:1000 or root");
  }
}

// `image`, one word, or a list.
void ReadEntry(const YamlNode& node, SpecReader* reader, ContainerSpec* container) {
  constexpr std::string_view kWhat = "container.entrypoint";
  if (node.IsScalar() && node.text == kImageEntrypoint) {
    container->image_entrypoint = true;
    return;
  }
  const auto add = [&](const YamlNode& item) {
    const auto word = reader->Line(item, kWhat);
    if (word) container->entrypoint.push_back(*word);
  };
  if (node.IsScalar() && !node.text.empty()) {
    if (node.text.find(' ') == std::string::npos) return add(node);
    return reader->Error(node, "'container.entrypoint' is taken as one word: " + Quoted(node.text),
                         "Write a list: [/entrypoint.sh, --fast]");
  }
  if (!reader->ExpectList(node, kWhat, "[/entrypoint.sh]")) return;
  if (!reader->ExpectAtMost(node, kWhat, node.items.size(), kMostRunWords)) return;
  for (const YamlNode& item : node.items) add(item);
  if (node.items.empty() || (!container->entrypoint.empty() && container->entrypoint[0].empty())) {
    reader->Error(node, "'container.entrypoint' names no program", "Leave it out, or write image");
  }
}

std::string WordList(const std::vector<std::string>& items) {
  std::vector<std::string> quoted;
  for (const std::string& item : items) quoted.push_back(JsonString(item));
  return "[" + Join(quoted, ", ") + "]";
}

}  // namespace

void ReadContainerImage(const YamlNode& node, std::string_view what, SpecReader* reader,
                        JobSpec* spec) {
  const auto line = reader->Line(node, what);
  if (!line) return;
  if (IsImageName(*line)) {
    spec->container.image = *line;
  } else {
    reader->Error(node, "'" + std::string(what) + "' is not the name of an image: " + Quoted(*line),
                  "Write it as docker.io/pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime");
  }
}

void ReadContainer(const YamlNode& node, Judge judge, SpecReader* reader, JobSpec* spec) {
  if (node.IsScalar()) return ReadContainerImage(node, "container", reader, spec);
  if (!reader->ExpectMap(node, "container")) return;
  ContainerSpec* container = &spec->container;
  const size_t before = reader->errors().size();
  const auto words = [=](const char* key, bool (*is_one)(std::string_view), const char* example,
                         std::vector<std::string> ContainerSpec::*member, const char* hint = "") {
    return SpecField{key, [=](const YamlNode& v) {
                       ReadWords(v, std::string("container.") + key, is_one, example, hint, reader,
                                 &(container->*member));
                     }};
  };
  reader->ReadMap(
      node, "container",
      {{"image",
        [=](const YamlNode& v) { ReadContainerImage(v, "container.image", reader, spec); }},
       {"engine", [=](const YamlNode& v) { ReadEngine(v, reader, container); }},
       {"run_options", [=](const YamlNode& v) { ReadRunOptions(v, reader, container); }},
       {"user", [=](const YamlNode& v) { ReadUser(v, reader, container); }},
       {"entrypoint", [=](const YamlNode& v) { ReadEntry(v, reader, container); }},
       {"dockerfile", [=](const YamlNode& v) { ReadDockerfile(v, reader, container); }},
       {"login", [=](const YamlNode& v) { ReadLogin(v, judge, reader, spec); }},
       {"shm_size", [=](const YamlNode& v) { ReadShmSize(v, reader, container); }},
       words("cap_add", IsCapability, "SYS_ADMIN", &ContainerSpec::cap_add),
       words("devices", IsDevice, "/dev/fuse", &ContainerSpec::devices),
       words("volumes", IsVolume, "/data:/data", &ContainerSpec::volumes,
             ": absolute paths, on the machine and in the container")},
      {});
  if (!container->dockerfile.empty()) {
    if (!container->image.empty()) {
      reader->Error(node, "both 'container.image' and 'container.dockerfile'", "Keep one of them");
    }
    container->image = kBuiltImage;
  }
  if (container->image.empty() && reader->errors().size() == before) {
    reader->Error(node, "'container' names no image",
                  "Write container: {image: …}, or {dockerfile: …}");
  }
  CheckShared(node, reader, *container);
  if (container->engine != "apptainer") return;
  const Status holds = CheckForApptainer(*container);
  if (!holds.ok()) reader->Error(node, holds.message(), holds.next());
}

std::string PrintContainer(const JobSpec& spec) {
  const ContainerSpec& container = spec.container;
  if (container.image.empty()) return "";
  std::string out = "container:\n";
  out += container.dockerfile.empty() ? "  image: " + JsonString(container.image)
                                      : "  dockerfile: " + JsonString(container.dockerfile);
  out += "\n";
  if (!container.engine.empty()) out += "  engine: " + container.engine + "\n";
  if (container.shm_size) out += "  shm_size: " + std::to_string(*container.shm_size) + "\n";
  const auto list = [&out](const char* key, const std::vector<std::string>& words) {
    if (!words.empty()) out += std::string("  ") + key + ": " + WordList(words) + "\n";
  };
  list("run_options", container.run_options);
  list("cap_add", container.cap_add);
  list("devices", container.devices);
  list("volumes", container.volumes);
  if (!container.user.empty()) out += "  user: " + JsonString(container.user) + "\n";
  if (container.image_entrypoint) out += "  entrypoint: image\n";
  list("entrypoint", container.entrypoint);
  if (!container.login.password.empty()) {
    out += "  login: {user: " + JsonString(container.login.user) +
           ", password: " + JsonString(container.login.password) + "}\n";
  }
  return out;
}

}  // namespace stoker
