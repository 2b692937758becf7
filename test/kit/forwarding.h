// SPDX-License-Identifier: Apache-2.0
// store/forwarding.h for uploads.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "store/forwarding.h"

namespace stoker {

class ForwardingUpload : public Upload {
 public:
  explicit ForwardingUpload(std::unique_ptr<Upload> inner) : inner_(std::move(inner)) {}
  Status Write(std::string_view bytes) override { return inner_->Write(bytes); }
  Status WriteFile(int fd, int64_t size) override { return inner_->WriteFile(fd, size); }
  Result<Version> Commit() override { return inner_->Commit(); }

 protected:
  std::unique_ptr<Upload> inner_;
};

class ForwardingParts : public PartsUpload {
 public:
  explicit ForwardingParts(std::unique_ptr<PartsUpload> inner) : inner_(std::move(inner)) {}
  const std::string& id() const override { return inner_->id(); }
  int64_t part_size() const override { return inner_->part_size(); }
  const std::map<int, PartSum>& done() const override { return inner_->done(); }
  bool parallel() const override { return inner_->parallel(); }
  int64_t memory(const ObjectReader& from) const override { return inner_->memory(from); }
  Result<PartSum> WritePart(int n, ObjectReader& from) override {
    return inner_->WritePart(n, from);
  }
  Result<ObjectInfo> Commit() override { return inner_->Commit(); }
  void Abort() override { inner_->Abort(); }

 protected:
  std::unique_ptr<PartsUpload> inner_;
};

}  // namespace stoker
