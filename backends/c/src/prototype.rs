//! Signatures and prototypes.

use codegen::backend::is_safe_call;
use codegen::ir::{AbiType, Extend, Pointee, Signature};

use crate::Headers;
use crate::prelude::{Half, Prelude};
use crate::types::{declarator, ty, unsigned};

/// Returns the type of a parameter or result. C extends what is narrow as the platform says. A truth value is a byte,
/// so that compilers do not rely on functions elsewhere to return 0 or 1.
fn abi(abi: AbiType, prelude: &mut Prelude) -> &'static str {
    match abi.extend {
        Extend::No | Extend::Sign => ty(abi.ty),
        Extend::Zero | Extend::Truth => unsigned(abi.ty),
        Extend::Float16 => prelude.half(Half::Float16),
        Extend::BFloat16 => prelude.half(Half::BFloat16),
    }
}

/// Returns a function declaration without its end. Parameters without names are declared by type alone; `pointees` says
/// what addresses of a function that the text defines point to, and the signature, what others only read.
pub(crate) fn prototype(
    name: &str,
    signature: &Signature,
    params: &[String],
    pointees: &[Option<Pointee>],
    prelude: &mut Prelude,
) -> String {
    let result = signature.result.map_or("void", |result| abi(result, prelude));
    let named = signature.params.iter().enumerate().map(|(i, &param)| {
        let ty = match pointees.get(i).copied().flatten() {
            Some(pointee) if is_constant(name, i, prelude) => {
                format!("const {}", prelude.pointer(pointee))
            }
            Some(pointee) => prelude.pointer(pointee),
            None if signature.reads.contains(&i) => format!("const {}", abi(param, prelude)),
            None => abi(param, prelude).to_owned(),
        };
        declarator(&ty, params.get(i).map_or("", String::as_str))
    });
    let list: Vec<String> = named.collect();
    let list = if list.is_empty() { "void".to_owned() } else { list.join(", ") };
    format!("{}({list})", declarator(result, name))
}

/// Returns true for a parameter that the headers of the text declare as the address of constants. Only the arguments of
/// the FFI are one, which a wrapper has as an address.
pub(crate) fn is_constant(name: &str, parameter: usize, prelude: &Prelude) -> bool {
    match prelude.headers {
        Headers::Own => false,
        Headers::Include => parameter == 1 && is_safe_call(name),
    }
}

/// Returns the type of pointers to functions of a signature.
pub(crate) fn pointer(signature: &Signature, prelude: &mut Prelude) -> String {
    prototype("(*)", signature, &[], &[], prelude)
}
