// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "spec/settings.h"

namespace stoker::client {

// Whoever has something done: the command line, or the page. Client hands each of these on.
class Caller {
 public:
  virtual ~Caller() = default;
  // A remark while it is done: a sentence for people, without line end. Called on any thread.
  virtual void Say(const std::string& text) = 0;
  // How far it is; each takes the place of the one before, "" of all.
  virtual void Progress(const std::string& text) = 0;
  // Whether to go on; false also where there is nobody to ask.
  virtual bool Confirm(const std::string& question) = 0;
  // What the settings say was read: once, and before anything that they change.
  virtual void Heed(const Settings& settings) = 0;
};

}  // namespace stoker::client
