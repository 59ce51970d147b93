/* The kernels of the benchmark, which cost nearly nothing: each folds a few of its arguments into a number, by which
 * the harness checks that all peers pass the same. One object file of them is linked into every library. */
#ifndef KERNELS_H
#define KERNELS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Hidden, so that calls within the library need no table of the loader. */
#ifdef VISIBLE
#pragma GCC visibility push(default)
#else
#pragma GCC visibility push(hidden)
#endif

#define EIGHT(of, i) of(i##0), of(i##1), of(i##2), of(i##3), of(i##4), of(i##5), of(i##6), of(i##7)
#define POINTER(i) const void* x##i
#define INTEGER(i) int32_t a##i
#define STRIDES(i) int64_t s##i##0, int64_t s##i##1, int64_t s##i##2

int64_t add_one_kernel(const void* x, const void* y, int64_t n);
int64_t matmul_kernel(const void* a, const void* b, const void* c, int64_t m, int64_t k, int64_t n);
int64_t strided8_kernel(EIGHT(POINTER, 0), int64_t a, int64_t b, int64_t c, int64_t d);
int64_t stride_symbols8_kernel(EIGHT(POINTER, 0), int64_t a, int64_t b, int64_t c, int64_t d, EIGHT(STRIDES, 0));
int64_t ints16_kernel(EIGHT(INTEGER, 0), EIGHT(INTEGER, 1));
int64_t pair_kernel(const void* x, const void* y, int64_t n);
int64_t many32_kernel(EIGHT(POINTER, 0), EIGHT(POINTER, 1), EIGHT(POINTER, 2), EIGHT(POINTER, 3),
                      int64_t n, int64_t m);
int64_t text_kernel(const char* data, int64_t size);
int64_t list8_kernel(const void* list, int64_t size);
int64_t union_kernel(const void* any);
int64_t map8_kernel(const void* map);
int64_t optional_kernel(const void* x, uint8_t has_x, int64_t k, uint8_t has_k);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
