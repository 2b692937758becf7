// SPDX-License-Identifier: Apache-2.0
// Small worlds for the deliberate bugs, each drawn from its seed around one kind of trouble. The
// swarm meets most of the bugs as well, but not each of them within seconds.
#pragma once

#include <cstdint>

#include "sim/world/plan.h"

namespace stoker::sim {

// One short job on a good day; two who reconcile.
Plan GoodDay(uint64_t seed);
// Store and provider fail, throttle, lose answers; several reconcile at once.
Plan BadNetwork(uint64_t seed);
// Only the provider does, and it answers at once when it does.
Plan DeafProvider(uint64_t seed);
// Machines are taken with notices and without, programs killed while they write.
Plan Taken(uint64_t seed);
// The same with several nodes that all write.
Plan TakenGang(uint64_t seed);
// The same where what is lacking is asked for at once.
Plan GangPlace(uint64_t seed);
// And where the machines of a request can only be ended together.
Plan WholeGangs(uint64_t seed);
// Such a request is refused for good.
Plan ForbiddenGang(uint64_t seed);
// Several nodes that save far more often than they ask the store for one another's saves.
Plan SeldomAsked(uint64_t seed);
Plan SavesTwoFiles(uint64_t seed);
// Nodes are cut off, or their agents stand still, while their programs go on.
Plan CutOff(uint64_t seed);
// The same with a gang whose machines can only be ended together.
Plan CutOffGang(uint64_t seed);
// Notices that are withdrawn while the node is cut off.
Plan WithdrawnUnheard(uint64_t seed);
// The same token makes several machines.
Plan TwinMachines(uint64_t seed);
Plan TwinsOfWhichOneDies(uint64_t seed);
// A program that fails again and again, and may be started again once.
Plan CrashingProgram(uint64_t seed);
// A checkpoint that kills whoever loads it.
Plan PoisonedCheckpoint(uint64_t seed);
// A program that hangs and ignores SIGTERM, and has a time limit.
Plan HangingProgram(uint64_t seed);
// A program that learns no more, a rule about it, and machines that die meanwhile.
Plan StopsLearning(uint64_t seed);
// Users cancel, again and again, a gang that fails by itself.
Plan ManyHands(uint64_t seed);
// Jobs that are cancelled while they begin, by a slow store.
Plan EarlyCancel(uint64_t seed);
// A long job that is cancelled soon.
Plan LateCancel(uint64_t seed);
// No machine is to be had for a long time.
Plan EmptyMarket(uint64_t seed);
Plan Forbidden(uint64_t seed);
Plan SomeMayNot(uint64_t seed);
Plan MayNotLater(uint64_t seed);
// What the machines are to have was made a moment ago, and is known only after minutes.
Plan NotYetConsistent(uint64_t seed);
// It is never known.
Plan NeverConsistent(uint64_t seed);
// Lists of machines that leave some out for a while.
Plan HolesInLists(uint64_t seed);
// A machine hangs, and nobody looks but a timer each minute.
Plan TimerAlone(uint64_t seed);
// The same timer, and a store that is away again and again, but for moments.
Plan TimerAndOutages(uint64_t seed);
// A short job that is looked after only until it runs, and for hours by nobody.
Plan NobodyLooks(uint64_t seed);
// Nobody looks for hours once the machine has been asked for, and somebody would have to.
Plan NobodyBegins(uint64_t seed);
// Machines that wait in their provider's queue for up to two hours.
Plan LongQueue(uint64_t seed);
Plan LateAndStopped(uint64_t seed);
// A machine is stopped, for good, under its program.
Plan Stopped(uint64_t seed);
// Machines are stopped by notices, and wanted again.
Plan Restarts(uint64_t seed);
// The same by hand, and what is started is off again soon.
Plan NeverUpAgain(uint64_t seed);
// Machines that never come up.
Plan DeadOnArrival(uint64_t seed);
// Writes that take effect long after their answer was lost; machines die all the time.
Plan LateWrites(uint64_t seed);
// The zone that comes first never has room; another has.
Plan FullZone(uint64_t seed);
// The same, which says so only when its machines do not come up.
Plan FullZoneToldLate(uint64_t seed);
// For hours no machine comes up, for want of room that was thought to be there.
Plan DeadBirths(uint64_t seed);
// Machines of a gang get notices, and their zone has no room for more; another has.
Plan GangOfTwoZones(uint64_t seed);
// Some jobs that end while the store fails.
Plan ShortJobs(uint64_t seed);
// Many of them, so that some end while the store fails.
Plan ManyEnds(uint64_t seed);
// Jobs are submitted while somebody collects garbage and lists jobs all the time.
Plan Housekeeping(uint64_t seed);
// Nobody looks for more than a day, and the agent is dead.
Plan Forsaken(uint64_t seed);
// Objects of checkpoints rot in the store.
Plan RottenStore(uint64_t seed);
// Machines' clocks are wrong by minutes.
Plan WrongClocks(uint64_t seed);
// Notices for a program that saves and ends well when it is told to stop.
Plan LeavesWhenTold(uint64_t seed);
// The same with a save that needs the time that it is promised; nothing else fails.
Plan SavesWhenTold(uint64_t seed);
// The store takes no checkpoint, or no line, from some time on.
Plan RefusedForGood(uint64_t seed);
// A program that fails, and a machine that dies as soon as the record says so.
Plan FailsAndIsGone(uint64_t seed);
// A job that fails, and whose machines are to be kept for a while.
Plan FailsAndIsKept(uint64_t seed);
// The same, which users cancel as it fails.
Plan CancelledAsItFails(uint64_t seed);
// Machines of a gang die under it.
Plan LostPeer(uint64_t seed);
// A place that has refused a request dies of it when it is asked once more.
Plan RefusedThenSilent(uint64_t seed);

// ---- plans_account.cc ----

// Somebody has machines in the account that have our tags on them.
Plan LookAlikes(uint64_t seed);
// Another ledger does, and some of its jobs have ids of ours.
Plan NextDoor(uint64_t seed);
// Nobody looks for more than two days, and the machine is stopped; the account is swept.
Plan LeftToTheSweeper(uint64_t seed);
// Two zones, the first of which costs more.
Plan TwoPrices(uint64_t seed);
// The same with a ceiling between the two, and the cheaper one has no room for a while.
Plan TooDear(uint64_t seed);
// Two zones, of which one cannot be asked for a while.
Plan DeafZone(uint64_t seed);
// The first choice is full, and a node of the second, which may ask nowhere else, is taken.
Plan OwnAlone(uint64_t seed);
// Whose job it is ends one of its machines with the platform's tools.
Plan EndedByHand(uint64_t seed);

// ---- plans_away.cc: a function of the cloud looks, and nobody else ----

// Machines die without notice.
Plan AwayAlone(uint64_t seed);
// A program that fails, and may be begun again twice.
Plan AwayCrashes(uint64_t seed);
// Each call comes twice, lists are behind, and it may have one machine for several jobs.
Plan AwayShort(uint64_t seed);
// What the job needs is of a type that it may not ask for; and costs more than it may pay.
Plan AwayLarge(uint64_t seed);
Plan AwayDear(uint64_t seed);
// The machine is cut off for an hour while it runs.
Plan AwayCutOff(uint64_t seed);
// Somebody has machines with copies of our tags, and a machine of ours dies.
Plan AwayLookAlikes(uint64_t seed);

// ---- plans_boots.cc ----

// No machine of the job can begin, for what does not pass.
Plan NoWayOut(uint64_t seed);
// The same for a while, when one has begun already.
Plan NoWayForAWhile(uint64_t seed);
// The same of several nodes, for one machine of each.
Plan OneBootOfEachNode(uint64_t seed);
// For hours no machine can begin for an outage.
Plan OutagesOfBoots(uint64_t seed);
// Now the one, now the other.
Plan NoWayAndOutage(uint64_t seed);

// ---- plans_own.cc: machines that nobody lends ----

// A job is wanted now in one zone, now in the other.
Plan SentAround(uint64_t seed);
// Nodes of a scheduler: each request waits for up to four days, and its time is limited.
Plan QueuedForDays(uint64_t seed);
// Whose job it is cancels a request, as it runs or as it waits.
Plan Scancelled(uint64_t seed);
// A request is taken, and begins anew behind everybody's back.
Plan Requeued(uint64_t seed);
// A node of several fails, and the scheduler ends all of them.
Plan ReplacedWhole(uint64_t seed);
// The scheduler's lists are behind.
Plan BehindSqueue(uint64_t seed);
// Boxes that are cut off while their programs go on, or boot anew.
Plan BoxesCutOff(uint64_t seed);

}  // namespace stoker::sim
