// SPDX-License-Identifier: Apache-2.0
#include "provider/cloud/image_words.h"

#include "base/letter_case.h"
#include "base/text.h"

namespace stoker::cloud {
namespace {

// Amazon's and Google's own images have 8 and 10; a system takes 2 to 4 of them.
constexpr int64_t kSmallGib = 10;

// "Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04) …" and "common-cu128-ubuntu-2204-…".
// Sources: "AWS Deep Learning AMIs: release notes"; "Deep Learning VM Images: choose an image".
bool IsBase(const std::string& name) {
  const std::string lower = LowerCase(name);
  const bool amazons = lower.find("deep learning base") != std::string::npos;
  return amazons || StartsWith(lower, "common-cu") || StartsWith(lower, "common-gpu");
}

}  // namespace

std::vector<std::string> ImageRemarks(const ImageAsked& image) {
  std::vector<std::string> out;
  const std::string name = Printable(image.name);
  if (image.gpus && !image.packages && IsBase(image.name)) {
    out.push_back("the image " + name +
                  " has drivers and CUDA, and no PyTorch: what the program imports comes from a "
                  "requirements.txt, or from another image (image_id)");
  }
  if (image.packages && image.disk_gib > 0 && image.disk_gib <= kSmallGib) {
    out.push_back("each machine's disk has " + std::to_string(image.disk_gib) + " GiB, of which " +
                  name +
                  " takes a part: packages, inputs and checkpoints share the rest (PyTorch with "
                  "CUDA takes 6 GiB or more); 'disk_size' gives more");
  }
  return out;
}

}  // namespace stoker::cloud
