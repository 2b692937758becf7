// SPDX-License-Identifier: Apache-2.0
// Lists that EC2 gives in pages of XML; inside provider/ec2 only. Source: "Pagination" and
// "Filtering" (EC2 API reference).
#pragma once

#include <cstdint>
#include <functional>
#include <pugixml.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "provider/ec2/api/aws_api.h"

namespace stoker::ec2 {

// Printable, and cut to a sensible length; "" where there is none.
std::string TextIn(const pugi::xml_node& node, const char* name);
// 0 where there is none.
int64_t NumberIn(const pugi::xml_node& node, const char* name);
// Of its tagSet; "" where it has none of that key.
std::string TagIn(const pugi::xml_node& node, const std::string& key);

// `params` with filters behind: {{"vpc-id", {"vpc-1"}}, …}.
Params Filters(const std::vector<std::pair<std::string, std::vector<std::string>>>& filters,
               Params params = {});

// How long an answer is good for. Types, zones and images come and go over weeks; what a user makes
// or deletes is looked for again within the hour.
inline constexpr Duration kDay = Duration::Hours(24);
inline constexpr Duration kHour = Duration::Hours(1);

// A list of EC2 of which an old answer will do.
Call Lasting(const std::string& region, const char* action, Params params, Duration good_for);

// Each item of the list `set` in all pages of the answer, or an error: half a list says nothing
// about what it leaves out.
Status EachItem(AwsApi& api, const Call& call, const char* set,
                const std::function<void(const pugi::xml_node&)>& take);

}  // namespace stoker::ec2
