/* Part of the stand-in for the CUDA driver: memory, which is the host's, and the commands that write, copy and fill
 * it. A command runs at once, or is kept by a capture with all that it was given, as the real driver keeps it. */

#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRITE_32 = 2, WRITE_64 = 5, MOST_OPERATIONS = 255 };

/* An allocation of memory. */
struct piece {
  unsigned char *bytes;
  size_t size;
  /* True for a variable of an image, which lives as long as that. */
  int is_variable;
  struct piece *next;
};

/* A `CUstreamBatchMemOpParams` that writes a value. */
struct operation {
  int kind;
  CUdeviceptr address;
  uint64_t value;
  unsigned flags;
  CUdeviceptr alias;
  uint64_t padding;
};

_Static_assert(sizeof(struct operation) == 48 && offsetof(struct operation, value) == 16, "as in the interface");

static struct piece *pieces;

int64_t memory_live(void) {
  int64_t count = 0;
  for (struct piece *piece = pieces; piece; piece = piece->next) count += !piece->is_variable;
  return count;
}

/* Returns the allocation that contains `size` bytes at an address. */
static struct piece *piece_at(CUdeviceptr address, size_t size) {
  for (struct piece *piece = pieces; piece; piece = piece->next) {
    CUdeviceptr first = (uintptr_t)piece->bytes;
    if (address >= first && size <= piece->size && address - first <= piece->size - size) return piece;
  }
  return NULL;
}

static struct piece *piece_new(size_t size) {
  struct piece *piece = malloc(sizeof *piece + 255 + size);
  if (!piece) return NULL;
  void *bytes = (void *)(((uintptr_t)(piece + 1) + 255) / 256 * 256);
  *piece = (struct piece){bytes, size, 0, pieces};
  return pieces = piece;
}

CALL(cuMemAlloc_v2, (CUdeviceptr * out, size_t size), (out, size), "%zu", size) {
  CUresult status = context_check(current());
  if (!status) status = capture_forbids("an allocation");
  if (status) return status;
  if (!out || !size) return refuse(INVALID_VALUE, "no bytes");
  const struct piece *piece = piece_new(size);
  if (!piece) return OUT_OF_MEMORY;
  *out = (uintptr_t)piece->bytes;
  return SUCCESS;
}

CUdeviceptr memory_of_variable(size_t size) {
  struct piece *piece = piece_new(size);
  if (!piece) abort();
  piece->is_variable = 1;
  return (uintptr_t)memset(piece->bytes, 0, size);
}

void memory_release(CUdeviceptr address) {
  struct piece **place = &pieces;
  while (*place && (uintptr_t)(*place)->bytes != address) place = &(*place)->next;
  struct piece *piece = *place;
  if (piece) *place = piece->next;
  free(piece);
}

CALL(cuMemFree_v2, (CUdeviceptr address), (address), NOTHING) {
  CUresult status = capture_forbids("a release of memory");
  if (status || !address) return status;
  const struct piece *piece = piece_at(address, 0);
  if (!piece || piece->is_variable || (uintptr_t)piece->bytes != address)
    return refuse(INVALID_VALUE, "nothing is there");
  memory_release(address);
  return SUCCESS;
}

/* Checks a copy in either direction: it works on the context's own stream. */
static CUresult check_copy(CUdeviceptr device, size_t size) {
  CUresult status = context_check(current());
  if (!status) status = capture_implicit(current());
  if (status) return status;
  return piece_at(device, size) ? SUCCESS : refuse(INVALID_VALUE, "no such memory");
}

CALL(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t size), (to, from, size), "%zu", size) {
  CUresult status = check_copy(to, size);
  if (!status) memcpy((void *)(uintptr_t)to, from, size);
  return status;
}

CALL(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t size), (to, from, size), "%zu", size) {
  CUresult status = check_copy(from, size);
  if (!status) memcpy(to, (const void *)(uintptr_t)from, size);
  return status;
}

/* Returns the name of an address in the record: its offset in its allocation. */
const char *memory_text(CUdeviceptr address) {
  static char texts[4][32];
  static unsigned next;
  char *text = texts[next++ % 4];
  const struct piece *piece = piece_at(address, 0);
  if (!piece) return "no-memory";
  snprintf(text, sizeof *texts, "memory+%d", (int)(address - (uintptr_t)piece->bytes));
  return text;
}

static CUresult check_inside(CUdeviceptr address, size_t size) {
  return piece_at(address, size) ? SUCCESS : refuse(INVALID_VALUE, "%zu bytes are not inside of memory", size);
}

void command_run(const struct command *command) {
  void *to = (void *)(uintptr_t)command->to;
  switch (command->kind) {
    case COMMAND_FILL: memset(to, (int)command->value, command->size); break;
    case COMMAND_COPY: memcpy(to, (const void *)(uintptr_t)command->from, command->size); break;
    case COMMAND_WRITE: {
      const unsigned char *bytes = command->bytes;
      for (size_t i = 0; i < command->size; i += sizeof(struct operation)) {
        struct operation operation;
        memcpy(&operation, bytes + i, sizeof operation);
        size_t width = operation.kind == WRITE_64 ? 8 : 4;
        memcpy((void *)(uintptr_t)operation.address, &operation.value, width);
      }
    }
  }
}

struct command *command_copy(const struct command *command) {
  size_t size = command->kind == COMMAND_WRITE ? command->size : 0;
  struct command *copy = malloc(sizeof *copy + size);
  if (!copy) return NULL;
  *copy = *command;
  copy->next = NULL;
  if (size) copy->bytes = memcpy(copy + 1, command->bytes, size);
  return copy;
}

void commands_free(struct command *commands) {
  while (commands) {
    struct command *next = commands->next;
    free(commands);
    commands = next;
  }
}

STREAM_CALL(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t size, CUstream stream),
            (to, value, size, stream), "%s %u %zu %s", memory_text(to), value, size, stream_text(stream)) {
  CUresult status = check_inside(to, size);
  if (status) return status;
  return submit(stream, &(struct command){.kind = COMMAND_FILL, .to = to, .value = value, .size = size});
}

STREAM_CALL(cuMemsetD32Async, (CUdeviceptr to, unsigned value, size_t count, CUstream stream),
            (to, value, count, stream), "%s %08x %zu %s", memory_text(to), value, count, stream_text(stream)) {
  if (to % 4) return refuse(INVALID_VALUE, "it is not aligned");
  CUresult status = check_inside(to, 4 * count);
  for (size_t i = 0; !status && i < count; i++) {
    struct operation write = {.kind = WRITE_32, .address = to + 4 * i, .value = value};
    status = submit(stream, &(struct command){.kind = COMMAND_WRITE, .size = sizeof write, .bytes = &write});
  }
  return status;
}

STREAM_CALL(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
            (to, from, size, stream), "%s %s %zu %s", memory_text(to), memory_text(from), size, stream_text(stream)) {
  CUresult status = check_inside(to, size);
  if (!status) status = check_inside(from, size);
  if (status) return status;
  return submit(stream, &(struct command){.kind = COMMAND_COPY, .to = to, .from = from, .size = size});
}

#ifndef HIP
static void say_operations(CUstream stream, unsigned count, const struct operation *operations) {
  say("%s", stream_text(stream));
  for (unsigned i = 0; operations && i < count && i <= MOST_OPERATIONS; i++) {
    say(" %s:", memory_text(operations[i].address));
    say_bytes(&operations[i].value, operations[i].kind == WRITE_64 ? 8 : 4);
  }
}

static CUresult do_operations(CUstream stream, unsigned count, const struct operation *operations, unsigned flags) {
  if (!knobs.operations) return refuse(NOT_SUPPORTED, "it has no operations on memory");
  if (!operations || !count || count > MOST_OPERATIONS || flags) return refuse(INVALID_VALUE, "%u operations", count);
  for (unsigned i = 0; i < count; i++) {
    const struct operation *operation = &operations[i];
    int is_wide = operation->kind == WRITE_64, width = is_wide ? 8 : 4;
    if (!is_wide && operation->kind != WRITE_32) return refuse(INVALID_VALUE, "operation %d", operation->kind);
    if (is_wide && !knobs.wide_operations) return refuse(NOT_SUPPORTED, "it writes 32 bits");
    if (operation->flags || operation->address % width) return refuse(INVALID_VALUE, "flags, or it is not aligned");
    CUresult status = check_inside(operation->address, width);
    if (status) return status;
  }
  size_t size = count * sizeof *operations;
  return submit(stream, &(struct command){.kind = COMMAND_WRITE, .size = size, .bytes = operations});
}

EXPORT CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count, const struct operation *operations,
                                      unsigned flags) {
  CUresult status = begin("cuStreamBatchMemOp_v2");
  say_operations(stream, count, operations);
  return end(status ? status : do_operations(stream, count, operations, flags));
}
#endif
