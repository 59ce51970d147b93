// Says of the kernels that a host launches, which have no code here, where they stand and what parameters they take.

#pragma once

#undef asm
#undef volatile

#define CAKE_WORDS_(name) #name
#define CAKE_WORDS(name) CAKE_WORDS_(name)
// Puts something at the address of a kernel.
#define CAKE_PLACE(name) \
  asm(".pushsection .data\n.globl " CAKE_WORDS(name) "\n" CAKE_WORDS(name) ":\n.quad 0\n.popsection");

namespace cake {

struct Parameter {
  unsigned size, align;
};

// A kernel; `parameters` are `count` many.
struct Kernel {
  const char* name;
  const void* address;
  const Parameter* parameters;
  unsigned count;
};

template <typename... Types>
struct Signature {
  // One more than there are, since an array of C++ is never empty.
  static constexpr Parameter parameters[] = {{sizeof(Types), alignof(Types)}..., {0, 0}};
};

template <typename... Types>
Kernel describe(const char* name, void (*kernel)(Types...)) {
  return {name, reinterpret_cast<const void*>(kernel), Signature<Types...>::parameters, sizeof...(Types)};
}

}  // namespace cake
