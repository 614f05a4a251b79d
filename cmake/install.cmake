# `cmake --install`: the binary with its manual and configuration, and the embedded library.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# One shared library with everything inside: who links it needs its headers alone. Of its symbols
# only those of the public headers are shown.
add_library(lycosa_shared SHARED $<TARGET_OBJECTS:lycosa_embed>)
target_link_libraries(lycosa_shared
  PRIVATE lycosa::core lycosa::actors lycosa::executors spdlog::spdlog)
target_link_options(lycosa_shared PRIVATE -Wl,--exclude-libs,ALL)
if(NOT LYCOSA_SANITIZE) # whose runtime is in the program
  target_link_options(lycosa_shared PRIVATE -Wl,--no-undefined)
endif()
target_include_directories(lycosa_shared INTERFACE
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_compile_features(lycosa_shared INTERFACE cxx_std_20)
set_target_properties(lycosa_shared PROPERTIES
  OUTPUT_NAME lycosa EXPORT_NAME lycosa LINKER_LANGUAGE CXX
  # Before 1.0 a minor version may change the interface.
  VERSION "${PROJECT_VERSION}" SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")

# The public headers stand alone.
add_custom_target(layer_check_embed_headers
  COMMAND ${CMAKE_COMMAND} "-DFOLDER=${PROJECT_SOURCE_DIR}/embed/include"
          "-DFORBID=caf/|lmdb|nlohmann/|tl/|spdlog/|boost/|core/|actors/|executors/|storage/|embed/"
          -P "${PROJECT_SOURCE_DIR}/cmake/check_layers.cmake"
  VERBATIM)
add_dependencies(lycosa_embed layer_check_embed_headers)

install(TARGETS lycosa RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(TARGETS lycosa_shared EXPORT lycosaTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY embed/include/lycosa DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.hpp")
install(FILES docs/lycosa.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES conf/lycosa.toml DESTINATION "${CMAKE_INSTALL_SYSCONFDIR}/lycosa")
install(DIRECTORY conf/ DESTINATION "${CMAKE_INSTALL_DOCDIR}/conf" FILES_MATCHING
  PATTERN "*.toml" PATTERN "*.yml" PATTERN "*.json")
install(FILES README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY examples/embedded DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples")

set(cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/lycosa")
configure_package_config_file(cmake/lycosaConfig.cmake.in
  "${CMAKE_BINARY_DIR}/lycosaConfig.cmake" INSTALL_DESTINATION "${cmake_dir}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/lycosaConfigVersion.cmake"
  VERSION "${PROJECT_VERSION}" COMPATIBILITY SameMinorVersion)
install(EXPORT lycosaTargets NAMESPACE lycosa:: DESTINATION "${cmake_dir}")
install(FILES "${CMAKE_BINARY_DIR}/lycosaConfig.cmake"
              "${CMAKE_BINARY_DIR}/lycosaConfigVersion.cmake" DESTINATION "${cmake_dir}")

# Found from where the file is, so that `cmake --install --prefix` and a moved tree work.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR
  BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" OUTPUT_VARIABLE pc_include)
configure_file(cmake/lycosa.pc.in "${CMAKE_BINARY_DIR}/lycosa.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/lycosa.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
