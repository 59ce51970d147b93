
/* Helpers for C, which a file that includes <tvm/ffi/c_api.h> before this one sees. They return what the functions above
 * return; a result belongs to the caller. */
#ifdef TVM_FFI_C_API_H_

/* Makes a value of a text that ends with a NUL. The text is borrowed. */
static inline TVMFFIAny tvm_ffi_codegen_text(const char* text) {
  TVMFFIAny value;
  value.type_index = kTVMFFIRawStr;
  value.zero_padding = 0;
  value.v_c_str = text;
  return value;
}

/* Makes a value of the address of a kernel, whose type the caller casts away. */
static inline TVMFFIAny tvm_ffi_codegen_kernel(void (*kernel)(void)) {
  union {
    void (*function)(void);
    void* address;
  } as;
  as.function = kernel;
  TVMFFIAny value;
  value.type_index = kTVMFFIOpaquePtr;
  value.zero_padding = 0;
  value.v_ptr = as.address;
  return value;
}

/* Calls a global function of the runtime. */
static inline int32_t tvm_ffi_codegen_call(const TVMFFIByteArray* name, const TVMFFIAny* arguments, int32_t count,
                                           TVMFFIAny* result) {
  TVMFFIObjectHandle function = 0;
  int32_t status = TVMFFIFunctionGetGlobal(name, &function);
  if (status != 0) return status;
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  /* The function reads the arguments, though its type does not say so. */
  union {
    const TVMFFIAny* given;
    TVMFFIAny* taken;
  } as;
  as.given = arguments;
  status = TVMFFIFunctionCall(function, as.taken, count, result);
  TVMFFIObjectDecRef(function);
  return status;
}

/* Makes a map, such as options or kernels: `entries` are `count` values, each name before its value. The map is
 * `result->v_obj`. */
static inline int32_t tvm_ffi_codegen_map(const TVMFFIAny* entries, int32_t count, TVMFFIAny* result) {
  const TVMFFIByteArray name = {"ffi.Map", sizeof "ffi.Map" - 1};
  return tvm_ffi_codegen_call(&name, entries, count, result);
}

/* Makes an array, such as files, of `count` values. The array is `result->v_obj`. */
static inline int32_t tvm_ffi_codegen_array(const TVMFFIAny* elements, int32_t count, TVMFFIAny* result) {
  const TVMFFIByteArray name = {"ffi.Array", sizeof "ffi.Array" - 1};
  return tvm_ffi_codegen_call(&name, elements, count, result);
}

/* Returns the contents of a text or of bytes, which live as long as the value; nothing for any other value. */
static inline TVMFFIByteArray tvm_ffi_codegen_contents(const TVMFFIAny* value) {
  TVMFFIByteArray contents = {0, 0};
  if (value->type_index == kTVMFFISmallStr || value->type_index == kTVMFFISmallBytes) {
    contents.data = value->v_bytes;
    contents.size = value->small_str_len;
  } else if (value->type_index == kTVMFFIStr || value->type_index == kTVMFFIBytes) {
    /* The contents stand behind the head of the object. */
    union {
      const TVMFFIObject* head;
      const TVMFFIByteArray* contents;
    } as;
    as.head = value->v_obj + 1;
    contents = *as.contents;
  }
  return contents;
}

/* Releases a value. */
static inline void tvm_ffi_codegen_release(const TVMFFIAny* value) {
  if (value->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(value->v_obj);
}

#endif /* TVM_FFI_C_API_H_ */
