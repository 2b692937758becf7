// SPDX-License-Identifier: Apache-2.0
// A node's log and the thread that carries it on to a cloud's own, without the rest of an agent:
//
//   cloud_log_driver run PROVIDER STORE DIR LINES PAUSE_MS    each line has its number
//   cloud_log_driver read STORE                               what the store has: hex, a line each
//
// Killed and started again, it goes on as an agent would.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "agent/log_pump.h"
#include "ledger/log/log_reader.h"
#include "node/cloud_logs.h"
#include "provider/registry.h"
#include "store/open.h"
#include "sys/real_clock.h"
#include "sys/spool_file.h"

namespace stoker {
namespace {

constexpr char kJob[] = "told-1";

int Fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

// Now and then one that is long, empty, or no text.
std::string LineOf(int64_t number) {
  std::string text = "line " + std::to_string(number);
  if (number % 200 == 7) text += std::string(60'000, 'x');
  if (number % 50 == 13) text += "\xff\xfe\xc3\xa9";
  if (number % 50 == 19) text = "";
  return text + "\n";
}

int RunLog(char** words) {
  RealClock clock;
  const auto store = OpenStore(words[1]);
  if (!store.ok()) return Fail(store.status());
  const std::string dir = words[2];
  auto folder = OpenSpoolFolder(dir + "/spool-1");
  if (!folder.ok()) return Fail(folder.status());
  const auto pump = LogPump::Start(**store, clock, std::move(*folder), {kJob, 1, 0});
  if (!pump.ok()) return Fail(pump.status());
  CloudLogPlace place{
      "0123456789abcdef", kJob, 1, 0, {words[0], "a-project", "us-east-1", "us-east-1-b"},
      "i-0123",           30};
  node::CloudLogsConfig config;
  config.job = kJob;
  config.dir = dir;
  const auto open = CloudLogOf(words[0]).open;
  config.open = [&](int, int) { return open(place, **store); };
  config.say = [&](const std::string& line) { (*pump)->sink().Say(line); };
  node::CloudLogs logs(**store, clock, std::move(config));
  logs.Follow(1, 0, (*pump)->shipped());
  const int64_t lines = std::atoll(words[3]);
  const int pause = std::atoi(words[4]);
  for (;;) {
    const int64_t number = (*pump)->spool().counters().records + 1;
    if (number > lines) break;
    (*pump)->sink().Write(LogStream::kOut, LineOf(number));
    if (pause > 0) std::this_thread::sleep_for(std::chrono::milliseconds(pause));
  }
  std::printf("written\n");
  std::fflush(stdout);
  for (int quiet = 0; quiet < 3;) {  // what is said last goes there, too
    (void)(*pump)->ShipAll(Duration::Seconds(30));
    logs.Finish(Duration::Seconds(20));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    quiet = logs.trouble().empty() ? quiet + 1 : 0;
  }
  return 0;
}

int ReadLog(const char* url) {
  const auto store = OpenStore(url);
  if (!store.ok()) return Fail(store.status());
  const auto reader = LogReader::Open(**store, kJob);
  if (!reader.ok()) return Fail(reader.status());
  for (;;) {
    const auto records = (*reader)->Next();
    if (!records.ok()) return Fail(records.status());
    if (records->empty()) return 0;
    for (const LogRecord& record : *records) {
      if (record.note) return Fail(Status(Code::kCorrupt, record.text));
      for (const char c : record.text) std::printf("%02x", static_cast<unsigned char>(c));
      std::printf("\n");
    }
  }
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  if (argc == 7 && std::strcmp(argv[1], "run") == 0) return stoker::RunLog(argv + 2);
  if (argc == 3 && std::strcmp(argv[1], "read") == 0) return stoker::ReadLog(argv[2]);
  std::fprintf(stderr, "cloud_log_driver run|read …\n");
  return 2;
}
