// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace stoker::node {

// The process `stoker __agent DIR`: runs the agent of the instance whose folder is DIR, until its
// machine may be powered off (0) or must be (not 0: the machine process starts it again).
int AgentMain(const std::string& dir);

}  // namespace stoker::node
