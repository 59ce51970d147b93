/* See kernels.h. With -DVISIBLE a shared library exports them. */
#include "kernels.h"
#pragma GCC diagnostic ignored "-Wunused-parameter"

static int64_t address(const void* pointer) { return (int64_t)(intptr_t)pointer; }

int64_t add_one_kernel(const void* x, const void* y, int64_t n) { return address(x) ^ address(y) ^ n; }

int64_t matmul_kernel(const void* a, const void* b, const void* c, int64_t m, int64_t k, int64_t n) {
  return address(a) ^ address(c) ^ m ^ k ^ n;
}

int64_t strided8_kernel(EIGHT(POINTER, 0), int64_t a, int64_t b, int64_t c, int64_t d) {
  return address(x00) ^ address(x07) ^ a ^ b ^ c ^ d;
}

int64_t stride_symbols8_kernel(EIGHT(POINTER, 0), int64_t a, int64_t b, int64_t c, int64_t d, EIGHT(STRIDES, 0)) {
  return address(x00) ^ address(x07) ^ a ^ b ^ c ^ d ^ s000 ^ s041 ^ s072;
}

int64_t ints16_kernel(EIGHT(INTEGER, 0), EIGHT(INTEGER, 1)) {
  return (int64_t)a00 ^ a17;
}

int64_t pair_kernel(const void* x, const void* y, int64_t n) { return address(x) ^ address(y) ^ n; }

int64_t many32_kernel(EIGHT(POINTER, 0), EIGHT(POINTER, 1), EIGHT(POINTER, 2), EIGHT(POINTER, 3),
                      int64_t n, int64_t m) {
  return address(x00) ^ address(x37) ^ n ^ m;
}

int64_t text_kernel(const char* data, int64_t size) { return data[0] ^ size; }

int64_t list8_kernel(const void* list, int64_t size) { return size ^ (list != 0); }

/* A `TVMFFIAny` starts with its type index. */
int64_t union_kernel(const void* any) { return *(const int32_t*)any; }

int64_t map8_kernel(const void* map) { return map != 0; }

int64_t optional_kernel(const void* x, uint8_t has_x, int64_t k, uint8_t has_k) {
  return address(x) ^ k ^ has_x ^ has_k;
}
