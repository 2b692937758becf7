# SPDX-License-Identifier: Apache-2.0
# What the lists files say: rooms, the program, and the two kinds of test.
include(GoogleTest)
add_custom_target(unit_tests)
add_custom_target(tier_tests)  # those of them that this tree's tier needs, see STOKER_SUITE_TIER

# Is the test of this room or suite wanted in this tree (STOKER_TEST_ROOMS)?
function(stoker_wants_tests name result)
  set_property(GLOBAL APPEND PROPERTY STOKER_SUITES ${name})
  if(STOKER_TEST_ROOMS AND NOT name IN_LIST STOKER_TEST_ROOMS)
    set(${result} FALSE PARENT_SCOPE)
  else()
    set(${result} TRUE PARENT_SCOPE)
  endif()
endfunction()

# Once all are known: a list that names one that is not there would leave its tests out.
function(stoker_check_test_rooms)
  get_property(suites GLOBAL PROPERTY STOKER_SUITES)
  foreach(name ${STOKER_TEST_ROOMS})
    if(NOT name STREQUAL "none" AND NOT name IN_LIST suites)
      message(FATAL_ERROR "STOKER_TEST_ROOMS names ${name}, and no room or suite has that name")
    endif()
  endforeach()
endfunction()

# The tiers of tests (docs/tests.md): a test of a tier runs in the wider ones too.
set(STOKER_TIERS check test all)

# What a test takes of the machine, in quarters of a core: `./dev` gives ctest four of these for
# each core, so that tests that wait lie beside those that compute. A program computes, most scripts
# wait for jobs that sleep.
set(STOKER_CORE 4)

# stoker_defaults(PREFIX KEY=VALUE...): for the arguments that were not given.
macro(stoker_defaults prefix)
  foreach(default ${ARGN})
    string(REPLACE "=" ";" default ${default})
    list(GET default 0 key)
    list(GET default 1 value)
    if("${${prefix}_${key}}" STREQUAL "")
      set(${prefix}_${key} ${value})
    endif()
  endforeach()
endmacro()

# stoker_tier(NAME TIER LABEL): marks the test.
function(stoker_tier name tier label)
  if(NOT tier IN_LIST STOKER_TIERS)
    message(FATAL_ERROR "${name}: no tier '${tier}'")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${label};tier-${tier}")
endfunction()

# stoker_weigh(NAME LOAD FIRST): what the test takes, and whether it starts before others. What
# takes much comes before what takes little, which fits in beside it.
function(stoker_weigh name load first)
  set(cost ${load})
  if(first)
    math(EXPR cost "100 + ${load}")
  endif()
  set_tests_properties(${name} PROPERTIES PROCESSORS ${load} COST ${cost})
endfunction()

# stoker_suite(NAME SOURCES file... USES room... [LABEL unit] [LONG] [TIMEOUT 300] [SHARDS 1]
#              [LOAD 4] [FIRST] [SERIAL] [THREADED filter]):
# one GoogleTest program NAME_test, which is one test; SHARDS: so many, each with a part of the
# cases. With STOKER_TEST_CASES every case is a test of its own. SERIAL: nothing runs beside it.
# LOAD: how many quarters of a core it takes. FIRST: it is long, so that it starts before others.
# THREADED: which cases start threads, as --gtest_filter has it; TSan looks at these alone.
# LONG: slow without optimization, so that the tier `test` runs it in the release tree alone, and
# `check` not at all. In a tree for `check`, one that has passed is skipped until its program is
# another one (test/unless_passed.sh), and the cases of test/slow_cases.txt are left to `test`.
set(STOKER_SLOW_CASES ${CMAKE_SOURCE_DIR}/test/slow_cases.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${STOKER_SLOW_CASES})
file(STRINGS ${STOKER_SLOW_CASES} slow_cases)
list(JOIN slow_cases : STOKER_SLOW_FILTER)
function(stoker_suite name)
  cmake_parse_arguments(SUITE "SERIAL;LONG;FIRST" "LABEL;TIMEOUT;SHARDS;LOAD;THREADED"
                        "SOURCES;USES" ${ARGN})
  stoker_wants_tests(${name} wanted)
  if(NOT wanted)
    return()
  endif()
  stoker_defaults(SUITE LABEL=unit TIMEOUT=300 SHARDS=1 SERIAL=FALSE LOAD=${STOKER_CORE})
  set(SUITE_TIER ${STOKER_SUITE_TIER})
  if(SUITE_LONG AND STOKER_SANITIZE)
    set(SUITE_TIER all)
  elseif(SUITE_LONG)
    set(SUITE_TIER test)
  endif()
  list(TRANSFORM SUITE_USES PREPEND stoker_)
  list(TRANSFORM SUITE_USES REPLACE "/" "_")
  stoker_together(sources ${name}_test ${SUITE_SOURCES})
  add_executable(${name}_test EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(${name}_test PRIVATE ${SUITE_USES} gtest gtest_main Threads::Threads)
  target_include_directories(${name}_test PRIVATE ${CMAKE_SOURCE_DIR})
  stoker_precompile(${name}_test _test)
  add_dependencies(unit_tests ${name}_test)
  if(SUITE_TIER STREQUAL check OR
     (SUITE_TIER STREQUAL test AND NOT STOKER_SUITE_TIER STREQUAL check))
    add_dependencies(tier_tests ${name}_test)
  endif()
  if(STOKER_TEST_CASES)
    # NO_PRETTY_VALUES: a case's own name is all; CMake would add the bytes of its parameter.
    gtest_discover_tests(${name}_test TEST_PREFIX "${STOKER_TEST_PREFIX}" DISCOVERY_MODE PRE_TEST
      DISCOVERY_TIMEOUT 120 NO_PRETTY_VALUES
      PROPERTIES LABELS ${SUITE_LABEL} TIMEOUT ${SUITE_TIMEOUT} RUN_SERIAL ${SUITE_SERIAL}
                 PROCESSORS ${SUITE_LOAD})
    return()
  endif()
  foreach(shard RANGE 1 ${SUITE_SHARDS})
    set(test ${STOKER_TEST_PREFIX}${name})
    if(SUITE_SHARDS GREATER 1)
      string(APPEND test .${shard})
    endif()
    math(EXPR index "${shard} - 1")
    set(filter "*")
    if(SUITE_THREADED AND STOKER_SANITIZE STREQUAL "thread")
      set(filter ${SUITE_THREADED})
    endif()
    set(unless_passed "")
    if(STOKER_SUITE_TIER STREQUAL check)
      set(filter "*-${STOKER_SLOW_FILTER}")
      set(unless_passed ${CMAKE_SOURCE_DIR}/test/unless_passed.sh passed/${test})
    endif()
    add_test(NAME ${test}
      COMMAND ${unless_passed} $<TARGET_FILE:${name}_test> --gtest_brief=1
              --gtest_filter=${filter}
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${test} PROPERTIES TIMEOUT ${SUITE_TIMEOUT} RUN_SERIAL ${SUITE_SERIAL}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${SUITE_SHARDS};GTEST_SHARD_INDEX=${index}")
    if(unless_passed)
      set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77)
    endif()
    stoker_weigh(${test} ${SUITE_LOAD} ${SUITE_FIRST})
    stoker_tier(${test} ${SUITE_TIER} ${SUITE_LABEL})
  endforeach()
endfunction()

# stoker_tool(NAME SOURCES file... USES room... [LIBS lib...]): a program that scripts drive, for
# tests or benchmarks. With gtest among LIBS it is one of cases, which ctest does not know.
function(stoker_tool name)
  cmake_parse_arguments(TOOL "" "" "SOURCES;USES;LIBS" ${ARGN})
  list(TRANSFORM TOOL_USES PREPEND stoker_)
  list(TRANSFORM TOOL_USES REPLACE "/" "_")
  stoker_together(sources ${name} ${TOOL_SOURCES})
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${TOOL_USES} ${TOOL_LIBS} Threads::Threads)
  if(gtest IN_LIST TOOL_LIBS)
    stoker_precompile(${name} _test)
  else()
    stoker_precompile(${name})
  endif()
endfunction()

# stoker_script_test(NAME COMMAND word... [LABEL e2e] [TIER test] [TIMEOUT 300] [LOAD 2] [FIRST]
#                    [SERIAL] [SANITIZED]): a test that is a script and drives the binary, whose
# path it finds in $STOKER. LOAD, FIRST, SERIAL as in stoker_suite. Sanitized trees have those alone
# that say SANITIZED, in the tier all.
function(stoker_script_test name)
  cmake_parse_arguments(SCRIPT "SERIAL;SANITIZED;FIRST" "LABEL;TIMEOUT;TIER;LOAD" "COMMAND"
                        ${ARGN})
  stoker_defaults(SCRIPT LABEL=e2e TIMEOUT=300 TIER=test SERIAL=FALSE LOAD=2)
  set(environment "STOKER=$<TARGET_FILE:stoker>" PYTHONDONTWRITEBYTECODE=1)
  if(STOKER_SANITIZE)
    if(NOT SCRIPT_SANITIZED)
      return()
    endif()
    set(SCRIPT_TIER all)
    math(EXPR SCRIPT_TIMEOUT "2 * ${SCRIPT_TIMEOUT}")
    list(APPEND environment "STOKER_REPORTS=${STOKER_REPORTS}")
  endif()
  set(test ${STOKER_TEST_PREFIX}${name})
  add_test(NAME ${test} COMMAND ${SCRIPT_COMMAND} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${test} PROPERTIES TIMEOUT ${SCRIPT_TIMEOUT} RUN_SERIAL ${SCRIPT_SERIAL}
    ENVIRONMENT "${environment}")
  stoker_weigh(${test} ${SCRIPT_LOAD} ${SCRIPT_FIRST})
  stoker_tier(${test} ${SCRIPT_TIER} ${SCRIPT_LABEL})
endfunction()

# stoker_room(NAME [USES room...] [LIBS lib...] [TESTS room...] [SHARDS n] [LOAD 4] [FIRST]
# [THREADED filter]): the library stoker_NAME out of src/NAME/*.cc and, where there are *_test.cc
# files, one suite of the same name, which may need more rooms (TESTS). A room within another is
# named by its path, as "store/s3"; its library and suite have "_" for "/".
function(stoker_room name)
  cmake_parse_arguments(ROOM "FIRST" "SHARDS;LOAD;THREADED" "USES;LIBS;TESTS" ${ARGN})
  set(dir ${CMAKE_SOURCE_DIR}/src/${name})
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.cc)
  file(GLOB tests CONFIGURE_DEPENDS ${dir}/*_test.cc)
  if(tests)
    list(REMOVE_ITEM sources ${tests})
  endif()
  set(uses ${ROOM_USES})
  list(TRANSFORM uses PREPEND stoker_)
  list(TRANSFORM uses REPLACE "/" "_")
  set(small FALSE)
  if(name IN_LIST STOKER_SMALL_ROOMS AND CMAKE_BUILD_TYPE STREQUAL Release)
    set(small TRUE)
  endif()
  string(REPLACE "/" "_" name ${name})
  if(sources)
    if(STOKER_UNITY)
      stoker_together(sources stoker_${name} ${sources})
    endif()
    add_library(stoker_${name} STATIC ${sources})
    set(kind PUBLIC)
    if(small)
      target_compile_options(stoker_${name} PRIVATE -Os)
      stoker_precompile(stoker_${name} _small)
    else()
      stoker_precompile(stoker_${name})
    endif()
  else()
    add_library(stoker_${name} INTERFACE)
    set(kind INTERFACE)
  endif()
  target_include_directories(stoker_${name} ${kind} ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(stoker_${name} ${kind} ${uses} ${ROOM_LIBS})
  if(tests)
    set(first "")
    if(ROOM_FIRST)
      set(first FIRST)
    endif()
    stoker_suite(${name} ${first} SOURCES ${tests} USES ${name} ${ROOM_TESTS} SHARDS ${ROOM_SHARDS}
                 LOAD ${ROOM_LOAD} THREADED ${ROOM_THREADED})
  endif()
endfunction()

# stoker_program(NAME source USES room...): the binary that users get; static and stripped unless
# STOKER_STATIC is off.
function(stoker_program name source)
  cmake_parse_arguments(PROGRAM "" "" "USES" ${ARGN})
  set(uses ${PROGRAM_USES})
  list(TRANSFORM uses PREPEND stoker_)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE ${uses})
  if(STOKER_SANITIZE)
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/test/sanitized/defaults.cc)
    target_compile_definitions(${name} PRIVATE STOKER_REPORTS="${STOKER_REPORTS}")
  endif()
  if(STOKER_STATIC)
    # Name services are pinned at start (docs/decisions), so the linker may warn that getaddrinfo
    # and getpwnam want the build machine's glibc: they do not get that far.
    target_link_options(${name} PRIVATE -static -s -Wl,--gc-sections)
  endif()
endfunction()
