//! The translation of a function: its caller and its builder.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Expr, FnArg, ItemFn, Pat, PatType, Result, ReturnType, Stmt, parse_quote};

use crate::analysis::{block_ends, has_return};
use crate::types::{handle, here, typed};

/// The state of the translation of a function.
pub(crate) struct Translator {
    /// The name of the builder.
    pub(crate) b: Ident,
    /// The handle of the function's result.
    pub(crate) result: TokenStream,
    /// The block behind an inline function that returns early; `None` for other functions.
    pub(crate) after: Option<Ident>,
    /// The mutable variables in scope.
    pub(crate) scope: Vec<Ident>,
    /// The enclosing loops, the innermost last.
    pub(crate) loops: Vec<Loop>,
    /// The number of temporary names.
    temporaries: usize,
}

/// A loop that is being translated.
pub(crate) struct Loop {
    /// The variables that it carries.
    pub(crate) carried: Vec<Ident>,
    /// The head block.
    pub(crate) head: Ident,
    /// The next value of the counter, if the loop counts.
    pub(crate) next: Option<TokenStream>,
    /// The block behind the loop.
    pub(crate) done: Ident,
}

impl Translator {
    /// Returns a name that the source cannot use.
    pub(crate) fn temporary(&mut self, word: &str, span: Span) -> Ident {
        self.temporaries += 1;
        format_ident!("{word}_{}", self.temporaries, span = here(span))
    }
}

struct Params<'a> {
    known: Vec<&'a PatType>,
    names: Vec<&'a Ident>,
    handles: Vec<TokenStream>,
    mutable: Vec<Ident>,
}

/// Returns the parameters of a function, with the `#[known]` ones apart.
fn params(function: &ItemFn) -> Result<Params<'_>> {
    let mut params =
        Params { known: Vec::new(), names: Vec::new(), handles: Vec::new(), mutable: Vec::new() };
    for arg in &function.sig.inputs {
        let FnArg::Typed(arg) = arg else {
            return Err(Error::new(arg.span(), "no method can be a routine"));
        };
        if arg.attrs.iter().any(|attr| attr.path().is_ident("known")) {
            params.known.push(arg);
            continue;
        }
        let Pat::Ident(pat) = &*arg.pat else {
            return Err(Error::new(arg.pat.span(), "expected a name"));
        };
        params.names.push(&pat.ident);
        params.handles.push(handle(&arg.ty)?);
        if pat.mutability.is_some() {
            params.mutable.push(pat.ident.clone());
        }
    }
    Ok(params)
}

/// Translates a function.
pub(crate) fn translate(
    function: &ItemFn,
    inline: bool,
    symbol: Option<&syn::Path>,
) -> Result<TokenStream> {
    let result = match &function.sig.output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, ty) => handle(ty)?,
    };
    let params = params(function)?;
    let b = Ident::new("builder", Span::mixed_site());
    let after =
        (inline && has_return(&function.block)).then(|| Ident::new("after", Span::mixed_site()));
    let mut translator = Translator {
        b,
        result: result.clone(),
        after,
        scope: params.mutable.clone(),
        loops: Vec::new(),
        temporaries: 0,
    };
    let body = translator.body(function, inline)?;
    if inline {
        inline_function(function, &params, &result, &body)
    } else {
        routine(function, symbol, &params, &result, &body)
    }
}

/// Returns the items of an ordinary routine: a Rust function that emits a call, and a type that builds the function.
fn routine(
    function: &ItemFn,
    symbol: Option<&syn::Path>,
    params: &Params<'_>,
    result: &TokenStream,
    body: &TokenStream,
) -> Result<TokenStream> {
    if let Some(known) = params.known.first() {
        return Err(Error::new(
            known.span(),
            "only a function that is inline has parameters that are known",
        ));
    }
    let generics = &function.sig.generics;
    if symbol.is_none() && !generics.params.is_empty() {
        return Err(Error::new(
            generics.span(),
            "the symbol of each instance is missing: `#[routine(T::SYMBOL)]`",
        ));
    }
    let t = typed();
    let (attrs, vis, name) = (&function.attrs, &function.vis, &function.sig.ident);
    let (names, handles) = (&params.names, &params.handles);
    let b = Ident::new("builder", Span::mixed_site());
    let (bounds, args, conditions) = generics.split_for_impl();
    let of = generics.type_params().map(|param| &param.ident);
    let builder = builder(function, symbol, params, result, body);
    Ok(quote! {
        #(#attrs)*
        #[allow(dead_code, clippy::too_many_arguments, reason = "some are called by compiled code only")]
        #vis fn #name #bounds (
            #b: &mut ::tvm_ffi_codegen::ir::Builder<'_>,
            #(#names: impl #t::Make<#handles>),*
        ) -> #result #conditions {
            #(let #names: #handles = #t::make(#b, #names);)*
            #t::call::<#name #args, #result>(#b, (#(#names,)*))
        }

        #(#attrs)*
        #[allow(non_camel_case_types, dead_code, reason = "the name of the function")]
        #[derive(Debug)]
        #vis struct #name #bounds #conditions { of: ::core::marker::PhantomData<(#(#of,)*)> }

        #builder
    })
}

/// Returns the implementation of `Routine`, which builds the function.
fn builder(
    function: &ItemFn,
    symbol: Option<&syn::Path>,
    params: &Params<'_>,
    result: &TokenStream,
    body: &TokenStream,
) -> TokenStream {
    let t = typed();
    let name = &function.sig.ident;
    let (bounds, args, conditions) = function.sig.generics.split_for_impl();
    let symbol = match symbol {
        Some(symbol) => quote!(#symbol),
        None => quote!(::core::concat!("tvm_ffi_codegen.", ::core::stringify!(#name))),
    };
    let (names, handles, mutable) = (&params.names, &params.handles, &params.mutable);
    let b = Ident::new("builder", Span::mixed_site());
    quote! {
        impl #bounds #t::Routine for #name #args #conditions {
            const NAME: &'static str = #symbol;

            fn signature() -> ::tvm_ffi_codegen::ir::Signature {
                #t::signature_of::<(#(#handles,)*), #result>()
            }

            #[allow(clippy::all, unused_assignments, unused_braces, unused_imports, unused_parens, reason = "translated")]
            fn build(#b: &mut ::tvm_ffi_codegen::ir::Builder<'_>) {
                use #t::Handle as _;
                let (#(#names,)*): (#(#handles,)*) = #t::param(#b);
                #(let mut #mutable = #mutable;)*
                #body
            }
        }
    }
}

/// Returns the item of an inline routine: a Rust function that emits the body at the call.
fn inline_function(
    function: &ItemFn,
    params: &Params<'_>,
    result: &TokenStream,
    body: &TokenStream,
) -> Result<TokenStream> {
    let t = typed();
    let (attrs, vis, name) = (&function.attrs, &function.vis, &function.sig.ident);
    let (names, handles, mutable) = (&params.names, &params.handles, &params.mutable);
    let known = params.known.iter().map(|arg| {
        let (pat, ty) = (&arg.pat, &arg.ty);
        quote!(#pat: #ty)
    });
    let b = Ident::new("builder", Span::mixed_site());
    let (bounds, _, conditions) = function.sig.generics.split_for_impl();
    Ok(quote! {
        #(#attrs)*
        #[allow(clippy::all, unused_assignments, unused_braces, unused_imports, unused_parens, reason = "translated")]
        #vis fn #name #bounds (
            #b: &mut ::tvm_ffi_codegen::ir::Builder<'_>,
            #(#known,)*
            #(#names: impl #t::Make<#handles>),*
        ) -> #result #conditions {
            use #t::Handle as _;
            #(let #names: #handles = #t::make(#b, #names);)*
            #(let mut #mutable = #mutable;)*
            #body
        }
    })
}

/// Returns false for loops and for `if` without `else`, which yield no value.
fn yields(tail: &Expr) -> bool {
    match tail {
        Expr::While(_) | Expr::ForLoop(_) | Expr::Loop(_) => false,
        Expr::If(branch) => branch.else_branch.is_some(),
        _ => true,
    }
}

impl Translator {
    /// Translates the body of a function, which returns on every path.
    fn body(&mut self, function: &ItemFn, inline: bool) -> Result<TokenStream> {
        let (t, b, result) = (typed(), self.b.clone(), self.result.clone());
        let block = &function.block;
        let end = block.brace_token.span.close();
        let here = here(end);
        let ends = block_ends(block);
        let has_tail = matches!(block.stmts.last(), Some(Stmt::Expr(tail, None)) if yields(tail));
        let returns = matches!(function.sig.output, ReturnType::Type(..));
        if returns && !ends && !has_tail {
            return Err(Error::new(
                end,
                "control reaches the end of a routine that returns something",
            ));
        }
        let statements = self.statements(&block.stmts, Some(&result))?;
        let end =
            if ends { quote!({ #statements }) } else { self.leave(&quote!({ #statements }), end) };
        Ok(match (&self.after, inline) {
            (None, true) if !ends => quote_spanned!(here=> {
                let value = { #statements };
                #t::make(#b, value)
            }),
            (None, _) => quote!(#end;),
            (Some(after), _) => quote_spanned! {here=>
                let #after = #b.block("after");
                let yielded: #result = #t::params(#b, #after, &[]);
                #end;
                #b.switch_to(#after);
                yielded
            },
        })
    }

    /// Emits a return with the handle that `value` yields.
    pub(crate) fn leave(&self, value: &TokenStream, span: Span) -> TokenStream {
        let (t, b, result, span) = (typed(), &self.b, &self.result, here(span));
        let leave = match &self.after {
            Some(after) => quote_spanned!(span=> #t::jump(#b, #after, value)),
            None => quote_spanned!(span=> {
                let value = #t::words(#b, value);
                #b.ret(value.first().copied())
            }),
        };
        quote_spanned!(span=> {
            let value = #value;
            let value: #result = #t::make(#b, value);
            #leave
        })
    }

    /// Translates `return e`.
    pub(crate) fn returned(
        &mut self,
        value: Option<&syn::Expr>,
        span: Span,
    ) -> Result<TokenStream> {
        let result = self.result.clone();
        let value = match value {
            Some(value) => self.value(value, Some(&result))?,
            None => parse_quote!(()),
        };
        Ok(self.leave(&value, span))
    }
}
