# SPDX-License-Identifier: Apache-2.0
# cmake -DTREE=… -DFILE=… -P commit.cmake: writes which commit is built, if it has changed. A source
# of its own, so that the simulator is not compiled for a commit.
execute_process(COMMAND git describe --always --dirty --tags WORKING_DIRECTORY ${TREE}
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                RESULT_VARIABLE failed)
if(failed OR NOT commit)
  set(commit unknown)
endif()
set(text "extern const char kCommit[];\nconst char kCommit[] = \"${commit}\";\n")
if(EXISTS ${FILE})
  file(READ ${FILE} before)
endif()
if(NOT "${text}" STREQUAL "${before}")
  file(WRITE ${FILE} "${text}")
endif()
