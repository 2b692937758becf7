# SPDX-License-Identifier: Apache-2.0
# src/net/ca_bundle.h's definition: Mozilla's certificates as the package ca-certificates has them.
# Not /etc/ssl/certs, which holds what the owner of this machine trusts besides.
file(GLOB certificates CONFIGURE_DEPENDS /usr/share/ca-certificates/mozilla/*.crt)
if(NOT certificates)
  message(FATAL_ERROR "No certificates in /usr/share/ca-certificates/mozilla: install the package "
                      "ca-certificates")
endif()
set(bundle "")
foreach(certificate ${certificates})
  file(READ ${certificate} text)
  string(APPEND bundle "${text}")
endforeach()
set(definition ${CMAKE_BINARY_DIR}/generated/ca_bundle.cc)
file(CONFIGURE OUTPUT ${definition} @ONLY CONTENT
"#include \"net/ca_bundle.h\"
namespace stoker {
const std::string_view kCaBundle = R\"pem(
${bundle})pem\";
}  // namespace stoker
")
target_sources(stoker_net PRIVATE ${definition})
