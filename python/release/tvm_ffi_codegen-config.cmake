# The target `tvm_ffi_codegen::tvm_ffi_codegen`: the library, its headers for C and C++, and TVM FFI. The files may lie
# anywhere; `tvm_ffi_ROOT` is the folder that `tvm-ffi-config --cmakedir` prints.
include(CMakeFindDependencyMacro)
find_dependency(tvm_ffi CONFIG)

if(NOT TARGET tvm_ffi_codegen::tvm_ffi_codegen)
  get_filename_component(_tvm_ffi_codegen_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  set(_tvm_ffi_codegen_library "${_tvm_ffi_codegen_root}/lib/libtvm_ffi_codegen.so")
  # A package of Python has its library beside its modules.
  if(NOT EXISTS "${_tvm_ffi_codegen_library}")
    set(_tvm_ffi_codegen_library "${_tvm_ffi_codegen_root}/libtvm_ffi_codegen.so")
  endif()
  add_library(tvm_ffi_codegen::tvm_ffi_codegen SHARED IMPORTED)
  set_target_properties(tvm_ffi_codegen::tvm_ffi_codegen PROPERTIES
    IMPORTED_LOCATION "${_tvm_ffi_codegen_library}"
    IMPORTED_SONAME libtvm_ffi_codegen.so
    INTERFACE_INCLUDE_DIRECTORIES "${_tvm_ffi_codegen_root}/include"
    INTERFACE_LINK_LIBRARIES tvm_ffi::shared)
  unset(_tvm_ffi_codegen_library)
  unset(_tvm_ffi_codegen_root)
endif()
