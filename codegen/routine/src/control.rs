//! The translation of control flow: `if`, `match`, conditions.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{BinOp, Error, Expr, ExprIf, ExprMatch, Ident, Pat, Result, UnOp, parse_quote_spanned};

use crate::analysis::{Kind, assigned, block_ends, block_kind, kind, never_returns, raises};
use crate::function::Translator;
use crate::types::{here, typed};

/// An arm of an `if` that yields a value.
struct Arm {
    /// Switches to the block of the arm.
    enter: TokenStream,
    /// Emits the arm, and yields its handle.
    value: TokenStream,
    /// True if control never gets behind the arm.
    ends: bool,
}

impl Translator {
    /// Translates an `if` that yields a value.
    pub(crate) fn branch(
        &mut self,
        branch: &ExprIf,
        expect: Option<&TokenStream>,
    ) -> Result<TokenStream> {
        let Some((_, otherwise)) = &branch.else_branch else { return self.if_then(branch) };
        let arms = block_kind(&branch.then_branch).max(kind(otherwise));
        let cond = &branch.cond;
        if arms <= Kind::Pure {
            return self.select(branch, otherwise, expect);
        }
        let (b, span) = (self.b.clone(), here(branch.span()));
        let [yes, no] = ["yes", "no"].map(|word| self.temporary(word, span));
        let vars = assigned(&self.scope, |found| {
            found.visit_block(&branch.then_branch);
            found.visit_expr(otherwise);
        });
        let cond = self.condition(cond, &quote!(#yes), &quote!(#no))?;
        let value = self.block(&branch.then_branch, expect)?;
        let enter = quote_spanned! {span=>
            let #yes: ::tvm_ffi_codegen::ir::Target = #b.block("then").into();
            let #no: ::tvm_ffi_codegen::ir::Target = #b.block("else").into();
            #cond
            let before = (#(#vars,)*);
            #b.switch_to(#yes.block);
        };
        let then = Arm { enter, value, ends: block_ends(&branch.then_branch) };
        let value = self.value(otherwise, expect)?;
        let enter = quote_spanned! {span=>
            (#(#vars,)*) = before;
            #b.switch_to(#no.block);
        };
        let otherwise = Arm { enter, value, ends: never_returns(otherwise) };
        Ok(self.meet(&vars, &then, &otherwise, span))
    }

    /// Joins the arms of an `if`; an arm that ends does not reach the join.
    fn meet(&self, vars: &[Ident], then: &Arm, otherwise: &Arm, span: Span) -> TokenStream {
        let (t, b) = (typed(), &self.b);
        let Arm { enter: enter_then, value: then_value, .. } = then;
        let Arm { enter: enter_else, value: else_value, .. } = otherwise;
        match (then.ends, otherwise.ends) {
            (true, _) => {
                quote_spanned!(span=> { #enter_then #then_value; #enter_else #else_value })
            }
            (false, true) => quote_spanned!(span=> {
                #enter_then
                let value = #then_value;
                let (end, kept) = (#b.current(), (#(#vars,)*));
                #enter_else
                #else_value;
                #b.switch_to(end);
                (#(#vars,)*) = kept;
                value
            }),
            (false, false) => quote_spanned!(span=> {
                #enter_then
                let value = #then_value;
                let one = (value, (#(#vars,)*));
                let first = #t::arm(#b, one);
                #enter_else
                let value = #else_value;
                let value = #t::like(#b, value, one.0);
                let last = #t::arm(#b, (value, (#(#vars,)*)));
                let value;
                (value, (#(#vars,)*)) = #t::join(#b, [first, last], || one);
                value
            }),
        }
    }

    /// Translates an `if` whose arms may both be computed to a select.
    fn select(
        &mut self,
        branch: &ExprIf,
        otherwise: &Expr,
        expect: Option<&TokenStream>,
    ) -> Result<TokenStream> {
        let (t, b, span) = (typed(), self.b.clone(), here(branch.span()));
        let then_is_literal = block_kind(&branch.then_branch) == Kind::Literal;
        let else_is_literal = kind(otherwise) == Kind::Literal;
        if then_is_literal && else_is_literal && expect.is_none() {
            return Err(Error::new(span, "the type of two literals: write `let x: u64 = if …`"));
        }
        let cond = self.value(&branch.cond, None)?;
        let (then, other) =
            (self.block(&branch.then_branch, expect)?, self.value(otherwise, expect)?);
        Ok(if then_is_literal && expect.is_none() {
            quote_spanned!(span=> {
                let cond = #cond;
                let other = #other;
                let then = #then;
                let then = #t::like(#b, then, other);
                #t::select(#b, cond, then, other)
            })
        } else {
            quote_spanned!(span=> {
                let cond = #cond;
                let then = #then;
                let other = #other;
                #t::select(#b, cond, then, other)
            })
        })
    }

    /// Translates an `if` without `else`: a false condition branches to the block behind it.
    fn if_then(&mut self, branch: &ExprIf) -> Result<TokenStream> {
        let (t, b, span) = (typed(), self.b.clone(), here(branch.span()));
        let [yes, no] = ["yes", "no"].map(|word| self.temporary(word, span));
        let vars = assigned(&self.scope, |found| found.visit_block(&branch.then_branch));
        let names = vars.iter().map(ToString::to_string);
        let (test, is_unlikely) = likeliness(&branch.cond);
        let is_cold = is_unlikely || raises(&branch.then_branch);
        let block = Ident::new(if is_cold { "cold_block" } else { "block" }, Span::mixed_site());
        let cond = self.condition(test, &quote!(#yes), &quote!(#no))?;
        let then = self.block(&branch.then_branch, None)?;
        // A body that ends, in `return` or the like, assigns nothing that the code behind it sees.
        let (parameters, merge) = if block_ends(&branch.then_branch) {
            (quote!(), quote!())
        } else {
            let parameters = quote_spanned! {span=>
                #no.args = #t::words(#b, behind);
                if !#no.args.is_empty() {
                    behind = #t::params(#b, #no.block, &[#(#names),*]);
                }
            };
            (parameters, quote!(#t::jump(#b, #no.block, (#(#vars,)*));))
        };
        Ok(quote_spanned!(span=> {
            let #yes: ::tvm_ffi_codegen::ir::Target = #b.#block("then").into();
            let mut #no: ::tvm_ffi_codegen::ir::Target = #b.block("join").into();
            let mut behind = (#(#vars,)*);
            #parameters
            #cond
            #b.switch_to(#yes.block);
            #then;
            #merge
            #b.switch_to(#no.block);
            (#(#vars,)*) = behind;
        }))
    }

    /// Translates a condition to branches to two targets.
    pub(crate) fn condition(
        &mut self,
        cond: &Expr,
        yes: &TokenStream,
        no: &TokenStream,
    ) -> Result<TokenStream> {
        let (b, span) = (self.b.clone(), here(cond.span()));
        match cond {
            Expr::Paren(inner) => return self.condition(&inner.expr, yes, no),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => {
                return self.condition(&unary.expr, no, yes);
            }
            Expr::Binary(binary) if kind(&binary.right) == Kind::Effect => {
                let next = self.temporary("next", span);
                let first = match binary.op {
                    BinOp::And(_) => self.condition(&binary.left, &quote!(#next), no)?,
                    BinOp::Or(_) => self.condition(&binary.left, yes, &quote!(#next))?,
                    _ => return self.leaf(cond, yes, no),
                };
                let second = self.condition(&binary.right, yes, no)?;
                return Ok(quote_spanned!(span=>
                    let #next: ::tvm_ffi_codegen::ir::Target = #b.block("next").into();
                    #first
                    #b.switch_to(#next.block);
                    #second
                ));
            }
            _ => {}
        }
        self.leaf(cond, yes, no)
    }

    fn leaf(&mut self, cond: &Expr, yes: &TokenStream, no: &TokenStream) -> Result<TokenStream> {
        let (t, b, span) = (typed(), self.b.clone(), here(cond.span()));
        let value = self.value(cond, None)?;
        let name = self.temporary("cond", span);
        Ok(quote_spanned!(span=> let #name = #value; #t::branch(#b, #name, &#yes, &#no);))
    }

    /// Translates a `match` to a chain of `if`s.
    pub(crate) fn cases(
        &mut self,
        cases: &ExprMatch,
        expect: Option<&TokenStream>,
    ) -> Result<TokenStream> {
        let span = here(cases.span());
        let subject = self.temporary("subject", cases.expr.span());
        let Some((last, arms)) = cases.arms.split_last() else {
            return Err(Error::new(span, "a match without a case"));
        };
        if !matches!(last.pat, Pat::Wild(_)) {
            return Err(Error::new(last.pat.span(), "the last case is `_`"));
        }
        let mut chain = block_of(&last.body);
        for arm in arms.iter().rev() {
            let cond = pattern(&subject, &arm.pat)?;
            let body = block_of(&arm.body);
            let link: Expr =
                parse_quote_spanned!(here(arm.pat.span())=> if #cond #body else #chain);
            chain = link;
        }
        let value = self.value(&cases.expr, None)?;
        let chain = self.value(&chain, expect)?;
        Ok(quote_spanned!(span=> { let #subject = #value; #chain }))
    }
}

/// Returns the condition of an `if` without a mark `unlikely(…)`, and whether it has the mark.
fn likeliness(cond: &Expr) -> (&Expr, bool) {
    if let Expr::Call(call) = cond
        && let Expr::Path(path) = &*call.func
        && path.path.is_ident("unlikely")
        && let Some(inner) = call.args.first()
    {
        return (inner, true);
    }
    (cond, false)
}

/// Returns the body of a case as a block.
fn block_of(body: &Expr) -> Expr {
    match body {
        Expr::Block(_) => body.clone(),
        other => parse_quote_spanned!(here(other.span())=> { #other }),
    }
}

/// Returns the condition under which the subject of a match fits a pattern.
fn pattern(subject: &Ident, pat: &Pat) -> Result<Expr> {
    let span = here(pat.span());
    Ok(match pat {
        Pat::Lit(lit) => parse_quote_spanned!(span=> #subject == #lit),
        Pat::Path(path) => parse_quote_spanned!(span=> #subject == #path),
        Pat::Ident(name) => parse_quote_spanned!(span=> #subject == #name),
        Pat::Paren(inner) => pattern(subject, &inner.pat)?,
        Pat::Range(range) => {
            let (low, high) = (&range.start, &range.end);
            parse_quote_spanned!(span=> #subject >= #low && #subject <= #high)
        }
        Pat::Or(or) => {
            let cases =
                or.cases.iter().map(|pat| pattern(subject, pat)).collect::<Result<Vec<_>>>()?;
            let mut cases = cases.into_iter();
            let first = cases.next().ok_or_else(|| Error::new(span, "no case"))?;
            cases.fold(first, |all, case| parse_quote_spanned!(span=> #all || #case))
        }
        other => return Err(Error::new(other.span(), "expected a constant, a range, `|` or `_`")),
    })
}
