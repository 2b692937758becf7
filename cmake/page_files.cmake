# SPDX-License-Identifier: Apache-2.0
# src/page/files.h's definition: the page's own files, and the library that draws its curves as the
# package libjs-dygraphs has it, or npm where there is no such package (Ubuntu 22.04).
set(dygraphs /usr/share/javascript/dygraphs)
if(NOT EXISTS ${dygraphs}/dygraph.min.js)
  set(dygraphs ${CMAKE_BINARY_DIR}/dygraphs/package/dist)
endif()
if(NOT EXISTS ${dygraphs}/dygraph.min.js)
  set(archive ${CMAKE_BINARY_DIR}/dygraphs.tgz)
  message(STATUS "No package libjs-dygraphs here: fetching dygraphs 2.2.1 from npm")
  file(DOWNLOAD https://registry.npmjs.org/dygraphs/-/dygraphs-2.2.1.tgz ${archive}
       TLS_VERIFY ON STATUS status)
  set(expected
      "c67bafb2f8761ff14abc98d34a55e0269c023a12ce8b7bb4b07c3582c260fc19"
      "9fdbdcba6e73b5e0f6d3cfc3301ce6b71886caaaa80a5413123a2f99d602361a")
  list(JOIN expected "" expected)
  set(found "")
  if(EXISTS ${archive})
    file(SHA512 ${archive} found)
  endif()
  if(NOT found STREQUAL expected)
    message(FATAL_ERROR "dygraphs 2.2.1 could not be fetched (${status}), or is not what was "
                        "expected: install the package libjs-dygraphs, or try again")
  endif()
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${CMAKE_BINARY_DIR}/dygraphs)
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
# They lie in the binary compressed, by CMake's own libarchive: every machine of every job fetches
# it, and hardly one shows the page. The assembler takes the bytes as they are: no quoting, and no
# limit of string literals.
set(symbols "")
set(declared "")
set(listed "")
set(count 0)
set(small_files "")
foreach(path ${page_files})
  get_filename_component(name ${path} NAME)
  get_filename_component(kind ${path} LAST_EXT)
  string(SUBSTRING ${kind} 1 -1 kind)
  # A compiler's cache knows the text of this source alone: so it has what the file holds, too.
  file(SHA256 ${path} digest)
  file(SIZE ${path} bytes)
  set(small ${CMAKE_BINARY_DIR}/generated/page/${name}.zst)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated/page)
  file(ARCHIVE_CREATE OUTPUT ${small} PATHS ${path} FORMAT raw COMPRESSION Zstd COMPRESSION_LEVEL 9)
  list(APPEND small_files ${small})
  string(APPEND symbols
         "asm(\".section .rodata\\n/* ${digest} */\\n\"\n"
         "    \"page_file_${count}:\\n.incbin \\\"${small}\\\"\\n\"\n"
         "    \"page_file_${count}_end:\\n.byte 0\\n.previous\");\n")
  string(APPEND declared
         "extern const char page_file_${count}[] asm(\"page_file_${count}\");\n"
         "extern const char page_file_${count}_end[] asm(\"page_file_${count}_end\");\n")
  string(APPEND listed
         "      Of(\"${name}\", \"${types_${kind}}\", ${bytes}, page_file_${count},\n"
         "         page_file_${count}_end),\n")
  math(EXPR count "${count} + 1")
endforeach()
set(definition ${CMAKE_BINARY_DIR}/generated/page_files.cc)
file(CONFIGURE OUTPUT ${definition} @ONLY CONTENT
"#include \"page/files.h\"
#include <zstd.h>
${symbols}
${declared}
namespace stoker::page {
namespace {
File Of(const char* name, const char* type, size_t size, const char* begin, const char* end) {
  std::string text(size, '\\0');
  const size_t got = ZSTD_decompress(text.data(), size, begin, static_cast<size_t>(end - begin));
  if (got != size) text.clear();  // never: the build made it
  return {name, type, std::move(text)};
}
}  // namespace
const std::vector<File>& Files() {
  static const std::vector<File> all = {
${listed}  };
  return all;
}
}  // namespace stoker::page
")
set_source_files_properties(${definition} PROPERTIES OBJECT_DEPENDS "${small_files}")
target_sources(stoker_page PRIVATE ${definition})
