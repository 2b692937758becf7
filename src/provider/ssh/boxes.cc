// SPDX-License-Identifier: Apache-2.0
#include "provider/ssh/boxes.h"

#include <algorithm>
#include <functional>
#include <thread>

#include "base/text.h"
#include "sys/file.h"

namespace stoker {
namespace {

// One that did not answer costs each pass as long as ssh waits for it.
constexpr Duration kTryAgain = Duration::Seconds(10);

template <typename T>
std::vector<std::pair<std::string, Result<T>>> AllAtOnce(
    const std::vector<std::string>& words,
    const std::function<Result<T>(const std::string&)>& ask) {
  std::vector<std::optional<Result<T>>> answers(words.size());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < words.size(); ++i) {
    threads.emplace_back([&, i] { answers[i].emplace(ask(words[i])); });
  }
  if (!words.empty()) answers[0].emplace(ask(words[0]));
  for (std::thread& thread : threads) thread.join();
  std::vector<std::pair<std::string, Result<T>>> out;
  for (size_t i = 0; i < words.size(); ++i) out.emplace_back(words[i], std::move(*answers[i]));
  return out;
}

}  // namespace

std::shared_ptr<Boxes::Box> Boxes::Of(const std::string& word) {
  const std::lock_guard lock(mutex_);
  auto& box = boxes_[word];
  if (!box) box = std::make_shared<Box>();
  return box;
}

Result<OwnBinary> Boxes::Own() {
  const std::lock_guard lock(mutex_);
  if (!own_) {
    STOKER_ASSIGN(own_, ReadOwnBinary(binary_.empty() ? "/proc/self/exe" : binary_));
  }
  return *own_;
}

// With the box's mutex held.
Result<BoxConnection*> Boxes::Connect(const std::string& word, Box& box) {
  if (box.connection) return box.connection.get();
  if (!box.failure.ok() && clock_.Mono() - box.tried < kTryAgain) return box.failure;
  STOKER_ASSIGN(const OwnBinary own, Own());
  auto opened = BoxConnection::Open(word, own, clock_);
  box.tried = clock_.Mono();
  box.failure = opened.status();
  STOKER_TRY(opened.status());
  box.connection = std::move(*opened);
  box.hello = box.connection->hello();
  return box.connection.get();
}

Result<BoxJson> Boxes::Ask(const std::string& word, const BoxJson& request,
                           std::optional<Refusal>* refusal) {
  const std::shared_ptr<Box> box = Of(word);
  const std::lock_guard lock(box->mutex);
  // A connection that has been idle may have been cut, which shows when it is used: all that is
  // asked of a box may be asked twice.
  for (int again = 0;; ++again) {
    const bool fresh = box->connection == nullptr;
    STOKER_ASSIGN(BoxConnection* const connection, Connect(word, *box));
    auto answer = connection->Ask(request);
    if (answer.ok()) {
      STOKER_TRY(FailureOf(*answer, refusal).WithContext(word));
      return answer;
    }
    box->connection.reset();
    if (fresh || again > 0 || !answer.status().Is(Code::kUnavailable)) return answer.status();
  }
}

std::vector<std::pair<std::string, Result<BoxJson>>> Boxes::AskAll(
    const std::vector<std::string>& words, const BoxJson& request) {
  return AllAtOnce<BoxJson>(words, [&](const std::string& word) { return Ask(word, request); });
}

Result<BoxHello> Boxes::Hello(const std::string& word) {
  STOKER_ASSIGN(const BoxJson answer, Ask(word, {{"verb", "hello"}}));
  auto hello = TakeHello(answer);
  if (!hello.ok()) return hello.status().WithContext(word);
  return hello;
}

std::vector<std::pair<std::string, Result<BoxHello>>> Boxes::HelloAll(
    const std::vector<std::string>& words) {
  return AllAtOnce<BoxHello>(words, [&](const std::string& word) { return Hello(word); });
}

std::string Boxes::KnownHost(const std::string& word) {
  const std::shared_ptr<Box> box = Of(word);
  const std::lock_guard lock(box->mutex);
  return box->hello ? box->hello->host : "";
}

Result<std::string> Boxes::WordOf(const std::string& host, const std::string& likely,
                                  const std::vector<std::string>& words) {
  // What it was when it was last asked it is still, or the next answer says so.
  for (const std::string& word : words) {
    if (KnownHost(word) == host) return word;
  }
  const bool here = std::find(words.begin(), words.end(), likely) != words.end();
  if (here) {
    STOKER_ASSIGN(const BoxHello hello, Hello(likely));
    if (hello.host == host) return likely;
  }
  for (const auto& [word, hello] : HelloAll(words)) {
    if (hello.ok() && hello->host == host) return word;
  }
  return Status(Code::kUnavailable,
                here ? likely + " is another box now, or was set up anew, as seen from here"
                     : likely + " is in no pool of the settings here");
}

Status Boxes::Bring(const std::string& word, const std::string& digest, const std::string& state) {
  STOKER_ASSIGN(OwnBinary binary, Own());
  if (digest.empty() || digest == binary.what.sha256) return Status::Ok();
  const std::shared_ptr<Box> box = Of(word);
  const std::lock_guard lock(box->mutex);
  if (box->brought[digest]) return Status::Ok();
  const auto copy = ReadOwnBinary(state + "/bin/" + digest + "/stoker");
  if (!copy.ok() || copy->what.sha256 != digest) {
    return Status(Code::kUnavailable,
                  "the job runs another version of stoker, which this machine has no copy of",
                  "Ask from the machine that it was submitted from");
  }
  STOKER_TRY(BoxConnection::Open(word, *copy, clock_).status());
  box->brought[digest] = true;
  return Status::Ok();
}

}  // namespace stoker
