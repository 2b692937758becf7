# SPDX-License-Identifier: Apache-2.0
# Many sources compiled as one: a third of the time, since headers are read once. CMake's own
# UNITY_BUILD names the sources by their absolute paths; with paths from the top of the tree the
# text is the same in the next clone, so that a compiler's cache knows it there.

# stoker_together(RESULT NAME source...): RESULT becomes sources that include these, which may be
# given as stoker_suite() gets them, at most STOKER_TOGETHER in each. NAME is this list's own in its
# folder.
set(STOKER_TOGETHER 40)
function(stoker_together result name)
  set(files "")
  list(LENGTH ARGN total)
  set(first 0)
  while(first LESS total)
    list(SUBLIST ARGN ${first} ${STOKER_TOGETHER} batch)
    set(text "")
    foreach(source ${batch})
      get_filename_component(source ${source} ABSOLUTE)
      file(RELATIVE_PATH source ${CMAKE_SOURCE_DIR} ${source})
      string(APPEND text "#include \"${source}\"\n")
    endforeach()
    list(LENGTH batch count)
    if(count EQUAL 1)
      list(APPEND files ${batch})
    else()
      set(file ${CMAKE_CURRENT_BINARY_DIR}/together/${name}_${first}.cc)
      file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
      # What it includes is looked for from the top of the tree.
      set_source_files_properties(${file} PROPERTIES INCLUDE_DIRECTORIES ${CMAKE_SOURCE_DIR})
      list(APPEND files ${file})
    endif()
    math(EXPR first "${first} + ${STOKER_TOGETHER}")
  endwhile()
  set(${result} ${files} PARENT_SCOPE)
endfunction()
