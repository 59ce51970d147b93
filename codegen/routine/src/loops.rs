//! The translation of loops: variables that they assign become parameters of the head block.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Block, Error, Expr, ExprForLoop, Pat, RangeLimits, Result};

use crate::analysis::{Kind, assigned, has_break, kind};
use crate::function::{Loop, Translator};
use crate::types::{here, typed};

/// The parts of a loop that depend on its kind.
struct Turns {
    /// Code before the loop.
    start: TokenStream,
    /// The initial value of the counter; `()` without one.
    initial: TokenStream,
    /// The pattern of the counter; `()` without one.
    index: TokenStream,
    /// Code that tests for another iteration.
    test: TokenStream,
    /// The target after the last iteration.
    leave: Ident,
}

impl Translator {
    /// Translates `while`, and `loop` if there is no condition.
    pub(crate) fn repeat(
        &mut self,
        cond: Option<&Expr>,
        body: &Block,
        span: Span,
    ) -> Result<TokenStream> {
        let b = self.b.clone();
        let carried = assigned(&self.scope, |found| found.visit_block(body));
        let [head, done, inner, leave] =
            ["head", "done", "inner", "leave"].map(|word| self.temporary(word, span));
        let test = match cond {
            Some(cond) => {
                let test = self.condition(cond, &quote!(#inner), &quote!(#leave))?;
                quote_spanned! {span=>
                    let #inner: ::tvm_ffi_codegen::ir::Target = #b.block("body").into();
                    #test
                    #b.switch_to(#inner.block);
                }
            }
            None => quote!(),
        };
        let none = quote!(());
        let turns = Turns { start: quote!(), initial: none.clone(), index: none, test, leave };
        self.turns(Loop { carried, head, next: None, done }, &turns, body, span)
    }

    /// Emits the blocks of a loop.
    fn turns(
        &mut self,
        this: Loop,
        turns: &Turns,
        body: &Block,
        span: Span,
    ) -> Result<TokenStream> {
        let (t, b) = (typed(), self.b.clone());
        let (head, done, vars) = (this.head.clone(), this.done.clone(), this.carried.clone());
        let next = this.next.clone().unwrap_or_else(|| quote!(()));
        let names: Vec<String> = vars.iter().map(ToString::to_string).collect();
        let counter = this.next.as_ref().map(|_| quote!("",));
        let behind = self.behind(&this, &turns.leave, has_break(body), span);
        self.loops.push(this);
        let body = self.block(body, None)?;
        self.loops.pop();
        let Turns { start, initial, index, test, .. } = turns;
        Ok(quote_spanned!(span=> {
            #start
            let #head = #b.block("loop");
            let #done = #b.block("done");
            let first = (#initial, (#(#vars,)*));
            #t::jump(#b, #head, first);
            let (#index, turn) = #t::params_like(#b, #head, &[#counter #(#names),*], first);
            (#(#vars,)*) = turn;
            #b.switch_to(#head);
            let carried = #t::words(#b, (#(#vars,)*));
            #behind
            #test
            #body;
            if !#b.ended() {
                let following = #next;
                #t::jump(#b, #head, (following, (#(#vars,)*)));
            }
            #b.switch_to(#done);
            (#(#vars,)*) = behind;
        }))
    }

    /// Emits the values behind a loop, and the target by which its head leaves. Without a `break` the values are those
    /// of the head.
    fn behind(&self, this: &Loop, leave: &Ident, breaks: bool, span: Span) -> TokenStream {
        let (t, b, done, vars) = (typed(), &self.b, &this.done, &this.carried);
        let names = vars.iter().map(ToString::to_string);
        if breaks {
            quote_spanned! {span=>
                let mut behind = (#(#vars,)*);
                if !carried.is_empty() {
                    behind = #t::params(#b, #done, &[#(#names),*]);
                }
                let #leave = ::tvm_ffi_codegen::ir::Target { block: #done, args: carried };
            }
        } else {
            quote_spanned! {span=>
                let behind = (#(#vars,)*);
                let #leave: ::tvm_ffi_codegen::ir::Target = #done.into();
            }
        }
    }

    /// Translates `for`.
    pub(crate) fn each(&mut self, each: &ExprForLoop) -> Result<TokenStream> {
        let (t, b, span) = (typed(), self.b.clone(), here(each.span()));
        let name = match &*each.pat {
            Pat::Ident(pat) => pat.ident.clone(),
            Pat::Wild(wild) => self.temporary("turn", wild.span()),
            other => return Err(Error::new(other.span(), "expected a name or `_`")),
        };
        let (range, backward) = range(&each.expr)?;
        let (Some(low), Some(high)) = (&range.start, &range.end) else {
            return Err(Error::new(range.span(), "expected `a..b`"));
        };
        let carried = assigned(&self.scope, |found| found.visit_block(&each.body));
        let [head, done, leave, least, most] =
            ["head", "done", "leave", "least", "most"].map(|word| self.temporary(word, span));
        let (lower, upper) = (self.value(low, None)?, self.value(high, None)?);
        let span_of_range = here(range.span());
        // Both bounds are of one type; an untyped literal takes the type of the other bound.
        let start = if kind(low) == Kind::Literal {
            quote_spanned!(span_of_range=>
                let #most = #upper;
                let #least = #t::like(#b, #lower, #most);
            )
        } else {
            quote_spanned!(span_of_range=>
                let #least = #lower;
                let #most = #upper;
                let #most = #t::like(#b, #most, #least);
            )
        };
        let one = quote!(#t::Literal::<1>);
        let (lower, upper) = if backward { (&least, &name) } else { (&name, &most) };
        let test = quote_spanned! {span=>
            let inner: ::tvm_ffi_codegen::ir::Target = #b.block("body").into();
            let (lower, upper) = (#lower, #upper);
            let more = #t::is_less(#b, lower, upper);
            #t::branch(#b, more, &inner, &#leave);
            #b.switch_to(inner.block);
        };
        let (initial, step, next) = if backward {
            let step = quote_spanned!(span=> let #name = #t::sub(#b, #name, #one););
            (&most, step, quote!(#name))
        } else {
            (&least, quote!(), quote!(#t::add(#b, #name, #one)))
        };
        let test = quote!(#test #step);
        let turns = Turns { start, initial: quote!(#initial), index: quote!(#name), test, leave };
        self.turns(Loop { carried, head, next: Some(next), done }, &turns, &each.body, span)
    }

    /// Translates `break`.
    pub(crate) fn broken(&mut self, span: Span) -> Result<TokenStream> {
        let (t, b) = (typed(), &self.b);
        let this = self.loops.last().ok_or_else(|| Error::new(span, "no loop to break out of"))?;
        let (vars, done) = (&this.carried, &this.done);
        Ok(quote_spanned!(span=> #t::jump(#b, #done, (#(#vars,)*))))
    }

    /// Translates `continue`.
    pub(crate) fn continued(&mut self, span: Span) -> Result<TokenStream> {
        let (t, b) = (typed(), &self.b);
        let this = self.loops.last().ok_or_else(|| Error::new(span, "no loop to continue"))?;
        let (vars, head) = (&this.carried, &this.head);
        let next = this.next.clone().unwrap_or_else(|| quote!(()));
        Ok(
            quote_spanned!(span=> { let following = #next; #t::jump(#b, #head, (following, (#(#vars,)*))) }),
        )
    }
}

/// Returns the range of a loop, and whether it is reversed.
fn range(expr: &Expr) -> Result<(&syn::ExprRange, bool)> {
    match expr {
        Expr::Range(range) if matches!(range.limits, RangeLimits::HalfOpen(_)) => {
            Ok((range, false))
        }
        Expr::Paren(inner) => range(&inner.expr),
        Expr::MethodCall(call) if call.method == "rev" => Ok((range(&call.receiver)?.0, true)),
        other => Err(Error::new(other.span(), "expected `a..b` or `(a..b).rev()`")),
    }
}
