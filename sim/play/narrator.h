// SPDX-License-Identifier: Apache-2.0
// The story of a world, or of one job in it, as prose: one sentence an event.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/world/observer.h"
#include "sim/world/world.h"

namespace stoker::sim {

class Narrator : public Observer {
 public:
  // `world` must outlive it. It must watch the world from the beginning.
  explicit Narrator(World& world) : world_(world) {}

  // What happened to `job`, to its machines and to everybody at once; "" = all there is.
  std::vector<std::string> Story(const std::string& job) const;

  void OnChange(const BucketChange& change) override;
  void OnRecord(const Job& before, const Job& after, const std::string& writer) override;
  void OnRequested(const LaunchRequest& request, const std::string& process) override;
  void OnTerminating(const CloudMachine& machine, const std::string& process) override;
  void OnBooted(const CloudMachine& machine) override;
  void OnMachineEnded(const CloudMachine& machine) override;
  void OnRestored(const ProgramView& view, const std::string& checkpoint) override;
  void OnProgramStarts(const ProgramView& view) override;
  void OnProgramEnds(const ProgramView& view, int exit_code, int signal) override;
  void OnTold(const std::string& who, const std::string& what) override;

 private:
  struct Sentence {
    int64_t at;
    std::string job;  // "" = everybody's
    std::string text;
    bool commit = false;
  };
  void Say(const std::string& job, std::string text, bool commit = false);
  void TellLaunches(const Job& before, const Job& after, const std::string& writer);
  void TellAttempts(const Job& before, const Job& after, const std::string& writer);
  void TellNewAttempts(const Job& before, const Job& after, const std::string& writer);

  World& world_;
  std::vector<Sentence> sentences_;
  std::map<std::string, std::string> asked_;  // by token: who asked last
};

}  // namespace stoker::sim
