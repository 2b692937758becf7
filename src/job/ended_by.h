// SPDX-License-Identifier: Apache-2.0
// Who ended a machine, where its platform can tell. Plain data.
#pragma once

namespace stoker {

enum class EndedBy {
  kUnknown,   // it is not known, or not yet
  kOwner,     // a person, with the platform's own tools and for good: scancel
  kPlatform,  // took it for others, or because its time there was over: no fault of anybody's
  kOther,     // known to be neither: a fault, the machine itself, a call of stoker's own
};

}  // namespace stoker
