/* Shared parts of the programs that test the stand-ins: calls by name, comparisons, images. They declare the interface
 * themselves, without the stand-in's header. FAKE is the start of the names of what tests call. */

#ifndef CHECK_H
#define CHECK_H

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef FAKE
#define FAKE "fake_cuda_"
#endif

typedef struct {
  unsigned id, padding;
  unsigned value[16];
} attribute;

typedef struct {
  unsigned grid[3], block[3], shared;
  void *stream;
  attribute *attributes;
  unsigned count;
} configuration;

extern void *driver;
extern int failures;

static inline void *symbol(const char *name) {
  void *found = dlsym(driver, name);
  if (!found) fprintf(stderr, "%s\n", dlerror()), exit(2);
  return found;
}

/* An entry point that takes words: integers and pointers are both passed as such. */
#define CALL(name, ...) ((int (*)())symbol(#name))(__VA_ARGS__)

static inline void check(const char *file, int line, const char *what, long long is, long long should) {
  if (is == should) return;
  printf("%s:%d: %s is %lld, not %lld\n", file, line, what, is, should);
  failures++;
}

#define IS(expression, value) check(__FILE_NAME__, __LINE__, #expression, expression, value)

/* Compares the record with lines, and resets it. */
static inline void recorded(const char *file, int line, const char *expected) {
  static char text[1 << 16];
  size_t (*log)(char *, size_t) = (size_t(*)(char *, size_t))symbol(FAKE "log");
  IS(log(text, sizeof text) < sizeof text, 1);
  if (strcmp(text, expected)) {
    printf("%s:%d: recorded\n%snot\n%s", file, line, text, expected);
    failures++;
  }
  ((void (*)(void))symbol(FAKE "reset"))();
}

#define RECORDED(lines) recorded(__FILE_NAME__, __LINE__, lines)

static inline char *read_image(const char *folder, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  char *bytes = calloc(1, 1 << 16);
  if (!file || !bytes || !fread(bytes, 1, (1 << 16) - 1, file)) perror(path), exit(2);
  fclose(file);
  return bytes;
}

static inline void set(const char *name, int64_t value) {
  IS(((int (*)(const char *, int64_t))symbol(FAKE "set"))(name, value), 0);
}

static inline void fail_at(int64_t n, int status) {
  ((void (*)(int64_t, int))symbol(FAKE "fail_at"))(n, status);
}

static inline void live(long long libraries, long long depth, long long streams, long long memory, long long retained) {
  int64_t now[6];
  ((void (*)(int64_t *))symbol(FAKE "live"))(now);
  IS(now[0], libraries), IS(now[1], depth), IS(now[2], streams), IS(now[3], memory), IS(now[4], retained), IS(now[5], 0);
}

static inline void *load(const char *code) {
  void *library = NULL;
  IS(CALL(cuLibraryLoadData, &library, code, NULL, NULL, 0, NULL, NULL, 0), 0);
  return library;
}

static inline void *kernel_of(void *library, const char *name) {
  void *kernel = NULL;
  IS(CALL(cuLibraryGetKernel, &kernel, library, name), 0);
  return kernel;
}

/* limits.c: refusals of the stand-in. */
void limits(const char *folder);

#endif
