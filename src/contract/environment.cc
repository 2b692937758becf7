// SPDX-License-Identifier: Apache-2.0
#include "contract/environment.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace stoker::contract {
namespace {

// Later settings of the same name win and keep the earlier place.
void Set(Environment& env, const std::string& name, const std::string& value) {
  for (auto& [known, old] : env) {
    if (known == name) {
      old = value;
      return;
    }
  }
  env.emplace_back(name, value);
}

void SetBase(const ProgramInput& facts, Environment& env) {
  Set(env, "PATH",
      facts.path.empty() ? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
                         : facts.path);
  Set(env, "HOME", facts.home.empty() ? "/" : facts.home);
  Set(env, "USER", facts.user);
  Set(env, "LOGNAME", facts.user);
  Set(env, "LANG", "C.UTF-8");
  Set(env, "TERM", "dumb");
  // So that lines come as they are printed, not in blocks of 8 kB.
  Set(env, "PYTHONUNBUFFERED", "1");
}

// The JSON text of a hyperparameter as a word: strings without their quotes.
std::string Word(const std::string& json_text) {
  const auto value = nlohmann::json::parse(json_text, nullptr, false);
  return value.is_string() ? value.get<std::string>() : json_text;
}

// The form of SM_CHANNELS and SM_CHANNEL_<NAME>, which sagemaker_training.environment documents.
void SetChannels(const JobSpec& spec, const ProgramInput& facts, Environment& env) {
  std::vector<std::string> names;
  for (const InputSpec& input : spec.inputs) {
    names.push_back(input.name);
    Set(env, "STOKER_CHANNEL_" + ChannelVariable(input.name), facts.inputs_dir + "/" + input.name);
  }
  std::sort(names.begin(), names.end());
  Set(env, "STOKER_CHANNELS", nlohmann::json(names).dump());
}

void SetStoker(const JobSpec& spec, const ProgramInput& facts, Environment& env) {
  Set(env, "STOKER_JOB_ID", facts.job_id);
  Set(env, "STOKER_JOB_NAME", facts.job_name);
  Set(env, "STOKER_ATTEMPT", std::to_string(facts.attempt));
  Set(env, "STOKER_NODE_RANK", std::to_string(facts.rank));
  Set(env, "STOKER_NUM_NODES", std::to_string(facts.num_nodes));
  Set(env, "STOKER_NODE_IPS", Join(facts.addresses, "\n"));
  Set(env, "STOKER_CHECKPOINT_DIR", facts.checkpoint_dir);
  Set(env, "STOKER_OUTPUT_DIR", facts.output_dir);
  Set(env, "STOKER_MODEL_DIR", facts.model_dir);
  if (!facts.metrics_file.empty()) Set(env, "STOKER_METRICS", facts.metrics_file);
  if (!facts.saves_file.empty()) Set(env, "STOKER_SAVES", facts.saves_file);
  Set(env, "STOKER_RESUME", facts.resume ? "1" : "0");
  if (facts.git) {
    Set(env, "STOKER_GIT_COMMIT", facts.git->commit);
    if (!facts.git->branch.empty()) Set(env, "STOKER_GIT_BRANCH", facts.git->branch);
    Set(env, "STOKER_GIT_DIRTY", facts.git->dirty ? "1" : "0");
  }
  SetChannels(spec, facts, env);
  nlohmann::ordered_json parameters = nlohmann::ordered_json::object();
  for (const auto& [name, text] : spec.hyperparameters) {
    parameters[name] = nlohmann::ordered_json::parse(text, nullptr, false);
    // A name with a dash or a dot is fine here: it goes straight into execve's environment.
    Set(env, "STOKER_HP_" + name, Word(text));
  }
  Set(env, "STOKER_HPS",
      parameters.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

// Of the node's GPUs those that CUDA lets a program see: a list that ends at the first that is
// none.
int VisibleGpus(const ProgramInput& facts, const Environment& env) {
  const auto found = std::find_if(env.begin(), env.end(), [](const auto& variable) {
    return variable.first == "CUDA_VISIBLE_DEVICES";
  });
  if (found == env.end()) return facts.gpus;
  int count = 0;
  for (const std::string& device : Split(found->second, ',')) {
    if (device.empty() || device[0] == '-' || device == "NoDevFiles") break;
    ++count;
  }
  return std::min(count, facts.gpus);
}

void SetRendezvous(const ProgramInput& facts, Environment& env) {
  const std::string rank = std::to_string(facts.rank);
  const std::string nodes = std::to_string(facts.num_nodes);
  const std::string master = facts.addresses.empty() ? "127.0.0.1" : facts.addresses[0];
  const std::string port = std::to_string(facts.master_port);
  Set(env, "MASTER_ADDR", master);
  Set(env, "MASTER_PORT", port);
  Set(env, "NODE_RANK", rank);
  Set(env, "NNODES", nodes);
  // As the recipe for several nodes reads it: NODES.split().index(socket.gethostname()).
  Set(env, "NODES", Join(facts.host_names, " "));
  Set(env, "NUM_NODES", nodes);
  Set(env, "PET_NNODES", nodes);
  Set(env, "PET_NODE_RANK", rank);
  Set(env, "PET_MASTER_ADDR", master);
  Set(env, "PET_MASTER_PORT", port);
  Set(env, "PET_NPROC_PER_NODE", facts.gpus > 0 ? std::to_string(facts.gpus) : "1");
}

void SetSkyPilot(const ProgramInput& facts, const std::string& prefix, Environment& env) {
  Set(env, prefix + "NODE_RANK", std::to_string(facts.rank));
  Set(env, prefix + "NODE_IPS", Join(facts.addresses, "\n"));
  Set(env, "SKYPILOT_NUM_NODES", std::to_string(facts.num_nodes));
  Set(env, prefix + "NUM_GPUS_PER_NODE", std::to_string(facts.gpus));
  // The same over all recoveries, so that it serves as an experiment id.
  Set(env, "SKYPILOT_TASK_ID", "sky-managed-" + facts.job_id + "_" + facts.job_name + "_0-0");
}

// One run over all attempts, for the one process that logs; only where the job asks for it.
void SetWandb(const JobSpec& spec, const ProgramInput& facts, Environment& env) {
  if (!spec.wandb_one_run || facts.rank != 0) return;
  Set(env, "WANDB_RUN_ID", facts.job_id);
  Set(env, "WANDB_RESUME", "allow");
}

void SetAll(const Environment& variables, Environment& env) {
  for (const auto& [name, value] : variables) Set(env, name, value);
}

// What the program finds whoever launches it, and how many GPUs it sees.
ProgramInput Begin(const JobSpec& spec, const ProgramInput& facts, Environment& env) {
  SetBase(facts, env);
  SetAll(facts.shell, env);
  SetStoker(spec, facts, env);
  Environment seen = facts.shell;
  SetAll(spec.envs, seen);
  SetAll(facts.from_setup, seen);
  ProgramInput visible = facts;
  if (facts.granted.empty()) visible.gpus = VisibleGpus(facts, seen);
  return visible;
}

// What wins: the job's own, what `setup` made of it, the secrets, what the machine granted.
void End(const JobSpec& spec, const ProgramInput& facts, Environment& env) {
  SetAll(spec.envs, env);
  SetAll(facts.from_setup, env);
  SetAll(facts.secrets, env);
  // The others are another job's.
  SetAll(facts.granted, env);
}

}  // namespace

std::string NodeHostName(const std::string& job_id, int rank) {
  const std::string end = "-" + std::to_string(rank);
  std::string label;
  for (const char c : job_id) {
    const bool upper = c >= 'A' && c <= 'Z';
    label += upper ? static_cast<char>(c - 'A' + 'a') : IsAlnum(c) ? c : '-';
  }
  label.resize(std::min(label.size(), 63 - end.size()));
  while (!label.empty() && label.back() == '-') label.pop_back();
  return label + end;
}

Environment ProgramEnvironment(const JobSpec& spec, const ProgramInput& facts) {
  Environment env;
  const ProgramInput visible = Begin(spec, facts, env);
  SetRendezvous(visible, env);
  SetSkyPilot(visible, "SKYPILOT_", env);
  SetWandb(spec, facts, env);
  End(spec, facts, env);
  return env;
}

Environment SetupEnvironment(const JobSpec& spec, const ProgramInput& facts) {
  Environment env;
  SetSkyPilot(Begin(spec, facts, env), "SKYPILOT_SETUP_", env);
  End(spec, facts, env);
  return env;
}

}  // namespace stoker::contract
