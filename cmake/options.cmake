# SPDX-License-Identifier: Apache-2.0
option(STOKER_STATIC "Link the binary fully statically" ON)
set(STOKER_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")
set(STOKER_SANITIZE_LESS "" CACHE STRING "Of these, what is left out: half the time of the build")
option(STOKER_FUZZ "Only the fuzz targets, and what they need (clang)" OFF)
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
  if(STOKER_SANITIZE_LESS)
    add_compile_options(-fno-sanitize=${STOKER_SANITIZE_LESS})
  endif()
  add_link_options(-fsanitize=${STOKER_SANITIZE})
  set(STOKER_REPORTS ${CMAKE_BINARY_DIR}/reports)  # test/sanitized/defaults.cc
  file(MAKE_DIRECTORY ${STOKER_REPORTS})
  set(STOKER_STATIC OFF)
endif()
add_compile_definitions(STOKER_VERSION="${PROJECT_VERSION}")

set(STOKER_SUITE_TIER all CACHE STRING "The tier of this tree's GoogleTest programs")
if(STOKER_SUITE_TIER STREQUAL check)
  add_compile_definitions(STOKER_FEW_ROUNDS=1)  # test/kit/rounds.h
endif()
option(STOKER_TEST_CASES "Each case of a GoogleTest program is a test of its own" OFF)

# The sources of a room are compiled as one (together.cmake), in every tree that is built but those
# of ./dev coverage and ./dev replay. That each of src/ includes what it needs is for ./dev lint.
option(STOKER_UNITY "Compile the sources of a room together" OFF)
if(STOKER_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A tenth of the time goes into collecting garbage before there is much: 0.2 GB more each.
  add_compile_options(--param=ggc-min-heapsize=300000 --param=ggc-min-expand=100)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # DEPEND: what is not in the cache is not preprocessed once more only to look for it.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${CCACHE})
endif()
