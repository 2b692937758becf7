// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <cerrno>
#include <cstring>

namespace stoker {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kInvalid:
      return "invalid";
    case Code::kUsage:
      return "usage";
    case Code::kNotFound:
      return "not_found";
    case Code::kExists:
      return "exists";
    case Code::kConflict:
      return "conflict";
    case Code::kBusy:
      return "busy";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kTimeout:
      return "timeout";
    case Code::kDenied:
      return "denied";
    case Code::kNoSpace:
      return "no_space";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kTooNew:
      return "too_new";
    case Code::kCancelled:
      return "cancelled";
    case Code::kInternal:
      return "internal";
  }
  return "internal";
}

Status Status::WithContext(std::string_view context) const {
  if (ok()) return *this;
  return Status(code_, std::string(context) + ": " + message_, next_);
}

Status Status::WithNext(std::string next) const {
  if (ok()) return *this;
  return Status(code_, message_, std::move(next));
}

std::string Status::ToString() const {
  if (ok()) return "ok";
  return next_.empty() ? message_ : message_ + ". " + next_;
}

Status ErrnoStatus(std::string_view what, int error) {
  Code code = Code::kUnavailable;
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      code = Code::kNotFound;
      break;
    case EEXIST:
    case ENOTEMPTY:
      code = Code::kExists;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = Code::kDenied;
      break;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      code = Code::kNoSpace;
      break;
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
    case EISDIR:
      code = Code::kInvalid;
      break;
    case EAGAIN:
    case EBUSY:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      code = Code::kBusy;
      break;
    case ETIMEDOUT:
      code = Code::kTimeout;
      break;
    default:
      break;
  }
  return Status(code, std::string(what) + ": " + std::strerror(error));
}

}  // namespace stoker
