// SPDX-License-Identifier: Apache-2.0
#include "client/open/meter.h"

#include <algorithm>
#include <mutex>

#include "base/text.h"

namespace stoker::client {
namespace {

constexpr Duration kQuietAtFirst = Duration::Ms(500);
constexpr Duration kEvery = Duration::Ms(100);

class SharedMeter {
 public:
  explicit SharedMeter(Meter& meter) : meter_(meter) {}
  void Add(size_t bytes) {
    const std::lock_guard lock(mutex_);
    meter_.Add(static_cast<int64_t>(bytes));
  }

 private:
  std::mutex mutex_;
  Meter& meter_;
};

class MeteredFile : public NewFile {
 public:
  MeteredFile(std::unique_ptr<NewFile> file, SharedMeter& meter)
      : file_(std::move(file)), meter_(meter) {}
  Status Write(std::string_view bytes) override {
    meter_.Add(bytes.size());
    return file_->Write(bytes);
  }
  bool ranged() const override { return file_->ranged(); }
  Status WriteAt(int64_t offset, std::string_view bytes) override {
    meter_.Add(bytes.size());
    return file_->WriteAt(offset, bytes);
  }
  Result<int64_t> ReadAt(int64_t offset, char* buffer, int64_t size) override {
    return file_->ReadAt(offset, buffer, size);
  }
  Status Commit(int mode, int64_t mtime_ns) override { return file_->Commit(mode, mtime_ns); }

 private:
  const std::unique_ptr<NewFile> file_;
  SharedMeter& meter_;
};

class MeteredWriter : public DirectoryWriter {
 public:
  MeteredWriter(DirectoryWriter& writer, Meter& meter) : writer_(writer), meter_(meter) {}
  Result<std::unique_ptr<NewFile>> Create(const std::string& path) override {
    STOKER_ASSIGN(std::unique_ptr<NewFile> file, writer_.Create(path));
    return std::unique_ptr<NewFile>(std::make_unique<MeteredFile>(std::move(file), meter_));
  }
  Status MakeLink(const std::string& path, const std::string& target) override {
    return writer_.MakeLink(path, target);
  }
  Status MakeDirectory(const std::string& path) override { return writer_.MakeDirectory(path); }
  Status Rename(const std::string& from, const std::string& to, bool newer) override {
    return writer_.Rename(from, to, newer);
  }
  Status MakeHardLink(const std::string& path, const std::string& of) override {
    return writer_.MakeHardLink(path, of);
  }
  Status RemoveOthers(const std::set<std::string>& keep, const Spares& spares) override {
    return writer_.RemoveOthers(keep, spares);
  }

 private:
  DirectoryWriter& writer_;
  SharedMeter meter_;
};

}  // namespace

Meter::Meter(Client& client, std::string what, int64_t total)
    : client_(client), what_(std::move(what)), total_(total), begun_(client.clock().Mono()) {}

Meter::~Meter() {
  if (drawn_.ms != 0) client_.Progress("");
}

void Meter::At(int64_t done) {
  done_ = done;
  const MonoTime now = client_.clock().Mono();
  const Duration spent = now - begun_;
  if (spent < kQuietAtFirst || now - drawn_ < kEvery) return;
  drawn_ = now;
  const double rate = static_cast<double>(done) / spent.seconds();
  std::string text = what_ + " " + HumanSize(done);
  if (total_ > 0) text += " of " + HumanSize(std::max(total_, done));
  text += ", " + HumanRate(done, spent);
  if (total_ > done && rate > 0) {
    const double left = static_cast<double>(total_ - done) / rate;
    text += ", " + HumanDuration(Duration::Seconds(static_cast<int64_t>(left) + 1)) + " left";
  }
  client_.Progress(text);
}

std::unique_ptr<DirectoryWriter> Metered(DirectoryWriter& writer, Meter& meter) {
  return std::make_unique<MeteredWriter>(writer, meter);
}

}  // namespace stoker::client
