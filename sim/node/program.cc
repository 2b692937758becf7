// SPDX-License-Identifier: Apache-2.0
#include "sim/node/program.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "job/checkpoint_name.h"

namespace stoker::sim {
namespace {

constexpr int kOutOfStyle = 1;  // the exit code of a program whose peers have died

// Of one length for all steps: a file that is overwritten in place has no old tail left.
std::string Trailer(int step) {
  std::string digits = std::to_string(step);
  digits.insert(0, 6 - std::min<size_t>(digits.size(), 6), '0');
  return "end " + digits + "\n";
}

std::string Folder(int step) { return "step-" + std::to_string(step); }

// "<step> <poisoned>" of a whole file; nullopt when it is torn.
struct OneFile {
  int step = 0;
  bool poisoned = false;
};
std::optional<OneFile> ReadOne(const std::string& text) {
  int step = 0;
  char mark = 0;
  if (std::sscanf(text.c_str(), "step %d %c", &step, &mark) != 2) return std::nullopt;
  const std::string end = Trailer(step);
  if (text.size() < end.size() || text.substr(text.size() - end.size()) != end) return std::nullopt;
  const char filler = static_cast<char>('a' + step % 26);
  const size_t first = text.find('\n') + 1;
  for (size_t i = first; i + end.size() < text.size(); ++i) {
    if (text[i] != filler) return std::nullopt;
  }
  return OneFile{step, mark == 'p'};
}

// Falls with each step, up to some.
double LossAt(const ProgramPlan& plan, int step) {
  const int learned = plan.flat_from >= 0 ? std::min(step, plan.flat_from) : step;
  return 1e6 - learned;
}

FilesHold Judge(const std::map<std::string, std::string>& files) {
  FilesHold hold;
  for (const auto& [path, text] : files) {
    const auto one = ReadOne(text);
    if (!one) return {-1, false, path + " is torn"};
    if (hold.step != 0 && hold.step != one->step) {
      return {-1, false,
              path + " is of step " + std::to_string(one->step) + ", another file of step " +
                  std::to_string(hold.step)};
    }
    hold.step = one->step;
    hold.poisoned |= one->poisoned;
  }
  return hold;
}

// The newest folder counts; a program that finds it incomplete would fall back by itself, so that
// only what claims to be whole is judged.
FilesHold JudgeFolders(const std::map<std::string, std::string>& files) {
  std::map<int, std::map<std::string, std::string>> folders;
  for (const auto& [path, text] : files) {
    int step = 0;
    if (std::sscanf(path.c_str(), "step-%d/", &step) == 1) folders[step][path] = text;
  }
  if (folders.empty()) return {};
  const auto& [step, newest] = *folders.rbegin();
  if (newest.size() != 2) return {-1, false, Folder(step) + " is incomplete"};
  FilesHold hold = Judge(newest);
  if (hold.step >= 0 && hold.step != step) return {-1, false, Folder(step) + " holds another step"};
  return hold;
}

}  // namespace

FilesHold StepInFiles(const std::map<std::string, std::string>& files, WriteStyle style) {
  if (style == WriteStyle::kFolders) return JudgeFolders(files);
  std::map<std::string, std::string> real;
  for (const auto& [path, text] : files) {
    if (path.find(".tmp") == std::string::npos) real[path] = text;
  }
  if (style == WriteStyle::kTwoFiles && real.size() == 1) {
    return {-1, false, "one of two files is missing"};
  }
  return Judge(real);
}

Program::Program(World& world, Disk& disk, ProgramPlace place, LogSink* sink,
                 std::function<void(int step, double loss)> say,
                 std::function<void(TaskExit)> ended)
    : world_(world),
      disk_(disk),
      place_(std::move(place)),
      plan_(world.PlanOf(place_.job)->program),
      sink_(sink),
      say_(std::move(say)),
      ended_(std::move(ended)),
      process_(std::make_unique<Process>(world.scheduler(), "program@" + place_.machine)),
      gang_(world.GangOf(place_.job, place_.attempt)) {}

Program::~Program() {
  if (!running_) return;
  running_ = false;
  process_->Kill();
  gang_.members[place_.rank].state = MemberState::kDied;
  gang_.changed.Notify();
  if (disk_.task_alive()) disk_.TaskEnds(WriterFate::kKilled);
  const ProgramView view = View();
  world_.Each([&](Observer& o) { o.OnProgramEnds(view, 0, 9); });
}

ProgramView Program::View() const {
  return {place_.machine, place_.job, place_.attempt, place_.rank, place_.launch, step_};
}

void Program::Start() {
  running_ = true;
  disk_.TaskBegins();
  FilesHold hold = Resume();
  const auto record = world_.jobs().find(place_.job);
  const Attempt* attempt =
      record == world_.jobs().end() ? nullptr : FindAttempt(record->second, place_.attempt);
  if (hold.step < 0 && attempt != nullptr && IsAsLeft(attempt->restore)) {
    // As it would have found it on a machine of its own: it says so, and fails.
    hold = {0, true, ""};
  }
  if (hold.step < 0) {
    world_.Breach("whole-checkpoint",
                  "node " + std::to_string(place_.rank) + " of attempt " +
                      std::to_string(place_.attempt) + " resumes from files of which " + hold.why,
                  place_.job);
  }
  step_ = std::max(hold.step, 0);
  gang_.members[place_.rank] = Member{step_, MemberState::kRunning};
  gang_.changed.Notify();
  world_.Tell(place_.machine, "starts the program of " + std::to_string(place_.attempt) + "-" +
                                  std::to_string(place_.rank) + " after step " +
                                  std::to_string(step_));
  const ProgramView view = View();
  world_.Each([&](Observer& o) { o.OnProgramStarts(view); });
  process_->Spawn([this, fails = hold.poisoned || (plan_.resume_fails && step_ > 0)] {
    Rest(plan_.start_ms);
    if (fails) return Leave(9);
    for (int save = 0; place_.rank == plan_.alone_rank && save < plan_.alone; ++save) {
      Save(step_);
      Rest(5 * world_.PlanOf(place_.job)->quiet.ms);
    }
    Work(step_ + 1);
  });
}

FilesHold Program::Resume() const {
  std::map<std::string, std::string> files;
  for (const auto& [path, file] : disk_.files()) files[path] = file.data;
  return StepInFiles(files, plan_.style);
}

void Program::Rest(int64_t ms) {
  world_.scheduler().Sleep(ms);
  if (!told_) return;
  const ToldToEnd told = *std::exchange(told_, std::nullopt);
  if (plan_.on_term == OnTerm::kIgnores) return;
  if (plan_.on_term == OnTerm::kLeavesUnsaved) Leave(0);
  const bool saves = place_.rank == 0 || plan_.every_rank_saves;
  if (saves && step_ > 0) {
    Save(step_);
    const ProgramView view = View();
    world_.Each([&](Observer& o) { o.OnSavedAtEnd(view, told); });
  }
  if (plan_.on_term == OnTerm::kPassesOn) Leave(1);
  Leave(plan_.on_term == OnTerm::kSavesAndSucceeds ? 0 : 143);
}

void Program::Work(int first) {
  for (int step = first; step <= plan_.steps; ++step) {
    if (!Step(step)) return;
  }
  Leave(0);
}

// False: the program has ended.
bool Program::Step(int step) {
  gang_.members[place_.rank].step = step;
  gang_.changed.Notify();
  AwaitPeers(step);
  Rest(plan_.step_ms);
  const std::string run = std::to_string(world_.PlanIndexOf(place_.job));
  const bool mine = !plan_.crash_one_rank || place_.rank == 0;
  if (plan_.crash_at >= 0 && step >= plan_.crash_at && mine &&
      (!plan_.crash_once || world_.Once("crash " + run))) {
    if (plan_.out_of_memory) Leave(TaskExit{.signal = 9, .out_of_memory = true});
    Leave(plan_.crash_code);
  }
  if (plan_.hang_at >= 0 && step >= plan_.hang_at &&
      (!plan_.hang_once || world_.Once("hang " + run + " " + std::to_string(place_.rank)))) {
    for (;;) Rest(60'000);
  }
  step_ = step;
  ++signs_;
  if (sink_ != nullptr) {
    for (int i = 0; i < plan_.lines_per_step; ++i) {
      std::string line = "step " + std::to_string(step) + " of rank " + std::to_string(place_.rank);
      const auto length = static_cast<size_t>(plan_.line_bytes);
      if (line.size() < length) line += " " + world_.rng().Base32(length - line.size());
      sink_->Write(LogStream::kOut, line + "\n");
    }
  }
  if (say_) say_(step, LossAt(plan_, step));
  const ProgramView view = View();
  world_.Each([&](Observer& o) { o.OnStep(view); });
  const bool saves = place_.rank == 0 || plan_.every_rank_saves;
  if (saves && plan_.checkpoint_every > 0 && step % plan_.checkpoint_every == 0) Save(step);
  return true;
}

void Program::AwaitPeers(int step) {
  while (gang_.BrokenAt(step) || !gang_.AllAt(step, place_.nodes)) {
    if (gang_.BrokenAt(step)) {
      // A collective operation fails, sooner or later.
      const int64_t later = world_.rng().Between(10, 8'000);
      Rest(later);
      Leave(kOutOfStyle);
    }
    gang_.changed.Wait(2'000);
    Rest(0);
  }
}

std::string Program::Contents(int step, const std::string& name) {
  const bool poison = plan_.poisoned_step == step && place_.rank == 0 &&
                      (name == "checkpoint.pt" || name == "model.pt") &&
                      world_.Once("poison " + place_.job);
  std::string text = "step " + std::to_string(step) + (poison ? " p\n" : " .\n");
  const auto length = static_cast<size_t>(plan_.bytes);
  if (text.size() < length) text.append(length - text.size(), static_cast<char>('a' + step % 26));
  return text + Trailer(step);
}

void Program::Save(int step) {
  if (plan_.style == WriteStyle::kFolders) {
    for (const std::string name : {"model.pt", "optim.pt"}) {
      if (name != "model.pt" && plan_.pause_ms > 0) world_.scheduler().Sleep(plan_.pause_ms);
      WriteFile(Folder(step) + "/" + name, Contents(step, name), false);
    }
    std::vector<std::string> old;
    for (const auto& [path, file] : disk_.files()) {
      int of = 0;
      const bool folder = std::sscanf(path.c_str(), "step-%d/", &of) == 1;
      if (folder && of <= step - 3 * plan_.checkpoint_every) old.push_back(path);
    }
    for (const std::string& path : old) disk_.Remove(path);
    return;
  }
  std::vector<std::string> names = {"checkpoint.pt"};
  if (plan_.style == WriteStyle::kTwoFiles) names = {"model.pt", "optim.pt"};
  for (const std::string& name : names) {
    const std::string text = Contents(step, name);
    if (name == "optim.pt" && plan_.pause_ms > 0) world_.scheduler().Sleep(plan_.pause_ms);
    if (plan_.style == WriteStyle::kRename) {
      WriteFile(name + ".tmp", text, false);
      (void)disk_.Rename(name + ".tmp", name);
    } else {
      WriteFile(name, text, true);
    }
  }
}

// What the disk does not take is missing from the file; the program goes on, as many do.
void Program::WriteFile(const std::string& path, const std::string& text, bool in_place) {
  const Status opened = in_place ? disk_.OpenInPlace(path) : disk_.Open(path);
  if (!opened.ok()) return;
  const size_t third = text.size() / 3;
  Status written;
  for (size_t piece = 0; piece < 3 && written.ok(); ++piece) {
    const size_t begin = piece * third;
    const size_t end = piece == 2 ? text.size() : begin + third;
    written = disk_.WriteAt(path, begin, std::string_view(text).substr(begin, end - begin));
    // A handler of SIGTERM runs after the write, as Python's do.
    world_.scheduler().Sleep(plan_.write_ms / 3);
  }
  disk_.Close(path);
}

bool Program::CatchesTerm() const {
  return running_ && plan_.on_term != OnTerm::kDies && plan_.on_term != OnTerm::kIgnores;
}

void Program::Terminate(const ToldToEnd& told) {
  if (!running_) return;
  if (plan_.on_term == OnTerm::kDies) {
    // Its handlers and its libraries take their time.
    const int64_t later = world_.rng().Between(1, 1'500);
    world_.scheduler().In(later, [this, life = std::weak_ptr(life_)] {
      if (!life.expired() && running_) End(TaskExit{.signal = 15});
    });
  } else if (plan_.on_term == OnTerm::kPassesOn) {
    const int64_t later = world_.rng().Between(1, 1'000);
    world_.scheduler().In(later, [this, told, life = std::weak_ptr(life_)] {
      if (!life.expired() && running_) told_ = told;
    });
  } else {
    told_ = told;
  }
}

void Program::Kill() {
  if (running_) End(TaskExit{.signal = 9});
}

// Ends the program from within.
void Program::Leave(int code) {
  if (sink_ != nullptr && code != 0) sink_->Write(LogStream::kErr, "it fails\n");
  Leave(TaskExit{.exit_code = code});
}

void Program::Leave(const TaskExit& exit) {
  End(exit);
  process_->Kill();  // throws: nothing of it runs any more
}

void Program::End(TaskExit exit) {
  running_ = false;
  Member& member = gang_.members[place_.rank];
  const bool well = exit.ShellCode() == 0;
  member.state = well ? MemberState::kCompleted : MemberState::kDied;
  gang_.changed.Notify();
  disk_.TaskEnds(well ? WriterFate::kEndedWell : WriterFate::kKilled);
  world_.Tell(place_.machine, "the program ends with " + std::to_string(exit.ShellCode()) +
                                  " after step " + std::to_string(step_));
  const ProgramView view = View();
  world_.Each([&](Observer& o) { o.OnProgramEnds(view, exit.exit_code, exit.signal); });
  if (world_.scheduler().current() != process_.get()) process_->Kill();
  ended_(exit);
}

}  // namespace stoker::sim
