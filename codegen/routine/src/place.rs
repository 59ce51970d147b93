//! Places in memory: `*p`, `p[i]`, `p.field`, and their loads, stores and addresses.

use proc_macro2::TokenStream;
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::{Error, Expr, Result, UnOp};

use crate::analysis::named;
use crate::function::Translator;
use crate::types::{here, typed};

impl Translator {
    /// Translates a load from a place.
    pub(crate) fn loaded(&mut self, expr: &Expr) -> Result<TokenStream> {
        let (t, b, span) = (typed(), self.b.clone(), here(expr.span()));
        match expr {
            Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => {
                let address = self.value(&unary.expr, None)?;
                Ok(quote_spanned!(span=> { let address = #address; #t::load(#b, address) }))
            }
            Expr::Index(index) => {
                let (base, at) = (self.value(&index.expr, None)?, self.value(&index.index, None)?);
                Ok(
                    quote_spanned!(span=> { let base = #base; let at = #at; #t::load_at(#b, base, at) }),
                )
            }
            Expr::Field(field) => {
                let Some(name) = named(&field.member) else {
                    return Err(Error::new(field.member.span(), "a tuple is taken apart by `let`"));
                };
                let owner = self.owner(&field.base)?;
                Ok(quote_spanned!(here(name.span())=> {
                    let owner = #owner;
                    #t::get(#b, owner, owner.fields().#name)
                }))
            }
            _ => Err(Error::new(span, "no place in memory")),
        }
    }

    /// Translates the owner of a field to its address: `p` in `p.field`, `&p[i]` in `p[i].field`.
    fn owner(&mut self, base: &Expr) -> Result<TokenStream> {
        match base {
            Expr::Index(_) => self.address(base),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => {
                self.value(&unary.expr, None)
            }
            Expr::Paren(inner) => self.owner(&inner.expr),
            _ => self.value(base, None),
        }
    }

    /// Translates `&place`.
    pub(crate) fn address(&mut self, place: &Expr) -> Result<TokenStream> {
        let (t, b, span) = (typed(), self.b.clone(), here(place.span()));
        match place {
            Expr::Paren(inner) => self.address(&inner.expr),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => {
                self.value(&unary.expr, None)
            }
            Expr::Index(index) => {
                let (base, at) = (self.value(&index.expr, None)?, self.value(&index.index, None)?);
                Ok(quote_spanned!(span=> { let base = #base; let at = #at; #t::at(#b, base, at) }))
            }
            Expr::Field(field) => {
                let owner = self.owner(&field.base)?;
                let name = &field.member;
                Ok(quote_spanned!(here(name.span())=> {
                    let owner = #owner;
                    #t::address_of(#b, owner, owner.fields().#name)
                }))
            }
            _ => {
                Err(Error::new(span, "only what is in memory has an address: `&p[i]`, `&p.field`"))
            }
        }
    }

    /// Translates `place = value`, where `value` is a Rust variable.
    pub(crate) fn stored(&mut self, place: &Expr, value: &syn::Ident) -> Result<TokenStream> {
        let (t, b, span) = (typed(), self.b.clone(), here(place.span()));
        match place {
            Expr::Paren(inner) => self.stored(&inner.expr, value),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => {
                let address = self.value(&unary.expr, None)?;
                Ok(
                    quote_spanned!(span=> { let address = #address; #t::store(#b, address, #value) }),
                )
            }
            Expr::Index(index) => {
                let (base, at) = (self.value(&index.expr, None)?, self.value(&index.index, None)?);
                Ok(quote_spanned!(span=> {
                    let base = #base;
                    let at = #at;
                    #t::store_at(#b, base, at, #value)
                }))
            }
            Expr::Field(field) => {
                let owner = self.owner(&field.base)?;
                let name = &field.member;
                Ok(quote_spanned!(here(name.span())=> {
                    let owner = #owner;
                    #t::set(#b, owner, owner.fields().#name, #value)
                }))
            }
            _ => Err(Error::new(span, "neither a variable nor a place in memory")),
        }
    }
}
