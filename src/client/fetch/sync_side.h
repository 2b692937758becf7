// SPDX-License-Identifier: Apache-2.0
// The two ends of `stoker sync`, out of the words SRC and DST.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "client/open/client.h"
#include "port/object_store.h"
#include "store/local/folder_side.h"
#include "transfer/transfer.h"

namespace stoker::client {

// One end of a sync: a bucket, or a folder.
struct SyncSide {
  std::unique_ptr<ObjectStore> store;  // behind `side`, where it is a bucket
  std::unique_ptr<TransferSide> side;
  FolderSide* folder = nullptr;  // `side`, where it is one
  std::string only;              // SRC is one file or object of this name; "" = it is none
};

// SRC: a folder or what lies below a prefix, or else one file or one object. Says so where a prefix
// is the name of an object, too, which is not copied then.
Result<SyncSide> OpenSource(Client& client, const std::string& url);

// DST is a folder or a prefix, made when it is written to. Where SRC is one file called `only`,
// "DIR/only" is that file in DIR, unless there is a folder of that name.
Result<SyncSide> OpenTarget(const std::string& url, const std::string& only);

// kNotFound: there is nothing at SRC, as by a typing error. An empty folder is fine, and so is an
// empty bucket.
Status CheckFound(SyncSide& source, const SideListing& listed);

}  // namespace stoker::client
