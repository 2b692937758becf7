// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "port/object_store.h"
#include "port/transfer_side.h"
#include "store/local/folder_side.h"
#include "store/open.h"

namespace stoker {

// True: `url` names a bucket, which OpenStore opens; false: a folder here.
bool NamesBucket(const std::string& url);

// "s3://bucket/a/b" as the object "b" of "s3://bucket/a"; nullopt where no object can be meant: it
// ends with a slash, names a bucket alone, or a folder here.
struct ObjectAddress {
  std::string around;
  std::string key;
};
std::optional<ObjectAddress> ObjectAddressOf(const std::string& url);

// "/path", "path" or "file:///path" as a folder of plain files: '..' as the kernel reads it, behind
// links. `must_exist` as FolderSide::Open.
Result<std::unique_ptr<FolderSide>> OpenFolder(const std::string& url, bool must_exist);

}  // namespace stoker
