//! Images, GPU kernels and device variables in the module: constants with the bytes of images, and variables that the
//! first use fills.

use crate::declaration::{Image, ImageKind, Platform};
use crate::ir::{Data, Linkage, Module, Relocation, Symbol, SymbolKind};
use crate::lower::cuda::{ALLOW_CLUSTER, ALLOW_SHARED, cache, image, kernel, map};
use crate::lower::driver::DEVICES;
use crate::lower::hip;
use crate::lower::quote::elide;
use crate::lower::value::zeros;
use crate::resolve::launch::Launch;

/// Prefixes of the symbols of the variables of images and of kernels.
pub(crate) const IMAGES: &str = "tvm_ffi_codegen.library.";
pub(crate) const KERNELS: &str = "tvm_ffi_codegen.kernel.";
pub(crate) const HIP_IMAGES: &str = "tvm_ffi_codegen.hip_image.";
pub(crate) const HIP_KERNELS: &str = "tvm_ffi_codegen.hip_kernel.";

/// Prefixes of the symbols of tables: of the places of a device variable, and of what is known of the function that is
/// called after an image is loaded. A table has a word, or two, for each of [`DEVICES`].
pub(crate) const PLACES: &str = "tvm_ffi_codegen.places.";
pub(crate) const HOOKS: &str = "tvm_ffi_codegen.on_load.";

/// Byte offset in the places of a device variable of the sizes, which follow the addresses.
pub(crate) const SIZES: i32 = 8 * DEVICES as i32;

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

/// A device variable: the variables of a module that describe it.
pub(crate) struct Global {
    /// Variable of the form of that of a kernel, from which routines take image and name.
    pub(crate) kernel: Symbol,
    /// Addresses on each device, NULL until it is found there, then the sizes in bytes.
    pub(crate) places: Symbol,
}

/// Returns the variables of a device variable; all uses share them.
pub(crate) fn global(module: &mut Module, platform: Platform, image: &str, name: &str) -> Global {
    let variable_name = format!("tvm_ffi_codegen.global.{image}.{name}");
    let kernel = match (module.find(&variable_name), platform) {
        (Some(symbol), _) => symbol,
        (None, Platform::Cuda) => new_kernel(module, &variable_name, (image, name), &[]),
        (None, Platform::Hip) => new_hip_kernel(module, &variable_name, (image, name)),
    };
    let places = zeros(module, &format!("{PLACES}{image}.{name}"), 2 * SIZES as usize);
    Global { kernel, places }
}

/// Returns the table of what is known of the function that is called after an image is loaded.
pub(crate) fn hooks(module: &mut Module, image: &str) -> Symbol {
    zeros(module, &format!("{HOOKS}{image}"), 8 * DEVICES as usize)
}

fn hip_kernel(module: &mut Module, launch: &Launch<'_>) -> Symbol {
    let name = format!("{HIP_KERNELS}{}.{}", launch.image, launch.gpu_kernel);
    match module.find(&name) {
        Some(symbol) => symbol,
        None => new_hip_kernel(module, &name, (launch.image, launch.gpu_kernel)),
    }
}

/// Adds the variable of the kernel of this name in an image.
fn new_hip_kernel(
    module: &mut Module,
    variable_name: &str,
    (image, kernel): (&str, &str),
) -> Symbol {
    let image = hip_image(module, image);
    let shown = elide(kernel);
    let text = constant(module, [kernel.as_bytes(), &[0]].concat());
    let shown_text = constant(module, shown.as_bytes().to_vec());
    let mut words = vec![0; hip::kernel::SIZE as usize / 8];
    words[hip::kernel::SHOWN_SIZE as usize / 8] = shown.len() as u64;
    let addresses =
        [(hip::kernel::IMAGE, image), (hip::kernel::NAME, text), (hip::kernel::SHOWN, shown_text)];
    variable(module, variable_name, &words, &addresses)
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
        None => {
            let sizes = launch.sizes();
            new_kernel(module, &name, (launch.image, launch.gpu_kernel), &sizes)
        }
    };
    let allowed = [(launch.allowed.shared, ALLOW_SHARED), (launch.allowed.cluster, ALLOW_CLUSTER)];
    let allowed = allowed.iter().filter(|(needed, _)| *needed).map(|(_, bit)| *bit as u8);
    let allowed = allowed.fold(0, |all, bit| all | bit);
    for data in module.data.iter_mut().filter(|data| data.symbol == symbol) {
        data.bytes[kernel::ALLOWED as usize] |= allowed;
    }
    symbol
}

/// Adds the variable of the kernel of this name in an image, whose parameters have these sizes.
fn new_kernel(
    module: &mut Module,
    variable_name: &str,
    (image_name, kernel): (&str, &str),
    sizes: &[u32],
) -> Symbol {
    let image = image(module, image_name);
    let text = |module: &mut Module, text: &str| constant(module, [text.as_bytes(), &[0]].concat());
    let shown = elide(kernel);
    let (text, shown_text) = (text(module, kernel), text(module, &shown));
    let mut words = vec![0; kernel::SIZE as usize / 8];
    words[kernel::SHOWN_SIZE as usize / 8] = shown.len() as u64;
    words[kernel::COUNT as usize / 8] = sizes.len() as u64;
    words.extend(sizes.iter().copied().map(u64::from));
    let addresses = [(kernel::IMAGE, image), (kernel::NAME, text), (kernel::SHOWN, shown_text)];
    variable(module, variable_name, &words, &addresses)
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
    let at = numbered(|at| module.find(&format!("{start}{at}")).is_some());
    let symbol = module.declare(&format!("{start}{at}"), Linkage::Local, SymbolKind::Data);
    let inputs = words[map::INPUTS as usize / 8] as usize;
    let words = words.iter().flat_map(|word| word.to_le_bytes());
    let bytes = words.chain(name.bytes()).collect();
    module.data.push(Data::constant(symbol, bytes, 8));
    let size = cache::SIZE as usize + 8 * inputs;
    (symbol, zeros(module, &format!("tvm_ffi_codegen.map_cache.{at}"), size))
}

/// Returns the first number that is not taken, where all before it are.
fn numbered(is_taken: impl Fn(usize) -> bool) -> usize {
    let mut end = 1;
    while is_taken(end - 1) {
        end *= 2;
    }
    let (mut first, mut last) = (end / 2, end - 1);
    while first < last {
        let middle = first.midpoint(last);
        if is_taken(middle) { first = middle + 1 } else { last = middle }
    }
    first
}

/// Adds the bytes of the images that the module uses. A NUL follows PTX.
pub(crate) fn define(module: &mut Module, images: &[Image]) {
    for Image { name, bytes, on_load: _ } in images {
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

/// Returns a hash of bytes: FNV-1a.
pub(super) fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// Prints an image as its kind, its size and a hash of its bytes.
fn print(bytes: &[u8], _: u32) -> String {
    let sum = sum(bytes);
    let kind = ImageKind::of(bytes).map_or_else(String::new, |kind| format!("{kind:?}, "));
    format!("    {kind}{} bytes, sum {sum:016x}\n", bytes.len())
}
