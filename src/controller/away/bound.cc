// SPDX-License-Identifier: Apache-2.0
#include "controller/away/bound.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/deliberate_bug.h"
#include "base/json_fields.h"
#include "base/text.h"
#include "reconcile/reconcile.h"

namespace stoker {
namespace {

constexpr int kBoundFormat = 1;
constexpr Duration kClockSlack = Duration::Hours(1);
constexpr size_t kMostBoundBytes = 3'000;  // a function's environment has 4 KB in all

std::string Dollars(int64_t millionths) {
  return fmt::format("{:.4f} $", static_cast<double>(millionths) / 1e6);
}

bool Has(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

Status Beyond(const std::string& what) {
  return Status(Code::kDenied, "beyond what the reconciler away may ask for: " + what,
                "Any stoker command asks for it, with the rights of whoever types it; 'stoker "
                "controller --install' with a wider bound lets the reconciler ask, too");
}

}  // namespace

template <class A, class T>
requires std::is_same_v<std::remove_const_t<T>, Bound>
void Fields(A& a, T& t) {
  a.Need("regions", t.regions);
  a.Need("types", t.types);
  a.Need("machines", t.machines);
  a.Need("price", t.price);
  a("unknown_prices", t.unknown_prices);
  a.Need("disk_gib", t.disk_gib);
  a.Need("identity", t.identity);
}

std::string EncodeBound(const Bound& bound) {
  json::JsonOut out;
  out.Need("format", kBoundFormat);
  Fields(out, bound);
  return json::Dump(out.Take());
}

Result<Bound> ParseBound(std::string_view text) {
  const std::string key = "the bound";
  STOKER_ASSIGN(const json::Value object, json::ParseObject(key, text, kMostBoundBytes));
  STOKER_TRY(json::CheckFormat(key, object, kBoundFormat));
  Bound bound;
  json::JsonIn in(object, key + ": ");
  Fields(in, bound);
  in.Check(!bound.regions.empty(), "regions", "is empty");
  in.Check(!bound.types.empty(), "types", "is empty");
  in.Check(bound.machines > 0, "machines", "is none");
  in.Check(bound.price > 0, "price", "is none");
  in.Check(bound.disk_gib >= 0, "disk_gib", "is negative");
  in.Check(!bound.identity.empty(), "identity", "is empty");
  STOKER_TRY(in.status());
  return bound;
}

Status CheckBound(const Bound& bound) {
  const std::string text = EncodeBound(bound);
  if (text.size() > kMostBoundBytes) {
    return Status(
        Code::kInvalid,
        fmt::format("the bound has {} bytes, and a function keeps {}: it names {} regions "
                    "and {} types",
                    text.size(), kMostBoundBytes, bound.regions.size(), bound.types.size()),
        "Name fewer of them: --region, --type");
  }
  const Status read = ParseBound(text).status();
  return read.ok() ? read : Status(Code::kInvalid, read.message(), read.next());
}

Status MayStart(const Bound& bound, const std::string& type, int there) {
  if (!Has(bound.types, type)) {
    return Beyond("to start a machine of " +
                  (type.empty() ? "a type that no list shows" : "the type " + Printable(type)) +
                  " (it may those of " + Join(bound.types, ", ") + ")");
  }
  if (int64_t{there} + 1 > bound.machines) {
    return Beyond(fmt::format("to start one more where the ledger has {} (it may up to {} at once)",
                              there, bound.machines));
  }
  return Status::Ok();
}

Status Ends(Duration limit, WallTime not_after, WallTime now) {
  if (limit > kDefaultLease) {
    return Beyond("a machine that nothing ends for " + HumanDuration(limit) + " (it may those of " +
                  HumanDuration(kDefaultLease) + ")");
  }
  if (not_after - now > kSendWithin + kClockSlack) {
    return Beyond("a request that may still be sent in " + HumanDuration(not_after - now));
  }
  return Status::Ok();
}

Status Within(const Bound& bound, const AskedMachine& asked, int more, int there) {
  if (!Has(bound.regions, asked.region)) {
    return Beyond("the region " + Printable(asked.region) + " (it may in " +
                  Join(bound.regions, ", ") + ")");
  }
  if (!Has(bound.types, asked.type) && !BugIsOn("away-any-type")) {
    return Beyond("machines of the type " + Printable(asked.type) + " (it may those of " +
                  Join(bound.types, ", ") + ")");
  }
  if (asked.identity != bound.identity) {
    return Beyond("machines that act as " +
                  (asked.identity.empty() ? "nobody" : Printable(asked.identity)) +
                  " (it may those that act as " + bound.identity + ")");
  }
  if (asked.disk_gib > bound.disk_gib) {
    return Beyond(
        fmt::format("disks of {} GiB in one machine (it may {})", asked.disk_gib, bound.disk_gib));
  }
  if (!asked.price && !bound.unknown_prices) {
    return Beyond("machines of which it knows no price (" + Printable(asked.type) + " in " +
                  asked.region + ")");
  }
  if (asked.price && *asked.price > bound.price && !BugIsOn("away-any-price")) {
    return Beyond("a machine that may cost " + Dollars(*asked.price) + " an hour (it may " +
                  Dollars(bound.price) + ")");
  }
  // Counted without overflow, whatever a record says.
  const int64_t all = int64_t{more} + int64_t{there};
  if (all > bound.machines) {
    return Beyond(fmt::format("{} more where the ledger has {} (it may up to {} at once)", more,
                              there, bound.machines));
  }
  return Status::Ok();
}

std::string Described(const Bound& bound) {
  return fmt::format(
      "up to {} machines at once in {} of {}, each for up to {} an hour{}, with up to {} GiB of "
      "disk, acting as {}",
      bound.machines, Join(bound.regions, ", "), Join(bound.types, ", "), Dollars(bound.price),
      bound.unknown_prices ? " or of a price that is not known" : "", bound.disk_gib,
      bound.identity);
}

}  // namespace stoker
