# SPDX-License-Identifier: Apache-2.0
# What the lists files say: rooms, the program, and the two kinds of test.
include(GoogleTest)
add_custom_target(unit_tests)

# Is the test of this room or suite wanted in this tree (STOKER_TEST_ROOMS)?
function(stoker_wants_tests name result)
  if(STOKER_TEST_ROOMS AND NOT name IN_LIST STOKER_TEST_ROOMS)
    set(${result} FALSE PARENT_SCOPE)
  else()
    set(${result} TRUE PARENT_SCOPE)
  endif()
endfunction()

# stoker_suite(NAME SOURCES file... USES room... [LABEL unit] [TIMEOUT 300] [SERIAL]): one
# GoogleTest program NAME_test, every case known to ctest. SERIAL: no other test runs beside its
# cases.
function(stoker_suite name)
  cmake_parse_arguments(SUITE "SERIAL" "LABEL;TIMEOUT" "SOURCES;USES" ${ARGN})
  stoker_wants_tests(${name} wanted)
  if(NOT wanted)
    return()
  endif()
  if(NOT SUITE_LABEL)
    set(SUITE_LABEL unit)
  endif()
  if(NOT SUITE_TIMEOUT)
    set(SUITE_TIMEOUT 300)
  endif()
  set(serial FALSE)
  if(SUITE_SERIAL)
    set(serial TRUE)
  endif()
  list(TRANSFORM SUITE_USES PREPEND stoker_)
  add_executable(${name}_test ${SUITE_SOURCES})
  target_link_libraries(${name}_test PRIVATE ${SUITE_USES} gtest gtest_main Threads::Threads)
  target_include_directories(${name}_test PRIVATE ${CMAKE_SOURCE_DIR})
  add_dependencies(unit_tests ${name}_test)
  # NO_PRETTY_VALUES: a case's own name is all; CMake would add the bytes of its parameter.
  gtest_discover_tests(${name}_test TEST_PREFIX "${STOKER_TEST_PREFIX}" DISCOVERY_TIMEOUT 120
    NO_PRETTY_VALUES
    PROPERTIES LABELS ${SUITE_LABEL} TIMEOUT ${SUITE_TIMEOUT} RUN_SERIAL ${serial})
endfunction()

# stoker_script_test(NAME COMMAND word... [LABEL e2e] [TIMEOUT 300] [SERIAL]): a test that is a
# script and drives the release binary, whose path it finds in $STOKER. Sanitized trees have none.
function(stoker_script_test name)
  cmake_parse_arguments(SCRIPT "SERIAL" "LABEL;TIMEOUT" "COMMAND" ${ARGN})
  if(STOKER_SANITIZE)
    return()
  endif()
  if(NOT SCRIPT_LABEL)
    set(SCRIPT_LABEL e2e)
  endif()
  if(NOT SCRIPT_TIMEOUT)
    set(SCRIPT_TIMEOUT 300)
  endif()
  set(serial FALSE)
  if(SCRIPT_SERIAL)
    set(serial TRUE)
  endif()
  add_test(NAME ${name} COMMAND ${SCRIPT_COMMAND} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ${SCRIPT_LABEL} TIMEOUT ${SCRIPT_TIMEOUT}
    RUN_SERIAL ${serial} ENVIRONMENT "STOKER=$<TARGET_FILE:stoker>;PYTHONDONTWRITEBYTECODE=1")
endfunction()

# stoker_room(NAME [USES room...] [LIBS lib...]): the library stoker_NAME out of src/NAME/*.cc and,
# where there are *_test.cc files, one suite of the same name.
function(stoker_room name)
  cmake_parse_arguments(ROOM "" "" "USES;LIBS" ${ARGN})
  set(dir ${CMAKE_SOURCE_DIR}/src/${name})
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.cc)
  file(GLOB tests CONFIGURE_DEPENDS ${dir}/*_test.cc)
  if(tests)
    list(REMOVE_ITEM sources ${tests})
  endif()
  set(uses ${ROOM_USES})
  list(TRANSFORM uses PREPEND stoker_)
  if(sources)
    add_library(stoker_${name} STATIC ${sources})
    set(kind PUBLIC)
  else()
    add_library(stoker_${name} INTERFACE)
    set(kind INTERFACE)
  endif()
  target_include_directories(stoker_${name} ${kind} ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(stoker_${name} ${kind} ${uses} ${ROOM_LIBS})
  if(tests)
    stoker_suite(${name} SOURCES ${tests} USES ${name})
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
  if(STOKER_STATIC)
    # Name services are pinned at start (docs/decisions), so the linker may warn that getaddrinfo
    # and getpwnam want the build machine's glibc: they do not get that far.
    target_link_options(${name} PRIVATE -static -s -Wl,--gc-sections)
  endif()
endfunction()
