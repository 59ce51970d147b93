// A runtime library for tests: modules of two kinds that are loaded from bytes.
//
// `table`: the bytes are lines such as `one=1`, each of them a function that returns the number plus its
// argument, if it is given one. `broken`: the loader fails.

#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/reflection/registry.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

namespace {

namespace ffi = tvm::ffi;

// Number of live modules.
std::atomic<int64_t> alive{0};

class TableObj : public ffi::ModuleObj {
 public:
  explicit TableObj(const ffi::Bytes& bytes) {
    std::istringstream lines(std::string(bytes.data(), bytes.size()));
    for (std::string line; std::getline(lines, line);) {
      const size_t sign = line.find('=');
      if (sign == std::string::npos) {
        TVM_FFI_THROW(ValueError) << "no table: " << line;
      }
      numbers_[line.substr(0, sign)] = std::strtoll(line.c_str() + sign + 1, nullptr, 10);
    }
    ++alive;
  }
  ~TableObj() { --alive; }

  const char* kind() const final { return "table"; }
  int GetPropertyMask() const final { return ffi::Module::kRunnable; }

  ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) final {
    if (numbers_.count(name) == 0) return std::nullopt;
    const int64_t number = numbers_.at(name);
    // The function keeps the module alive.
    auto self = ffi::detail::ObjectUnsafe::ObjectPtrFromUnowned<ffi::Object>(this);
    return ffi::Function([self, number](ffi::PackedArgs args, ffi::Any* result) {
      *result = number + (args.size() > 0 ? args[0].cast<int64_t>() : 0);
    });
  }

 private:
  std::map<std::string, int64_t> numbers_;
};

ffi::Module LoadTable(const ffi::Bytes& bytes) {
  return ffi::Module(ffi::make_object<TableObj>(bytes));
}

ffi::Module LoadBroken(const ffi::Bytes& bytes) {
  TVM_FFI_THROW(ValueError) << "broken: " << bytes.size() << " bytes";
  TVM_FFI_UNREACHABLE();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("ffi.Module.load_from_bytes.table", LoadTable)
      .def("ffi.Module.load_from_bytes.broken", LoadBroken)
      .def("tests.alive", []() { return alive.load(); });
}

}  // namespace
