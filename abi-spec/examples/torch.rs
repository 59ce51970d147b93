//! Prints C++ that compiles only if the facts about PyTorch are those of its headers:
//!
//! ```sh
//! cargo run -p tvm-ffi-abi-spec --example torch >torch.cc
//! c++ -std=c++17 -fsyntax-only -DUSE_CUDA -I "$(python -c 'import torch; print(torch.__path__[0])')/include" torch.cc
//! ```

use tvm_ffi_abi_spec::torch;

fn main() {
    println!("#include <type_traits>\n#include <torch/csrc/stable/c/shim.h>");
    for (name, prototype) in torch::FUNCTIONS {
        println!("static_assert(std::is_same_v<decltype({name}), {prototype}>, \"{name}\");");
    }
    for getter in torch::DTYPES
        .iter()
        .map(|(name, _)| name)
        .chain(torch::DEVICES.map(|(name, _)| name).iter())
    {
        println!("static_assert(std::is_same_v<decltype({getter}), int32_t()>, \"{getter}\");");
    }
    println!("static_assert(TORCH_VERSION_2_10_0 == {}u, \"\");", torch::VERSION);
    println!("static_assert(sizeof(StableIValue) == 8, \"\");");
}
