// SPDX-License-Identifier: Apache-2.0
#include "spec/text/named_variables.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/text.h"
#include "spec/text/env_text.h"

namespace stoker {
namespace {

constexpr size_t kWordReach = 40;   // of what a language calls the environment, from "env" on
constexpr size_t kSpaceReach = 80;  // an argument may stand on the next line
constexpr size_t kSumReach = 200;   // of a shell's arithmetic

using Found = std::function<void(std::string_view)>;

bool IsFirst(char c) { return (IsAlnum(c) && !IsDigit(c)) || c == '_'; }
bool IsNext(char c) { return IsAlnum(c) || c == '_'; }
bool IsQuote(char c) { return c == '"' || c == '\'' || c == '`'; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

char At(std::string_view text, size_t at) { return at < text.size() ? text[at] : '\0'; }

std::string_view NameAt(std::string_view text, size_t at) {
  if (!IsFirst(At(text, at))) return "";
  size_t end = at;
  while (end < text.size() && IsNext(text[end])) ++end;
  return text.substr(at, end - at);
}

size_t SkipSpace(std::string_view text, size_t at) {
  const size_t end = std::min(text.size(), at + kSpaceReach);
  while (at < end && IsSpace(text[at])) ++at;
  return at;
}

// A name between quotes, also such as stand in a string themselves: \"X\".
std::string_view QuotedAt(std::string_view text, size_t at) {
  const bool escaped = At(text, at) == '\\';
  if (escaped) ++at;
  const char quote = At(text, at);
  if (!IsQuote(quote)) return "";
  const std::string_view name = NameAt(text, at + 1);
  const size_t behind = at + 1 + name.size() + (escaped ? 1 : 0);
  return At(text, behind) == quote ? name : "";
}

void Sum(std::string_view text, size_t at, const Found& found) {
  std::string_view inner = text.substr(at, kSumReach);
  inner = inner.substr(0, inner.find("))"));
  for (size_t i = 0; i < inner.size();) {
    const std::string_view name = NameAt(inner, i);
    if (!name.empty()) found(name);
    // A digit's letters are no name: 0x1f.
    while (name.empty() && IsDigit(At(inner, i)) && IsNext(At(inner, i + 1))) ++i;
    i += std::max<size_t>(1, name.size());
  }
}

// What begins behind a '$'.
void AfterDollar(std::string_view text, size_t at, const Found& found) {
  const char first = At(text, at);
  if (IsFirst(first)) return found(NameAt(text, at));
  if (first == '{') {
    if (At(text, at + 1) == '#') ++at;
    const std::string_view name = NameAt(text, at + 1);
    constexpr std::string_view kBehind = "}:-=?+%#/^,@[";
    const bool ends = kBehind.find(At(text, at + 1 + name.size())) != std::string_view::npos;
    if (!name.empty() && ends) found(name);
  } else if (first == '(' && At(text, at + 1) == '(') {
    Sum(text, at + 2, found);
  } else if (first == '(') {
    const std::string_view name = NameAt(text, at + 1);
    const char behind = At(text, at + 1 + name.size());
    if (!name.empty() && (behind == ')' || behind == ':')) found(name);
  }
}

// "X" in os.environ, "X" not in os.environ: `text` ends before the "env".
void BeforeEnv(std::string_view text, const Found& found) {
  const auto drop = [&text](const auto& belongs) {
    const size_t before = text.size();
    while (!text.empty() && belongs(text.back())) text.remove_suffix(1);
    return before != text.size();
  };
  drop([](char c) { return IsNext(c) || c == '.'; });
  if (!drop(IsSpace) || !EndsWith(text, "in")) return;
  text.remove_suffix(2);
  if (!drop(IsSpace)) return;
  if (EndsWith(text, "not")) {
    text.remove_suffix(3);
    drop(IsSpace);
  }
  if (text.empty() || !IsQuote(text.back())) return;
  const size_t begin = text.find_last_of(text.back(), text.size() - 2);
  if (text.size() < 3 || begin == std::string_view::npos) return;
  const std::string_view name = text.substr(begin + 1, text.size() - begin - 2);
  if (IsEnvName(name)) found(name);
}

// What begins behind an "env", "Env" or "ENV".
void AfterEnv(std::string_view text, size_t at, const Found& found) {
  if (At(text, at) == '.' || At(text, at) == ':') {
    if (const auto name = NameAt(text, at + 1); !name.empty()) found(name);
  }
  const size_t reach = std::min(text.size(), at + kWordReach);
  size_t end = at;
  while (end < reach && (IsNext(text[end]) || text[end] == '.' || text[end] == ':')) ++end;
  while (end < reach && text[end] == ' ') ++end;
  const char sign = At(text, end);
  if (sign == '\0' || std::string_view("([{,=").find(sign) == std::string_view::npos) return;
  size_t inside = SkipSpace(text, end + 1);
  if (sign == '=' && At(text, inside) == '[') ++inside;
  for (const std::string_view word : {"key", "name"}) {
    const size_t behind = inside + word.size();
    if (text.substr(inside, word.size()) == word && At(text, behind) == '=') inside = behind + 1;
  }
  std::string_view name = QuotedAt(text, inside);
  if (name.empty() && sign == '{') {
    name = NameAt(text, inside);
    if (At(text, inside + name.size()) != '}') return;
  }
  if (!name.empty()) found(name);
}

template <typename Use>
void Each(std::string_view text, std::string_view word, const Use& use) {
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    const auto* hit = static_cast<const char*>(
        memmem(at, static_cast<size_t>(end - at), word.data(), word.size()));
    if (hit == nullptr) return;
    use(static_cast<size_t>(hit - text.data()));
    at = hit + word.size();
  }
}

// stoker's own first, as docs/environment.md has them; a test compares.
constexpr std::string_view kPlace[] = {
    // what stoker sets
    "STOKER_*", "SKYPILOT_*", "PATH", "HOME", "USER", "LOGNAME", "LANG", "TERM", "PYTHONUNBUFFERED",
    "MASTER_ADDR", "MASTER_PORT", "NODE_RANK", "NNODES", "NUM_NODES", "NODES", "PET_*",
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
    "VIRTUAL_ENV",
    // what other launchers and schedulers set
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE",
    "ROLE_RANK", "ROLE_NAME", "ROLE_WORLD_SIZE", "TORCHELASTIC_*", "SLURM_*", "SBATCH_*", "SRUN_*",
    "SALLOC_*", "OMPI_*", "PMI_*", "PMIX_*", "MPI_LOCAL*", "MV2_COMM_*", "PALS_*", "PBS_*", "LSB_*",
    "SGE_*", "KUBERNETES_*", "TF_CONFIG", "SM_*",
    // the session: who sits where, at which terminal
    "SHELL", "PWD", "OLDPWD", "SHLVL", "_", "LC_*", "LANGUAGE", "DISPLAY", "WAYLAND_DISPLAY",
    "XAUTHORITY", "SSH_*", "XDG_*", "DBUS_*", "GPG_*", "USERNAME", "MAIL", "HOSTNAME", "HOST",
    "HOSTTYPE", "MACHTYPE", "OSTYPE", "UID", "EUID", "GID", "GROUPS", "PPID", "COLUMNS", "LINES",
    "COLORTERM", "TERM_*", "TERMINFO*", "LS_COLORS", "TMUX*", "STY", "WINDOWID", "VTE_VERSION",
    "EDITOR", "VISUAL", "PAGER", "BROWSER", "LESS*", "MANPATH", "INFOPATH", "IFS", "PS1", "PS2",
    "PS3", "PS4", "PROMPT_COMMAND", "HIST*", "BASH*", "ZSH*", "RANDOM", "SECONDS", "LINENO",
    "OPTARG", "OPTIND", "REPLY", "SUDO_*", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_*",
    "VSCODE_*", "WSL*", "DESKTOP_SESSION",
    // where things lie, and how the network is reached, on this machine; the shell's list has most
    "TMPDIR", "TMP", "TEMP", "LD_*", "DYLD_*", "LIBRARY_PATH", "CPATH", "PKG_CONFIG_PATH",
    "PYTHONPATH", "PYTHONHOME", "CONDA_*", "MAMBA_*", "PYENV_*", "VIRTUAL_ENV_*", "NVM_*",
    "MODULEPATH*", "MODULESHOME", "LOADEDMODULES", "_LMFILES_", "LMOD_*", "CUDA_HOME", "CUDA_PATH",
    "CUDA_ROOT", "JAVA_HOME", "GOPATH", "CARGO_HOME", "RUSTUP_HOME", "NIX_*", "PIP_*", "UV_*",
    "http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY",
    "FTP_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    // which account of other tools is used here
    "AWS_*", "GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_*", "BOTO_*", "AZURE_*", "KUBECONFIG",
    "DOCKER_*", "GIT_*", "NETRC"};

}  // namespace

void ForEachNamedVariable(std::string_view text, const Found& found) {
  Each(text, "$", [&](size_t at) { AfterDollar(text, at + 1, found); });
  for (const std::string_view word : {"env", "Env", "ENV"}) {
    Each(text, word, [&](size_t at) {
      AfterEnv(text, at + word.size(), found);
      const size_t begin = at > kSpaceReach ? at - kSpaceReach : 0;
      BeforeEnv(text.substr(begin, at - begin), found);
    });
  }
}

bool BelongsToPlace(std::string_view name) {
  return std::any_of(std::begin(kPlace), std::end(kPlace),
                     [name](std::string_view pattern) { return MatchesName(pattern, name); });
}

}  // namespace stoker
