// SPDX-License-Identifier: Apache-2.0
// What people say of a job afterwards: stoker rename, note, tag.
#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/verb.h"
#include "ledger/index.h"
#include "ledger/paths.h"
#include "spec/parse.h"

namespace stoker::cli {
namespace {

struct LabelOptions {
  std::string job = "-";
  std::string name;
  std::string text;
  std::vector<std::string> tags;
  bool remove = false;
};

Status Print(Context& context, const std::string& id, const Labels& said, const std::string& text) {
  if (context.json) {
    const nlohmann::json out = {
        {"id", id}, {"name", said.name}, {"tags", said.tags}, {"note", said.note}};
    context.Print(out.dump() + "\n");
  } else if (!text.empty()) {
    context.Print(text + "\n");
  }
  return Status::Ok();
}

Result<Labels> Change(Context& context, const std::string& id,
                      const std::vector<LabelChange>& changes) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  const LabelPlace place = Labelled(*ledger);
  STOKER_ASSIGN(const Labels said, ChangeLabels(place, id, changes, ledger->Nonce()));
  // What was said is safe; merging is upkeep that whoever comes next can do as well.
  (void)MergeLabels(place, ledger->Nonce());
  return said;
}

// Whoever typed it may have meant another job.
void SayTheJob(Context& context, const std::string& id, const std::string& what) {
  context.Say("job " + id + " " + what);
}

Status Rename(Context& context, const LabelOptions& options) {
  STOKER_ASSIGN(const std::string id, context.ResolveJob(options.job));
  if (!IsSafeName(options.name)) {
    return Status(Code::kUsage, "the name '" + Printable(options.name) + "' is not usable",
                  "A name has 1 to 64 letters, digits, '.', '_' or '-', and begins with a letter "
                  "or a digit: '" +
                      SafeNameFrom(options.name) + "'");
  }
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  // Where a job is named, an id comes before a name.
  const auto taken = ledger->store().Head(paths::Record(options.name));
  if (taken.ok()) {
    return Status(Code::kUsage,
                  "'" + options.name + "' is the id of a job, and would mean that one",
                  "Choose another name");
  }
  if (!taken.status().Is(Code::kNotFound)) return taken.status();
  STOKER_ASSIGN(const Labels said, Change(context, id, {Renamed(options.name)}));
  SayTheJob(context, id, "is called '" + said.name + "' now");
  return Print(context, id, said, "");
}

Status Note(Context& context, const LabelOptions& options) {
  STOKER_ASSIGN(const std::string id, context.ResolveJob(options.job));
  if (std::find(context.given.begin(), context.given.end(), "TEXT") == context.given.end()) {
    STOKER_ASSIGN(Ledger * ledger, context.ledger());
    STOKER_ASSIGN(const Labels said, SaidOf(*ledger, id));
    return Print(context, id, said, said.note);
  }
  if (options.text.size() > kMostNote) {
    return Status(Code::kUsage, "the note has " + std::to_string(options.text.size()) + " bytes",
                  "At most " + std::to_string(kMostNote) + " are kept");
  }
  STOKER_ASSIGN(const Labels said, Change(context, id, {Noted(options.text)}));
  SayTheJob(context, id, said.note.empty() ? "has no note any more" : "has this note now");
  return Print(context, id, said, "");
}

Status Tag(Context& context, const LabelOptions& options) {
  STOKER_ASSIGN(const std::string id, context.ResolveJob(options.job));
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const Labels before, SaidOf(*ledger, id));
  if (options.tags.empty() && options.remove) {
    return Status(Code::kUsage, "--remove: no tag was given",
                  before.tags.empty() ? "The job has none" : "It has " + Join(before.tags, ", "));
  }
  if (options.tags.empty()) return Print(context, id, before, Join(before.tags, "\n"));
  std::vector<LabelChange> changes;
  for (const std::string& tag : options.tags) {
    if (!IsSafeName(tag)) {
      return Status(Code::kUsage, "the tag '" + Printable(tag) + "' is not usable",
                    "A tag has 1 to 64 letters, digits, '.', '_' or '-', and begins with a letter "
                    "or a digit");
    }
    const bool has = std::find(before.tags.begin(), before.tags.end(), tag) != before.tags.end();
    if (options.remove && !has) {
      return Status(Code::kUsage, "job " + id + " has no tag '" + tag + "'",
                    before.tags.empty() ? "It has none" : "It has " + Join(before.tags, ", "));
    }
    changes.push_back(Tagged(tag, !options.remove));
  }
  STOKER_ASSIGN(const Labels said, Change(context, id, changes));
  SayTheJob(context, id,
            said.tags.empty() ? "has no tags any more" : "has the tags " + Join(said.tags, ", "));
  return Print(context, id, said, "");
}

Verb LabelVerb(const std::string& name, const std::shared_ptr<LabelOptions>& options,
               Status (*run)(Context&, const LabelOptions&)) {
  Verb verb;
  verb.name = name;
  verb.options = {{"JOB", "Which job ('-' = your last)", &options->job, "", true}};
  verb.run = [options, run](Context& context) { return run(context, *options); };
  verb.options_owner = options;
  return verb;
}

}  // namespace

Verb RenameVerb() {
  auto options = std::make_shared<LabelOptions>();
  Verb verb = LabelVerb("rename", options, Rename);
  verb.summary = "Give a job another name";
  verb.description =
      "Gives a job another name, also one that has ended or runs. From now on the new name means "
      "it, and the old one does not. The record stays as it is: the program goes on with the name "
      "that it was started with, and 'stoker show' tells both.";
  verb.examples = {"stoker rename - baseline", "stoker rename k3f7 digits-old"};
  verb.options.push_back({"NAME", "Its new name", &options->name, "", true});
  return verb;
}

Verb NoteVerb() {
  auto options = std::make_shared<LabelOptions>();
  Verb verb = LabelVerb("note", options, Note);
  verb.summary = "Write a note on a job";
  verb.description =
      "Writes a note on a job, in one line and in place of the one before; \"\" takes it away. "
      "Without TEXT it prints the note. 'stoker ls', 'stoker show' and the page show it.";
  verb.examples = {"stoker note - \"lr too high\"", "stoker note digits",
                   "stoker note digits \"\""};
  verb.options.push_back({"TEXT", "The note", &options->text, ""});
  return verb;
}

Verb TagVerb() {
  auto options = std::make_shared<LabelOptions>();
  Verb verb = LabelVerb("tag", options, Tag);
  verb.summary = "Give a job tags, or take them away";
  verb.description =
      "Gives a job these tags, besides those that it has, or takes them away. Without TAG it "
      "prints its tags, one to a line. 'stoker ls --tag TAG' lists the jobs that have one. When "
      "two people tag a job at once, it has both tags.";
  verb.examples = {"stoker tag - best", "stoker tag digits paper v2",
                   "stoker tag k3f7 best --remove", "stoker ls --tag best"};
  verb.options.push_back({"TAG", "What it is tagged with", &options->tags, ""});
  verb.options.push_back({"--remove", "Take these tags away", &options->remove});
  return verb;
}

}  // namespace stoker::cli
