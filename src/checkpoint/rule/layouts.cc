// SPDX-License-Identifier: Apache-2.0
// The table of layouts, made from layouts.yaml. Where two fit, the first does.
#include <algorithm>

#include "checkpoint/rule/layout.h"

namespace stoker {
namespace {

constexpr std::string_view kModel =
    "*.safetensors|pytorch_model*|pytorch_model*/*|adapter_model*|*/adapter_model*|global_step*/*";

using E = SaveEnd;
constexpr Layout kLayouts[] = {
    // Hugging Face: all versions, PEFT, trl; with DeepSpeed and FSDP. Up to 4.35 rng_state comes
    // behind trainer_state.json; ranks but 0 write theirs whenever they come to it.
    {.name = "hf_trainer",
     .unit = "checkpoint-{n}/",
     .end = E::kLast,
     .known_by =
         "trainer_state.json training_args.bin rng_state.pth rng_state_{k}.pth optimizer.pt",
     .last = "trainer_state.json",
     .required = kModel,
     .also = "rng_state.pth|rng_state_{k}.pth",
     .where = "optimizer.pt|optimizer.bin|optimizer_{i}/*|scheduler.pt|global_step*/*",
     .certain = true,
     .unfinished = "checkpoint-is-incomplete.txt",
     .temp = "tmp-checkpoint-{n} .tmp??????"},
    {.name = "diffusers",
     .unit = "checkpoint-{n}/",
     .end = E::kCounted,
     .known_by = "unet/* unet_ema/* transformer/* pytorch_lora_weights.safetensors",
     .temp = ".tmp??????"},
    {.name = "accelerate",
     .unit = "checkpoint_{n}/ checkpoint-{n}/ step_{n}/ epoch_{n}/",
     .end = E::kCounted,
     .known_by = "random_states_{k}.pkl optimizer.bin scheduler.bin custom_checkpoint_{i}.pkl",
     .temp = ".tmp??????"},
    {.name = "lightning_fsdp",
     .unit = "*.ckpt/",
     .end = E::kLast,
     .known_by = "__{k}_{i}.distcp meta.pt .metadata",
     .last = "meta.pt",
     .required = ".metadata __{k}_{i}.distcp",
     .barrier = true,
     .certain = true,
     .temp = ".metadata.tmp"},
    {.name = "lightning_deepspeed",
     .unit = "*.ckpt/",
     .end = E::kCounted,
     .known_by = "checkpoint/*_states.pt"},
    {.name = "litgpt",
     .unit = "step-{n}/",
     .end = E::kLast,
     .known_by = "lit_model.pth lit_model.pth.lora lit_model.pth/*",
     .last = "lit_model.pth|lit_model.pth/meta.pt|lit_model.pth.lora",
     .more_follows = true,
     .certain = true},
    {.name = "torchtune",
     .unit = "epoch_{n}/ step_{n}/",
     .end = E::kLast,
     .known_by = "recipe_state.pt",
     .last = "recipe_state.pt",
     .required = "*.safetensors|*.bin|*.pt|__{k}_{i}.distcp",
     .also = ".metadata",
     .where = "__{k}_{i}.distcp",
     .certain = true,
     .temp = ".metadata.tmp"},
    // Its folder is one of torch's distributed checkpoint, too: the pointer comes first.
    {.name = "megatron",
     .unit = "iter_{n}/",
     .end = E::kNamed,
     .known_by = "common.pt metadata.json __{k}_{i}.distcp mp_rank_*/*",
     .required = "metadata.json|mp_rank_*/model_optim_rng.pt",
     .barrier = true,
     .more_follows = true,
     .certain = true,
     .pointer = "latest_checkpointed_iteration.txt",
     .temp = ".metadata.tmp"},
    {.name = "torch_dcp_each",
     .unit = "*/",
     .end = E::kCounted,
     .known_by = "__{k}.metadata",
     .temp = "__{k}.metadata.tmp"},
    // torchtitan and Composer's shards, too.
    {.name = "torch_dcp",
     .unit = "*/",
     .end = E::kLast,
     .known_by = "__{k}_{i}.distcp .metadata",
     .last = ".metadata",
     .required = "__{k}_{i}.distcp",
     .barrier = true,
     .certain = true,
     .temp = ".metadata.tmp"},
    // `latest` comes before the barrier and says nothing.
    {.name = "deepspeed", .unit = "global_step{n}/", .end = E::kCounted, .known_by = "*_states.pt"},
    {.name = "nvrx_local",
     .unit = "iter_{n}_{k}_local*.pt",
     .end = E::kRenamed,
     .certain = true,
     .temp = "*.dirty"},
    // On a mounted bucket nothing is renamed: then its last file says so.
    {.name = "orbax",
     .unit = "*/",
     .end = E::kLast,
     .known_by = "_CHECKPOINT_METADATA commit_success.txt",
     .last = "commit_success.txt",
     .barrier = true,
     .certain = true},
    {.name = "levanter",
     .unit = "step-{n}/",
     .end = E::kLast,
     .known_by = "metadata.json",
     .last = "metadata.json",
     .barrier = true,
     .certain = true},
    {.name = "flax_legacy",
     .unit = "checkpoint_{n}",
     .end = E::kRenamed,
     .barrier = true,
     .certain = true,
     .temp = "checkpoint_tmp"},
    {.name = "tf_checkpoint",
     .unit = "{name}-{n}.data-{i}-of-{w} {name}-{n}.index",
     .end = E::kLast,
     .last = "{name}-{n}.index",
     .required = "{name}-{n}.data-{i}-of-{w}",
     .barrier = true,
     .certain = true,
     .temp = "*_temp *.tempstate* checkpoint.tmp*"},
    {.name = "keras_backup",
     .unit = "latest.weights.h5 training_metadata.json",
     .end = E::kLast,
     .last = "training_metadata.json",
     .required = "latest.weights.h5",
     .certain = true},
    {.name = "allennlp",
     .unit = "model_state_e{e}_b{b}.th training_state_e{e}_b{b}.th",
     .end = E::kLast,
     .last = "training_state_e{e}_b{b}.th",
     .required = "model_state_e{e}_b{b}.th",
     .certain = true},
    {.name = "safetensors_shards",
     .unit = "{name}-{i}-of-{w}.safetensors {name}.safetensors.index.json",
     .end = E::kLast,
     .last = "{name}.safetensors.index.json",
     .required = "{name}-{i}-of-{w}.safetensors",
     .certain = true,
     .temp = ".tmp??????"},
    {.name = "stable_baselines3",
     .unit = "{name}_{n}_steps.zip {name}_replay_buffer_{n}_steps.pkl "
             "{name}_vecnormalize_{n}_steps.pkl",
     .end = E::kCounted},
    {.name = "composer",
     .unit = "ep{e}-ba{n}-rank{k}.pt",
     .end = E::kNamed,
     .barrier = true,
     .certain = true,
     .pointer = "latest-rank{k}.pt"},
    {.name = "sqlite_db",
     .unit = "{name}.db {name}.db-journal {name}.db-wal {name}.db-shm",
     .end = E::kAnyTime,
     .certain = true},
    {.name = "sqlite3",
     .unit = "{name}.sqlite3 {name}.sqlite3-journal {name}.sqlite3-wal {name}.sqlite3-shm",
     .end = E::kAnyTime,
     .certain = true},
    {.name = "ray_train",
     .unit = R"(checkpoint_????-??-??_??-??-??*/)",
     .end = E::kNamed,
     .barrier = true,
     .certain = true,
     .pointer = "checkpoint_manager_snapshot.json"},
    {.name = "rllib", .unit = "*/", .end = E::kRest, .known_by = "rllib_checkpoint.json"},
    {.name = "spacy",
     .unit = "model-last/ model-best/",
     .end = E::kRest,
     .known_by = "config.cfg tokenizer"},
    {.name = "timm",
     .unit = "checkpoint-{n}.pth.tar|last.pth.tar|model_best.pth.tar|recovery-{e}-{b}.pth.tar",
     .end = E::kRenamed,
     .certain = true,
     .temp = "tmp.pth.tar recovery_tmp.pth.tar"},
    {.name = "open_clip", .unit = "epoch_{n}.pt|epoch_latest.pt", .temp = "tmp.pt"},
    {.name = "fairseq",
     .unit = "checkpoint{e}.pt|checkpoint_{e}_{n}.pt|checkpoint_best.pt|checkpoint_last.pt",
     .temp = "*.pt.tmp"},
    {.name = "lightning", .unit = "*.ckpt", .end = E::kRenamed, .certain = true, .alone = true},
    {.name = "catboost",
     .unit = "*.cbsnapshot",
     .end = E::kRenamed,
     .certain = true,
     .alone = true,
     .temp = "*.cbsnapshot.bak *-*-*-*.tmp"},
    {.name = "safetensors",
     .unit = "*.safetensors",
     .end = E::kRenamed,
     .certain = true,
     .temp = ".tmp??????"},
    // Whatever else is one file: closed, and proven by its format. No entry is needed.
};

constexpr std::string_view kOfNoSave =
    "*.orbax-checkpoint-tmp*|tmp-checkpoint-{n}|.metadata.tmp|__{k}.metadata.tmp|*.__lock|"
    "*.tempstate*|.tmp??????|_tmp_latest|_trash_latest";

}  // namespace

std::span<const Layout> Layouts() { return kLayouts; }
std::string_view NamesOfNoSave() { return kOfNoSave; }

std::vector<std::string_view> PatternsIn(std::string_view list) {
  std::vector<std::string_view> out;
  while (!list.empty()) {
    const size_t end = std::min(list.find(' '), list.size());
    if (end > 0) out.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return out;
}

}  // namespace stoker
