// SPDX-License-Identifier: Apache-2.0
// What EC2's errors mean; inside provider/ec2 only. Pure: the table is ec2_words.h. Sources:
// "StateReason" (EC2 API reference); "Spot request status".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "job/refusal.h"
#include "job/request.h"
#include "provider/cloud/refusal_rows.h"
#include "provider/ec2/api/ec2_query.h"

namespace stoker::ec2 {

// EC2's no to RunInstances. Unset: it is none, whatever was asked for may have been made (5xx,
// an answer that says nothing). `ask`: what was asked for, for what people are told to type.
std::optional<Refusal> RefusalOf(const Failure& failure, const Ask& ask = {});
// The table that it goes by.
std::span<const cloud::RefusalRow> RefusalRows();

// Of an instance that was given and is gone: set where its reason is a refusal that came late.
std::optional<Refusal> RefusalOfDeath(std::string_view reason_code, std::string_view message);

// For every other call. `what` says which and on what: "DescribeInstances in us-east-1".
Status StatusOf(const std::string& what, const Failure& failure);

// The credentials are not taken any more, but others may be.
bool IsExpired(const Failure& failure);
// This machine's clock is not the service's.
bool IsSkewed(const Failure& failure);

}  // namespace stoker::ec2
