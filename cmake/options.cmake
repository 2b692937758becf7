# SPDX-License-Identifier: Apache-2.0
option(STOKER_STATIC "Link the binary fully statically" ON)
set(STOKER_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")

add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror=return-type
                    -fno-strict-aliasing -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports false positives on std::variant and std::optional of strings at -O2.
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict)
endif()
if(STOKER_SANITIZE)
  add_compile_options(-fsanitize=${STOKER_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${STOKER_SANITIZE})
  set(STOKER_STATIC OFF)
endif()
add_compile_definitions(FMT_HEADER_ONLY=1 STOKER_VERSION="${PROJECT_VERSION}")

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1 ${CCACHE})
endif()
