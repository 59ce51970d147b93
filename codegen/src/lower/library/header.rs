//! The C header of a library: prototypes of the functions that it offers to C and of the kernels that it calls.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::declaration::is_identifier;
use crate::lower::images::sum;
use crate::resolve::Resolved;
use crate::resolve::c_type::{CType, Prototype};
use crate::resolve::external::External;
use crate::resolve::external::{is_c_word, is_type};

/// The start of a header: the types in prototypes. The runtime's header includes that of DLPack, whose folder is
/// another one in its package.
const TYPES: &str = "\
#include <stdint.h>

/* The types of the runtime and of DLPack are those of their headers, where the compiler finds these. Elsewhere they are
 * declared and not defined here, and another header that defines them comes before this one. */
#ifdef __has_include
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#if __has_include(<tvm/ffi/c_api.h>)
#include <tvm/ffi/c_api.h>
#endif
#endif
#endif
#ifndef TVM_FFI_CODEGEN_TYPES
#define TVM_FFI_CODEGEN_TYPES
#ifndef DLPACK_DLPACK_H_
typedef struct DLTensor DLTensor;
#endif
#ifndef TVM_FFI_C_API_H_
typedef struct TVMFFIAny TVMFFIAny;
typedef struct TVMFFIObject TVMFFIObject;
#endif
#endif

#ifdef __cplusplus
extern \"C\" {
#endif
";

/// The comment on calling conventions that all functions share.
const CONTRACT: &str = "
/* These return 0, or -1 with the error in the slot of the thread, from where TVMFFIErrorMoveFromRaised takes it.
 * Arguments are borrowed; NULL stands for None. A result is written only where all went well; what is in a
 * TVMFFIAny then belongs to the caller, and is dropped if the pointer is NULL. */
";

impl Resolved<'_> {
    /// Returns a header for C and C++ with the prototypes of `extern` functions, and of the C functions that the
    /// library calls.
    ///
    /// A file that defines `TVM_FFI_NO_KERNELS` does not see the prototypes of these C functions: a kernel may declare
    /// its pointers with types that a declaration does not know. A C function whose name is no C identifier has no
    /// prototype.
    ///
    /// ```
    /// let text = "extern half(x: float64) -> float64 = half_kernel(x);";
    /// let library: tvm_ffi_codegen::Library = text.parse()?;
    /// let header = library.resolve()?.header();
    /// assert!(header.contains("\nint32_t half(double x, double* result);\n"));
    /// assert!(header.contains("\ndouble half_kernel(double);\n"));
    /// # Ok::<(), tvm_ffi_codegen::Error>(())
    /// ```
    pub fn header(&self) -> String {
        let mut kernels = self.called();
        kernels.retain(|(symbol, _)| is_identifier(symbol) && !is_c_word(symbol));
        let mut text = TYPES.to_owned();
        if !self.externals.is_empty() {
            text.push_str(CONTRACT);
        }
        for external in &self.externals {
            put_external(&mut text, external);
        }
        if !kernels.is_empty() {
            text.push_str("\n#ifndef TVM_FFI_NO_KERNELS\n/* What the library calls. */\n");
            kernels.iter().for_each(|(symbol, ty)| put_kernel(&mut text, symbol, ty));
            text.push_str("#endif\n");
        }
        text.push_str("\n#ifdef __cplusplus\n}\n#endif\n");
        let externals = self.externals.iter().map(|external| &external.symbol[..]);
        let first = externals.chain(kernels.iter().map(|(symbol, _)| *symbol)).next();
        // Headers of two libraries may begin with the same kernel.
        let guard = format!("TVM_FFI_{}_{:016X}", first.unwrap_or("EMPTY"), sum(text.as_bytes()));
        format!("#ifndef {guard}\n#define {guard}\n\n{text}\n#endif /* {guard} */\n")
    }
}

/// Appends the prototype of an `extern` function, after a comment with its documentation and signature.
fn put_external(text: &mut String, external: &External<'_>) {
    let declared = external.declared;
    text.push_str("\n/*\n");
    let about = [&declared.documentation(), "", &declared.signature.to_string()].join("\n");
    for line in about.trim_start().lines() {
        // The text must neither end the comment nor look like the start of another.
        let line = line.replace("*/", "* /").replace("/*", "/ *");
        let line = format!(" * {line}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str(" */\n");
    let mut names = HashSet::new();
    let mut param = |name: String, ty: CType| {
        let is_plain = |c: char| c.is_ascii_alphanumeric();
        let mut name = name.replace(|c| !is_plain(c), "_");
        // Names with a leading underscore are reserved for compilers, like `_Bool` and `__FILE__`.
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || is_type(&name) {
            name.insert(0, 'p');
        }
        while is_c_word(&name) || name == external.symbol || !names.insert(name.clone()) {
            name.push('_');
        }
        format!("{} {name}", ty.spelling())
    };
    let given = external
        .params
        .iter()
        .flat_map(|of| of.types().into_iter().map(|(part, ty)| (format!("{}{part}", of.name), ty)));
    let result = external.result.ty().map(|ty| ("result".to_owned(), ty));
    let params: Vec<String> = given.chain(result).map(|(name, ty)| param(name, ty)).collect();
    put_prototype(text, "int32_t", &external.symbol, &params);
}

/// Appends the prototype of a C function that the library calls.
fn put_kernel(text: &mut String, symbol: &str, prototype: &Prototype) {
    let params: Vec<String> = prototype.params.iter().map(|ty| ty.spelling()).collect();
    let result = prototype.result.map_or("void".to_owned(), CType::spelling);
    put_prototype(text, &result, symbol, &params);
}

fn put_prototype(text: &mut String, result: &str, name: &str, params: &[String]) {
    let params = if params.is_empty() { "void".to_owned() } else { params.join(", ") };
    writeln!(text, "{result} {name}({params});").expect("a string takes all text");
}
