// SPDX-License-Identifier: Apache-2.0
// A store of which some writes are said to have timed out and take effect when nobody waits for
// them any more. For tests.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "store/forwarding.h"

namespace stoker::test {

class LateStore : public ForwardingStore {
 public:
  explicit LateStore(ObjectStore& inner) : ForwardingStore(inner) {}

  // The next `count` writes of keys that contain `what` are late.
  void Hold(std::string what, int count) {
    what_ = std::move(what);
    count_ = count;
  }
  // Now they come, each under the condition that it was sent with. How many took effect.
  int Land() {
    int landed = 0;
    for (const auto& write : std::exchange(held_, {})) landed += write() ? 1 : 0;
    return landed;
  }
  int held() const { return static_cast<int>(held_.size()); }

  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition = {}) override {
    if (!Late(key)) return inner_.Put(key, data, condition);
    held_.push_back([this, key, data = std::string(data), condition] {
      return inner_.Put(key, data, condition).ok();
    });
    return Status(Code::kTimeout, "no answer");
  }
  Result<std::unique_ptr<Upload>> BeginUpload(const std::string& key,
                                              const Condition& condition = {}) override {
    if (!Late(key)) return inner_.BeginUpload(key, condition);
    return std::unique_ptr<Upload>(std::make_unique<LateUpload>(*this, key, condition));
  }
  // As the port makes it, out of BeginUpload.
  Result<ObjectInfo> PutFrom(const std::string& key, ObjectReader& from,
                             const Condition& condition = {}) override {
    return ObjectStore::PutFrom(key, from, condition);
  }

 private:
  class LateUpload : public Upload {
   public:
    LateUpload(LateStore& store, std::string key, Condition condition)
        : store_(store), key_(std::move(key)), condition_(std::move(condition)) {}
    Status Write(std::string_view bytes) override {
      data_.append(bytes);
      return Status::Ok();
    }
    Status WriteFile(int, int64_t) override { return Status(Code::kInvalid, "no descriptors"); }
    Result<Version> Commit() override {
      store_.held_.push_back(
          [&inner = store_.inner_, key = key_, data = data_, condition = condition_] {
            return inner.Put(key, data, condition).ok();
          });
      return Status(Code::kTimeout, "no answer");
    }

   private:
    LateStore& store_;
    const std::string key_;
    const Condition condition_;
    std::string data_;
  };

  bool Late(const std::string& key) {
    if (count_ == 0 || key.find(what_) == std::string::npos) return false;
    --count_;
    return true;
  }

  std::string what_;
  int count_ = 0;
  std::vector<std::function<bool()>> held_;
};

}  // namespace stoker::test
