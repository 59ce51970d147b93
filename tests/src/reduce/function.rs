//! Passes over declarations that change several places of a function together.

use codegen::{
    Body, Expr, Function, Leaf, Member, Param, ParamType, ResultType, Scalar, Statement,
    StatementKind,
};

use super::Changes;
use super::edit::{self, Edit};

/// Removes parameters, and puts literals into the places of what they gave.
pub(super) struct Params<'a>(pub(super) &'a mut Changes);

impl Edit for Params<'_> {
    fn function(&mut self, function: &mut Function) {
        let params = std::mem::take(&mut function.signature.params);
        let (removed, kept) = params.into_iter().partition(|_| self.0.makes_next());
        function.signature.params = kept;
        let removed: Vec<Param> = removed;
        if removed.is_empty() {
            return;
        }
        let mut known = Names::default();
        edit::function(function, &mut known);
        let mut literals = Literals { names: Vec::new() };
        for Param { name, ty, .. } in removed {
            literals.names.extend(symbols(ty.clone(), &known.bound));
            literals.names.push((name, of_type(&ty)));
        }
        edit::function(function, &mut literals);
    }
}

/// Removes the result, and puts NULL into the places of allocated ones.
pub(super) struct Results<'a>(pub(super) &'a mut Changes);

impl Edit for Results<'_> {
    fn function(&mut self, function: &mut Function) {
        if function.signature.result == ResultType::None || !self.0.makes_next() {
            return;
        }
        let outputs = function.signature.outputs().iter();
        let names = outputs.map(|output| (output.name.clone(), Expr::Null)).collect();
        function.signature.result = ResultType::None;
        edit::function(function, &mut Literals { names });
        if let Body::Block(statements) = &mut function.body {
            edit::block(statements, &mut Returns);
        }
    }
}

/// Removes the values of `return` statements.
struct Returns;

impl Edit for Returns {
    fn block(&mut self, statements: &mut Vec<Statement>) {
        for Statement { kind, .. } in statements {
            if let StatementKind::Return(value) = kind {
                *value = None;
            }
        }
    }
}

/// Names in the types of parameters.
#[derive(Default)]
struct Names {
    bound: Vec<String>,
}

impl Edit for Names {
    fn ty(&mut self, ty: &mut ParamType) {
        self.bound.extend(in_type(ty));
    }
}

/// Returns the names that a type mentions.
fn in_type(ty: &mut ParamType) -> Vec<String> {
    struct Mentioned(Vec<String>);
    impl Edit for Mentioned {
        fn expr(&mut self, expr: &mut Expr) {
            if let Expr::Name(name) = expr {
                self.0.push(name.clone());
            }
        }
    }
    let mut mentioned = Mentioned(Vec::new());
    edit::ty(ty, &mut mentioned);
    mentioned.0
}

/// Returns literals for the symbols that no type mentions any more.
fn symbols(mut ty: ParamType, bound: &[String]) -> Vec<(String, Expr)> {
    let unbound = in_type(&mut ty).into_iter().filter(|name| !bound.contains(name));
    unbound.map(|name| (name, Expr::Int(0))).collect()
}

/// Replaces names, and members of what they name.
struct Literals {
    names: Vec<(String, Expr)>,
}

impl Edit for Literals {
    fn expr(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Name(name) => {
                let literal = self.names.iter().find(|(of, _)| of == name);
                literal.iter().for_each(|(_, literal)| *expr = literal.clone());
            }
            // The operand is a literal only if it was a name before.
            Expr::Member(of, member) if is_literal(of) => *expr = of_member(*member),
            Expr::Stream(of) if is_literal(of) => *expr = Expr::Null,
            Expr::Element(of, _) | Expr::Field(of, _) | Expr::DeviceAttribute(of, _)
                if is_literal(of) =>
            {
                *expr = Expr::Int(0);
            }
            Expr::Int(_)
            | Expr::Unsigned(_)
            | Expr::Float(_)
            | Expr::Text(_)
            | Expr::Null
            | Expr::Member(..)
            | Expr::Element(..)
            | Expr::Field(..)
            | Expr::Neg(_)
            | Expr::Binary(..)
            | Expr::Call(..)
            | Expr::Stream(_)
            | Expr::DeviceAttribute(..)
            | Expr::CurrentDevice
            | Expr::Global(_)
            | Expr::Cast(..)
            | Expr::Bool(_)
            | Expr::None
            | Expr::Compare(..)
            | Expr::Not(_)
            | Expr::Logic(..)
            | Expr::Array(_)
            | Expr::Shape(_)
            | Expr::Function(_) => {}
        }
    }
}

fn is_literal(expr: &Expr) -> bool {
    let literals = [Expr::Int(0), Expr::Float(0.0), Expr::Bool(false), Expr::Null, Expr::None];
    literals.contains(expr) || *expr == Expr::text("")
}

fn of_member(member: Member) -> Expr {
    match member {
        Member::Data | Member::Object => Expr::Null,
        Member::IsContiguous | Member::IsSome => Expr::Bool(false),
        Member::Shape(_)
        | Member::Strides(_)
        | Member::Ndim
        | Member::DeviceType
        | Member::DeviceId
        | Member::ByteOffset
        | Member::DType
        | Member::Numel
        | Member::Size => Expr::Int(0),
    }
}

/// Returns the literal of a type that C code and functions get in the place of a value.
fn of_type(ty: &ParamType) -> Expr {
    match ty {
        ParamType::Scalar(Scalar::Bool) => Expr::Bool(false),
        ParamType::Scalar(scalar) if scalar.is_float() => Expr::Float(0.0),
        ParamType::Scalar(Scalar::Ptr) | ParamType::Tensor(_) => Expr::Null,
        ParamType::Scalar(_) => Expr::Int(0),
        ParamType::Leaf(Leaf::Str) => Expr::text(""),
        ParamType::Leaf(_)
        | ParamType::Shape(_)
        | ParamType::Object(_)
        | ParamType::Sequence(..)
        | ParamType::Mapping(..)
        | ParamType::Tuple(_)
        | ParamType::Optional(_)
        | ParamType::Union(_)
        | ParamType::Literal(_) => Expr::None,
    }
}

/// Removes a type from the unions of a function, with the arms for it.
pub(super) struct Arms<'a>(pub(super) &'a mut Changes);

impl Edit for Arms<'_> {
    fn function(&mut self, function: &mut Function) {
        let mut found = ArmTypes(Vec::new());
        edit::function(function, &mut found);
        for ty in found.0 {
            if self.0.makes_next() {
                edit::function(function, &mut Without(ty));
            }
        }
    }
}

/// Types of arms; `None` for those of None.
struct ArmTypes(Vec<Option<ParamType>>);

impl Edit for ArmTypes {
    fn block(&mut self, statements: &mut Vec<Statement>) {
        for statement in statements {
            let StatementKind::Match { arms, .. } = &statement.kind else { continue };
            let new = arms.iter().filter(|arm| !self.0.contains(&arm.ty)).map(|arm| arm.ty.clone());
            let new: Vec<_> = new.collect();
            self.0.extend(new);
        }
    }
}

/// Removes a type from unions and arms.
struct Without(Option<ParamType>);

impl Edit for Without {
    fn ty(&mut self, ty: &mut ParamType) {
        match (&self.0, &mut *ty) {
            (Some(removed), ParamType::Union(types)) => {
                types.retain(|one| one != removed);
                if let [only] = &types[..] {
                    *ty = only.clone();
                }
            }
            (None, ParamType::Optional(inner)) => *ty = (**inner).clone(),
            (Some(_) | None, _) => {}
        }
    }

    fn block(&mut self, statements: &mut Vec<Statement>) {
        for statement in statements {
            let StatementKind::Match { arms, .. } = &mut statement.kind else { continue };
            arms.retain(|arm| arm.ty != self.0);
        }
    }
}
