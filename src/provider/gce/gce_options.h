// SPDX-License-Identifier: Apache-2.0
// What `options` of an Ask says for Compute Engine: all that the request depends on besides place,
// type, image and market, resolved when the job was submitted. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace stoker::gce {

// The type of disk that stoker asks for with a machine of `type`: newer families take no others.
// Source: "Supported disk types" of each machine family (Compute Engine documentation).
const char* DiskTypeFor(const std::string& type);

struct Label {
  std::string key;
  std::string value;
  bool operator==(const Label&) const = default;
};

struct Options {
  std::string network;          // "projects/P/global/networks/N", or
  std::string subnetwork;       // "projects/P/regions/R/subnetworks/N", or both
  bool external_ip = true;      // else it reaches Google's services by Private Google Access
  std::string service_account;  // e-mail
  std::string accelerator;      // attached: "nvidia-tesla-t4"; "" = none is
  int64_t accelerators = 0;     // of them
  int64_t gpus = 0;             // in all, those that the type brings too
  int64_t disk_gib = 0;         // 0 = as large as the image
  std::string disk_type;        // of DiskTypeFor; "" = as Google chooses
  std::string placement;        // kCluster: near each other in that zone; "" = anywhere
  bool restart = false;         // stopped where it is taken, and wanted again
  std::vector<Label> labels;    // the user's
  // Of its metadata, for programs: "stoker-hyperparameters" and JSON.
  std::vector<Label> attributes;
  int64_t blob_period = 0;  // of the binary's copy, see ledger/blobs.h
  // Of services that are not Google's own; "" = Google's.
  std::string storage_endpoint;
  std::string compute_endpoint;
  std::string secrets_endpoint;
  std::string logs_endpoint;
  bool operator==(const Options&) const = default;
};

// One line of JSON.
std::string EncodeOptions(const Options& options);
// kInvalid for what EncodeOptions never writes. Members that are not known are passed over.
Result<Options> ParseOptions(std::string_view text);

// "n1-standard-4/nvidia-tesla-t4:2": a type with what is attached to it. `type` where nothing is.
std::string TypeWith(const std::string& type, const std::string& accelerator, int64_t count);

// A value of a label: at most 63 of a-z, 0-9, '_' and '-'. Source: "Requirements for labels"
// (Compute Engine documentation); other scripts than Latin are not taken here.
bool IsLabelValue(std::string_view text);
// The same, and it begins with a letter.
bool IsLabelKey(std::string_view text);
// kInvalid, with what to do, for what cannot be a label of the user's.
Status CheckLabel(const std::string& key, const std::string& value);

}  // namespace stoker::gce
