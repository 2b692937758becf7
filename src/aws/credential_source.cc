// SPDX-License-Identifier: Apache-2.0
#include "aws/credential_source.h"

#include "aws/config.h"
#include "aws/sources.h"
#include "base/text.h"

namespace stoker {

AwsCredentialSource::AwsCredentialSource(AwsEnvironment environment, std::string profile)
    : environment_(std::move(environment)), profile_(std::move(profile)) {}

AwsCredentialSource::Need AwsCredentialSource::NeedAt(WallTime now) const {
  if (!current_) return Need::kNow;
  if (!current_->expires || *current_->expires - now >= kSoon) return Need::kNothing;
  const bool over = *current_->expires <= now;
  // After a failure, what still lasts is good enough for a while.
  if (!over && !failure_.ok() && now < not_before_) return Need::kNothing;
  return *current_->expires - now >= kNow ? Need::kSoon : Need::kNow;
}

Result<AwsCredentials> AwsCredentialSource::Find() const {
  STOKER_ASSIGN(const AwsConfig config, ReadAwsConfig(environment_, profile_));
  std::vector<std::string> tried;
  const AwsLookup lookup{environment_, config, &tried};
  STOKER_ASSIGN(auto found, FromEverywhere(lookup, /*profile_only=*/!profile_.empty()));
  if (!found) {
    return Status(Code::kDenied, "no AWS credentials were found: " + Join(tried, "; "),
                  "Run 'aws configure' or 'aws sso login', set AWS_ACCESS_KEY_ID and "
                  "AWS_SECRET_ACCESS_KEY, or give the machine a role");
  }
  if (found->expires && *found->expires <= environment_.now()) {
    return Status(
        Code::kDenied,
        found->source + " gives credentials that expired at " + FormatRfc3339(*found->expires),
        "Renew them, and check this machine's clock");
  }
  return std::move(*found);
}

void AwsCredentialSource::Take(Result<AwsCredentials> found, WallTime now) {
  ++looks_;
  if (found.ok()) {
    current_ = std::move(*found);
    failure_ = Status::Ok();
    return;
  }
  failure_ = std::move(found).status();
  const bool soon = current_ && current_->expires && *current_->expires - now >= kNow;
  not_before_ = now + (soon ? Duration::Minutes(1) : Duration::Seconds(10));
}

// What a caller gets when a look has just ended.
Result<AwsCredentials> AwsCredentialSource::Outcome(WallTime now) const {
  if (current_ && (!current_->expires || *current_->expires > now)) return *current_;
  if (!current_) return failure_;
  // It worked before, so it may work again: not the end of anything.
  return Status(Code::kUnavailable,
                "the credentials of " + current_->source + " expired at " +
                    FormatRfc3339(*current_->expires) +
                    " and could not be renewed: " + failure_.message(),
                failure_.next());
}

Result<AwsCredentials> AwsCredentialSource::Get() {
  std::unique_lock lock(mutex_);
  const Need need = NeedAt(environment_.now());
  if (need == Need::kNothing || (need == Need::kSoon && looking_)) return *current_;
  if (looking_) {
    const int64_t seen = looks_;
    changed_.wait(lock, [&] { return looks_ != seen; });
    return Outcome(environment_.now());
  }
  looking_ = true;
  lock.unlock();
  auto found = Find();
  lock.lock();
  const WallTime now = environment_.now();
  looking_ = false;
  Take(std::move(found), now);
  changed_.notify_all();
  return Outcome(now);
}

void AwsCredentialSource::Reject(const AwsCredentials& rejected) {
  const std::lock_guard lock(mutex_);
  if (!current_ || current_->access_key != rejected.access_key ||
      current_->session_token != rejected.session_token) {
    return;
  }
  current_.reset();
}

}  // namespace stoker
