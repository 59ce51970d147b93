//! Parts of statements: the types, tensors, expressions and blocks in them.

use super::{Arm, Branch, Call, Expr, Function, ParamType, Statement, StatementKind, Tensor};

/// A part of a statement.
#[derive(Clone, Copy, Debug)]
enum Operand<'s> {
    /// A type that it declares.
    Type(&'s ParamType),
    /// A tensor that it allocates.
    Tensor(&'s Tensor),
    /// An expression that it reads.
    Read(&'s Expr),
    /// An expression that it hands to something that may write through it.
    Written(&'s Expr),
    /// A block that runs as a part of it.
    Block(&'s [Statement]),
}

impl StatementKind {
    /// Visits the parts of this statement in source order. All questions about parts are answered from here.
    fn visit<'s>(&'s self, visit: &mut impl FnMut(Operand<'s>)) {
        use Operand::{Block, Read, Tensor, Type, Written};
        match self {
            StatementKind::Let { value, .. } => visit(Read(value)),
            StatementKind::Call { result, call } => {
                result.iter().flat_map(|result| &result.ty).for_each(|ty| visit(Type(ty)));
                call.keys().iter().for_each(|key| visit(Read(key)));
                call.callee().into_iter().for_each(|callee| visit(Read(callee)));
                call.given().for_each(|arg| visit(Written(arg)));
            }
            StatementKind::Alloc { tensor, on, .. } => {
                visit(Tensor(tensor));
                on.iter().for_each(|on| visit(Read(on)));
            }
            StatementKind::TensorMap { map, .. } => {
                map.exprs().for_each(|expr| visit(Written(expr)))
            }
            StatementKind::If { branches, otherwise } => {
                for Branch { condition, body } in branches {
                    visit(Read(condition));
                    visit(Block(body));
                }
                visit(Block(otherwise));
            }
            StatementKind::For { start, end, body, .. } => {
                visit(Read(start));
                visit(Read(end));
                visit(Block(body));
            }
            StatementKind::Match { value, arms } => {
                visit(Read(value));
                for Arm { ty, body, .. } in arms {
                    ty.iter().for_each(|ty| visit(Type(ty)));
                    visit(Block(body));
                }
            }
            StatementKind::Launch(launch) => {
                let mut args = Vec::new();
                launch.args.iter().for_each(|arg| arg.exprs(&mut args));
                let count = args.len();
                args.into_iter().for_each(|arg| visit(Written(arg)));
                launch.exprs().skip(count).for_each(|expr| visit(Read(expr)));
            }
            StatementKind::Upload(upload) => written_first(upload.exprs(), visit),
            StatementKind::Fill(fill) => written_first(fill.exprs(), visit),
            StatementKind::Copy(copy) => written_first(copy.exprs(), visit),
            StatementKind::Wait(wait) => wait.exprs().for_each(|expr| visit(Read(expr))),
            StatementKind::Return(value) => value.iter().for_each(|value| visit(Read(value))),
            StatementKind::Raise { message, .. } => {
                message.iter().for_each(|piece| visit(Read(piece)));
            }
        }
    }

    /// Returns true if the statement gives something a name that those after it may use.
    pub(crate) fn names_something(&self) -> bool {
        match self {
            StatementKind::Let { .. }
            | StatementKind::Alloc { .. }
            | StatementKind::TensorMap { .. } => true,
            StatementKind::Call { result, .. } => result.is_some(),
            StatementKind::If { .. }
            | StatementKind::For { .. }
            | StatementKind::Match { .. }
            | StatementKind::Launch(_)
            | StatementKind::Upload(_)
            | StatementKind::Fill(_)
            | StatementKind::Copy(_)
            | StatementKind::Wait(_)
            | StatementKind::Return(_)
            | StatementKind::Raise { .. } => false,
        }
    }

    /// Returns true if the statement hands something on as a value of the FFI: to a function, or as the result.
    pub(crate) fn hands_on(&self) -> bool {
        let calls = matches!(self, StatementKind::Call { call: Call::Function(_), .. });
        calls || matches!(self, StatementKind::Return(Some(_)))
    }

    /// Collects what `of` returns for each part.
    fn collect<'s, T, I: IntoIterator<Item = T>>(
        &'s self,
        of: impl Fn(Operand<'s>) -> I,
    ) -> Vec<T> {
        let mut all = Vec::new();
        self.visit(&mut |operand| all.extend(of(operand)));
        all
    }

    /// Returns the expressions of this statement, and those in the signatures of functions that it makes, without those
    /// in its blocks.
    pub(crate) fn exprs(&self) -> Vec<&Expr> {
        let mut all = self.own_exprs();
        all.extend(self.functions().into_iter().flat_map(|function| function.signature.exprs()));
        all
    }

    /// Returns the types of tensors that this statement names, and those in the signatures of functions that it makes,
    /// without those in its blocks.
    pub(crate) fn tensors(&self) -> Vec<&Tensor> {
        let mut all = self.collect(|operand| match operand {
            Operand::Type(ty) => ty.tensors(),
            Operand::Tensor(tensor) => vec![tensor],
            Operand::Read(_) | Operand::Written(_) | Operand::Block(_) => Vec::new(),
        });
        all.extend(self.functions().into_iter().flat_map(|function| function.signature.tensors()));
        all
    }

    /// Returns the functions that this statement makes, in source order, without those in its blocks.
    pub(crate) fn functions(&self) -> Vec<&Function> {
        self.nested_functions().into_iter().map(|(function, _)| function).collect()
    }

    /// Returns the functions that this statement makes, each with the number of expressions around it.
    fn nested_functions(&self) -> Vec<(&Function, usize)> {
        let mut all = Vec::new();
        self.own_exprs().into_iter().for_each(|expr| expr.functions(0, &mut all));
        all
    }

    /// Returns the expressions of this statement alone.
    fn own_exprs(&self) -> Vec<&Expr> {
        self.collect(|operand| match operand {
            Operand::Type(ty) => ty.exprs(),
            Operand::Tensor(tensor) => tensor.extents().collect(),
            Operand::Read(expr) | Operand::Written(expr) => vec![expr],
            Operand::Block(_) => Vec::new(),
        })
    }

    /// Returns the expressions of what may be written through them.
    pub(crate) fn written(&self) -> Vec<&Expr> {
        self.collect(|operand| match operand {
            Operand::Written(expr) => Some(expr),
            Operand::Type(_) | Operand::Tensor(_) | Operand::Read(_) | Operand::Block(_) => None,
        })
    }

    /// Returns the nested blocks, in source order: the bodies of functions that this statement makes, then its own.
    pub(crate) fn blocks(&self) -> Vec<&[Statement]> {
        self.nested_blocks().into_iter().map(|(block, _)| block).collect()
    }

    /// Returns [`blocks`](StatementKind::blocks), each with the number of expressions between it and this statement.
    pub(crate) fn nested_blocks(&self) -> Vec<(&[Statement], usize)> {
        let made = self.nested_functions().into_iter();
        let made = made.map(|(function, around)| (function.body.block(), around));
        made.chain(self.own_blocks().into_iter().map(|block| (block, 0))).collect()
    }

    /// Returns the nested blocks without the bodies of functions that this statement makes.
    pub(crate) fn own_blocks(&self) -> Vec<&[Statement]> {
        self.collect(|operand| match operand {
            Operand::Block(block) => Some(block),
            Operand::Type(_) | Operand::Tensor(_) | Operand::Read(_) | Operand::Written(_) => None,
        })
    }
}

/// Visits the expressions of a command, of which the first is the address that it writes to.
fn written_first<'s>(
    mut exprs: impl Iterator<Item = &'s Expr>,
    visit: &mut impl FnMut(Operand<'s>),
) {
    exprs.next().into_iter().for_each(|to| visit(Operand::Written(to)));
    exprs.for_each(|expr| visit(Operand::Read(expr)));
}
