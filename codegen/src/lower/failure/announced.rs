//! Messages that a function can raise, before it is called: those of its checks, with a word in capitals for what only
//! a call knows. The chapter `messages` of the guide explains the words.

use crate::declaration::reserved::spelled;
use crate::declaration::{Device, Leaf, Literal, OwnDim, ParamType, Shape, Tensor};
use crate::lower::quote::elide;
use crate::lower::routines::complaints::{Complaint, TemplatePart, placeholder_name};
use crate::lower::routines::records::PieceKind;
use crate::resolve::accepted;
use crate::resolve::function::Function;
use crate::resolve::ids::{SymbolId, ValueId};
use crate::resolve::print::path;
use crate::resolve::step::{Condition, Place, Rule, Step};
use crate::resolve::term::{Node, Term};
use abi_spec::{DeviceType, Scalar};

/// Stands in messages for ` when calling: ` and the signature.
const CALLING: &str = " …";

/// Returns the messages of a step, without those of nested steps, each after the kind of its error.
pub(crate) fn messages(function: &Function<'_>, step: &Step<'_>) -> Vec<String> {
    match step {
        Step::Scalar { value, scalar } => scalar_of(&About::value(function, *value), *scalar),
        Step::Header { value, tensor, device } => header(function, *value, tensor, *device),
        Step::Value { value } => About::value(function, *value).all(other(function, *value)),
        Step::OneOf { value, .. } => About::value(function, *value).all(vec![Complaint::Type]),
        Step::Occurrence { place, rule } => number(function, *place, rule),
        Step::Folded { value } => folded(function, *value),
        Step::Compact { value } => About::value(function, *value).all(vec![Complaint::Contiguous]),
        Step::Data { value, align } => {
            let about = About::value(function, *value);
            let aligned = (*align > 1).then_some(Complaint::Misaligned);
            about.all(
                [Complaint::NegativeAt, Complaint::NoData].into_iter().chain(aligned).collect(),
            )
        }
        Step::Require(condition) => vec![violated(condition)],
        Step::BindCompact { .. } | Step::Each { .. } => Vec::new(),
    }
}

/// Subject of messages: a value, or a place in it.
struct About {
    /// The path of the value.
    path: String,
    /// The place in it.
    at: String,
    /// The number of the argument.
    argument: Option<usize>,
    /// Texts of the declaration.
    plain: String,
    /// The place that has bound the symbol, if it is the same in every call.
    binder: Option<String>,
}

impl About {
    fn value(function: &Function<'_>, value: ValueId) -> About {
        let declared = &function.values[value];
        let (at, argument) = (path(&elide(&declared.path)), function.argument(value));
        let plain = accepted::expected(declared.ty, declared.optional);
        About { path: at.clone(), at, argument, plain, binder: None }
    }

    fn all(&self, complaints: Vec<Complaint>) -> Vec<String> {
        complaints.into_iter().map(|complaint| self.message(complaint)).collect()
    }

    /// Returns a message in which the first thing that is not about the value is known.
    fn expecting(&self, complaint: Complaint, expected: &str) -> String {
        self.filled(complaint, Some(expected))
    }

    fn message(&self, complaint: Complaint) -> String {
        self.filled(complaint, None)
    }

    fn filled(&self, complaint: Complaint, mut expected: Option<&str>) -> String {
        let part = |part: &TemplatePart| match part {
            TemplatePart::Words(words) => (*words).to_owned(),
            TemplatePart::Value(PieceKind::At) => self.at.clone(),
            TemplatePart::Value(PieceKind::Path) => self.path.clone(),
            TemplatePart::Value(PieceKind::Calling) => CALLING.to_owned(),
            TemplatePart::Value(PieceKind::On) => {
                let on = self.argument.map(|argument| format!(" on argument #{argument}"));
                on.unwrap_or_default() + CALLING
            }
            TemplatePart::Subject | TemplatePart::Value(PieceKind::Plain) => {
                expected.take().unwrap_or(&self.plain).to_owned()
            }
            TemplatePart::Value(PieceKind::Place) if self.binder.is_some() => {
                self.binder.clone().unwrap_or_default()
            }
            TemplatePart::Value(kind) => {
                expected.take().unwrap_or(placeholder_name(*kind)).to_owned()
            }
        };
        let text: String = complaint.parts().iter().map(part).collect();
        format!("{}: {text}", complaint.kind())
    }
}

fn scalar_of(about: &About, scalar: Scalar) -> Vec<String> {
    let mut all = vec![about.message(Complaint::Type)];
    if scalar.is_int() {
        let mut out_of_range = vec![Complaint::Range, Complaint::BigRange];
        // Symbols are `int64`.
        let exceeds_symbols = scalar.bits() == 64 && !scalar.is_signed();
        out_of_range.extend(exceeds_symbols.then_some(Complaint::BigSymbol));
        let name = scalar.name();
        all.extend(out_of_range.into_iter().map(|complaint| about.expecting(complaint, name)));
    } else if !scalar.is_float() && scalar != Scalar::Bool {
        all.push(about.expecting(Complaint::BigRange, scalar.name()));
    }
    all
}

fn header(function: &Function<'_>, value: ValueId, tensor: &Tensor, device: bool) -> Vec<String> {
    let about = About::value(function, value);
    let mut all = about.all(vec![Complaint::Type, Complaint::TypeNull]);
    all.extend(match tensor.shape.rank() {
        Some(rank) => vec![about.expecting(Complaint::Rank, &rank.to_string())],
        None => {
            let rank = about.all(vec![Complaint::RankLeast, Complaint::RankNegative]);
            rank.into_iter().chain(leading(function, value)).collect()
        }
    });
    if let Some(listing) = function.listing(value).filter(|listing| !listing.any_dtype) {
        all.push(about.expecting(Complaint::Dtype, &listing.dtypes_text()));
    }
    if function.values[value].dtype_of.is_some() {
        all.push(about.message(Complaint::OtherDtypeOf));
    }
    match tensor.device {
        Device::Type(ty) if device => all.push(about.expecting(Complaint::Device, &ty.to_string())),
        Device::Type(_) | Device::Any => {}
    }
    if tensor.device != Device::Type(DeviceType::CPU) {
        all.extend(about.all(vec![Complaint::OtherDeviceOf, Complaint::OtherDevice]));
    }
    if tensor.shape.rank() != Some(0) {
        all.push(about.message(Complaint::NoShape));
    }
    if function.declared.body.asks_object() {
        all.push(about.message(Complaint::NoObject));
    }
    all
}

/// Returns the messages about the extents of the leading dims of a tensor.
fn leading(function: &Function<'_>, value: ValueId) -> Vec<String> {
    let mut about = About::value(function, value);
    let negative = about.message(Complaint::NegativeAt);
    about.at = spelled_place(function, Place::Extent { value, dim: 0 });
    vec![negative, about.message(Complaint::LargeExtent)]
}

/// Returns the messages about the leading dims of a tensor, which must be one dim in memory.
fn folded(function: &Function<'_>, value: ValueId) -> Vec<String> {
    let about = About::value(function, value);
    leading(function, value).into_iter().chain([about.message(Complaint::Folded)]).collect()
}

/// Returns the messages about a value that is neither scalar nor tensor.
fn other(function: &Function<'_>, value: ValueId) -> Vec<Complaint> {
    let ty = function.values[value].ty;
    let mut all = vec![Complaint::Type, Complaint::TypeView];
    match ty {
        ParamType::Leaf(Leaf::Str | Leaf::Bytes) => {
            all.extend([Complaint::TypeNull, Complaint::SmallSize]);
        }
        ParamType::Leaf(Leaf::DType | Leaf::Device) => {
            all.extend([Complaint::TypeNull, Complaint::SmallSize, Complaint::LiteralText]);
        }
        ParamType::Shape(shape) => {
            all.extend([Complaint::TypeNull, Complaint::Number, Complaint::NumberBig]);
            all.extend([Complaint::SizeMost, size(shape)]);
        }
        ParamType::Tuple(_) => all.extend([Complaint::TypeNull, Complaint::Size]),
        ParamType::Literal(literals) => {
            all.extend([Complaint::TypeNull, Complaint::LiteralInt, Complaint::LiteralBool]);
            if literals.iter().any(|literal| matches!(literal, Literal::Str(_))) {
                all.extend([Complaint::SmallSize, Complaint::LiteralText]);
            }
            all.push(Complaint::LiteralBig);
        }
        ParamType::Leaf(_)
        | ParamType::Object(_)
        | ParamType::Sequence(..)
        | ParamType::Mapping(..)
        | ParamType::Union(_)
        | ParamType::Optional(_)
        | ParamType::Scalar(_)
        | ParamType::Tensor(_) => all.push(Complaint::TypeNull),
    }
    all
}

/// Returns the message about the number of elements of a shape.
fn size(shape: &Shape) -> Complaint {
    if shape.rank().is_some() { Complaint::Size } else { Complaint::SizeLeast }
}

/// Returns the messages about a number at a place.
fn number(function: &Function<'_>, place: Place, rule: &Rule) -> Vec<String> {
    let mut about = About::value(function, place.value());
    about.at = spelled_place(function, place);
    let mut all = Vec::new();
    if matches!(place, Place::Extent { .. }) {
        all.push(about.message(Complaint::Negative));
    }
    match rule {
        Rule::Any => {}
        Rule::Symbol(symbol) if binds(function, *symbol) == Some(place) => {}
        Rule::Symbol(symbol) => {
            let binder = binds(function, *symbol);
            about.binder = binder.map(|place| spelled_place(function, place));
            about.plain = spelled(function.symbols[*symbol].name).to_string();
            all.extend(about.all(vec![Complaint::SymbolAt, Complaint::Symbol]));
        }
        Rule::Equal { term: Term { node: Node::Int(number), .. }, .. } => {
            all.push(about.expecting(Complaint::Constant, &number.to_string()));
        }
        Rule::Equal { text, .. } => {
            about.plain.clone_from(text);
            all.push(about.message(Complaint::Symbol));
        }
        Rule::Solve { text, .. } => {
            about.plain.clone_from(text);
            all.extend(about.all(vec![Complaint::Symbol, Complaint::Unsolved]));
        }
    }
    all
}

/// Spells a place as messages do: dims of a tensor whose leading dims are not declared are counted from the end.
fn spelled_place(function: &Function<'_>, place: Place) -> String {
    let (part, value, dim) = match place {
        Place::Extent { value, dim } => ("shape", value, dim),
        Place::Stride { value, dim } => ("strides", value, dim),
        Place::Value { .. } | Place::Number { .. } => return place.spelled(&function.values),
    };
    let own = function.tensor(value).map(|tensor| tensor.shape.own_dim(dim));
    let own = own.unwrap_or(OwnDim::FromStart(dim));
    format!("{}.{part}[{own}]", path(&elide(&function.values[value].path)))
}

/// Returns the place that binds a symbol in every call that gets there; `None` if the place depends on the call.
fn binds(function: &Function<'_>, wanted: SymbolId) -> Option<Place> {
    // A symbol from outside is bound by no step.
    if function.symbols[wanted].local.is_some() {
        return None;
    }
    let mut first = None;
    Step::visit_all(&function.steps, &mut |step| {
        if let Step::Occurrence { place, rule: Rule::Symbol(symbol) | Rule::Solve { symbol, .. } } =
            step
            && *symbol == wanted
        {
            first.get_or_insert(*place);
        }
    });
    first.filter(|place| place.always_counts(&function.values))
}

/// Returns the message of a constraint.
fn violated(condition: &Condition<'_>) -> String {
    let text = match condition.message {
        Some(message) => elide(message).into_owned(),
        None => format!("Violated {}", elide(&condition.quote.text)),
    };
    let shown =
        condition.quote.shown.iter().map(|shown| format!(", {} = VALUE", elide(&shown.text)));
    format!("ValueError: {text}{CALLING}{}", shown.collect::<String>())
}
