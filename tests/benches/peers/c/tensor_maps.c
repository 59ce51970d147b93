/* A launch with three tensor maps, encoded anew for every call. The driver checks its requirements. */
#include "launches.h"

static const char image[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry tensor_maps_kernel(.param .align 128 .b8 a[128], .param .align 128 .b8 b[128], "
    ".param .align 128 .b8 c[128], .param .u32 k) { ret; }\n";

typedef struct {
  _Alignas(128) unsigned char bytes[128];
} Map;

/* The driver's number of `float32`. */
enum { FLOAT32_MAP = 7 };

INLINE int encode(Map* map, const DLTensor* t) {
  static const uint32_t box[] = {32, 64}, steps[] = {1, 1};
  uint64_t dims[] = {(uint64_t)t->shape[1], (uint64_t)t->shape[0]}, strides[] = {dims[0] * sizeof(float)};
  int status = encode_tiled(map, FLOAT32_MAP, 2, address(t), dims, strides, box, steps, 0, 0, 0, 0);
  REQUIRE(status == 0, "RuntimeError", "cuTensorMapEncodeTiled");
  return 0;
}

INLINE int64_t blocks(int64_t extent, int64_t size) { return extent / size + (extent % size != 0); }

EXPORT(tensor_maps) {
  COUNT(3);
  const DLTensor* a = tensor(&args[0]);
  if (check_shape(a, 2) != 0 || check_layout(a, 2) != 0) return -1;
  int64_t m = a->shape[0], k = a->shape[1];
  const DLTensor* b = tensor(&args[1]);
  if (check_shape(b, 2) != 0) return -1;
  REQUIRE(b->device.device_id == a->device.device_id, "ValueError", "expected one device");
  int64_t n = b->shape[1];
  REQUIRE(b->shape[0] == k, "ValueError", "expected b.shape[0] == a.shape[1]");
  if (check_layout(b, 2) != 0) return -1;
  const DLTensor* c = tensor(&args[2]);
  if (check_shape(c, 2) != 0) return -1;
  REQUIRE(c->device.device_id == a->device.device_id, "ValueError", "expected one device");
  REQUIRE(c->shape[0] == m, "ValueError", "expected c.shape[0] == a.shape[0]");
  REQUIRE(c->shape[1] == n, "ValueError", "expected c.shape[1] == b.shape[1]");
  if (check_layout(c, 2) != 0) return -1;
  REQUIRE(k <= INT32_MAX, "ValueError", "too many elements");
  int64_t rows = blocks(m, 64), columns = blocks(n, 32);
  REQUIRE(rows <= UINT32_MAX && columns <= UINT32_MAX, "ValueError", "too many elements");
  if (rows == 0 || columns == 0) return give(result, k);
  void* found = find_kernel(image, "tensor_maps_kernel");
  if (found == NULL) return -1;
  Map maps[3];
  if (encode(&maps[0], a) != 0 || encode(&maps[1], b) != 0 || encode(&maps[2], c) != 0) return -1;
  int number = (int)k;
  void* params[] = {&maps[0], &maps[1], &maps[2], &number};
  Config config = {{(unsigned)rows, (unsigned)columns, 1}, {128, 1, 1}, 0, NULL, NULL, 0};
  if (launch(found, &config, a->device.device_id, params) != 0) return -1;
  return give(result, k);
}
