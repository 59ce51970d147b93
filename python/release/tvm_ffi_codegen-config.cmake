# The target `tvm_ffi_codegen::tvm_ffi_codegen`: the library, its headers for C and C++, and TVM FFI. The files may lie
# anywhere; `tvm_ffi_ROOT` is the folder that `tvm-ffi-config --cmakedir` prints.
include(CMakeFindDependencyMacro)
find_dependency(tvm_ffi CONFIG)

if(NOT TARGET tvm_ffi_codegen::tvm_ffi_codegen)
  get_filename_component(root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  add_library(tvm_ffi_codegen::tvm_ffi_codegen SHARED IMPORTED)
  set_target_properties(tvm_ffi_codegen::tvm_ffi_codegen PROPERTIES
    IMPORTED_LOCATION "${root}/lib/libtvm_ffi_codegen.so"
    IMPORTED_SONAME libtvm_ffi_codegen.so
    INTERFACE_INCLUDE_DIRECTORIES "${root}/include"
    INTERFACE_LINK_LIBRARIES tvm_ffi::shared)
  unset(root)
endif()
