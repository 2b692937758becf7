// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stoker {

// The body of `stoker __init`: the shim that a ProcessRunner starts around a program. It runs the
// program, adopts and reaps what the program leaves behind, reports the program's exit, and ends
// everything when its owner says so or is gone. main() calls it when argv[1] is "__init", before
// anything else; returns the exit code.
int TaskInitMain(int argc, char** argv);

}  // namespace stoker
