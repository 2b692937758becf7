# SPDX-License-Identifier: Apache-2.0
# Trees with STOKER_UNITY read the headers that nearly everything includes once (precompiled.h), and
# make the code of nlohmann's templates once: without, these are a quarter to a third of the time of
# each room.
if(STOKER_STATIC)
  add_compile_definitions(FMT_HEADER_ONLY=1)  # Debian has no libfmt.a for the static binary
else()
  find_package(fmt REQUIRED)
  link_libraries(fmt::fmt)
endif()

# stoker_precompiled_header(NAME SOURCE HEADER [option...]): the library NAME out of SOURCE, and a
# header that those can use who are compiled with the same options.
function(stoker_precompiled_header name source header)
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${source})
  target_compile_options(${name} PRIVATE ${ARGN})
  # In quotes: not made absolute, so that a compiler's cache knows it in the next clone.
  target_precompile_headers(${name} PRIVATE "\"cmake/${header}\"")
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
endfunction()

set(STOKER_PRECOMPILED FALSE)
# Not the tree for fuzzing: nobody has tried libFuzzer's instrumentation with it.
if(STOKER_UNITY AND NOT STOKER_FUZZ)
  set(STOKER_PRECOMPILED TRUE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)  # so that ccache knows what has been read
  endif()
  stoker_precompiled_header(stoker_precompiled cmake/precompiled.cc precompiled.h)
  stoker_precompiled_header(stoker_precompiled_small cmake/precompiled_nothing.cc precompiled.h -Os)
  stoker_precompiled_header(stoker_precompiled_test cmake/precompiled_nothing.cc
                            precompiled_test.h)
endif()

# stoker_precompile(TARGET [_test | _small]): it is compiled with that header.
function(stoker_precompile target)
  if(STOKER_PRECOMPILED)
    target_precompile_headers(${target} REUSE_FROM stoker_precompiled${ARGN})
    target_link_libraries(${target} PUBLIC stoker_precompiled)
  endif()
endfunction()
