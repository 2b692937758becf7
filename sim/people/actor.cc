// SPDX-License-Identifier: Apache-2.0
#include "sim/people/actor.h"

#include <algorithm>

namespace stoker::sim {

Session::Session(Actor& actor, std::string name)
    : world(actor.world),
      process(world.scheduler(), name),
      store(world.bucket(), world.scheduler(), world.rng(), name, &actor.link),
      clouds(world.cloud(), world.scheduler(), world.rng(), name, &actor.link, world.number()),
      clock(actor.clock),
      cache(actor.cache) {}

void Session::Sleep(int64_t ms) { world.scheduler().Sleep(ms); }

void Session::Open() {
  for (int64_t pause = 100;; pause = std::min<int64_t>(pause * 2, 10'000)) {
    const uint64_t seed = world.rng().Next();
    auto opened = Ledger::Open(store, clock, seed, NewLedger::kProbe);
    if (opened.ok()) {
      ledger = std::move(*opened);
      ledger->UseCache(&cache);
      break;
    }
    Sleep(pause);
  }
  controller = std::make_unique<Controller>(
      *ledger, [this](const std::string& name) { return clouds.Find(name); }, clock);
  controller->KeepQuietNodes(true);
}

Actor::Actor(World& w, std::string name) : world(w), clock(w.scheduler()), name_(std::move(name)) {
  clock.mono_offset = w.rng().Between(1'000, 100'000'000);
  clock.skew = w.rng().Between(-w.plan().skew_ms, w.plan().skew_ms);
}

Actor::~Actor() = default;

void Actor::Begin(const Body& body) {
  dead_.clear();
  const std::string name = name_ + "/" + std::to_string(++sessions_);
  session_ = std::make_unique<Session>(*this, name);
  world.Each([&](Observer& o) { o.OnActor(name, name_); });
  Session* const session = session_.get();
  session->process.Spawn([this, session, body] {
    session->Open();
    body(*session);
    // By an event of its own: this fiber is still in the session.
    world.scheduler().In(0, [this, session] {
      if (session_.get() == session) Ended();
    });
  });
}

void Actor::Ended() {
  dead_.push_back(std::move(session_));
  if (busy_) world.Busy(-1);
  busy_ = false;
}

void Actor::Once(int64_t at, Body body, bool busy) {
  if (busy) world.Busy(1);
  world.scheduler().At(at, [this, body = std::move(body), busy] {
    if (session_) {
      // Still at the last command: this one comes after it.
      if (busy) world.Busy(-1);
      Once(world.now() + 1'000, body, busy);
      return;
    }
    busy_ = busy;
    Begin(body);
  });
}

void Actor::Every(int64_t at, int64_t period, int64_t end, Body body) {
  world.scheduler().At(at, [this, period, end, body = std::move(body)] {
    if (end >= 0 && world.now() >= end) return;
    if (!session_) Begin(body);
    Every(world.now() + period, period, end, body);
  });
}

void Actor::Daemon(int64_t at, int64_t end, Body body) {
  world.scheduler().At(at, [this, body = std::move(body)] {
    again_ = body;
    Begin(body);
  });
  if (end < 0) return;
  world.scheduler().At(end, [this] {
    again_ = nullptr;
    Kill(0);
  });
}

void Actor::Kill(int64_t back_after) {
  if (!session_) return;
  world.Tell(name_, "is killed");
  Session* const session = session_.get();
  Ended();
  if (again_) {
    world.scheduler().In(back_after, [this] {
      if (again_ && !session_) Begin(again_);
    });
  }
  const auto after = killed;
  session->process.Kill();
  if (after) after();
}

void Actor::Pause(int64_t ms) {
  if (session_) session_->process.PauseUntil(world.now() + ms);
  // A laptop that sleeps: its clock for intervals stands still.
  clock.mono_offset -= ms;
}

}  // namespace stoker::sim
