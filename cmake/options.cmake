# SPDX-License-Identifier: Apache-2.0
option(STOKER_STATIC "Link the binary fully statically" ON)
set(STOKER_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")
set(STOKER_TEST_PREFIX "" CACHE STRING "Put before every test name, so that trees can share a run")
set(STOKER_TEST_ROOMS "" CACHE STRING "Rooms and suites whose tests are built; empty = all")

add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror=return-type
                    -fno-strict-aliasing -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
    message(FATAL_ERROR "g++ ${CMAKE_CXX_COMPILER_VERSION} is too old: g++ 12 is needed")
  endif()
  # g++ 12 reports false positives on std::variant and std::optional of strings at -O2.
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict)
endif()
if(STOKER_SANITIZE)
  add_compile_options(-fsanitize=${STOKER_SANITIZE} -fno-omit-frame-pointer)
  if(STOKER_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  add_link_options(-fsanitize=${STOKER_SANITIZE})
  set(STOKER_STATIC OFF)
endif()
add_compile_definitions(FMT_HEADER_ONLY=1 STOKER_VERSION="${PROJECT_VERSION}")

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${CCACHE})
endif()
