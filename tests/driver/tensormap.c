/* Part of the stand-in for the CUDA driver: cuTensorMapEncodeTiled. It checks what the real one documents, and
 * writes its arguments, in an order of its own, where the real one writes what the hardware wants. */

#include "driver.h"

#include <string.h>

enum { MAX_RANK = 5, MAX_BOX = 256, MAX_STEP = 8 };
enum { TYPES = 16, PACKED_8 = 13, PACKED_16 = 14, PACKED_6 = 15 };
enum { INTERLEAVE_NONE = 0, INTERLEAVE_32B = 2, SWIZZLE_32B = 1, SWIZZLES = 7, PROMOTIONS = 4 };

/* Layout of a map: little-endian, 128 bytes. */
struct map {
  char magic[8];
  uint64_t address, dims[MAX_RANK], strides[MAX_RANK - 1];
  uint16_t box[MAX_RANK];
  uint8_t steps[MAX_RANK], type, rank, interleave, swizzle, promotion, fill, zero[19];
};
_Static_assert(sizeof(struct map) == 128, "as in the interface");

/* Bits of an element, by type. */
static const uint8_t BITS[TYPES] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};
/* True for floating-point types, which may be filled with NaN. */
static const uint8_t IS_FLOAT[TYPES] = {[6] = 1, 1, 1, 1, 1, 1, 1};

struct tiles {
  void *map;
  int type;
  uint32_t rank;
  const void *address;
  const uint64_t *dims, *strides;
  const uint32_t *box, *steps;
  int interleave, swizzle, promotion, fill;
};

/* Returns the alignment of the address and the strides. */
static uint64_t unit(const struct tiles *tiles) {
  int is_wide = tiles->interleave == INTERLEAVE_32B || tiles->type == PACKED_16 || tiles->type == PACKED_6;
  return is_wide ? 32 : 16;
}

static CUresult check_kinds(const struct tiles *tiles) {
  if (tiles->type < 0 || tiles->type >= TYPES) return refuse(INVALID_VALUE, "type %d", tiles->type);
  if (!tiles->rank || tiles->rank > MAX_RANK) return refuse(INVALID_VALUE, "rank %u", tiles->rank);
  if (tiles->interleave < 0 || tiles->interleave > INTERLEAVE_32B)
    return refuse(INVALID_VALUE, "interleave %d", tiles->interleave);
  if (tiles->interleave != INTERLEAVE_NONE && tiles->rank < 3)
    return refuse(INVALID_VALUE, "interleave, rank below 3");
  if (tiles->swizzle < 0 || tiles->swizzle >= SWIZZLES) return refuse(INVALID_VALUE, "swizzle %d", tiles->swizzle);
  if (tiles->interleave == INTERLEAVE_32B && tiles->swizzle != SWIZZLE_32B)
    return refuse(INVALID_VALUE, "interleave and swizzle");
  if (tiles->promotion < 0 || tiles->promotion >= PROMOTIONS)
    return refuse(INVALID_VALUE, "promotion %d", tiles->promotion);
  if (tiles->fill < 0 || tiles->fill > 1 || (tiles->fill && !IS_FLOAT[tiles->type]))
    return refuse(INVALID_VALUE, "fill %d", tiles->fill);
  return SUCCESS;
}

static CUresult check_addresses(const struct tiles *tiles) {
  int are_all = tiles->map && tiles->dims && (tiles->strides || tiles->rank == 1) && tiles->box && tiles->steps;
  if (!are_all) return refuse(INVALID_VALUE, "NULL");
  if ((uintptr_t)tiles->map % 64) return refuse(INVALID_VALUE, "the map is not aligned to 64");
  if ((uintptr_t)tiles->address % unit(tiles)) return refuse(INVALID_VALUE, "the data is misaligned");
  return SUCCESS;
}

static CUresult check_extents(const struct tiles *tiles) {
  for (uint32_t i = 0; i < tiles->rank; i++) {
    if (!tiles->dims[i] || tiles->dims[i] > 1ull << 32) return refuse(INVALID_VALUE, "extent %u", i);
    if (!tiles->box[i] || tiles->box[i] > MAX_BOX) return refuse(INVALID_VALUE, "extent %u of the box", i);
    if (!tiles->steps[i] || tiles->steps[i] > MAX_STEP) return refuse(INVALID_VALUE, "step %u", i);
  }
  for (uint32_t i = 0; i + 1 < tiles->rank; i++) {
    if (tiles->strides[i] % unit(tiles) || tiles->strides[i] >= 1ull << 40)
      return refuse(INVALID_VALUE, "stride %u", i);
  }
  return SUCCESS;
}

/* Checks the rules of the innermost dimension, which depend on the size of elements. */
static CUresult check_row(const struct tiles *tiles) {
  static const uint16_t spans[SWIZZLES] = {0, 32, 64, 128, 128, 128, 128};
  int is_wide = tiles->type == PACKED_16 || tiles->type == PACKED_6;
  if (is_wide && (tiles->dims[0] % 128 || tiles->box[0] != 128))
    return refuse(INVALID_VALUE, "rows of packed elements");
  if (tiles->type == PACKED_8 && tiles->dims[0] % 2) return refuse(INVALID_VALUE, "rows of packed elements");
  if (tiles->interleave != INTERLEAVE_NONE || is_wide) return SUCCESS;
  uint32_t bytes = tiles->box[0] * BITS[tiles->type] / 8;
  if (bytes % 16) return refuse(INVALID_VALUE, "rows of the box have %u bytes", bytes);
  if (tiles->swizzle && bytes > spans[tiles->swizzle]) return refuse(INVALID_VALUE, "rows longer than the swizzle");
  return SUCCESS;
}

static void encode(const struct tiles *tiles) {
  struct map map = {.magic = "tilemap", .address = (uintptr_t)tiles->address, .type = tiles->type,
                    .rank = tiles->rank, .interleave = tiles->interleave, .swizzle = tiles->swizzle,
                    .promotion = tiles->promotion, .fill = tiles->fill};
  for (uint32_t i = 0; i < tiles->rank; i++) {
    map.dims[i] = tiles->dims[i], map.box[i] = tiles->box[i], map.steps[i] = tiles->steps[i];
    if (i + 1 < tiles->rank) map.strides[i] = tiles->strides[i];
  }
  memcpy(tiles->map, &map, sizeof map);
}

/* Records a list, with as many entries as the rank, if the rank is valid. */
static void say_list(const char *name, const void *list, int width, uint32_t count) {
  say(" %s=", name);
  if (!list) return say("NULL");
  for (uint32_t i = 0; i < count && count <= MAX_RANK; i++) {
    uint64_t value = width == 8 ? ((const uint64_t *)list)[i] : ((const uint32_t *)list)[i];
    say("%s%llu", i ? "," : "", (unsigned long long)value);
  }
}

static CUresult check(const struct tiles *tiles) {
  CUresult status = check_kinds(tiles);
  if (!status) status = check_addresses(tiles);
  if (!status) status = check_extents(tiles);
  return status ? status : check_row(tiles);
}

EXPORT CUresult cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address, const uint64_t *dims,
                                       const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                                       int interleave, int swizzle, int promotion, int fill) {
  if (__atomic_load_n(&quiet, __ATOMIC_RELAXED)) return SUCCESS;
  struct tiles tiles = {map, type, rank, address, dims, strides, box, steps, interleave, swizzle, promotion, fill};
  CUresult status = begin("cuTensorMapEncodeTiled");
  say("type=%d rank=%u", type, rank);
  say_list("dims", dims, 8, rank);
  say_list("strides", strides, 8, rank ? rank - 1 : 0);
  say_list("box", box, 4, rank);
  say_list("steps", steps, 4, rank);
  say(" interleave=%d swizzle=%d promotion=%d fill=%d", interleave, swizzle, promotion, fill);
  if (!status) status = check(&tiles);
  if (!status) encode(&tiles);
  return end(status);
}
