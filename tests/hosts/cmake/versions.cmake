# Asks `find_package` for versions of a package: cmake -DTEMPLATE=….cmake -DFOLDER=… -P tests/hosts/cmake/versions.cmake
# `TEMPLATE` is the file of the package that decides, and `FOLDER` is for files of the test.
cmake_minimum_required(VERSION 3.19)
file(WRITE "${FOLDER}/asked-config.cmake" "")

# Fails unless versions are accepted, or are not, of a package of a version.
function(expect VERSION is_accepted)
  configure_file("${TEMPLATE}" "${FOLDER}/asked-config-version.cmake" @ONLY)
  foreach(words IN LISTS ARGN)
    separate_arguments(asked UNIX_COMMAND "${words}")
    unset(asked_DIR CACHE)
    find_package(asked ${asked} CONFIG QUIET PATHS "${FOLDER}" NO_DEFAULT_PATH)
    if(is_accepted AND NOT asked_FOUND OR asked_FOUND AND NOT is_accepted)
      message(FATAL_ERROR "${words} of ${VERSION}: found is ${asked_FOUND}, expected ${is_accepted}")
    endif()
  endforeach()
endfunction()

expect(0.1.0 TRUE "" 0.1 0.1.0 "0.1.0 EXACT" 0.1...0.9 "0.1...<0.2")
expect(0.1.0 FALSE 0 0.0 0.0.9 0.1.1 0.2 1 "0.1.1 EXACT" 0.2...0.3)
expect(0.3.2 TRUE 0.3 0.3.1 0.3.1...0.3.2)
expect(0.3.2 FALSE 0.1 0.2.9 0.3.3 0.3...0.3.1 "0.3...<0.3.2" 0.4...1)
expect(1.4.2 TRUE 1 1.0 1.4 1.4.2 1...2)
expect(1.4.2 FALSE 0.9 1.5 2 "1...<1.4.2")
expect(10.0.0 TRUE 10 10.0)
expect(10.0.0 FALSE 1 9 11)
