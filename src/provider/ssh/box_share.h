// SPDX-License-Identifier: Apache-2.0
// What a box says of what it has to share, between stoker here and `stoker __box` there. Pure.
#pragma once

#include "port/place_info.h"
#include "provider/ssh/box_words.h"

namespace stoker {

// In a share: which engines are installed there, a list; as an answer of its own: by which
// containers begin there, for people.
inline constexpr char kBoxEngines[] = "engines";
// In the answers to "sweep" and "leftovers": what engines had; an older stoker says nothing of it.
inline constexpr char kBoxOfEngines[] = "of_engines";

// Without `infra`, `part` and `trouble`, which whoever asks knows.
void PutShare(const PlaceInfo& share, BoxJson* out);
// kCorrupt where it is not what PutShare writes.
Result<PlaceInfo> TakeShare(const BoxJson& in);

}  // namespace stoker
