// SPDX-License-Identifier: Apache-2.0
#include "sys/task/task_protocol.h"

#include <cstring>

namespace stoker {
namespace {

void AddNumber(std::string& out, uint32_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void AddText(std::string& out, std::string_view text) {
  AddNumber(out, static_cast<uint32_t>(text.size()));
  out += text;
}

void AddList(std::string& out, const std::vector<std::string>& list) {
  AddNumber(out, static_cast<uint32_t>(list.size()));
  for (const std::string& text : list) AddText(out, text);
}

bool TakeNumber(std::string_view& in, uint32_t& value) {
  if (in.size() < sizeof value) return false;
  std::memcpy(&value, in.data(), sizeof value);
  in.remove_prefix(sizeof value);
  return true;
}

bool TakeText(std::string_view& in, std::string& text) {
  uint32_t size = 0;
  if (!TakeNumber(in, size) || in.size() < size) return false;
  text = in.substr(0, size);
  in.remove_prefix(size);
  return true;
}

bool TakeList(std::string_view& in, std::vector<std::string>& list) {
  uint32_t count = 0;
  if (!TakeNumber(in, count) || count > in.size()) return false;
  list.resize(count);
  for (std::string& text : list) {
    if (!TakeText(in, text)) return false;
  }
  return true;
}

}  // namespace

std::string EncodePayload(const TaskPayload& payload) {
  std::string out;
  AddNumber(out, static_cast<uint32_t>(payload.mechanism));
  AddText(out, payload.program);
  AddText(out, payload.cwd);
  AddText(out, payload.cgroup);
  AddText(out, payload.comm);
  AddList(out, payload.argv);
  AddList(out, payload.env);
  AddText(out, payload.host_name);
  AddList(out, payload.env_with_host_name);
  AddList(out, payload.env_without_host_name);
  AddNumber(out, payload.lock < 0 ? 0 : 1);
  return out;
}

bool DecodePayload(std::string_view bytes, TaskPayload& payload) {
  uint32_t mechanism = 0, locked = 0;
  if (!TakeNumber(bytes, mechanism) || mechanism > 3) return false;
  payload.mechanism = static_cast<TaskMechanism>(mechanism);
  const bool whole = TakeText(bytes, payload.program) && TakeText(bytes, payload.cwd) &&
                     TakeText(bytes, payload.cgroup) && TakeText(bytes, payload.comm) &&
                     TakeList(bytes, payload.argv) && TakeList(bytes, payload.env) &&
                     TakeText(bytes, payload.host_name) &&
                     TakeList(bytes, payload.env_with_host_name) &&
                     TakeList(bytes, payload.env_without_host_name) && TakeNumber(bytes, locked) &&
                     bytes.empty() && !payload.argv.empty();
  payload.lock = locked != 0 ? kLockFd : -1;
  return whole;
}

}  // namespace stoker
