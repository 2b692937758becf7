// SPDX-License-Identifier: Apache-2.0
#include "node/gpus.h"

#include "sys/file.h"

namespace stoker::node {

int CountGpus() {
  int count = 0;
  while (count < 64 && sys::FileExists("/dev/nvidia" + std::to_string(count))) ++count;
  return count;
}

}  // namespace stoker::node
