// SPDX-License-Identifier: Apache-2.0
// Linked into the stoker of sanitized trees: wherever one of its processes runs, and whatever has
// become of its environment and its standard error, what a sanitizer finds lies in one folder,
// where test/e2e/kit/harness.py looks for it.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "log_path=" STOKER_REPORTS "/address:exitcode=86";
}

extern "C" const char* __ubsan_default_options();
extern "C" const char* __ubsan_default_options() {
  return "log_path=" STOKER_REPORTS "/undefined:exitcode=86:print_stacktrace=1";
}

extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
  return "log_path=" STOKER_REPORTS "/thread:exitcode=86:second_deadlock_stack=1";
}
