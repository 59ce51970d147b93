//! The translation of expressions.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{
    BinOp, Error, Expr, ExprAssign, ExprBinary, ExprCall, Ident, Result, UnOp, parse_quote,
    parse_quote_spanned,
};

use crate::analysis::{Kind, is_assignment, kind, variable};
use crate::function::Translator;
use crate::types::{handle, here, typed};

impl Translator {
    /// Translates an expression to a Rust expression that emits it and yields its handle. An untyped literal becomes a
    /// handle of type `expect`.
    pub(crate) fn value(
        &mut self,
        expr: &Expr,
        expect: Option<&TokenStream>,
    ) -> Result<TokenStream> {
        let (t, b, span) = (typed(), self.b.clone(), here(expr.span()));
        match kind(expr) {
            Kind::Literal => {
                let literal = quote_spanned!(span=> #t::Literal::<{ #expr }>);
                return Ok(match expect {
                    Some(expect) => quote_spanned!(span=> #t::make::<#expect>(#b, #literal)),
                    None => literal,
                });
            }
            Kind::Const => return Ok(quote_spanned!(span=> #t::constant(#b, #expr))),
            Kind::Pure | Kind::Effect => {}
        }
        match expr {
            Expr::Path(path) if path.path.is_ident("null") => Ok(quote_spanned!(span=> #t::NULL)),
            Expr::Path(path) => Ok(quote!(#path)),
            Expr::Paren(inner) => self.value(&inner.expr, expect),
            Expr::Group(inner) => self.value(&inner.expr, expect),
            Expr::Block(block) => self.block(&block.block, expect),
            Expr::If(branch) => self.branch(branch, expect),
            Expr::Match(cases) => self.cases(cases, expect),
            Expr::While(repeat) => self.repeat(Some(&repeat.cond), &repeat.body, span),
            Expr::Loop(repeat) => self.repeat(None, &repeat.body, span),
            Expr::ForLoop(each) => self.each(each),
            Expr::Return(end) => self.returned(end.expr.as_deref(), span),
            Expr::Break(end) if end.expr.is_none() && end.label.is_none() => self.broken(span),
            Expr::Continue(end) if end.label.is_none() => self.continued(span),
            Expr::Macro(mac) => self.raise(&mac.mac),
            _ => self.operation(expr, span),
        }
    }

    /// Translates arithmetic, loads, stores and calls.
    fn operation(&mut self, expr: &Expr, span: Span) -> Result<TokenStream> {
        let (t, b) = (typed(), self.b.clone());
        match expr {
            Expr::Tuple(tuple) => {
                let all = tuple
                    .elems
                    .iter()
                    .map(|one| self.value(one, None))
                    .collect::<Result<Vec<_>>>()?;
                Ok(quote_spanned!(span=> (#(#all,)*)))
            }
            Expr::Struct(made) => self.made(made),
            Expr::Unary(unary) => self.unary(unary, expr),
            Expr::Binary(binary) if is_assignment(&binary.op) => self.changed(binary),
            Expr::Binary(binary) => self.binary(binary),
            Expr::Assign(assign) => self.assigned(assign),
            Expr::Index(_) | Expr::Field(_) => self.loaded(expr),
            Expr::Reference(reference) => self.address(&reference.expr),
            Expr::Cast(cast) => {
                let (value, to) = (self.value(&cast.expr, None)?, handle(&cast.ty)?);
                Ok(quote_spanned!(span=> { let value = #value; #t::cast::<#to, _>(#b, value) }))
            }
            Expr::Call(call) => self.call(call),
            Expr::MethodCall(call) => self.method(call),
            Expr::Try(inner) => self.tried(&inner.expr, span),
            _ => Err(Error::new(span, "this is not part of the language of routines")),
        }
    }

    /// Translates a call of a method of a handle; the builder becomes the first argument.
    fn method(&mut self, call: &syn::ExprMethodCall) -> Result<TokenStream> {
        let b = self.b.clone();
        let receiver = self.value(&call.receiver, None)?;
        let method = &call.method;
        let (bind, names) = self.arguments(call.args.iter())?;
        Ok(quote_spanned!(here(method.span())=> {
            let receiver = #receiver;
            #bind
            receiver.#method(#b, #(#names),*)
        }))
    }

    /// Translates the construction of a struct of handles.
    fn made(&mut self, made: &syn::ExprStruct) -> Result<TokenStream> {
        let (t, b, span) = (typed(), self.b.clone(), here(made.span()));
        let (bind, names) = self.arguments(made.fields.iter().map(|field| &field.expr))?;
        let (path, members) = (&made.path, made.fields.iter().map(|field| &field.member));
        Ok(quote_spanned!(span=> { #bind #path { #(#members: #t::make(#b, #names),)* } }))
    }

    fn unary(&mut self, unary: &syn::ExprUnary, expr: &Expr) -> Result<TokenStream> {
        let (t, b) = (typed(), self.b.clone());
        let function = match unary.op {
            UnOp::Deref(_) => return self.loaded(expr),
            UnOp::Not(not) => Ident::new("not", not.span()),
            UnOp::Neg(minus) => Ident::new("neg", minus.span()),
            _ => return Err(Error::new(expr.span(), "an unknown operator")),
        };
        let value = self.value(&unary.expr, None)?;
        Ok(quote_spanned!(here(expr.span())=> { let value = #value; #t::#function(#b, value) }))
    }

    fn binary(&mut self, binary: &ExprBinary) -> Result<TokenStream> {
        let (t, b, span) = (typed(), self.b.clone(), here(binary.span()));
        let (left, right) = (&binary.left, &binary.right);
        match &binary.op {
            BinOp::And(_) if kind(right) == Kind::Effect => {
                let branch: syn::ExprIf =
                    parse_quote_spanned!(span=> if #left { #right } else { false });
                return self.branch(&branch, Some(&quote!(#t::Bool)));
            }
            BinOp::Or(_) if kind(right) == Kind::Effect => {
                let branch: syn::ExprIf =
                    parse_quote_spanned!(span=> if #left { true } else { #right });
                return self.branch(&branch, Some(&quote!(#t::Bool)));
            }
            _ => {}
        }
        let function = function(&binary.op)?;
        let (lhs, rhs) = (self.temporary("lhs", left.span()), self.temporary("rhs", right.span()));
        let (first, second) = (self.value(left, None)?, self.value(right, None)?);
        Ok(if kind(left) == Kind::Literal {
            quote_spanned!(span=> {
                let #rhs = #second;
                let #lhs = #t::like(#b, #first, #rhs);
                #t::#function(#b, #lhs, #rhs)
            })
        } else {
            quote_spanned!(span=> { let #lhs = #first; let #rhs = #second; #t::#function(#b, #lhs, #rhs) })
        })
    }

    /// Translates `x += e` for a variable or a place in memory.
    fn changed(&mut self, binary: &ExprBinary) -> Result<TokenStream> {
        let (left, right) = (&binary.left, &binary.right);
        let op = plain(&binary.op)?;
        let assign: ExprAssign = parse_quote!(#left = #left #op (#right));
        self.assigned(&assign)
    }

    fn assigned(&mut self, assign: &ExprAssign) -> Result<TokenStream> {
        let (t, b, span) = (typed(), self.b.clone(), here(assign.span()));
        let name = self.temporary("value", assign.right.span());
        let value = self.value(&assign.right, None)?;
        if let Some(to) = variable(&assign.left) {
            let assigned = quote_spanned!(here(name.span())=> #t::like(#b, #name, #to));
            return Ok(quote_spanned!(span=> { let #name = #value; #to = #assigned; }));
        }
        if let Expr::Tuple(tuple) = &*assign.left {
            return Ok(
                quote_spanned!(span=> { let #name = #value; #tuple = #t::like(#b, #name, #tuple); }),
            );
        }
        let stored = self.stored(&assign.left, &name)?;
        Ok(quote_spanned!(span=> { let #name = #value; #stored }))
    }

    fn call(&mut self, call: &ExprCall) -> Result<TokenStream> {
        let b = self.b.clone();
        let function = &call.func;
        let (bind, names) = self.arguments(call.args.iter())?;
        Ok(quote_spanned!(here(function.span())=> { #bind #function(#b, #(#names),*) }))
    }

    /// Returns code that binds arguments to names, and the names.
    fn arguments<'a>(
        &mut self,
        args: impl Iterator<Item = &'a Expr>,
    ) -> Result<(TokenStream, Vec<Ident>)> {
        let (mut bind, mut names) = (TokenStream::new(), Vec::new());
        for arg in args {
            let (name, value) = (self.temporary("arg", arg.span()), self.value(arg, None)?);
            bind.extend(quote_spanned!(here(arg.span())=> let #name = #value;));
            names.push(name);
        }
        Ok((bind, names))
    }

    /// Translates `e?`.
    fn tried(&mut self, expr: &Expr, span: Span) -> Result<TokenStream> {
        let (t, b) = (typed(), self.b.clone());
        let code = self.temporary("code", span);
        let value = self.value(expr, None)?;
        let leave = self.leave(&quote!(#code), span);
        Ok(quote_spanned!(span=> { let #code = #value; #t::tried(#b, #code, |#b, #code| #leave); }))
    }
}

/// Returns the function of an operator, with the operator's span.
fn function(op: &BinOp) -> Result<Ident> {
    let name = match op {
        BinOp::Add(_) => "add",
        BinOp::Sub(_) => "sub",
        BinOp::Mul(_) => "mul",
        BinOp::Div(_) => "div",
        BinOp::Rem(_) => "rem",
        BinOp::And(_) | BinOp::BitAnd(_) => "bit_and",
        BinOp::Or(_) | BinOp::BitOr(_) => "bit_or",
        BinOp::BitXor(_) => "bit_xor",
        BinOp::Shl(_) => "shl",
        BinOp::Shr(_) => "shr",
        BinOp::Eq(_) => "eq",
        BinOp::Ne(_) => "ne",
        BinOp::Lt(_) => "lt",
        BinOp::Le(_) => "le",
        BinOp::Gt(_) => "gt",
        BinOp::Ge(_) => "ge",
        _ => return Err(Error::new(op.span(), "an unknown operator")),
    };
    Ok(Ident::new(name, op.span()))
}

/// Returns the operator of an assignment: `+` of `+=`.
fn plain(op: &BinOp) -> Result<BinOp> {
    Ok(match op {
        BinOp::AddAssign(_) => parse_quote!(+),
        BinOp::SubAssign(_) => parse_quote!(-),
        BinOp::MulAssign(_) => parse_quote!(*),
        BinOp::DivAssign(_) => parse_quote!(/),
        BinOp::RemAssign(_) => parse_quote!(%),
        BinOp::BitAndAssign(_) => parse_quote!(&),
        BinOp::BitOrAssign(_) => parse_quote!(|),
        BinOp::BitXorAssign(_) => parse_quote!(^),
        BinOp::ShlAssign(_) => parse_quote!(<<),
        BinOp::ShrAssign(_) => parse_quote!(>>),
        _ => return Err(Error::new(op.span(), "an unknown operator")),
    })
}
