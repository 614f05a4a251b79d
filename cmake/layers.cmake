# A folder is a layer, a layer is a target, and a layer sees only the layers it names.
#
# Every layer gets its own include root in the build tree holding one symlink, <root>/<layer>, to
# its source folder. An `#include "actors/…"` therefore compiles only in targets that (transitively)
# list `actors` in DEPS. System headers are on every compiler's path, so those a layer may not know
# (FORBID) are looked for by cmake/check_layers.cmake before the layer is compiled.

set(LYCOSA_LAYER_ROOT "${CMAKE_BINARY_DIR}/layers")

# lycosa_layer(NAME [SHARED] DEPS layer… USES layer… LINK lib… PRIVATE lib… FORBID regex…
#              [PCH header…])
#   SHARED  it becomes part of liblycosa.so
#   DEPS  layers its headers show; USES  layers only its sources see (not passed on)
#   LINK  libraries its headers show; PRIVATE  libraries only its sources see
function(lycosa_layer name)
  cmake_parse_arguments(L "SHARED" "" "DEPS;USES;LINK;PRIVATE;FORBID;PCH" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${name}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  file(MAKE_DIRECTORY "${LYCOSA_LAYER_ROOT}/${name}")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${name}" "${LYCOSA_LAYER_ROOT}/${name}/${name}" SYMBOLIC)

  add_library(lycosa_${name} STATIC ${sources})
  add_library(lycosa::${name} ALIAS lycosa_${name})
  target_include_directories(lycosa_${name} PUBLIC "${LYCOSA_LAYER_ROOT}/${name}")
  foreach(dep IN LISTS L_DEPS)
    target_link_libraries(lycosa_${name} PUBLIC lycosa::${dep})
  endforeach()
  foreach(dep IN LISTS L_USES)
    target_link_libraries(lycosa_${name} PRIVATE lycosa::${dep})
  endforeach()
  target_link_libraries(lycosa_${name} PUBLIC ${L_LINK} PRIVATE ${L_PRIVATE} lycosa_warnings)
  if(L_SHARED)
    # Hidden, so that calls inside the library stay calls, and it shows only its interface.
    set_target_properties(lycosa_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
  if(L_PCH)
    target_precompile_headers(lycosa_${name} PRIVATE ${L_PCH})
  endif()

  string(REPLACE ";" "|" forbid "${L_FORBID}")
  add_custom_target(layer_check_${name}
    COMMAND ${CMAKE_COMMAND} "-DFOLDER=${PROJECT_SOURCE_DIR}/${name}" "-DFORBID=${forbid}"
            -P "${PROJECT_SOURCE_DIR}/cmake/check_layers.cmake"
    VERBATIM)
  add_dependencies(lycosa_${name} layer_check_${name})
endfunction()
