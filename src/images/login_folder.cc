// SPDX-License-Identifier: Apache-2.0
#include "images/login_folder.h"

#include "sys/file.h"

namespace stoker {

LoginFolder::~LoginFolder() { (void)sys::RemoveTree(path_); }

Status LoginFolder::Write(const ImageRef& ref, const RegistryLogin& login) {
  (void)sys::RemoveTree(path_);
  STOKER_TRY(sys::MakeDirs(path_, 0700));
  STOKER_TRY(sys::WriteFileAtomic(path_ + "/config.json", LoginFile(ref.registry, login), 0600));
  written_ = path_;
  return Status::Ok();
}

}  // namespace stoker
