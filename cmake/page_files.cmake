# SPDX-License-Identifier: Apache-2.0
# src/page/files.h's definition: the page's own files, and the library that draws its curves as the
# package libjs-dygraphs has it.
set(dygraphs /usr/share/javascript/dygraphs)
if(NOT EXISTS ${dygraphs}/dygraph.min.js)
  message(FATAL_ERROR "No ${dygraphs}/dygraph.min.js: install the package libjs-dygraphs")
endif()
file(GLOB page_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/page/files/*.*)
list(REMOVE_ITEM page_files ${CMAKE_SOURCE_DIR}/src/page/files/index.html)
list(INSERT page_files 0 ${CMAKE_SOURCE_DIR}/src/page/files/index.html)
list(APPEND page_files ${dygraphs}/dygraph.min.js ${dygraphs}/dygraph.min.css)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_files})
set(types_html "text/html; charset=utf-8")
set(types_css "text/css; charset=utf-8")
set(types_js "text/javascript; charset=utf-8")
set(types_svg "image/svg+xml")
# The assembler takes the bytes as they are: no quoting, and no limit of string literals.
set(symbols "")
set(declared "")
set(listed "")
set(count 0)
foreach(path ${page_files})
  get_filename_component(name ${path} NAME)
  get_filename_component(kind ${path} LAST_EXT)
  string(SUBSTRING ${kind} 1 -1 kind)
  string(APPEND symbols
         "asm(\".section .rodata\\npage_file_${count}:\\n.incbin \\\"${path}\\\"\\n\"\n"
         "    \"page_file_${count}_end:\\n.byte 0\\n.previous\");\n")
  string(APPEND declared
         "extern const char page_file_${count}[] asm(\"page_file_${count}\");\n"
         "extern const char page_file_${count}_end[] asm(\"page_file_${count}_end\");\n")
  string(APPEND listed
         "      Of(\"${name}\", \"${types_${kind}}\", page_file_${count},\n"
         "         page_file_${count}_end),\n")
  math(EXPR count "${count} + 1")
endforeach()
set(definition ${CMAKE_BINARY_DIR}/generated/page_files.cc)
file(CONFIGURE OUTPUT ${definition} @ONLY CONTENT
"#include \"page/files.h\"
${symbols}
${declared}
namespace stoker::page {
namespace {
File Of(const char* name, const char* type, const char* begin, const char* end) {
  return {name, type, {begin, static_cast<size_t>(end - begin)}};
}
}  // namespace
const std::vector<File>& Files() {
  static const std::vector<File> all = {
${listed}  };
  return all;
}
}  // namespace stoker::page
")
set_source_files_properties(${definition} PROPERTIES OBJECT_DEPENDS "${page_files}")
target_sources(stoker_page PRIVATE ${definition})
