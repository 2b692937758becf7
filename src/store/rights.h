// SPDX-License-Identifier: Apache-2.0
// The least that a bucket's owner must allow for stoker to work, in the service's own words.
#pragma once

#include <string>

#include "base/status.h"
#include "port/rights.h"

namespace stoker {

// Roles on a bucket of Google's: beside those that a cloud adds, which are on a project.
inline constexpr char kBucketSubmitterFile[] = "bucket-submitter.json";
inline constexpr char kBucketNodeFile[] = "bucket-node.json";

// Of "s3://bucket/prefix" or "gs://bucket/prefix". `region` says in which part of Amazon's cloud an
// S3 bucket is; "" = in the usual one. Pure. kInvalid: a folder, whose rights are those of its
// files. test/e2e/rights.py runs stoker under what this says.
Result<Rights> RightsFor(const std::string& url, const std::string& region);

// The region that the user's AWS settings name for "s3://…"; "" = none, or another kind of store.
std::string RegionOfRights(const std::string& url);

}  // namespace stoker
