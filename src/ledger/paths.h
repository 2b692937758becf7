// SPDX-License-Identifier: Apache-2.0
// Where everything lies under a ledger's root. docs/ledger.md describes it for people.
#pragma once

#include <cstdint>
#include <string>

#include "base/text.h"

namespace stoker::paths {

inline std::string LedgerId() { return "ledger.json"; }
inline std::string Active(const std::string& job) { return "active/" + job; }
inline std::string Record(const std::string& job) { return "records/" + job + ".json"; }
inline std::string Records() { return "records/"; }
inline std::string Index() { return "index/"; }
// What is to go in an hour (ledger/collect/doomed.h).
inline std::string Doomed() { return "doomed/"; }
inline std::string IndexSegment(const std::string& nonce) { return Index() + nonce + ".jsonl"; }
inline std::string AllReports() { return "reports/"; }
inline std::string Reports(const std::string& job) { return AllReports() + job + "/"; }
inline std::string Report(const std::string& job, int attempt, int rank) {
  return Reports(job) + std::to_string(attempt) + "-" + std::to_string(rank) + ".json";
}
inline std::string Jobs() { return "jobs/"; }
inline std::string Job(const std::string& job) { return Jobs() + job + "/"; }
inline std::string Spec(const std::string& job) { return Job(job) + "spec.yaml"; }
// What the packed work directory had beyond its git commit.
inline std::string Diff(const std::string& job) { return Job(job) + "workdir.diff"; }
inline std::string Claim(const std::string& job, int attempt, int slot) {
  return Job(job) + "claims/" + std::to_string(attempt) + "-" + std::to_string(slot) + ".json";
}
// Log of one node in one attempt; segments below it are "<%012d first line>-<lines>.zst".
inline std::string Log(const std::string& job, int attempt, int rank) {
  return Job(job) + "log/" + std::to_string(attempt) + "-" + std::to_string(rank) + "/";
}
inline std::string Logs(const std::string& job) { return Job(job) + "log/"; }
inline std::string Checkpoints(const std::string& job) { return Job(job) + "checkpoints/"; }
inline std::string Artifacts(const std::string& job) { return Job(job) + "artifacts/"; }
// "<attempt>/" and a name below Artifacts: what a later attempt has written over there.
inline std::string Replaced(const std::string& job) { return Job(job) + "replaced/"; }
// What all nodes run as container.image, where the first of them found that out; created once.
inline std::string Image(const std::string& job) { return Job(job) + "image"; }
// CPU, memory, disk and GPU over the course of one node's attempt; one writer, the node's agent.
inline std::string Usage(const std::string& job, int attempt, int rank) {
  return Job(job) + "usage/" + std::to_string(attempt) + "-" + std::to_string(rank) + ".json";
}
// What the programs of a job ran with (job/run_facts.h); each node writes its own.
inline std::string AllRan(const std::string& job) { return Job(job) + "ran/"; }
inline std::string Ran(const std::string& job, int attempt, int rank) {
  return AllRan(job) + std::to_string(attempt) + "-" + std::to_string(rank) + ".json";
}
// A list of packages, by its digest: many attempts have the same.
inline std::string RanPackages(const std::string& job, const std::string& sha256) {
  return AllRan(job) + "packages-" + sha256 + ".json";
}
// Metrics of one node in one attempt; segments below it are "<%012d first flush>-<flushes>.zst".
inline std::string AllMetrics(const std::string& job) { return Job(job) + "metrics/"; }
inline std::string Metrics(const std::string& job, int attempt, int rank) {
  return AllMetrics(job) + std::to_string(attempt) + "-" + std::to_string(rank) + "/";
}
// What is said of the metrics of rank 0 as a whole; one writer, its agent.
inline std::string MetricTotals(const std::string& job) { return Job(job) + "metrics.json"; }
// Says how many days a cloud's own log keeps a ledger's lines, once that was set there.
inline std::string CloudLogs(const std::string& provider, const std::string& region) {
  return "cloud-logs/" + provider + "-" + region;
}
// On which box of a pool the machines of a request are (provider/ssh/box_notes.h).
inline std::string Boxes(const std::string& job) { return Job(job) + "boxes/"; }
inline std::string Box(const std::string& job, const std::string& token) {
  return Boxes(job) + token + ".json";
}
// What observers that look once saw of quiet nodes.
inline std::string QuietNodes(const std::string& job) { return Job(job) + "looks.json"; }
// "<event>.<entry>.<try>.json": whom what was told, and when (ledger/notified.h).
inline std::string Notified(const std::string& job) { return Job(job) + "notified/"; }
// Written by who follows the log; its age tells the agent whether somebody does.
inline std::string Follow(const std::string& job) { return Job(job) + "follow"; }
// A place of a provider in which machines of this ledger may be.
inline std::string NotedPlaces(const std::string& provider) { return "places/" + provider + "/"; }
inline std::string NotedPlace(const std::string& provider, const std::string& region) {
  return NotedPlaces(provider) + region;
}
// Of a reconciler that runs at a provider (controller/away/away_note.h).
inline std::string Aways() { return "away/"; }
inline std::string Away(const std::string& provider) { return Aways() + provider + ".json"; }
// The interruption notice that somebody asked for, of one machine.
inline std::string Drill(const std::string& job, const std::string& instance_id) {
  return Job(job) + "drills/" + instance_id + ".json";
}
// Python environments that machines share (ledger/envs/kept_envs.h).
inline std::string Envs() { return "env/"; }
inline std::string EnvManifest(const std::string& env) { return Envs() + env + "/manifest.json"; }
inline std::string EnvUsed(const std::string& env) { return Envs() + env + "/used"; }
inline std::string EnvParts() { return Envs() + "parts/"; }
inline std::string EnvPart(const std::string& sha256) { return EnvParts() + sha256; }
inline std::string Blobs() { return "blobs/"; }
// One copy of a blob; ledger/blobs.h says what a period is.
inline std::string Blob(const std::string& sha256, int64_t period) {
  const std::string digits = std::to_string(period);
  return Blobs() + sha256 + "-" + std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') +
         digits;
}

}  // namespace stoker::paths
