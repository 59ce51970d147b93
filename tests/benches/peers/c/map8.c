/* A mapping of text to integers, whose entries only the runtime can read. */
#include "checks.h"

static int look_up(const char* name, void** function) {
  TVMFFIByteArray text = {name, strlen(name)};
  if (TVMFFIFunctionGetGlobal(&text, function) != 0) return -1;
  REQUIRE(*function != NULL, "RuntimeError", "missing function");
  return 0;
}

static int look_up_map_size(void** f) { return look_up("ffi.MapSize", f); }
static int look_up_map_entries(void** f) { return look_up("ffi.MapForwardIterFunctor", f); }
static int look_up_dict_size(void** f) { return look_up("ffi.DictSize", f); }
static int look_up_dict_entries(void** f) { return look_up("ffi.DictForwardIterFunctor", f); }

static void *map_size, *map_entries, *dict_size, *dict_entries;

static int call(void* function, TVMFFIAny arg, TVMFFIAny* result) {
  memset(result, 0, sizeof *result);
  return TVMFFIFunctionCall(function, &arg, 1, result);
}

static int step(void* entries, int64_t what, TVMFFIAny* result) {
  TVMFFIAny arg = {.type_index = kTVMFFIInt, .v_int64 = what};
  return call(entries, arg, result);
}

static void drop(const TVMFFIAny* value) {
  if (value->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(value->v_obj);
}

/* Checks the current entry of an iterator. */
static int check_entry(void* entries) {
  TVMFFIAny key, value;
  int64_t size;
  if (step(entries, 0, &key) != 0) return -1;
  bool good = text(&key, &size) != NULL;
  drop(&key);
  REQUIRE(good, "TypeError", "expected strings as keys");
  if (step(entries, 1, &value) != 0) return -1;
  good = is_int(&value);
  drop(&value);
  REQUIRE(good, "TypeError", "expected integers as values");
  return 0;
}

static int check_entries(void* entries, int64_t count) {
  TVMFFIAny more;
  for (int64_t i = 0; i < count; ++i) {
    if (check_entry(entries) != 0 || step(entries, 2, &more) != 0) return -1;
  }
  return 0;
}

EXPORT(map8) {
  COUNT(1);
  const TVMFFIObject* map = object(&args[0], kTVMFFIMap, kTVMFFIDict);
  REQUIRE(map != NULL, "TypeError", "expected a map");
  TVMFFIAny arg = {.type_index = map->type_index, .v_obj = (TVMFFIObject*)map}, size, entries;
  if (map->type_index == kTVMFFIMap) {
    if (TVMFFIHandleInitOnce(&map_size, look_up_map_size) != 0) return -1;
    if (TVMFFIHandleInitOnce(&map_entries, look_up_map_entries) != 0) return -1;
    if (call(map_size, arg, &size) != 0 || call(map_entries, arg, &entries) != 0) return -1;
  } else {
    if (TVMFFIHandleInitOnce(&dict_size, look_up_dict_size) != 0) return -1;
    if (TVMFFIHandleInitOnce(&dict_entries, look_up_dict_entries) != 0) return -1;
    if (call(dict_size, arg, &size) != 0 || call(dict_entries, arg, &entries) != 0) return -1;
  }
  int status = check_entries(entries.v_obj, size.v_int64);
  drop(&entries);
  return status != 0 ? status : give(result, map8_kernel(map));
}
