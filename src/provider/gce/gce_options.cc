// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_options.h"

#include <algorithm>
#include <concepts>
#include <iterator>
#include <type_traits>

#include "base/json_fields.h"
#include "base/letter_case.h"
#include "base/text.h"

namespace stoker::gce {

// Not in the anonymous namespace: json_fields.h finds these by argument-dependent lookup.
template <class A, class T>
requires std::same_as<std::remove_const_t<T>, Label>
void Fields(A& a, T& t) {
  a.Need("key", t.key);
  a("value", t.value);
}

template <class A, class T>
requires std::same_as<std::remove_const_t<T>, Options>
void Fields(A& a, T& t) {
  a("network", t.network);
  a("subnetwork", t.subnetwork);
  a("external_ip", t.external_ip);
  a("service_account", t.service_account);
  a("accelerator", t.accelerator);
  a("accelerators", t.accelerators);
  a("gpus", t.gpus);
  a("disk_gib", t.disk_gib);
  a("disk_type", t.disk_type);
  a("placement", t.placement);
  a("restart", t.restart);
  a("labels", t.labels);
  a("attributes", t.attributes);
  a("blob_period", t.blob_period);
  a("storage_endpoint", t.storage_endpoint);
  a("compute_endpoint", t.compute_endpoint);
  a("secrets_endpoint", t.secrets_endpoint);
  a("logs_endpoint", t.logs_endpoint);
}

std::string EncodeOptions(const Options& options) {
  json::JsonOut out;
  Fields(out, options);
  return json::Dump(out.Take());
}

Result<Options> ParseOptions(std::string_view text) {
  auto object = json::ParseObject("options", text, 16 << 10);
  if (!object.ok()) {
    return Status(Code::kInvalid, "not options of Compute Engine: " + object.status().message());
  }
  Options options;
  options.external_ip = false;  // what is false is not written
  json::JsonIn in(*object, "options.");
  Fields(in, options);
  if (!in.status().ok()) return Status(Code::kInvalid, in.status().message());
  return options;
}

const char* DiskTypeFor(const std::string& type) {
  constexpr const char* kHyperdiskAlone[] = {"n4",  "n4a", "n4d", "c4", "c4a", "c4d",
                                             "h4d", "x4",  "m4",  "g4", "a4",  "a4x"};
  const std::string family = type.substr(0, type.find('-'));
  const bool alone = std::find(std::begin(kHyperdiskAlone), std::end(kHyperdiskAlone), family) !=
                         std::end(kHyperdiskAlone) ||
                     StartsWith(type, "a3-ultragpu-") || EndsWith(type, "-metal");
  return alone ? "hyperdisk-balanced" : "pd-balanced";
}

std::string TypeWith(const std::string& type, const std::string& accelerator, int64_t count) {
  if (count == 0 && accelerator.empty()) return type;
  return type + "/" + accelerator + ":" + std::to_string(count);
}

bool IsLabelValue(std::string_view text) {
  return text.size() <= 63 &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string_view::npos;
}

bool IsLabelKey(std::string_view text) {
  return !text.empty() && text[0] >= 'a' && text[0] <= 'z' && IsLabelValue(text);
}

Status CheckLabel(const std::string& key, const std::string& value) {
  const std::string form = "Labels of Google have at most 63 small letters, digits, '_' and '-'";
  if (StartsWith(key, "stoker-")) {
    return Status(Code::kInvalid, "'" + Printable(key) + "' is a label of stoker's own",
                  "Give yours another name");
  }
  if (!IsLabelKey(key)) {
    const std::string small = LowerCase(key);
    return Status(Code::kInvalid, "not a label for Google: '" + Printable(CutText(key, 80)) + "'",
                  small != key && IsLabelKey(small) ? "Write '" + small + "': " + form : form);
  }
  if (!IsLabelValue(value)) {
    const std::string small = LowerCase(value);
    return Status(Code::kInvalid,
                  "the label '" + key + "' cannot be '" + Printable(CutText(value, 80)) + "'",
                  small != value && IsLabelValue(small) ? "Write '" + small + "': " + form : form);
  }
  return Status::Ok();
}

}  // namespace stoker::gce
