//! Control flow.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{
    BinOp, Block, Error, Expr, ExprForLoop, ExprIf, ExprMatch, Ident, Pat, RangeLimits, Result,
    UnOp, parse_quote_spanned,
};

use crate::analysis::{
    self, Kind, assigned, block_ends, block_kind, has_break, kind, never_returns,
};
use crate::function::{Loop, Translator};
use crate::types::{here, typed};

impl Translator {
    /// `if`, with what it yields.
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
        let (t, b, span) = (typed(), self.b.clone(), here(branch.span()));
        let [yes, no] = ["yes", "no"].map(|word| self.temporary(word, span));
        let vars = assigned(&self.scope, |found| {
            found.visit_block(&branch.then_branch);
            found.visit_expr(otherwise);
        });
        let cond = self.condition(cond, &quote!(#yes), &quote!(#no))?;
        let ends = [block_ends(&branch.then_branch), never_returns(otherwise)];
        let then = self.block(&branch.then_branch, expect)?;
        let other = self.value(otherwise, expect)?;
        let head = quote_spanned! {span=>
            let #yes: ::tvm_ffi_codegen::ir::Target = #b.block("then").into();
            let #no: ::tvm_ffi_codegen::ir::Target = #b.block("else").into();
            #cond
            let before = (#(#vars,)*);
            #b.switch_to(#yes.block);
        };
        let second = quote_spanned! {span=>
            (#(#vars,)*) = before;
            #b.switch_to(#no.block);
        };
        Ok(match ends {
            [true, _] => quote_spanned!(span=> { #head #then; #second #other }),
            [false, true] => quote_spanned!(span=> {
                #head
                let value = #then;
                let (end, kept) = (#b.current(), (#(#vars,)*));
                #second
                #other;
                #b.switch_to(end);
                (#(#vars,)*) = kept;
                value
            }),
            [false, false] => quote_spanned!(span=> {
                #head
                let value = #then;
                let one = (value, (#(#vars,)*));
                let first = #t::arm(#b, one);
                #second
                let value = #other;
                let value = #t::like(#b, value, one.0);
                let last = #t::arm(#b, (value, (#(#vars,)*)));
                let value;
                (value, (#(#vars,)*)) = #t::join(#b, [first, last], || one);
                value
            }),
        })
    }

    /// One of two values that may both be computed.
    fn select(
        &mut self,
        branch: &ExprIf,
        otherwise: &Expr,
        expect: Option<&TokenStream>,
    ) -> Result<TokenStream> {
        let (t, b, span) = (typed(), self.b.clone(), here(branch.span()));
        let is_literal =
            [block_kind(&branch.then_branch), kind(otherwise)].map(|kind| kind == Kind::Literal);
        if is_literal == [true, true] && expect.is_none() {
            return Err(Error::new(span, "the type of two literals: write `let x: u64 = if …`"));
        }
        let cond = self.value(&branch.cond, None)?;
        let (then, other) =
            (self.block(&branch.then_branch, expect)?, self.value(otherwise, expect)?);
        Ok(if is_literal[0] && expect.is_none() {
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

    /// `if` without `else`: what is behind it is where it goes if the condition fails.
    fn if_then(&mut self, branch: &ExprIf) -> Result<TokenStream> {
        let (t, b, span) = (typed(), self.b.clone(), here(branch.span()));
        let [yes, no] = ["yes", "no"].map(|word| self.temporary(word, span));
        let ends = block_ends(&branch.then_branch);
        let vars = if ends {
            Vec::new()
        } else {
            assigned(&self.scope, |found| found.visit_block(&branch.then_branch))
        };
        let names = vars.iter().map(ToString::to_string);
        let cond = self.condition(&branch.cond, &quote!(#yes), &quote!(#no))?;
        let then = self.block(&branch.then_branch, None)?;
        let merge = if ends { quote!() } else { quote!(#t::jump(#b, #no.block, (#(#vars,)*));) };
        let is_cold = analysis::raises(&branch.then_branch);
        let block = if is_cold { quote!(cold_block) } else { quote!(block) };
        Ok(quote_spanned!(span=> {
            let #yes: ::tvm_ffi_codegen::ir::Target = #b.#block("then").into();
            let mut #no: ::tvm_ffi_codegen::ir::Target = #b.block("join").into();
            #no.args = #t::words(#b, (#(#vars,)*));
            let mut behind = (#(#vars,)*);
            if !#no.args.is_empty() {
                behind = #t::params(#b, #no.block, &[#(#names),*]);
            }
            #cond
            #b.switch_to(#yes.block);
            #then;
            #merge
            #b.switch_to(#no.block);
            (#(#vars,)*) = behind;
        }))
    }

    /// Leaves for one of two targets.
    fn condition(
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

    /// `match`, as the `if`s that it stands for.
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

    /// `while`, and `loop` if there is no condition.
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
        self.turns(
            Loop { carried, head, next: None, done },
            &leave,
            (&quote!(), &quote!(()), &quote!(()), &test),
            body,
            span,
        )
    }

    /// The blocks of a loop: what it starts with besides what it carries, what that is called, and its test.
    fn turns(
        &mut self,
        this: Loop,
        leave: &Ident,
        (start, initial, index, test): (&TokenStream, &TokenStream, &TokenStream, &TokenStream),
        body: &Block,
        span: Span,
    ) -> Result<TokenStream> {
        let (t, b) = (typed(), self.b.clone());
        let (head, done, vars) = (this.head.clone(), this.done.clone(), this.carried.clone());
        let next = this.next.clone().unwrap_or_else(|| quote!(()));
        let names: Vec<String> = vars.iter().map(ToString::to_string).collect();
        let counter = this.next.as_ref().map(|_| quote!("",));
        let breaks = has_break(body);
        self.loops.push(this);
        let body = self.block(body, None)?;
        self.loops.pop();
        // Without a break what is behind the loop has what its head has.
        let after = if breaks {
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
        };
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
            #after
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

    /// `for`
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
        let (first, last) = (self.value(low, None)?, self.value(high, None)?);
        let start = if kind(low) == Kind::Literal {
            quote_spanned!(here(range.span())=> let #most = #last; let #least = #t::like(#b, #first, #most);)
        } else {
            quote_spanned!(here(range.span())=> let #least = #first; let #most = #last; let #most = #t::like(#b, #most, #least);)
        };
        let one = quote!(#t::Literal::<1>);
        let (initial, test, next) = if backward {
            let step = quote_spanned!(span=> let #name = #t::sub(#b, #name, #one););
            (&most, quote!((#least, #name)), (step, quote!(#name)))
        } else {
            (&least, quote!((#name, #most)), (quote!(), quote!(#t::add(#b, #name, #one))))
        };
        let (step, next) = next;
        let test = quote_spanned! {span=>
            let inner: ::tvm_ffi_codegen::ir::Target = #b.block("body").into();
            let (lower, upper) = #test;
            let more = #t::is_less(#b, lower, upper);
            #t::branch(#b, more, &inner, &#leave);
            #b.switch_to(inner.block);
            #step
        };
        let this = Loop { carried, head, next: Some(next), done };
        self.turns(
            this,
            &leave,
            (&start, &quote!(#initial), &quote!(#name), &test),
            &each.body,
            span,
        )
    }

    /// `break`
    pub(crate) fn broken(&mut self, span: Span) -> Result<TokenStream> {
        let (t, b) = (typed(), &self.b);
        let this = self.loops.last().ok_or_else(|| Error::new(span, "no loop to break out of"))?;
        let (vars, done) = (&this.carried, &this.done);
        Ok(quote_spanned!(span=> #t::jump(#b, #done, (#(#vars,)*))))
    }

    /// `continue`
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

/// The range of a loop, and whether it goes from its end to its start.
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

/// The body of a case as a block.
fn block_of(body: &Expr) -> Expr {
    match body {
        Expr::Block(_) => body.clone(),
        other => parse_quote_spanned!(here(other.span())=> { #other }),
    }
}

/// Whether the subject of a match is what a pattern says.
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
