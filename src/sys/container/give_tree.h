// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "base/status.h"

namespace stoker::sys {

// Makes `uid` and `gid` the owner of a folder and of all below it that is not theirs. Follows no
// link, enters no other file system, and leaves alone what has another name elsewhere: that is
// not the folder's own. Needs root. What goes away meanwhile is no error,
// but nobody who is not trusted may change it meanwhile.
Status GiveTree(const std::string& path, uid_t uid, gid_t gid);

}  // namespace stoker::sys
