// SPDX-License-Identifier: Apache-2.0
// The files that a job leaves behind (its `outputs:`): kept in the store while the program runs and
// once more at its end, as plain objects under jobs/<job>/artifacts/. A file whose name the store
// cannot hold lies there under another one, which the manifest names. What cannot be kept at all is
// left out by name, and keeps none of the others.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/manifest.h"
#include "outputs/replaced.h"
#include "port/checkpoint_files.h"
#include "port/clock.h"
#include "port/object_store.h"
#include "transfer/transfer.h"

namespace stoker {

// One entry of `outputs:`. For "a/b/out": `files` looks at <workdir>/a/b and there at "out" only.
struct OutputSource {
  std::string prefix;  // "a/b"; "" for an entry at the top
  CheckpointFiles* files = nullptr;
};

struct OutputsConfig {
  std::string job;
  int attempt = 1;
  int rank = 0;
  Duration quiet = Duration::Seconds(2);  // a file unchanged for this long is uploaded
  Duration grow = Duration::Seconds(30);  // one that never rests is uploaded this often, as it is
  Movers movers;                          // who uploads, besides the thread in Step
  std::vector<std::string> leave_out;     // paths (as in the work directory) of other directories
};

// Not thread-safe: one thread calls Step now and then, then Finish once.
class OutputKeeper {
 public:
  OutputKeeper(OutputsConfig config, ObjectStore& store, Clock& clock,
               std::vector<OutputSource> sources);

  // One more place to look at from now on.
  void Add(const OutputSource& source) { sources_.push_back(source); }

  // Looks, uploads what has come to rest, and lists it in the manifest. Blocks while it uploads.
  // Returns what does not work at present; the rest is done nevertheless, and tried again later.
  Status Step();
  // The program has ended: everything that changed, until `deadline`. Not ok: something is left
  // that may be kept when it is called again; kTimeout: the time was over.
  Status Finish(MonoTime deadline);
  // After a Finish that was not ok, and instead of another: what is left is left out.
  void GiveUp();
  int64_t uploaded_files() const { return uploaded_; }
  // What will never be in the store as it is now, by path in the work directory, and why; for
  // people.
  const std::map<std::string, std::string>& left_out() const { return left_out_; }
  // After Finish: files of an output, and folders in one, that this process may not read. After
  // GiveUp also what another try might have kept. By path in the work directory.
  const std::set<std::string>& unsaved() const { return unsaved_; }
  // Whether a file was kept, under a path (as in the work directory) that `matches`.
  bool Kept(const std::function<bool(const std::string& path)>& matches) const;

 private:
  struct Seen {
    FileFact fact;
    MonoTime since;  // looks like this since
    FileFact sent;   // when it was uploaded
    MonoTime sent_at;
    bool ever_sent = false;
    bool refused = false;  // `sent` is what was left out
  };
  Status Pass(bool all, MonoTime deadline);
  Status LookAt(const OutputSource& source, bool all, MonoTime deadline);
  bool BackAgain(const std::string& path, const FileFact& fact,
                 const std::set<std::string>& there) const;
  // Files that are copied, and wait to be sent together.
  struct Batch;
  Status Stage(const OutputSource& source, const std::string& path, Seen* seen, bool prefix,
               Batch* batch);
  // At the end, when nobody of the job is left who could write.
  Status StageLast(const OutputSource& source, const std::string& path, Seen* seen, Batch* batch);
  Result<std::unique_ptr<Snapshot>> CopyLast(const OutputSource& source, const FileFact& fact,
                                             Batch* batch);
  Status Add(const std::string& path, Seen* seen, std::unique_ptr<Snapshot> copy, Batch* batch);
  // One that is not in the store: left out for good, or tried again.
  void Failed(const std::string& path, Seen* seen, const Status& why);
  void LeaveOut(const std::string& path, Seen* seen, const std::string& why);
  Status Send(Batch* batch);
  void KeepReplaced(const Batch& batch, std::map<std::string, Status>* failed);
  Status WriteManifest();
  bool LeftOut(const std::string& path) const;

  const OutputsConfig config_;
  ObjectStore& store_;
  Clock& clock_;
  ReplacedOutputs replaced_;
  std::vector<OutputSource> sources_;
  std::map<std::string, Seen> seen_;            // by path in the work directory
  std::map<std::string, ManifestFile> listed_;  // by path in the work directory
  std::map<std::string, std::string> left_out_;
  std::set<std::string> unsaved_;
  std::map<std::string, Status> waiting_;  // of the last look: what failed, and may not fail again
  bool manifest_due_ = false;
  bool last_ = false;  // of the look under way: it is the one at the end
  MonoTime deadline_;
  int64_t uploaded_ = 0;
};

}  // namespace stoker
