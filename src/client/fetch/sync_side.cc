// SPDX-License-Identifier: Apache-2.0
#include "client/fetch/sync_side.h"

#include "base/text.h"
#include "store/open_side.h"
#include "sys/file.h"
#include "transfer/store_side.h"

namespace stoker::client {
namespace {

// "host:/folder", as rsync and scp mean it.
bool NamesMachine(const std::string& word) {
  const size_t colon = word.find(':');
  return colon != std::string::npos && colon > 0 && colon < word.find('/') &&
         !sys::FileExists(word);
}

Result<SyncSide> OpenSide(const std::string& url, bool must_exist) {
  SyncSide opened;
  if (NamesBucket(url)) {
    STOKER_ASSIGN(opened.store, OpenStore(url));
    opened.side = std::make_unique<StoreSide>(*opened.store);
  } else if (NamesMachine(url)) {
    return Status(Code::kUsage, "'" + Printable(url) + "' looks like a folder of another machine",
                  "stoker copies between folders here, s3:// and gs://; write './" +
                      Printable(url) + "' if a folder of that name is meant");
  } else {
    STOKER_ASSIGN(auto folder, OpenFolder(url, must_exist));
    opened.only = folder->only();
    opened.folder = folder.get();
    opened.side = std::move(folder);
  }
  return opened;
}

}  // namespace

Result<SyncSide> OpenSource(Client& client, const std::string& url) {
  STOKER_ASSIGN(SyncSide source, OpenSide(url, true));
  const auto object = ObjectAddressOf(url);
  if (!object) return source;
  SyncSide around;
  STOKER_ASSIGN(around.store, OpenStore(object->around));
  auto head = around.store->Head(object->key);
  // Who may only list finds out when nothing is listed.
  if (!head.ok()) return source;
  STOKER_ASSIGN(const Listing below, source.store->List("", "", 1));
  if (!below.objects.empty()) {
    client.Say(source.side->url() +
               " is also the name of an object, which is not copied: what lies below it is");
    return source;
  }
  around.only = object->key;
  around.side = std::make_unique<ObjectSide>(*around.store, std::move(*head));
  return around;
}

Result<SyncSide> OpenTarget(const std::string& url, const std::string& only) {
  const size_t slash = url.rfind('/');
  const std::string last = slash == std::string::npos ? url : url.substr(slash + 1);
  if (only.empty() || last != only) return OpenSide(url, false);
  if (const auto object = ObjectAddressOf(url)) return OpenSide(object->around, false);
  if (NamesBucket(url) || sys::DirExists(url)) return OpenSide(url, false);
  if (slash == std::string::npos) return OpenSide(".", false);
  return OpenSide(slash == 0 ? "/" : url.substr(0, slash), false);
}

Status CheckFound(SyncSide& source, const SideListing& listed) {
  if (source.folder != nullptr || !listed.objects.empty() || !listed.odd.empty()) {
    return Status::Ok();
  }
  const std::string url = source.side->url();
  const bool whole = url.find('/', url.find("://") + 3) == std::string::npos;
  if (whole) return Status::Ok();
  // What consoles write to show an empty folder is one.
  STOKER_ASSIGN(const Listing any, source.store->List("", "", 1));
  if (!any.objects.empty()) return Status::Ok();
  if (const auto object = ObjectAddressOf(url)) {
    STOKER_ASSIGN(const auto around, OpenStore(object->around));
    const auto head = around->Head(object->key);
    if (head.ok()) {
      return Status(Code::kNotFound, "nothing lies below " + url + "/, but it is an object",
                    "Leave out the slash at the end of SRC");
    }
    if (!head.status().Is(Code::kNotFound)) return head.status();
  }
  return Status(Code::kNotFound, url + " matches nothing: no object is called so or lies below it",
                "Look at SRC; if it is meant to be empty, add --allow-empty");
}

}  // namespace stoker::client
