// SPDX-License-Identifier: Apache-2.0
// The rules that must always hold (docs/guarantees.md), each as an observer of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/world/observer.h"
#include "sim/world/world.h"

namespace stoker::sim {

using Checks = std::vector<std::unique_ptr<Observer>>;

// One of each, watching `world`. They must not outlive it, nor be destroyed before it has run.
Checks WatchAll(World& world);

// Each adds its own; files check_*.cc.
void AddMachineChecks(World& world, Checks* checks);     // one-machine, intent-first, no-blind-kill
void AddRecordChecks(World& world, Checks* checks);      // done-is-done, the record's order
void AddCheckpointChecks(World& world, Checks* checks);  // whole-checkpoint, newest, no-fork
void AddLogChecks(World& world, Checks* checks);         // every line of what ended
void AddLedgerChecks(World& world, Checks* checks);      // blobs-kept
void AddLateChecks(World& world, Checks* checks);        // what comes after its time
void AddGangChecks(World& world, Checks* checks);        // gang
void AddKeptChecks(World& world, Checks* checks);        // kept
void AddAccountChecks(World& world, Checks* checks);     // foreign, expiry, may-ask, price, owner
void AddMoveChecks(World& world, Checks* checks);        // moved
void AddStartChecks(World& world, Checks* checks);       // same-machine
void AddGraceChecks(World& world, Checks* checks);       // grace, saved-at-end
void AddAwayChecks(World& world, Checks* checks);        // away-bound
void AddBootChecks(World& world, Checks* checks);        // boots
void AddEndChecks(World& world, Checks* checks);         // liveness, results, nothing left

}  // namespace stoker::sim
