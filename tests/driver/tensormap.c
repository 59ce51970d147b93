/* Part of the stand-in for the CUDA driver: cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col. They check what the real
 * ones document, and write their arguments, in an order of their own, where the real ones write what the hardware
 * wants. */

#include "driver.h"

#include <string.h>

enum { MAX_RANK = 5, MAX_SPATIAL = 3, MAX_BOX = 256, MAX_CHANNELS = 256, MAX_PIXELS = 1024, MAX_STEP = 8 };
enum { TYPES = 16, PACKED_8 = 13, PACKED_16 = 14, PACKED_6 = 15 };
enum { INTERLEAVE_NONE = 0, INTERLEAVE_32B = 2, SWIZZLE_32B = 1, SWIZZLES = 7, PROMOTIONS = 4 };

/* Layout of a map: little-endian, 128 bytes. A map of columns has no box, and a map of boxes nothing behind `zero`. */
struct map {
  char magic[8];
  uint64_t address, dims[MAX_RANK], strides[MAX_RANK - 1];
  uint16_t box[MAX_RANK];
  uint8_t steps[MAX_RANK], type, rank, interleave, swizzle, promotion, fill, zero;
  int16_t lower[MAX_SPATIAL], upper[MAX_SPATIAL];
  uint16_t channels, pixels, unused;
};
_Static_assert(sizeof(struct map) == 128, "as in the interface");

/* Bits of an element, by type. */
static const uint8_t BITS[TYPES] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};
/* True for floating-point types, which may be filled with NaN. */
static const uint8_t IS_FLOAT[TYPES] = {[6] = 1, 1, 1, 1, 1, 1, 1};

/* Arguments of a call. Either `box` is given, or corners, channels and pixels. */
struct request {
  void *map;
  int type;
  uint32_t rank;
  const void *address;
  const uint64_t *dims, *strides;
  const uint32_t *box;
  const int *lower, *upper;
  uint32_t channels, pixels;
  const uint32_t *steps;
  int interleave, swizzle, promotion, fill;
  int is_column;
};

/* Returns the alignment of the address and the strides. */
static uint64_t unit(const struct request *asked) {
  int is_wide = asked->interleave == INTERLEAVE_32B || asked->type == PACKED_16 || asked->type == PACKED_6;
  return is_wide ? 32 : 16;
}

static CUresult check_kinds(const struct request *asked) {
  if (asked->type < 0 || asked->type >= TYPES) return refuse(INVALID_VALUE, "type %d", asked->type);
  uint32_t least = asked->is_column ? 3 : 1;
  if (asked->rank < least || asked->rank > MAX_RANK) return refuse(INVALID_VALUE, "rank %u", asked->rank);
  if (asked->interleave < 0 || asked->interleave > INTERLEAVE_32B)
    return refuse(INVALID_VALUE, "interleave %d", asked->interleave);
  if (asked->interleave != INTERLEAVE_NONE && asked->rank < 3)
    return refuse(INVALID_VALUE, "interleave, rank below 3");
  if (asked->swizzle < 0 || asked->swizzle >= SWIZZLES) return refuse(INVALID_VALUE, "swizzle %d", asked->swizzle);
  if (asked->interleave == INTERLEAVE_32B && asked->swizzle != SWIZZLE_32B)
    return refuse(INVALID_VALUE, "interleave and swizzle");
  if (asked->promotion < 0 || asked->promotion >= PROMOTIONS)
    return refuse(INVALID_VALUE, "promotion %d", asked->promotion);
  if (asked->fill < 0 || asked->fill > 1 || (asked->fill && !IS_FLOAT[asked->type]))
    return refuse(INVALID_VALUE, "fill %d", asked->fill);
  return SUCCESS;
}

static CUresult check_addresses(const struct request *asked) {
  int has_mode = asked->is_column ? asked->lower && asked->upper : !!asked->box;
  int are_all = asked->map && asked->dims && (asked->strides || asked->rank == 1) && has_mode && asked->steps;
  if (!are_all) return refuse(INVALID_VALUE, "NULL");
  if ((uintptr_t)asked->map % 64) return refuse(INVALID_VALUE, "the map is not aligned to 64");
  if ((uintptr_t)asked->address % unit(asked)) return refuse(INVALID_VALUE, "the data is misaligned");
  return SUCCESS;
}

static CUresult check_extents(const struct request *asked) {
  for (uint32_t i = 0; i < asked->rank; i++) {
    if (!asked->dims[i] || asked->dims[i] > 1ull << 32) return refuse(INVALID_VALUE, "extent %u", i);
    if (asked->box && (!asked->box[i] || asked->box[i] > MAX_BOX))
      return refuse(INVALID_VALUE, "extent %u of the box", i);
    if (!asked->steps[i] || asked->steps[i] > MAX_STEP) return refuse(INVALID_VALUE, "step %u", i);
  }
  for (uint32_t i = 0; i + 1 < asked->rank; i++) {
    if (asked->strides[i] % unit(asked) || asked->strides[i] >= 1ull << 40)
      return refuse(INVALID_VALUE, "stride %u", i);
  }
  return SUCCESS;
}

/* Bytes that a swizzle takes. */
static const uint16_t SPANS[SWIZZLES] = {0, 32, 64, 128, 128, 128, 128};

static int is_padded(const struct request *asked) { return asked->type == PACKED_16 || asked->type == PACKED_6; }

/* Checks the rules of packed elements that do not depend on the mode. */
static CUresult check_packed(const struct request *asked) {
  static const uint8_t swizzled[SWIZZLES] = {[0] = 1, [3] = 1, [4] = 1, [6] = 1};
  if (asked->type == PACKED_8 && asked->dims[0] % 2) return refuse(INVALID_VALUE, "rows of packed elements");
  if (!is_padded(asked)) return SUCCESS;
  if (asked->dims[0] % 128) return refuse(INVALID_VALUE, "rows of packed elements");
  if (asked->type == PACKED_6 && asked->interleave != INTERLEAVE_NONE)
    return refuse(INVALID_VALUE, "packed elements and interleave");
  if (!swizzled[asked->swizzle]) return refuse(INVALID_VALUE, "packed elements and swizzle");
  return SUCCESS;
}

/* Checks the rules of the innermost dimension, which depend on the size of elements. */
static CUresult check_row(const struct request *asked) {
  if (is_padded(asked) && asked->box[0] != 128) return refuse(INVALID_VALUE, "rows of packed elements");
  if (asked->interleave != INTERLEAVE_NONE || is_padded(asked)) return SUCCESS;
  uint32_t bytes = asked->box[0] * BITS[asked->type] / 8;
  if (bytes % 16) return refuse(INVALID_VALUE, "rows of the box have %u bytes", bytes);
  if (asked->swizzle && bytes > SPANS[asked->swizzle]) return refuse(INVALID_VALUE, "rows longer than the swizzle");
  return SUCCESS;
}

/* Checks corners, channels and pixels. Offsets of more spatial dimensions have fewer bits. */
static CUresult check_column(const struct request *asked) {
  static const int most[MAX_SPATIAL] = {32767, 127, 15};
  uint32_t spatial = asked->rank - 2;
  for (uint32_t i = 0; i < spatial; i++) {
    int limit = most[spatial - 1], lower = asked->lower[i], upper = asked->upper[i];
    if (lower < -limit - 1 || lower > limit) return refuse(INVALID_VALUE, "lower corner %u", i);
    if (upper < -limit - 1 || upper > limit) return refuse(INVALID_VALUE, "upper corner %u", i);
    if ((int64_t)asked->dims[i + 1] + upper - lower < 1) return refuse(INVALID_VALUE, "no pixels in dimension %u", i);
  }
  if (!asked->channels || asked->channels > MAX_CHANNELS) return refuse(INVALID_VALUE, "channels %u", asked->channels);
  if (!asked->pixels || asked->pixels > MAX_PIXELS) return refuse(INVALID_VALUE, "pixels %u", asked->pixels);
  if (is_padded(asked) && asked->channels != 128) return refuse(INVALID_VALUE, "channels of packed elements");
  uint32_t bytes = asked->channels * BITS[asked->type] / 8;
  if (asked->interleave == INTERLEAVE_NONE && asked->swizzle && bytes > SPANS[asked->swizzle])
    return refuse(INVALID_VALUE, "pixels wider than the swizzle");
  return SUCCESS;
}

static void encode(const struct request *asked) {
  struct map map = {.address = (uintptr_t)asked->address, .type = asked->type, .rank = asked->rank,
                    .interleave = asked->interleave, .swizzle = asked->swizzle, .promotion = asked->promotion,
                    .fill = asked->fill};
  memcpy(map.magic, asked->is_column ? "columns" : "tilemap", sizeof map.magic);
  for (uint32_t i = 0; i < asked->rank; i++) {
    map.dims[i] = asked->dims[i], map.steps[i] = asked->steps[i];
    if (asked->box) map.box[i] = asked->box[i];
    if (i + 1 < asked->rank) map.strides[i] = asked->strides[i];
  }
  if (asked->is_column) {
    for (uint32_t i = 0; i + 2 < asked->rank; i++)
      map.lower[i] = asked->lower[i], map.upper[i] = asked->upper[i];
    map.channels = asked->channels, map.pixels = asked->pixels;
  }
  memcpy(asked->map, &map, sizeof map);
}

/* Records a list, with as many entries as the rank, if the rank is valid. A negative width is that of signed numbers.
 * The 64-bit ones are below 2^63. */
static void say_list(const char *name, const void *list, int width, uint32_t count) {
  say(" %s=", name);
  if (!list) return say("NULL");
  for (uint32_t i = 0; i < count && count <= MAX_RANK; i++) {
    int64_t value = width == 8    ? (int64_t)((const uint64_t *)list)[i]
                    : width == 4 ? (int64_t)((const uint32_t *)list)[i]
                                 : (int64_t)((const int *)list)[i];
    say("%s%lld", i ? "," : "", (long long)value);
  }
}

static CUresult check(const struct request *asked) {
  CUresult status = check_kinds(asked);
  if (!status) status = check_addresses(asked);
  if (!status) status = check_extents(asked);
  if (!status) status = check_packed(asked);
  if (status) return status;
  return asked->is_column ? check_column(asked) : check_row(asked);
}

/* Records a request, and encodes its map. */
static CUresult run(const struct request *asked, CUresult status) {
  uint32_t rank = asked->rank, spatial = rank < 2 ? 0 : rank - 2;
  say("type=%d rank=%u", asked->type, rank);
  say_list("dims", asked->dims, 8, rank);
  say_list("strides", asked->strides, 8, rank ? rank - 1 : 0);
  if (asked->is_column) {
    say_list("lower", asked->lower, -4, spatial);
    say_list("upper", asked->upper, -4, spatial);
    say(" channels=%u pixels=%u", asked->channels, asked->pixels);
  } else {
    say_list("box", asked->box, 4, rank);
  }
  say_list("steps", asked->steps, 4, rank);
  say(" interleave=%d swizzle=%d promotion=%d fill=%d", asked->interleave, asked->swizzle, asked->promotion,
      asked->fill);
  if (!status) status = check(asked);
  if (!status) encode(asked);
  return end(status);
}

EXPORT CUresult cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address, const uint64_t *dims,
                                       const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                                       int interleave, int swizzle, int promotion, int fill) {
  if (__atomic_load_n(&quiet, __ATOMIC_RELAXED)) return SUCCESS;
  struct request asked = {.map = map, .type = type, .rank = rank, .address = address, .dims = dims, .strides = strides,
                          .box = box, .steps = steps, .interleave = interleave, .swizzle = swizzle,
                          .promotion = promotion, .fill = fill};
  return run(&asked, begin("cuTensorMapEncodeTiled"));
}

EXPORT CUresult cuTensorMapEncodeIm2col(void *map, int type, uint32_t rank, void *address, const uint64_t *dims,
                                        const uint64_t *strides, const int *lower, const int *upper, uint32_t channels,
                                        uint32_t pixels, const uint32_t *steps, int interleave, int swizzle,
                                        int promotion, int fill) {
  if (__atomic_load_n(&quiet, __ATOMIC_RELAXED)) return SUCCESS;
  struct request asked = {.map = map, .type = type, .rank = rank, .address = address, .dims = dims, .strides = strides,
                          .lower = lower, .upper = upper, .channels = channels, .pixels = pixels, .steps = steps,
                          .interleave = interleave, .swizzle = swizzle, .promotion = promotion, .fill = fill,
                          .is_column = 1};
  return run(&asked, begin("cuTensorMapEncodeIm2col"));
}
