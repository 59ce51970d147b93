//! The translation of statements.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Block, Error, Expr, Local, Pat, Result, Stmt, Token, Type};

use crate::analysis::{Kind, bound, ends, kind};
use crate::function::Translator;
use crate::types::{handle, here, stored, typed};

impl Translator {
    /// Translates a block, which yields its last expression.
    pub(crate) fn block(
        &mut self,
        block: &Block,
        expect: Option<&TokenStream>,
    ) -> Result<TokenStream> {
        let statements = self.statements(&block.stmts, expect)?;
        Ok(quote_spanned!(here(block.span())=> { #statements }))
    }

    /// Translates statements, which yield the value of the last one.
    pub(crate) fn statements(
        &mut self,
        stmts: &[Stmt],
        expect: Option<&TokenStream>,
    ) -> Result<TokenStream> {
        let outside = self.scope.len();
        let mut all = TokenStream::new();
        for (at, stmt) in stmts.iter().enumerate() {
            if at > 0 && ends(&stmts[at - 1]) {
                return Err(Error::new(stmt.span(), "control never gets here"));
            }
            all.extend(self.statement(stmt, expect)?);
        }
        self.scope.truncate(outside);
        Ok(all)
    }

    fn statement(&mut self, stmt: &Stmt, expect: Option<&TokenStream>) -> Result<TokenStream> {
        match stmt {
            Stmt::Local(local) => self.local(local),
            Stmt::Expr(expr, None) => self.value(expr, expect),
            Stmt::Expr(expr, Some(_)) => {
                let effect = self.value(expr, None)?;
                Ok(quote!(let _ = #effect;))
            }
            Stmt::Macro(stmt) => self.raise(&stmt.mac),
            Stmt::Item(item) => {
                Err(Error::new(item.span(), "an item stands outside of the function"))
            }
        }
    }

    /// Translates `let`.
    fn local(&mut self, local: &Local) -> Result<TokenStream> {
        let (pat, ty) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
            pat => (pat, None),
        };
        let Some(init) = &local.init else { return self.room(pat, ty, local) };
        let (t, b) = (typed(), self.b.clone());
        let expect = ty.map(handle).transpose()?;
        if expect.is_none() && kind(&init.expr) == Kind::Literal {
            return Err(Error::new(
                init.expr.span(),
                "the type of a literal: write `let x: u64 = …`",
            ));
        }
        let value = self.value(&init.expr, expect.as_ref())?;
        let span = here(local.span());
        let value = match &expect {
            Some(expect) => {
                quote_spanned!(span=> { let value = #value; #t::make::<#expect>(#b, value) })
            }
            None => value,
        };
        let mutable = is_mutable(pat);
        if mutable {
            bound(pat, &mut self.scope);
        } else {
            let mut names = Vec::new();
            bound(pat, &mut names);
            self.scope.retain(|name| !names.contains(name));
        }
        Ok(quote_spanned!(span=> let #pat = #value;))
    }

    /// Translates `let x: T;` and `let x: [T; N];` to a stack slot.
    fn room(&mut self, pat: &Pat, ty: Option<&Type>, local: &Local) -> Result<TokenStream> {
        let (t, b) = (typed(), &self.b);
        match ty {
            None => Err(Error::new(local.span(), "the type of what there is to be room for")),
            Some(Type::Array(array)) => {
                let (element, count) = (stored(&array.elem), &array.len);
                Ok(
                    quote_spanned!(here(array.span())=> let #pat = #t::room::<#element>(#b, (#count) as u32);),
                )
            }
            Some(ty) => {
                let ty = stored(ty);
                Ok(quote_spanned!(here(ty.span())=> let #pat = #t::room::<#ty>(#b, 1);))
            }
        }
    }

    /// Translates `raise!(where, complaint, values…)`.
    pub(crate) fn raise(&mut self, mac: &syn::Macro) -> Result<TokenStream> {
        if !mac.path.is_ident("raise") {
            return Err(Error::new(mac.span(), "no macro but `raise!`"));
        }
        let (t, b, span) = (typed(), self.b.clone(), here(mac.span()));
        let args = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(mac.tokens.clone())?;
        let mut args = args.iter();
        let (Some(place), Some(complaint)) = (args.next(), args.next()) else {
            return Err(Error::new(span, "expected where it is raised, and a complaint"));
        };
        let place = self.value(place, None)?;
        let values = args.map(|arg| self.value(arg, None)).collect::<Result<Vec<_>>>()?;
        let name = &mac.path;
        let result = &self.result;
        let failing = self.leave(&quote!(<#result as #t::Failing>::failing(#b)), span);
        Ok(quote_spanned!(span=> {
            let place = #place;
            let mut words = ::std::vec::Vec::new();
            #({ let value = #values; #t::Raise::words(value, #b, &mut words); })*
            #name(#b, place, #complaint, &words);
            #failing
        }))
    }
}

fn is_mutable(pat: &Pat) -> bool {
    match pat {
        Pat::Ident(pat) => pat.mutability.is_some(),
        Pat::Tuple(tuple) => tuple.elems.iter().any(is_mutable),
        _ => false,
    }
}
