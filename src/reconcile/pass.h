// SPDX-License-Identifier: Apache-2.0
// One pass of Reconcile: the working copy of the record and the questions every rule asks. Private
// to the room.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "reconcile/reconcile.h"

namespace stoker::reconcile_internal {

struct Pass {
  const Job& before;  // the record as read
  const JobSpec& spec;
  const Observed& seen;
  Decision out;  // out.job is the working copy

  Job& job() { return out.job; }
  void Changed(std::string note) {
    out.changed = true;
    out.notes.push_back(std::move(note));
  }
  const Request& RequestOf(const Launch& launch) const;
  // What could be told of what was asked for there, and of `launch`; nothing is known of a provider
  // that was not asked.
  const PlaceSeen& PlaceOf(const stoker::Place& where) const;
  const PlaceSeen& Place(const Launch& launch) const;
  const MachineSeen* Machine(int launch) const;
  bool MachineGone(int launch) const;
  // The report of `rank` in `attempt`, written by the launch that serves it there; else null.
  const ReportSeen* Report(const Attempt& attempt, int rank) const;
  // The newest report that the launch's node wrote, whatever the attempt; else null.
  const ReportSeen* NewestReport(int launch) const;
  // Its platform takes it; a move is no such notice.
  bool Noticed(int launch) const;
  // The end that `rank` reported for `attempt`; null while it has not.
  const Ending* EndOf(const Attempt& attempt, int rank) const;
  // The same as soon as the node has judged it, while it still uploads; final all the same.
  const Ending* JudgedEnd(const Attempt& attempt, int rank) const;
  bool CompletedAt(const Attempt& attempt, int rank) const;
  // The notice of the machine of `rank`, or that of a move, unless the node has completed its part;
  // else null.
  const Notice* NoticeOn(const Attempt& attempt, int rank) const;
};

inline int NumNodes(const Attempt& attempt) { return static_cast<int>(attempt.launches.size()); }

// launches.cc: closes launches that are lost, refused or unused; picks what to end.
void CloseDeadLaunches(Pass& pass);
void CloseUnusedLaunches(Pass& pass);
// Gives up machines that have not come yet and that attempt `index`, which is ending, waits for.
void CloseNotArrived(Pass& pass, size_t index);
void ChooseTerminations(Pass& pass);
// No machine of the job is left, nor can one turn up: it may leave active/.
bool NothingIsLeft(const Pass& pass);
void CloseLaunch(Pass& pass, Launch& launch, CloseReason reason, std::string why);
std::string LaunchText(const Launch& launch);

// kept.cc: machines of a job that failed, which somebody may want to look at (keep_failed).
// Closes the launch as kept, if its machine is to be. The job has just ended.
bool Keep(Pass& pass, Launch& launch);
// Its machine, which lives, is not ended yet.
bool StaysKept(const Pass& pass, const Launch& launch);

// enders.cc: who ended a machine, and what waits for that to be known.
// Cancels the job where a person has ended the machine of `launch`.
void HeedOwner(Pass& pass, const Launch& launch, const MachineSeen& machine);
// `request`, which was never sent, is for the place of a machine that a person may have ended, and
// is held back until that is known, or until it has been waited for long enough.
bool IsHeld(const Pass& pass, const Request& request);
// So is one in the place of `launch`.
bool IsHeldFor(const Pass& pass, const Launch& launch);
// Unset: nobody is left that `request`, which is sent for the first time, had to wait for. Else the
// machine of which nothing has said in time who ended it.
std::optional<std::string> NotToldInTime(const Pass& pass, const Request& request);

// requests.cc: what is asked for at once, who asks when, and what a gang needs to stay one.
// Makes `launches` (by slot) those of an attempt: 0 = a new machine is needed. One that stays does
// so only with all of its request, where its place ends none of them alone.
void FillSlots(Pass& pass, std::vector<int>* launches);
// What the launch's request was refused, or not answered in all its time, is better asked for at
// another place, and still can be. If so, its entry says why.
bool GoesElsewhere(Pass& pass, const Launch& launch);
// Numbers of the requests of which a machine or a report was seen.
std::set<int> RequestsSeen(const Pass& pass);
// Closes what is left of requests that are not whole any more, where the place ends them whole.
void CloseRemainders(Pass& pass);
// True when the machine of `launch`, which may be ended, can be without harm to others.
bool EndsNoOther(const Pass& pass, const Launch& launch);
bool MayBeEnded(const Pass& pass, const Launch& launch, bool is_gone);
void ChooseSends(Pass& pass);
// How the machines that it asks for now can be had; at least one.
std::vector<Offer> OffersOf(const Pass& pass);
// Those of them between which this observer chooses; at least one.
std::vector<Offer> OffersHere(const Pass& pass);

// absence.cc: machines that are not listed.
// Keeps in the record since when a machine that is waited for, or for whose end, is not listed.
void RememberAbsent(Pass& pass);
// Not listed, by two looks where one does not do, while its node said nothing: it is gone.
bool IsSeenToBeAbsent(const Pass& pass, int launch);
// No answer that leaves the machine out can be from before it was made.
bool IsPatienceOver(const Pass& pass, const Launch& launch);
// Closed for so long that its machine has met its own limit.
bool IsBeyondItsLimit(const Pass& pass, const Launch& launch);
// Its node has reported, whatever of that can be read now.
bool HasBegun(const Pass& pass, const Launch& launch);
// Its job was cancelled, its node has never said anything, and this observer cannot see whether
// there is a machine: it may stand in that computer's line, or be gone, and nobody there looks. One
// that comes yet finds its job ended.
bool IsUnheardSinceCancel(const Pass& pass, const Launch& launch);

// True when it has just reported: a better witness than a list that may be behind.
bool HasJustSpoken(const ReportSeen* report);
// `gone` is not the machine whose node reports: a place that forgot the token has made a second one
// for `launch`, and its list is behind. As long as no list can be any more.
bool HasLivingTwin(const Pass& pass, const Launch& launch, const MachineSeen& gone);
// There may be such a one of which nothing is heard yet, and which begins on what it has read
// before its launch was closed.
bool MayHaveTwin(const Pass& pass, const Launch& launch, const MachineSeen& gone);

// births.cc: machines that died before they were up.
bool IsBornDead(const Pass& pass, const Launch& launch, const MachineSeen& machine);
// Closes it as what was refused, by what the machine died of.
void CloseBornDead(Pass& pass, Launch& launch, const MachineSeen& machine);
// A machine that came and went between two looks: a list that is behind will yet say of what.
bool IsToldLater(const Pass& pass, const Launch& launch);

// stopped.cc: machines whose power is off.
// The job wants the machine of `launch` again once it was stopped, and its place can give it.
bool Restarts(const Pass& pass, const Launch& launch);
// The machine of the open `launch` is seen to be off, and no newer word of its node says otherwise.
bool IsOff(const Pass& pass, const Launch& launch);
// It was given power, and its node has not spoken since.
bool IsSilentSincePower(const Pass& pass, const Launch& launch);
// Its platform has said that it will stop it, and it comes up again afterwards.
bool IsStopNotice(const Pass& pass, const Launch& launch);
// Its node had begun; it is about to be stopped, is off, or comes up again: the attempt that has it
// next waits for it.
bool IsAwaitedBack(const Pass& pass, const Launch& launch);
// Keeps the stopped machine's launch for its coming up again, or closes it where nobody waits for
// that any more: false.
bool KeepStopped(Pass& pass, Launch& launch, const MachineSeen& machine);
// Its node has spoken again.
void NoteUp(Pass& pass, Launch& launch);
// Whether the stopped machine of `launch`, of any job, is worth its coming up again.
bool MayBeStarted(const Pass& pass, const Launch& launch);
void ChooseStarts(Pass& pass);

// fold.cc: counts what a drought has left, instead of keeping it.
void FoldOld(Pass& pass);

// attempts.cc: opens, begins, drains and ends attempts.
void AdvanceAttempts(Pass& pass);
// Opens the next attempt; of the machines of `from` it has those that are of use.
void OpenAttempt(Pass& pass, const Attempt* from);
void MarkNotNeeded(Pass& pass, Attempt& attempt, const std::string& why);

// moves.cc: the owner wants the job at another place.
// What is due of it before the attempts are looked at.
void AdvanceMove(Pass& pass);
// The job has got to where it was to go.
void Arrive(Pass& pass, const Attempt& attempt);
// The place that `attempt` waits for refuses for good: the job stays where it is, or goes back.
void GiveUpMove(Pass& pass, const std::string& why);
// The end of an attempt of the place that is left, which has nothing to save.
std::optional<Ending> MovedAway(const Pass& pass, const Attempt& attempt);

// judge.cc: how an attempt ended, or whether it must be stopped.
// The reason to stop `attempt` now, if there is one.
std::optional<Ending> ReasonToStop(const Pass& pass, const Attempt& attempt);
// Entries of the job's outputs of which no node of `attempt`, nor any before, has kept anything.
std::vector<std::string> MissingOutputs(const Pass& pass, const Attempt& attempt);
// True when every node of `attempt` has reported its end or cannot any more.
bool AllStopped(const Pass& pass, const Attempt& attempt);
// The verdict over all that is known once AllStopped.
Ending FinalEnding(const Pass& pass, const Attempt& attempt);

}  // namespace stoker::reconcile_internal
