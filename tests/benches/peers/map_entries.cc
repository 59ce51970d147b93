// What a function of the runtime that gives all entries of a map at once would save: the nanoseconds of reading a map of
// text to numbers in four ways, two of which the runtime does not have. map_entries.py compiles and runs it.

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace ffi = tvm::ffi;

// Returns keys and values in turn: a function that the runtime could register, as it does those of iterators.
static ffi::Array<ffi::Any> items(const ffi::MapObj* map) {
  ffi::Array<ffi::Any> all;
  all.reserve(2 * map->size());
  for (const auto& [key, value] : *map) {
    all.push_back(key);
    all.push_back(value);
  }
  return all;
}

// Writes keys and values in turn, which the map still owns, if there is room for them; returns how many entries there are: a
// function that the C ABI could have.
extern "C" __attribute__((noinline)) size_t entries(TVMFFIObjectHandle map, TVMFFIAny* out, size_t room) {
  const auto* of = static_cast<const ffi::MapObj*>(map);
  if (of->size() > room) return of->size();
  for (const auto& [key, value] : *of) {
    *out++ = ffi::AnyView(key).CopyToTVMFFIAny();
    *out++ = ffi::AnyView(value).CopyToTVMFFIAny();
  }
  return of->size();
}

static TVMFFIObjectHandle global(const char* name) {
  TVMFFIByteArray text{name, std::string(name).size()};
  TVMFFIObjectHandle found = nullptr;
  if (TVMFFIFunctionGetGlobal(&text, &found) != 0 || found == nullptr) std::abort();
  return found;
}

static TVMFFIAny call(TVMFFIObjectHandle function, TVMFFIAny argument) {
  TVMFFIAny result{};
  if (TVMFFIFunctionCall(function, &argument, 1, &result) != 0) std::abort();
  return result;
}

static TVMFFIAny number(int64_t value) {
  TVMFFIAny any{};
  any.type_index = kTVMFFIInt;
  any.v_int64 = value;
  return any;
}

static void release(TVMFFIAny any) {
  if (any.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(any.v_obj);
}

static bool is_text(const TVMFFIAny& any) {
  return any.type_index == kTVMFFISmallStr || any.type_index == kTVMFFIStr;
}

static void add(const TVMFFIAny& key, const TVMFFIAny& value, int64_t* sum) {
  if (!is_text(key) || value.type_index != kTVMFFIInt) std::abort();
  *sum += value.v_int64;
}

// By C++, which knows how a map lies in memory.
static int64_t by_layout(const TVMFFIAny& map) {
  int64_t sum = 0;
  for (const auto& [key, value] : *reinterpret_cast<const ffi::MapObj*>(map.v_obj)) {
    add(ffi::AnyView(key).CopyToTVMFFIAny(), ffi::AnyView(value).CopyToTVMFFIAny(), &sum);
  }
  return sum;
}

// By the runtime's iterator: its function is called three times for each entry.
static int64_t by_iterator(const TVMFFIAny& map) {
  static const TVMFFIObjectHandle make = global("ffi.MapForwardIterFunctor");
  const TVMFFIObjectHandle at = call(make, map).v_obj;
  int64_t sum = 0;
  do {
    const TVMFFIAny key = call(at, number(0)), value = call(at, number(1));
    add(key, value, &sum);
    release(key);
    release(value);
  } while (call(at, number(2)).v_int64 != 0);
  TVMFFIObjectDecRef(at);
  return sum;
}

// By one call that returns an array, whose cells are part of the C ABI.
static int64_t by_array(const TVMFFIAny& map) {
  static const TVMFFIObjectHandle make = global("example.MapItems");
  const TVMFFIAny all = call(make, map);
  const auto* cell = reinterpret_cast<const TVMFFISeqCell*>(all.v_obj + 1);
  const auto* of = static_cast<const TVMFFIAny*>(cell->data);
  int64_t sum = 0;
  for (int64_t i = 0; i < cell->size; i += 2) add(of[i], of[i + 1], &sum);
  release(all);
  return sum;
}

// By one call that fills the caller's memory.
static int64_t by_memory(const TVMFFIAny& map) {
  TVMFFIAny all[2 * 64];
  const size_t count = entries(map.v_obj, all, 64);
  int64_t sum = 0;
  for (size_t i = 0; i < count; ++i) add(all[2 * i], all[2 * i + 1], &sum);
  return sum;
}

static double nanoseconds(int64_t (*read)(const TVMFFIAny&), const TVMFFIAny& map, int64_t expected) {
  double best = 1e9;
  for (int run = 0; run < 20; ++run) {
    const auto start = std::chrono::steady_clock::now();
    const int calls = 20000;
    for (int i = 0; i < calls; ++i)
      if (read(map) != expected) std::abort();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count() / calls);
  }
  return best;
}

int main() {
  ffi::reflection::GlobalDef().def("example.MapItems", items);
  for (int count : {1, 8, 64}) {
    ffi::Map<ffi::String, int64_t> map;
    for (int i = 0; i < count; ++i) map.Set("key " + std::to_string(i), i);
    TVMFFIAny any{};
    any.type_index = kTVMFFIMap;
    any.v_obj = reinterpret_cast<TVMFFIObject*>(const_cast<ffi::Object*>(map.get()));
    const int64_t sum = int64_t{count} * (count - 1) / 2;
    std::printf("%2d entries: %.1f ns by layout, %.1f by the iterator, %.1f by an array, %.1f by memory\n", count,
                nanoseconds(by_layout, any, sum), nanoseconds(by_iterator, any, sum), nanoseconds(by_array, any, sum),
                nanoseconds(by_memory, any, sum));
  }
}
