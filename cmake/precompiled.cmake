# SPDX-License-Identifier: Apache-2.0
# Trees with STOKER_UNITY read the headers that nearly everything includes once (precompiled.h), and
# make the code of nlohmann's templates once: without, these are a quarter to a third of the time of
# each room. The release tree has neither, so that each source there includes what it needs.
set(STOKER_PRECOMPILED FALSE)
# Not the tree for fuzzing: nobody has tried libFuzzer's instrumentation with it.
if(STOKER_UNITY AND NOT STOKER_FUZZ)
  set(STOKER_PRECOMPILED TRUE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)  # so that ccache knows what has been read
  endif()
  find_package(fmt REQUIRED)
  link_libraries(fmt::fmt)
  add_library(stoker_precompiled STATIC cmake/precompiled.cc)
  # In quotes: not made absolute, so that a compiler's cache knows it in the next clone.
  target_precompile_headers(stoker_precompiled PRIVATE "\"cmake/precompiled.h\"")
  target_include_directories(stoker_precompiled PRIVATE ${CMAKE_SOURCE_DIR})
  add_library(stoker_precompiled_test STATIC EXCLUDE_FROM_ALL cmake/precompiled_test.cc)
  target_precompile_headers(stoker_precompiled_test PRIVATE "\"cmake/precompiled_test.h\"")
  target_include_directories(stoker_precompiled_test PRIVATE ${CMAKE_SOURCE_DIR})
else()
  add_compile_definitions(FMT_HEADER_ONLY=1)  # Debian has no libfmt.a for the static binary
endif()

# stoker_precompile(TARGET [_test]): it is compiled with that header.
function(stoker_precompile target)
  if(STOKER_PRECOMPILED)
    target_precompile_headers(${target} REUSE_FROM stoker_precompiled${ARGN})
    target_link_libraries(${target} PUBLIC stoker_precompiled)
  endif()
endfunction()
