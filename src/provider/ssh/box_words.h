// SPDX-License-Identifier: Apache-2.0
// What is said between stoker here and `stoker __box` on a box: one line of JSON each way. Both are
// the same binary, so that no version stands in it. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "port/provider.h"
#include "provider/local/local_private.h"

namespace stoker {

inline constexpr char kBoxVerb[] = "__box";  // stoker __box FOLDER

using BoxJson = nlohmann::json;

// Who the box is, said once a connection.
struct BoxHello {
  std::string host;     // random id of the user's state folder there
  std::string address;  // where others reach it: that which this connection came to
  std::string shared;   // what it has to share, and who shares it now, for people
};

// What would become of a machine that wants so much.
struct BoxProspect {
  std::string never;  // why it could never start there; "" = it could
  bool starts = false;
  int place = 0;      // in line, where it does not start at once
  int running = 0;    // machines, of anybody
  int of_job = 0;     // those of its job's other slots, waiting ones too
  int room = 0;       // so many that want as much run there at once, if nobody else does
  std::string store;  // why the store cannot be used from there; "" = it can
};

// Each reads what the other of its name wrote: kCorrupt where it is anything else.
std::string BoxAnswer(const Status& failed, const std::optional<Refusal>& refusal);
std::string BoxAnswer(const BoxJson& value);

void PutRequest(const LaunchRequest& request, BoxJson* out);
Result<LaunchRequest> TakeRequest(const BoxJson& in);
void PutPrivate(const LocalPrivate& content, BoxJson* out);
Result<LocalPrivate> TakePrivate(const BoxJson& in);
void PutSeen(const InstancesSeen& seen, BoxJson* out);
Result<InstancesSeen> TakeSeen(const BoxJson& in);
void PutHello(const BoxHello& hello, BoxJson* out);
Result<BoxHello> TakeHello(const BoxJson& in);
void PutProspect(const BoxProspect& prospect, BoxJson* out);
Result<BoxProspect> TakeProspect(const BoxJson& in);
// The failure that an answer tells, with its refusal where it is one.
Status FailureOf(const BoxJson& answer, std::optional<Refusal>* refusal);

// A text field, "" where it is none.
std::string BoxText(const BoxJson& in, const char* key);

}  // namespace stoker
