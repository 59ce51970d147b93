//! C functions of functions that are `extern`: their names, parameters and results.

use abi_spec::{Scalar, c_library};
use rustc_hash::FxHashMap;

use super::Located;
use super::c_type::CType;
use super::function::Function;
use super::well_formed::RESERVED_PREFIXES;
use crate::backend::is_word_of_c;
use crate::declaration::{
    Leaf, Library, ParamType, ResultType, Tensor, is_identifier, is_text, literal_scalar,
};
use crate::error::{Error, Part};

/// The C function of a function that is `extern`.
#[derive(Clone, Debug)]
pub(crate) struct External<'a> {
    /// Index of the function in the library.
    pub(crate) function: usize,
    /// The declaration.
    pub(crate) declared: &'a crate::Function,
    /// Name of the C function.
    pub(crate) symbol: String,
    /// Parameters, without the one through which the result is written.
    pub(crate) params: Vec<ExternalParam<'a>>,
    pub(crate) result: CResult,
}

/// A parameter of the function, which is one or two parameters in C.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExternalParam<'a> {
    pub(crate) name: &'a str,
    /// True if NULL stands for None.
    pub(crate) optional: bool,
    /// True for a tensor whose elements are only read.
    pub(crate) is_read: bool,
    /// Form in which C passes the argument.
    pub(crate) given: CForm,
}

/// Form in which C passes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CForm {
    /// A scalar by value; an optional one by address.
    Scalar(Scalar),
    /// Text by address and size.
    Str,
    /// Bytes by address and size.
    Bytes,
    /// An element type by its 32 bits; an optional one by their address.
    DType,
    /// A device by type and index; an optional one by the address of both.
    Device,
    /// A shape by the address and the number of its integers.
    Shape,
    /// A `DLTensor*`.
    Tensor,
    /// A borrowed object by its address.
    Object,
    /// A borrowed `TVMFFIAny` by its address.
    Any,
}

/// Form in which C gets a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CResult {
    /// No result.
    None,
    /// A scalar, written through a pointer.
    Scalar(Scalar),
    /// A value that the caller then owns, written through a pointer.
    Any,
}

impl CForm {
    fn of(ty: &ParamType) -> CForm {
        match ty {
            ParamType::Scalar(scalar) => CForm::Scalar(*scalar),
            ParamType::Leaf(Leaf::Stream | Leaf::Handle) => CForm::Scalar(Scalar::Ptr),
            ParamType::Leaf(Leaf::Str) => CForm::Str,
            ParamType::Leaf(Leaf::Bytes) => CForm::Bytes,
            ParamType::Leaf(Leaf::DType) => CForm::DType,
            ParamType::Leaf(Leaf::Device) => CForm::Device,
            ParamType::Leaf(Leaf::Any) | ParamType::Union(_) | ParamType::Optional(_) => CForm::Any,
            ParamType::Tensor(_) => CForm::Tensor,
            ParamType::Shape(_) => CForm::Shape,
            ParamType::Object(_)
            | ParamType::Sequence(..)
            | ParamType::Mapping(..)
            | ParamType::Tuple(_) => CForm::Object,
            ParamType::Literal(literals) if is_text(literals) => CForm::Str,
            ParamType::Literal(literals) => {
                literal_scalar(literals).map_or(CForm::Any, CForm::Scalar)
            }
        }
    }
}

impl ExternalParam<'_> {
    /// Returns the C types, each with a suffix for the name.
    pub(crate) fn types(&self) -> Vec<(&'static str, CType)> {
        let size = ("_size", CType::Scalar(Scalar::Int64));
        let one = |scalar| match self.optional {
            true => CType::In(scalar),
            false => CType::Scalar(scalar),
        };
        match self.given {
            CForm::Scalar(scalar) => vec![("", one(scalar))],
            CForm::DType => vec![("", one(Scalar::Uint32))],
            CForm::Device if self.optional => vec![("", CType::In(Scalar::Int32))],
            CForm::Device => ["_type", "_id"].map(|part| (part, one(Scalar::Int32))).to_vec(),
            CForm::Str | CForm::Bytes => vec![("", CType::TEXT), size],
            CForm::Shape => vec![("", CType::In(Scalar::Int64)), size],
            CForm::Tensor if self.is_read => vec![("", CType::READ_TENSOR)],
            CForm::Tensor => vec![("", CType::TENSOR)],
            CForm::Object => vec![("", CType::OBJECT)],
            CForm::Any => vec![("", CType::ANY)],
        }
    }
}

impl CResult {
    fn of(result: &ResultType) -> CResult {
        match result {
            ResultType::None => CResult::None,
            ResultType::Value(ParamType::Scalar(scalar)) => CResult::Scalar(*scalar),
            ResultType::Value(_) | ResultType::Allocated(_) => CResult::Any,
        }
    }

    /// Returns the type of the last parameter, through which the result is written.
    pub(crate) fn ty(self) -> Option<CType> {
        match self {
            CResult::None => None,
            CResult::Scalar(scalar) => Some(CType::Out(scalar)),
            CResult::Any => Some(CType::OUT_ANY),
        }
    }
}

/// Returns the C functions of a library, in the order of its functions.
pub(super) fn externals<'a>(
    library: &'a Library,
    functions: &[Function<'a>],
) -> Result<Vec<External<'a>>, Error> {
    let mut all = Vec::new();
    let declared = library.functions.iter().enumerate();
    for (function, declared) in declared.filter(|(_, declared)| declared.external) {
        let prefix = library.system_lib.as_deref().unwrap_or_default();
        let external = external(function, declared, prefix);
        all.push(
            external.map_err(|(part, reason)| Error::invalid(function, declared, part, reason))?,
        );
    }
    if !all.is_empty() {
        require_distinct_symbols(&all, functions)?;
    }
    Ok(all)
}

/// Returns why no C function may have a name, if that is so. C keeps names with a leading underscore; to linkers
/// `_init` and others mean something.
fn reason_against(symbol: &str) -> Option<&'static str> {
    if !is_identifier(symbol) {
        Some("it is no identifier of C")
    } else if symbol.starts_with('_')
        || RESERVED_PREFIXES.iter().any(|start| symbol.starts_with(start))
    {
        Some("names that begin so are of compilers, linkers and the runtime")
    } else if c_library::ALL.contains(&symbol) {
        Some("the system has one of this name")
    } else if is_c_word(symbol) {
        Some("it means something else in C, in C++ or in the header")
    } else {
        None
    }
}

fn external<'a>(
    function: usize,
    declared: &'a crate::Function,
    prefix: &str,
) -> Located<External<'a>> {
    let signature = &declared.signature;
    let symbol = format!("{prefix}{}", signature.name);
    if let Some(reason) = reason_against(&symbol) {
        let no_name = format!("`{symbol}` cannot be the name of a C function: {reason}");
        return Err((Part::Name, no_name));
    }
    if signature.has_self() {
        let reason = "a closure has no C function: `self` is known to the function object only";
        return Err((Part::Param(0), reason.to_owned()));
    }
    if let Some(last) = signature.params.iter().position(|param| param.variadic) {
        let reason = "a C function takes as many parameters as it has; pass an `Array` instead";
        return Err((Part::Param(last), reason.to_owned()));
    }
    let param = |param: &'a crate::Param| {
        let (ty, optional) = param.ty.required();
        let is_read = ty.tensor().is_some_and(Tensor::is_read);
        ExternalParam { name: &param.name, optional, is_read, given: CForm::of(ty) }
    };
    let params = signature.params.iter().map(param).collect();
    let result = CResult::of(&signature.result);
    Ok(External { function, declared, symbol, params, result })
}

/// Checks that no C function has the name of a C function that the library calls.
fn require_distinct_symbols(all: &[External<'_>], functions: &[Function<'_>]) -> Result<(), Error> {
    let calls = functions.iter().flat_map(|caller| {
        let name = &caller.declared.signature.name;
        caller.calls().into_iter().map(move |(symbol, _)| (symbol, name))
    });
    let callers: FxHashMap<&str, &String> = calls.collect();
    for External { function, declared, symbol, .. } in all {
        if let Some(caller) = callers.get(&symbol[..]) {
            let reason = format!("`{symbol}` is also the C function that `{caller}` calls");
            return Err(Error::invalid(*function, declared, Part::Name, reason));
        }
    }
    Ok(())
}

/// Returns true for words that can name neither a C function nor a parameter.
pub(crate) fn is_c_word(word: &str) -> bool {
    is_word_of_c(word) || is_type(word) || is_macro(word)
}

/// Returns true for types that prototypes mention.
pub(crate) fn is_type(word: &str) -> bool {
    let is_integer = |word: &str| word.starts_with("int") || word.starts_with("uint");
    word == "DLTensor" || word.starts_with("TVMFFI") || is_integer(word) && word.ends_with("_t")
}

/// Returns true for words with the form of the macros of `<stdint.h>`.
fn is_macro(word: &str) -> bool {
    let endings = ["_MAX", "_MIN", "_WIDTH", "_C"];
    endings.iter().any(|ending| word.ends_with(ending))
        && word.bytes().all(|byte| !byte.is_ascii_lowercase())
}
