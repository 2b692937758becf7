// SPDX-License-Identifier: Apache-2.0
#include "sys/start_pages.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

namespace stoker {
namespace {

// Only what cannot be written: there a page is as it is in the file.
int LetGoOf(dl_phdr_info* program, size_t, void*) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < program->dlpi_phnum; ++i) {
    const auto& part = program->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0) continue;
    const uintptr_t begin = (program->dlpi_addr + part.p_vaddr) / page * page;
    const uintptr_t end = program->dlpi_addr + part.p_vaddr + part.p_memsz;
    (void)madvise(reinterpret_cast<void*>(begin), (end - begin) / page * page, MADV_DONTNEED);
  }
  return 1;  // the first is the program itself
}

}  // namespace

void LetGoOfStartPages() {
  malloc_trim(0);
  dl_iterate_phdr(LetGoOf, nullptr);
}

}  // namespace stoker
