# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE=… -DHEADER=… -P commit.cmake: writes which commit is built, if it has changed.
execute_process(COMMAND git describe --always --dirty --tags WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                RESULT_VARIABLE failed)
if(failed OR NOT commit)
  set(commit unknown)
endif()
set(text "#define STOKER_COMMIT \"${commit}\"\n")
if(EXISTS ${HEADER})
  file(READ ${HEADER} before)
endif()
if(NOT "${text}" STREQUAL "${before}")
  file(WRITE ${HEADER} "${text}")
endif()
