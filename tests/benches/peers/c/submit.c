/* A launch with three tensor maps that is prepared once: the function checks, encodes, and returns a function object
 * that launches. */
#include <stdlib.h>

#include "launches.h"

static const char image[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry tensor_maps_kernel(.param .align 128 .b8 a[128], .param .align 128 .b8 b[128], "
    ".param .align 128 .b8 c[128], .param .u32 k) { ret; }\n";

typedef struct {
  _Alignas(128) unsigned char bytes[128];
} Map;

/* What every launch passes, and references to the tensors. */
typedef struct {
  Map maps[3];
  Config config;
  void* params[4];
  void* kernel;
  TVMFFIObjectHandle tensors[3];
  int device, number;
} Prepared;

/* The driver's number of `float32`. */
enum { FLOAT32_MAP = 7 };

static void release(void* self) {
  Prepared* prepared = (Prepared*)self;
  for (int i = 0; i < 3; ++i) TVMFFIObjectDecRef(prepared->tensors[i]);
  free(prepared);
}

static int submit(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)args;
  REQUIRE(num_args == 0, "TypeError", "wrong number of arguments");
  const Prepared* prepared = (const Prepared*)handle;
  Config config = prepared->config;
  if (launch(prepared->kernel, &config, prepared->device, (void**)prepared->params) != 0) return -1;
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  return 0;
}

INLINE int encode(Map* map, const DLTensor* t) {
  static const uint32_t box[] = {32, 64}, steps[] = {1, 1};
  uint64_t dims[] = {(uint64_t)t->shape[1], (uint64_t)t->shape[0]}, strides[] = {dims[0] * sizeof(float)};
  int status = encode_tiled(map, FLOAT32_MAP, 2, address(t), dims, strides, box, steps, 0, 0, 0, 0);
  REQUIRE(status == 0, "RuntimeError", "cuTensorMapEncodeTiled");
  return 0;
}

INLINE int64_t blocks(int64_t extent, int64_t size) { return extent / size + (extent % size != 0); }

EXPORT(submit) {
  COUNT(3);
  const DLTensor* t[3];
  for (int i = 0; i < 3; ++i) {
    REQUIRE(args[i].type_index == kTVMFFITensor && args[i].v_obj != NULL, "TypeError", "expected a tensor object");
    t[i] = tensor(&args[i]);
    if (check_shape(t[i], 2) != 0 || check_layout(t[i], 2) != 0) return -1;
    REQUIRE(t[i]->device.device_id == t[0]->device.device_id, "ValueError", "expected one device");
  }
  int64_t m = t[0]->shape[0], k = t[0]->shape[1], n = t[1]->shape[1];
  REQUIRE(t[1]->shape[0] == k && t[2]->shape[0] == m && t[2]->shape[1] == n, "ValueError", "extents differ");
  int64_t rows = blocks(m, 64), columns = blocks(n, 32);
  bool fits = k <= INT32_MAX && rows <= UINT32_MAX && columns <= UINT32_MAX && rows > 0 && columns > 0;
  REQUIRE(fits, "ValueError", "too many elements, or none");
  void* found = find_kernel(image, "tensor_maps_kernel");
  if (found == NULL) return -1;
  Prepared* prepared = (Prepared*)aligned_alloc(_Alignof(Prepared), sizeof(Prepared));
  REQUIRE(prepared != NULL, "RuntimeError", "no memory");
  for (int i = 0; i < 3; ++i) {
    if (encode(&prepared->maps[i], t[i]) != 0) {
      free(prepared);
      return -1;
    }
    prepared->params[i] = &prepared->maps[i];
  }
  prepared->params[3] = &prepared->number;
  prepared->config = (Config){{(unsigned)rows, (unsigned)columns, 1}, {128, 1, 1}, 0, NULL, NULL, 0};
  prepared->kernel = found;
  prepared->device = t[0]->device.device_id;
  prepared->number = (int)k;
  for (int i = 0; i < 3; ++i) {
    prepared->tensors[i] = args[i].v_obj;
    TVMFFIObjectIncRef(args[i].v_obj);
  }
  TVMFFIObjectHandle function;
  if (TVMFFIFunctionCreate(prepared, submit, release, &function) != 0) {
    release(prepared);
    return -1;
  }
  result->type_index = kTVMFFIFunction;
  result->zero_padding = 0;
  result->v_obj = (TVMFFIObject*)function;
  return 0;
}
