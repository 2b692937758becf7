// SPDX-License-Identifier: Apache-2.0
// Status and Result<T>: how every call in stoker reports failure. No exceptions cross a room.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace stoker {

// Few codes, each one a different thing for the caller to do.
enum class Code {
  kOk,
  kInvalid,      // the input is wrong; repeating it cannot help
  kUsage,        // the command line is wrong (exit code 2)
  kNotFound,     // no such object, file or job
  kExists,       // create-only, and it is there already
  kConflict,     // compare-and-swap lost: somebody else wrote; read again and decide again
  kBusy,         // the service asks to wait (throttled, locked); repeat later
  kUnavailable,  // transport or service failure; it may or may not have taken effect
  kTimeout,      // no answer in time; it may or may not have taken effect
  kDenied,       // permission or credentials
  kNoSpace,      // disk or quota full
  kCorrupt,      // data that fails its checks; never silently repaired
  kTooNew,       // written by a newer stoker; this one must not touch it
  kCancelled,    // the user or the caller gave up
  kInternal,     // a defect of stoker
};

std::string_view CodeName(Code code);

// A value; cheap to move. `message` says what failed and on what; `next` what the user can do.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message, std::string next = "")
      : code_(code), message_(std::move(message)), next_(std::move(next)) {}
  static Status Ok() { return {}; }

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  bool Is(Code code) const { return code_ == code; }
  // True when the same call may succeed later without any change by the user.
  bool transient() const {
    return code_ == Code::kBusy || code_ == Code::kUnavailable || code_ == Code::kTimeout;
  }
  const std::string& message() const { return message_; }
  const std::string& next() const { return next_; }

  // The same failure with "context: " in front: added once, where the context is known.
  Status WithContext(std::string_view context) const;
  Status WithNext(std::string next) const;
  // "message. next" for people.
  std::string ToString() const;

 private:
  Code code_ = Code::kOk;
  std::string message_;
  std::string next_;
};

// Status out of errno: picks the code (ENOSPC, EACCES, ENOENT, EEXIST, …) and says "what:
// strerror".
Status ErrnoStatus(std::string_view what, int error);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit on purpose
    assert(!status_.ok());
  }
  bool ok() const { return value_.has_value(); }
  // Of a Result that is about to end, these return values and not references into it: so
  // `for (x : *Call())` does not outlive what it goes through.
  const Status& status() const& { return status_; }
  Status status() && { return std::move(status_); }
  Code code() const { return status_.code(); }
  T& value() & {
    assert(ok());
    return *value_;
  }
  const T& value() const& {
    assert(ok());
    return *value_;
  }
  T value() && {
    assert(ok());
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T value_or(T other) const { return ok() ? *value_ : std::move(other); }

 private:
  std::optional<T> value_;
  Status status_;
};

#define STOKER_CONCAT_INNER(a, b) a##b
#define STOKER_CONCAT(a, b) STOKER_CONCAT_INNER(a, b)
// Returns the Status of `expression` from the enclosing function when it failed.
#define STOKER_TRY(expression)                             \
  do {                                                     \
    ::stoker::Status stoker_try_status = (expression);     \
    if (!stoker_try_status.ok()) return stoker_try_status; \
  } while (false)
// `declaration` = value of the Result `expression`, or returns its Status.
#define STOKER_ASSIGN(declaration, expression) \
  STOKER_ASSIGN_IMPL(STOKER_CONCAT(stoker_result_, __LINE__), declaration, expression)
#define STOKER_ASSIGN_IMPL(result, declaration, expression) \
  auto result = (expression);                               \
  if (!result.ok()) return result.status();                 \
  declaration = std::move(result).value()

}  // namespace stoker
