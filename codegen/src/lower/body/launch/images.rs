//! Images and GPU kernels in the module: constants with the bytes of images, and variables that the first launch fills.

use crate::declaration::{Image, ImageKind, Platform};
use crate::ir::{Data, Linkage, Module, Relocation, Symbol, SymbolKind};
use crate::lower::cuda::{ALLOW_CLUSTER, ALLOW_SHARED, cache, image, kernel, map};
use crate::lower::hip;
use crate::lower::quote::elide;
use crate::lower::value::zeros;
use crate::resolve::launch::Launch;

/// Prefixes of the symbols of the variables of images and of kernels.
pub(crate) const IMAGES: &str = "tvm_ffi_codegen.library.";
pub(crate) const KERNELS: &str = "tvm_ffi_codegen.kernel.";
pub(crate) const HIP_IMAGES: &str = "tvm_ffi_codegen.hip_image.";
pub(crate) const HIP_KERNELS: &str = "tvm_ffi_codegen.hip_kernel.";

/// Alignment of the bytes of an image.
const ALIGN: u32 = 64;

/// Largest size in bytes of an image that is placed near the code.
const LARGE: usize = 1 << 30;

/// Returns the variable of the kernel of a launch; all launches of a kernel share it.
pub(crate) fn kernel(module: &mut Module, platform: Platform, launch: &Launch<'_>) -> Symbol {
    match platform {
        Platform::Cuda => cuda_kernel(module, launch),
        Platform::Hip => hip_kernel(module, launch),
    }
}

fn hip_kernel(module: &mut Module, launch: &Launch<'_>) -> Symbol {
    let name = format!("{HIP_KERNELS}{}.{}", launch.image, launch.gpu_kernel);
    if let Some(symbol) = module.find(&name) {
        return symbol;
    }
    let image = hip_image(module, launch.image);
    let shown = elide(launch.gpu_kernel);
    let text = constant(module, [launch.gpu_kernel.as_bytes(), &[0]].concat());
    let shown_text = constant(module, shown.as_bytes().to_vec());
    let mut words = vec![0; hip::kernel::SIZE as usize / 8];
    words[hip::kernel::SHOWN_SIZE as usize / 8] = shown.len() as u64;
    let addresses =
        [(hip::kernel::IMAGE, image), (hip::kernel::NAME, text), (hip::kernel::SHOWN, shown_text)];
    variable(module, &name, &words, &addresses)
}

fn hip_image(module: &mut Module, name: &str) -> Symbol {
    let variable_name = format!("{HIP_IMAGES}{name}");
    if let Some(symbol) = module.find(&variable_name) {
        return symbol;
    }
    let bytes = module.declare(&bytes_name(name), Linkage::Local, SymbolKind::Data);
    let text = constant(module, name.as_bytes().to_vec());
    let mut words = vec![0; hip::image::SIZE as usize / 8];
    words[hip::image::NAME_SIZE as usize / 8] = name.len() as u64;
    let addresses = [(hip::image::BYTES, bytes), (hip::image::NAME, text)];
    variable(module, &variable_name, &words, &addresses)
}

fn cuda_kernel(module: &mut Module, launch: &Launch<'_>) -> Symbol {
    let name = format!("{KERNELS}{}.{}", launch.image, launch.gpu_kernel);
    let symbol = match module.find(&name) {
        Some(symbol) => symbol,
        None => new_kernel(module, &name, launch),
    };
    let allowed = [(launch.allowed.shared, ALLOW_SHARED), (launch.allowed.cluster, ALLOW_CLUSTER)];
    let allowed = allowed.iter().filter(|(needed, _)| *needed).map(|(_, bit)| *bit as u8);
    let allowed = allowed.fold(0, |all, bit| all | bit);
    for data in module.data.iter_mut().filter(|data| data.symbol == symbol) {
        data.bytes[kernel::ALLOWED as usize] |= allowed;
    }
    symbol
}

fn new_kernel(module: &mut Module, name: &str, launch: &Launch<'_>) -> Symbol {
    let image = image(module, launch.image);
    let text = |module: &mut Module, text: &str| constant(module, [text.as_bytes(), &[0]].concat());
    let shown = elide(launch.gpu_kernel);
    let (text, shown_text) = (text(module, launch.gpu_kernel), text(module, &shown));
    let sizes = launch.sizes();
    let mut words = vec![0; kernel::SIZE as usize / 8];
    words[kernel::SHOWN_SIZE as usize / 8] = shown.len() as u64;
    words[kernel::COUNT as usize / 8] = sizes.len() as u64;
    words.extend(sizes.into_iter().map(u64::from));
    let addresses = [(kernel::IMAGE, image), (kernel::NAME, text), (kernel::SHOWN, shown_text)];
    variable(module, name, &words, &addresses)
}

/// Returns the variable of an image. [`define`] adds the bytes later.
fn image(module: &mut Module, name: &str) -> Symbol {
    let variable_name = format!("{IMAGES}{name}");
    if let Some(symbol) = module.find(&variable_name) {
        return symbol;
    }
    let bytes = module.declare(&bytes_name(name), Linkage::Local, SymbolKind::Data);
    let text = constant(module, name.as_bytes().to_vec());
    let mut words = vec![0; image::SIZE as usize / 8];
    words[image::NAME_SIZE as usize / 8] = name.len() as u64;
    variable(module, &variable_name, &words, &[(image::BYTES, bytes), (image::NAME, text)])
}

fn bytes_name(name: &str) -> String {
    format!("tvm_ffi_codegen.image.{name}")
}

/// Returns a constant; equal constants of a module are one.
fn constant(module: &mut Module, bytes: Vec<u8>) -> Symbol {
    module.constant("tvm_ffi_codegen.constant.", bytes)
}

/// Adds a variable with initial words. `addresses` are the byte offsets of words that are addresses of symbols.
fn variable(module: &mut Module, name: &str, words: &[u64], addresses: &[(i32, Symbol)]) -> Symbol {
    let symbol = module.declare(name, Linkage::Local, SymbolKind::Data);
    let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let address =
        |&(at, symbol): &(i32, Symbol)| Relocation { offset: at as u32, symbol, addend: 0 };
    let relocations = addresses.iter().map(address).collect();
    module.data.push(Data { relocations, ..Data::variable(symbol, bytes, 8) });
    symbol
}

/// Adds the constant that describes to a routine how to encode a tensor map, and the [cache] of its site.
pub(crate) fn map(
    module: &mut Module,
    words: &[u64; map::SIZE as usize / 8],
    name: &str,
) -> (Symbol, Symbol) {
    let start = "tvm_ffi_codegen.map.";
    let known = |at: &usize| module.find(&format!("{start}{at}")).is_none();
    let at = (0..).find(known).unwrap_or_default();
    let symbol = module.declare(&format!("{start}{at}"), Linkage::Local, SymbolKind::Data);
    let inputs = words[map::INPUTS as usize / 8] as usize;
    let words = words.iter().flat_map(|word| word.to_le_bytes());
    let bytes = words.chain(name.bytes()).collect();
    module.data.push(Data::constant(symbol, bytes, 8));
    let size = cache::SIZE as usize + 8 * inputs;
    (symbol, zeros(module, &format!("tvm_ffi_codegen.map_cache.{at}"), size))
}

/// Adds the bytes of the images whose kernels the module launches. A NUL follows PTX.
pub(crate) fn define(module: &mut Module, images: &[Image]) {
    for Image { name, bytes } in images {
        let (Some(symbol), Some(bytes)) = (module.find(&bytes_name(name)), bytes) else { continue };
        let mut bytes = bytes.clone();
        if ImageKind::of(&bytes) == Some(ImageKind::Ptx) {
            bytes.push(0);
        }
        let large = bytes.len() > LARGE;
        module.data.push(Data { large, ..Data::constant(symbol, bytes, ALIGN) });
        module.printers.push((symbol, vec![(0, print)]));
    }
}

/// Prints an image as its kind, its size and a hash of its bytes (FNV-1a).
fn print(bytes: &[u8], _: u32) -> String {
    let sum = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let kind = ImageKind::of(bytes).map_or_else(String::new, |kind| format!("{kind:?}, "));
    format!("    {kind}{} bytes, sum {sum:016x}\n", bytes.len())
}
