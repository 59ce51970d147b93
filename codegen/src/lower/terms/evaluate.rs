//! Evaluation of terms and constraints.

use abi_spec::Scalar;
use abi_spec::layout::{dl_tensor, seq_cell};

use crate::declaration::Logic;
use crate::ir::{self, Cond, Convert, Type, Value};
use crate::language::MAX_RANK;
use crate::lower::emitter::state::ValueState;
use crate::lower::failure::message::Message;
use crate::lower::operators;
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::records::PieceKind;
use crate::lower::value::Span;
use crate::lower::wrapper::Wrapper;
use crate::resolve::c_type::abi_type;
use crate::resolve::ids::ValueId;
use crate::resolve::operator::Division;
use crate::resolve::step::{Condition, Place};
use crate::resolve::term::{Kind, Node, OfSeveral, OfTensor, Property, Quote, Term};

impl Wrapper<'_, '_> {
    /// Checks a constraint.
    pub(crate) fn require(&mut self, condition: &Condition<'_>) {
        let holds = self.truth(&condition.test);
        let exit = self.failing(|w| {
            let mut message = Message::new("ValueError");
            match condition.message {
                Some(text) => message.quoted(text),
                None => message.text("Violated ").quoted(&condition.quote.text),
            };
            message.piece(PieceKind::Calling, &[]);
            w.leaves(&mut message, &condition.quote);
            message
        });
        self.checks.or_go_to(exit).always(&mut self.b, holds);
        if self.checks.mask.is_none() {
            self.narrow_ranges(&condition.test);
        }
    }

    /// Returns a term that is 1 or 0 as a `Bool`.
    pub(crate) fn truth(&mut self, term: &Term) -> Value {
        let value = self.computed(term);
        self.settle_overflows();
        if self.b.ty(value) == Type::Bool {
            return value;
        }
        self.b.compare_const(Cond::Ne, value, 0)
    }

    /// Returns the value of a term as `I64`, `F64` or `Ptr`. Leaves with an error if an integer on the way to it is none
    /// of its type.
    pub(crate) fn term(&mut self, term: &Term) -> Value {
        let value = self.operand(term);
        self.settle_overflows();
        value
    }

    /// Returns the value of a term like [`term`](Self::term), but leaves flags of arithmetic to be tested with those of
    /// the expression around it.
    pub(super) fn operand(&mut self, term: &Term) -> Value {
        let value = self.computed(term);
        if self.b.ty(value) == Type::Bool { self.b.widen_bool(value, Type::I64) } else { value }
    }

    /// Returns the value of a term as `I64`, `F64` or `Ptr`; a truth value may also be a `Bool`.
    fn computed(&mut self, term: &Term) -> Value {
        if let Some(value) = term.node.value() {
            self.reach(value);
        }
        match &term.node {
            Node::Int(value) => self.b.i64(*value),
            Node::Float(value) => self.b.f64(*value),
            Node::Text(_) => unreachable!("text is only compared"),
            Node::Null => self.b.null(),
            Node::Symbol(symbol) => self.symbol(*symbol),
            Node::Local(local) => self.local(*local),
            Node::Logic(op, operands) => self.logic(*op, operands),
            Node::Value(value) => self.whole(*value),
            Node::Output(output) => self.output_tensor(*output),
            Node::OutputData(output) => self.output_data(*output),
            Node::Property(value, property) => self.property(*value, *property),
            Node::Number { of, index, text } => self.number_at(*of, index, text),
            Node::Unary(op, operand) => {
                let operand = self.operand(operand);
                operators::unary(&mut self.b, *op, operand)
            }
            Node::Binary(op, operands) => {
                let [lhs, rhs] = operands.each_ref().map(|operand| self.operand(operand));
                operators::binary(&mut self.b, *op, lhs, rhs)
            }
            Node::Exact(op, operands, text) => self.exact(*op, operands, text),
            Node::Mixed(op, operands) => self.mixed(*op, operands),
            Node::Divide(op, operands, quote) => self.division(*op, operands, quote),
            Node::Narrow(scalar, operand, text) => {
                let native = self.cast(*scalar, operand, text);
                self.widen(native, *scalar)
            }
            Node::Offset(is_before, operands) => {
                let [base, bytes] = operands.each_ref().map(|operand| self.operand(operand));
                let zero = self.b.i64(0);
                let bytes = match is_before {
                    true => self.b.binary(ir::Binary::Sub, zero, bytes),
                    false => bytes,
                };
                self.b.ptr_add(base, bytes)
            }
            Node::Round(scalar, operand) => {
                let value = self.operand(operand);
                let native = self.round(value, *scalar);
                self.widen(native, *scalar)
            }
            Node::SameText(value, text) => {
                let known = self.values[*value].span();
                self.text_equals(known, text)
            }
            Node::Stream(value) => self.stream(*value),
            Node::OutputStream(output) => self.output_stream(*output),
            Node::DeviceAttribute { home, unsure, id } => {
                self.device_attribute(*home, *unsure, *id)
            }
        }
    }

    /// Returns an integer term converted to a C type. Leaves with an error if it does not fit. `text` is the conversion
    /// as messages quote it.
    pub(crate) fn cast(&mut self, scalar: Scalar, operand: &Term, text: &str) -> Value {
        let value = self.term(operand);
        let shown =
            if operand.kind == Kind::Unsigned { PieceKind::Unsigned } else { PieceKind::Int };
        let fail = self.failing(|_| {
            let mut message = Message::new("ValueError");
            message.text("Out of range ").quoted(text).piece(PieceKind::Calling, &[]);
            message.text(", expected ").text(scalar.name()).text(" but got ");
            message.piece(shown, &[value]);
            message
        });
        let outer = std::mem::replace(&mut self.checks.fail, fail);
        let native = self.fitted(value, operand.kind, scalar);
        self.checks.fail = outer;
        native
    }

    /// Converts an integer to a C type and checks that it fits.
    fn fitted(&mut self, value: Value, kind: Kind, scalar: Scalar) -> Value {
        if kind == Kind::Unsigned && scalar.is_signed() {
            let above = self.b.binary_const(ir::Binary::Lshr, value, i64::from(scalar.bits()) - 1);
            self.checks.equal_const(&mut self.b, above, 0);
            return self.truncate(value, scalar);
        }
        self.narrow(value, scalar)
    }

    /// Converts an `I64` to an integer type and checks that it fits.
    pub(crate) fn narrow(&mut self, wide: Value, scalar: Scalar) -> Value {
        let ty = abi_type(scalar).ty;
        if ty == Type::I64 {
            if scalar == Scalar::Uint64 {
                self.checks.non_negative(&mut self.b, wide);
            }
            return wide;
        }
        let narrow = self.truncate(wide, scalar);
        let widen = if scalar.is_signed() { Convert::Sext } else { Convert::Zext };
        let again = self.b.convert(widen, narrow, Type::I64);
        self.checks.equal(&mut self.b, again, wide);
        narrow
    }

    /// Returns the conjunction or disjunction of two truth values. A second operand that may fail is evaluated only if
    /// the first one does not decide the result.
    fn logic(&mut self, op: Logic, [first, second]: &[Term; 2]) -> Value {
        let first = self.truth(first);
        if !second.can_fail() && !self.may_overflow(second) && !self.looks_up(second) {
            let second = self.truth(second);
            return match op {
                Logic::And => self.b.and(first, second),
                Logic::Or => self.b.or(first, second),
            };
        }
        let [other, decided, join] = ["other", "decided", "logic"].map(|label| self.b.block(label));
        let both = self.b.block_param(join, Type::Bool, ir::Hint::default());
        let (then, otherwise) = match op {
            Logic::And => (other, decided),
            Logic::Or => (decided, other),
        };
        self.b.branch(first, then, otherwise);
        self.b.switch_to(decided);
        self.b.jump(join, &[first]);
        self.b.switch_to(other);
        let known = self.mark();
        let second = self.without_dominating(|w| w.truth(second));
        self.go_back(known);
        self.b.jump(join, &[second]);
        self.b.switch_to(join);
        both
    }

    /// Returns a declared value as the word that terms use.
    fn whole(&mut self, value: ValueId) -> Value {
        match &self.values[value] {
            ValueState::Scalar(_) => self.wide(value),
            ValueState::Tensor(_) => {
                let dl = self.dl(value);
                self.or_zero(value, dl)
            }
            state @ (ValueState::Word(_)
            | ValueState::Pending
            | ValueState::Span(_)
            | ValueState::Tuple(_)) => state.word(),
        }
    }

    /// Returns a property of a value; 0 if the value is absent.
    fn property(&mut self, value: ValueId, property: Property) -> Value {
        let word = match property {
            Property::IsSome => return self.there(value),
            Property::Tensor(property) => self.tensor_property(value, property),
            Property::Several(property) => self.property_of_several(value, property),
            Property::TypeOfDevice | Property::IndexOfDevice => {
                let device = self.values[value].word();
                let [ty, index] = self.device_numbers(device);
                if property == Property::TypeOfDevice { ty } else { index }
            }
            Property::Length => {
                let sequence = self.values[value].word();
                let sequence = self.readable(value, sequence, 40);
                self.b.load(Type::I64, sequence, seq_cell::SIZE.in_object())
            }
        };
        let word = if self.b.ty(word) == Type::I32 {
            self.b.convert(Convert::Sext, word, Type::I64)
        } else {
            word
        };
        self.or_zero(value, word)
    }

    /// Returns a property of a value that is loaded as address and size.
    fn property_of_several(&mut self, value: ValueId, property: OfSeveral) -> Value {
        let Span { data, size } = self.values[value].span();
        match property {
            OfSeveral::Address => data,
            OfSeveral::Number { index, checked } => {
                if checked {
                    self.settle_overflows();
                    let has = self.b.compare_const(Cond::Sgt, size, index.into());
                    self.guard_where_there(value, has, |w| {
                        w.too_few(value, Complaint::SizeLeast, index, size)
                    });
                }
                self.number_of(value, index as usize)
            }
            OfSeveral::NumberCount | OfSeveral::TextSize | OfSeveral::RestSize { .. } => size,
        }
    }

    /// Returns a number of a shape. Leaves with an error if there is none of this index.
    fn number_at(&mut self, of: ValueId, index: &Term, text: &str) -> Value {
        let index = self.term(index);
        let Span { data, size } = self.values[of].span();
        let within = self.b.compare(Cond::Ult, index, size);
        self.guard_where_there(of, within, |_| {
            Message::of(Complaint::Index, text).with_values(&[size, index])
        });
        let index = self.or_zero(of, index);
        let data = self.readable(of, data, 8);
        let offset = self.b.binary_const(ir::Binary::Shl, index, 3);
        let number = self.b.ptr_add(data, offset);
        self.b.load(Type::I64, number, 0)
    }

    /// Returns a property of a tensor.
    fn tensor_property(&mut self, value: ValueId, property: OfTensor) -> Value {
        let rank = self.function.tensor(value).and_then(|tensor| tensor.rank());
        match property {
            OfTensor::Data => self.address(value),
            OfTensor::Extent { dim, checked: false } => self.extent(value, dim as usize),
            OfTensor::Stride { dim, checked: false, shown } => {
                self.settle_overflows();
                self.exact_stride(value, dim as usize, shown)
            }
            OfTensor::Extent { dim, checked: true } => self.extent_at(value, dim),
            OfTensor::Stride { dim, checked: true, .. } => self.stride_at(value, dim),
            OfTensor::Ndim => match rank {
                Some(rank) => self.b.i64(rank as i64),
                None => self.ndim32(value),
            },
            OfTensor::Numel => {
                self.settle_overflows();
                match rank {
                    Some(_) => self.exact_product(value, 0, |w| w.large_property(value, ".numel")),
                    None => self.exact_numel(value),
                }
            }
            OfTensor::IsContiguous => self.of_tensor(Routine::IsCompact, value),
            OfTensor::DType => {
                let dtype = self.dtype32(value);
                self.b.convert(Convert::Zext, dtype, Type::I64)
            }
            OfTensor::DeviceType => self.device_type32(value),
            OfTensor::DeviceId => self.device_id32(value),
            OfTensor::ByteOffset => self.byte_offset(value),
        }
    }

    /// Emits the call of a routine that computes a property of a tensor.
    fn of_tensor(&mut self, routine: Routine, value: ValueId) -> Value {
        let dl = self.dl(value);
        self.routine_value(routine, &[dl])
    }

    /// Returns an extent of a tensor of any rank.
    fn extent_at(&mut self, value: ValueId, dim: i32) -> Value {
        let at = self.require_rank(value, dim);
        let shape = match self.trailing(value) {
            true => self.own_dims(value, dl_tensor::SHAPE),
            false => self.shape(value),
        };
        let far = usize::try_from(dim).is_ok_and(|dim| dim >= MAX_RANK);
        let at = at.or_else(|| far.then(|| self.b.i64(dim.into())));
        let Some(at) = at else {
            let shape = self.readable(value, shape, 8 * (dim as usize + 1));
            return self.b.load(Type::I64, shape, 8 * dim);
        };
        let bytes = self.b.binary_const(ir::Binary::Shl, at, 3);
        let extent = self.b.ptr_add(shape, bytes);
        let extent = self.readable(value, extent, 8);
        self.b.load(Type::I64, extent, 0)
    }

    /// Returns a stride of a tensor of any rank.
    fn stride_at(&mut self, value: ValueId, dim: i32) -> Value {
        let at = match self.require_rank(value, dim) {
            Some(at) => self.or_zero(value, at),
            None => self.b.i64(dim.into()),
        };
        self.exact_stride_at(value, at, dim)
    }

    /// Leaves with an error if a tensor of any rank lacks a dim, so that later loads of its extent and stride are safe.
    /// Returns the index from the start, an `I64`, of a dim that counts from the end.
    fn require_rank(&mut self, value: ValueId, dim: i32) -> Option<Value> {
        let last = if dim < 0 { dim.unsigned_abs() - 1 } else { dim.unsigned_abs() };
        let tensor = self.function.tensor(value);
        let least = tensor.map_or(0, |tensor| tensor.shape.least_rank());
        if dim >= 0 && (last as usize) < least {
            return None;
        }
        self.settle_overflows();
        let ndim = self.ndim32(value);
        if last as usize >= least {
            let has = self.b.compare_const(Cond::Sgt, ndim, last.into());
            self.guard_where_there(value, has, |w| {
                let ndim = w.b.convert(Convert::Sext, ndim, Type::I64);
                w.too_few(value, Complaint::RankLeast, last, ndim)
            });
        }
        (dim < 0).then(|| {
            let ndim = self.b.convert(Convert::Sext, ndim, Type::I64);
            self.b.binary_const(ir::Binary::Sub, ndim, i64::from(last) + 1)
        })
    }

    /// Returns the message for an index beyond the dims or numbers of a value.
    fn too_few(&mut self, value: ValueId, of: Complaint, index: u32, found: Value) -> Message {
        let place = self.packed_place(Place::Value { value });
        let values = [place as i64, i64::from(index) + 1].map(|number| self.b.i64(number));
        Message::of(of, "").with_values(&[values[0], values[1], found])
    }

    /// Leaves with an error unless a condition holds or the value is absent.
    fn guard_where_there(
        &mut self,
        value: ValueId,
        holds: Value,
        message: impl FnOnce(&mut Self) -> Message,
    ) {
        let holds = match self.mask(value) {
            Some(mask) => {
                let absent = self.b.not(mask);
                self.b.or(absent, holds)
            }
            None => holds,
        };
        let fail = self.failing(message);
        self.b.guard(holds, fail);
    }

    /// Returns the result of a division. Leaves with an error if the divisor is 0.
    fn division(&mut self, op: Division, operands: &[Term; 2], quote: &Quote) -> Value {
        let x = self.operand(&operands[0]);
        if let Some(divisor) = operands[1].constant() {
            return operators::divide_by(&mut self.b, op, x, divisor);
        }
        let mut y = self.term(&operands[1]);
        let fail = self.failing(|w| {
            let mut message = Message::new("ValueError");
            message.text("Division by zero in ").quoted(&quote.text);
            message.piece(PieceKind::Calling, &[]);
            w.leaves(&mut message, quote);
            message
        });
        if self.checks.mask.is_some() || self.checks.passed {
            // The check applies only where the mask is true; elsewhere the divisor may be 0.
            let zero = self.b.compare_const(Cond::Eq, y, 0);
            self.checks.or_go_to(fail).never(&mut self.b, zero);
            let one = self.b.i64(1);
            y = self.b.select(zero, one, y);
        } else {
            let some = self.b.compare_const(Cond::Ne, y, 0);
            self.b.guard(some, fail);
        }
        if self.quotient_may_overflow(op, operands) {
            self.note_quotient([x, y], &quote.text);
        }
        operators::divide(&mut self.b, op, x, y)
    }
}
