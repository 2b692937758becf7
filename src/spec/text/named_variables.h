// SPDX-License-Identifier: Apache-2.0
// Which environment variables a text reads, and which of them a job may be given. Pure.
#pragma once

#include <functional>
#include <string_view>

namespace stoker {

// Calls `found` for each name that `text` reads, as often as it stands there; the views are into
// it. Time follows its length. The forms, in any text, for nobody knows what a file is meant for:
//   $X ${X} ${X:-1} ${#X}   shells, make, envsubst, YAML that is filled in
//   $(X) $(X:a=b)           make
//   $((X + 1))              a shell's arithmetic
//   ${oc.env:X,1} ${env:X}  Hydra, OmegaConf
//   …env….get("X", …) …env…['X'] …env…{X}   what languages call environ, getenv, LookupEnv, ENV,
//                           env::var, process.env: a quoted name is the first argument
//   process.env.X           JavaScript
//   "X" in os.environ       Python; get(ENV, "X") Julia
//   envvar="X"              click, pydantic
// It may find too many: who asks compares with the variables that there are.
void ForEachNamedVariable(std::string_view text,
                          const std::function<void(std::string_view)>& found);

// Names whose values mean something on this machine, in this session or for this launcher alone:
// what stoker sets itself, what torchrun, Slurm and MPI set, PATH, HOME and their like.
// docs/environment.md says which, and why.
bool BelongsToPlace(std::string_view name);

}  // namespace stoker
