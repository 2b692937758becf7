// SPDX-License-Identifier: Apache-2.0
// What a program says of its saves, in the file $STOKER_SAVES. A line each:
//
//   begin ID [PATH]   PATH is about to be written; several lines name several. None: all that the
//                     checkpoint directory gets
//   end ID            all of it is written and closed
//   failed ID         it is not, and will not be
//
// A PATH is absolute, or relative to the checkpoint directory or to the work directory (then it
// begins with the checkpoint directory's name there); a folder is all that is in it. It may stand
// between quotes, as a JSON string, and several may then stand in one line. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

class ToldSaves {
 public:
  struct Save {
    std::string id;
    std::set<std::string> paths;  // relative to the checkpoint directory; "" is all of it
    int64_t begun = 0;            // places of its lines, in their order
    int64_t ended = 0;
    bool Covers(std::string_view path) const;
  };

  // `names`: how the checkpoint directory may be called in a PATH.
  explicit ToldSaves(std::vector<std::string> names = {}) : names_(std::move(names)) {}

  void OnLine(std::string_view line);
  // Ended since the last call, in their order.
  std::vector<Save> TakeEnded();
  // Failed since the last call.
  std::vector<Save> TakeFailed();
  // What has begun and not ended: the program is gone.
  std::vector<Save> TakeOpen();
  // The save that has begun, and not ended, of something in `path`; null = there is none.
  const Save* Open(std::string_view path) const;
  bool has_ended() const { return !ended_.empty() || !failed_.empty(); }
  // What a line tells is not so, in words.
  void Remark(const std::string& what);
  // Lines that tell nothing, in words, since the last call.
  std::vector<std::string> TakeRemarks();

 private:
  void Begin(const std::string& id, std::string_view rest);
  void AddPath(Save* save, std::string path);

  std::vector<std::string> names_;
  int64_t lines_ = 0;
  std::map<std::string, Save> open_;  // by id
  std::vector<Save> ended_;
  std::vector<Save> failed_;
  std::vector<std::string> remarks_;
  int remarked_ = 0;
};

}  // namespace stoker
