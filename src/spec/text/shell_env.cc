// SPDX-License-Identifier: Apache-2.0
#include "spec/text/shell_env.h"

#include <algorithm>

#include "base/text.h"
#include "spec/text/env_text.h"
#include "spec/text/secrets.h"

namespace stoker {

const std::vector<std::string>& DefaultShellNames() {
  static const std::vector<std::string> names = {
      // which devices
      "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
      "ZE_AFFINITY_MASK",
      // how programs compute and talk
      "OMP_*", "MKL_*", "KMP_*", "OPENBLAS_NUM_THREADS", "NUMEXPR_*", "NCCL_*", "GLOO_*", "UCX_*",
      "TORCH_*", "PYTORCH_*", "CUBLAS_WORKSPACE_CONFIG", "CUDA_LAUNCH_BLOCKING", "CUDA_CACHE_PATH",
      "CUDA_HOME", "TOKENIZERS_PARALLELISM", "TF_CPP_MIN_LOG_LEVEL", "TF_FORCE_GPU_ALLOW_GROWTH",
      "XLA_FLAGS", "XLA_PYTHON_CLIENT_*", "JAX_PLATFORMS",
      // where code is
      "PYTHONPATH", "PYTHONHASHSEED", "PYTHONWARNINGS", "LD_LIBRARY_PATH", "VIRTUAL_ENV",
      "CONDA_PREFIX", "CONDA_DEFAULT_ENV",
      // where data and caches are
      "HF_HOME", "HF_HUB_*", "HF_DATASETS_*", "HF_ENDPOINT", "TRANSFORMERS_CACHE",
      "TRANSFORMERS_OFFLINE", "XDG_CACHE_HOME", "PIP_CACHE_DIR", "TMPDIR",
      // how the network is reached
      "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT", "UV_INDEX_URL", "http_proxy",
      "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
      "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
      // which account, never its key
      "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "GOOGLE_APPLICATION_CREDENTIALS",
      "GOOGLE_CLOUD_PROJECT", "WANDB_MODE", "WANDB_PROJECT", "WANDB_ENTITY", "WANDB_BASE_URL",
      "MLFLOW_TRACKING_URI", "TZ"};
  return names;
}

bool ShellChoice::Takes(std::string_view name) const {
  const auto in = [name](const std::vector<std::string>& patterns) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [name](const std::string& p) { return MatchesName(p, name); });
  };
  return IsEnvName(name) && !StartsWith(name, "STOKER_") && in(take) && !in(leave) &&
         SecretInEnv(name, "x").empty();
}

Result<ShellChoice> ReadShellChoice(std::string_view setting) {
  ShellChoice choice;
  choice.take = DefaultShellNames();
  for (const std::string& word : Split(setting, ' ')) {
    if (word.empty()) continue;
    if (word == "none") {
      choice.take.clear();
      continue;
    }
    const bool leave = word[0] == '-';
    const std::string name = leave ? word.substr(1) : word;
    std::string plain = name;
    std::erase_if(plain, [](char c) { return c == '*' || c == '?'; });
    if (!plain.empty() ? !IsEnvName("_" + plain) : name.find('*') == std::string::npos) {
      return Status(Code::kInvalid, "'shell_env' holds " + ShellQuote(Printable(word)),
                    "Write names or patterns with spaces between: MY_* -LD_LIBRARY_PATH, or none");
    }
    (leave ? choice.leave : choice.take).push_back(name);
  }
  return choice;
}

}  // namespace stoker
