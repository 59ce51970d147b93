//! Types: their handles, and their form in memory.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Result, Type};

/// Returns the path of the typed handles.
pub(crate) fn typed() -> TokenStream {
    quote!(::tvm_ffi_codegen::ir::typed)
}

/// Returns a span for generated code: errors show the source at `span`, and the source does not see the variables of
/// the generated code.
pub(crate) fn here(span: Span) -> Span {
    span.resolved_at(Span::mixed_site())
}

/// Returns the handle of a type.
pub(crate) fn handle(ty: &Type) -> Result<TokenStream> {
    let t = typed();
    let span = ty.span();
    Ok(match ty {
        Type::Reference(to) => {
            let pointee = stored(&to.elem);
            quote_spanned!(span=> #t::Ref<#pointee>)
        }
        Type::Tuple(tuple) => {
            let all = tuple.elems.iter().map(handle).collect::<Result<Vec<_>>>()?;
            quote_spanned!(span=> (#(#all,)*))
        }
        Type::Paren(inner) => handle(&inner.elem)?,
        Type::Path(path) => match path.path.get_ident().map(ToString::to_string).as_deref() {
            Some("i8" | "u8" | "i16" | "u16" | "i32" | "u32" | "i64" | "u64") => {
                quote_spanned!(span=> #t::Int<#ty>)
            }
            Some("f32" | "f64") => quote_spanned!(span=> #t::Float<#ty>),
            Some("bool") => quote_spanned!(span=> #t::Bool),
            Some("usize" | "isize" | "i128" | "u128") => {
                return Err(Error::new(span, "a number has 8 to 64 bits, `u64` where it counts"));
            }
            _ => quote!(#ty),
        },
        _ => {
            return Err(Error::new(
                span,
                "expected a number, `bool`, `&T`, a tuple or a struct of handles",
            ));
        }
    })
}

/// Returns the form of a type in memory: an address is a `Ref`, any other type stays itself.
pub(crate) fn stored(ty: &Type) -> TokenStream {
    match ty {
        Type::Reference(to) => {
            let (t, pointee) = (typed(), stored(&to.elem));
            quote_spanned!(ty.span()=> #t::Ref<#pointee>)
        }
        _ => quote!(#ty),
    }
}
