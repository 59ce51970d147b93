//! Checks of values that are neither scalars nor tensors, and of the values nested in them.

use std::str::FromStr;

use abi_spec::{DType, Device};
use codegen::language::spelled_label;
use codegen::{Element, Leaf, Literal, ObjectClass, ParamType, Shape};

use super::expression::elements;
use super::{Call, Checked, Fault, Found, MISSING, Received, borrowed, quoted, type_name, words};
use crate::argument::Argument;

/// The class that all classes of objects are derived from.
const ROOT: &str = "ffi.Object";

impl<'a> Call<'a> {
    /// Checks a value. A missing value binds nothing, but from then on its symbols count as bound by an optional value.
    pub(super) fn value(&mut self, mut received: Received<'a>) -> Checked<()> {
        if received.optional && matches!(received.given, Some(Argument::None)) {
            received.given = None;
        }
        if let ParamType::Scalar(scalar) = received.ty {
            return self.scalar(&received, *scalar);
        }
        if let ParamType::Tensor(tensor) = received.ty {
            return self.tensor(&received, tensor);
        }
        if let (Some(given), false) = (received.given, is_free(received.ty)) {
            check_type(&received, given)?;
        }
        self.content(&received)
    }

    fn content(&mut self, received: &Received<'a>) -> Checked<()> {
        match received.ty {
            ParamType::Leaf(Leaf::Str) if received.given.is_some() => {
                let given = received.given.and_then(text).unwrap_or_default();
                self.note(received, Found::Text(given));
                Ok(())
            }
            ParamType::Leaf(Leaf::Str) | ParamType::Leaf(Leaf::Bytes) => {
                let size = received.given.map_or(0, |given| text(given).map_or(0, <[u8]>::len));
                self.note(received, Found::Several(size, Vec::new()));
                Ok(())
            }
            ParamType::Leaf(Leaf::DType) => {
                received.given.map_or(Ok(()), |given| named::<DType>(received, given))
            }
            ParamType::Leaf(Leaf::Device) => {
                received.given.map_or(Ok(()), |given| named::<Device>(received, given))
            }
            ParamType::Shape(shape) => self.shape(received, shape),
            ParamType::Tuple(elements) => self.tuple(received, elements),
            ParamType::Sequence(_, element) => self.sequence(received, element),
            ParamType::Union(types) => self.union(received, types),
            ParamType::Literal(literals) => {
                received.given.map_or(Ok(()), |given| literal(received, literals, given))
            }
            ParamType::Object(_) | ParamType::Leaf(Leaf::Any | Leaf::Stream | Leaf::Handle) => {
                let found = if received.given.is_some() { Found::Other } else { MISSING };
                self.note(received, found);
                Ok(())
            }
            ParamType::Mapping(_, types) => self.mapping(received, types),
            ParamType::Scalar(_) | ParamType::Tensor(_) | ParamType::Optional(_) => {
                unreachable!("checked elsewhere")
            }
        }?;
        if received.given.is_none() {
            self.note(received, MISSING);
        }
        Ok(())
    }

    fn shape(&mut self, received: &Received<'a>, shape: &'a Shape) -> Checked<()> {
        let numbers = received.given.map(|given| numbers(received, given)).transpose()?;
        if let (Shape::Dims(dims), Some(numbers)) = (shape, &numbers)
            && dims.len() != numbers.len()
        {
            return Err(wrong_size(received, dims.len(), numbers.len()));
        }
        let known = numbers.clone().unwrap_or_default();
        self.note(received, Found::Several(known.len(), known));
        let Shape::Dims(dims) = shape else { return Ok(()) };
        for (dim, rule) in dims.iter().enumerate() {
            let value = numbers.as_ref().map(|numbers| numbers[dim]);
            self.dim(received, format!("[{dim}]"), value, rule)?;
        }
        Ok(())
    }

    fn tuple(&mut self, received: &Received<'a>, elements: &'a [Element]) -> Checked<()> {
        let given = received.given.map(elements_of);
        if let Some(given) = given
            && given.len() != elements.len()
        {
            return Err(wrong_size(received, elements.len(), given.len()));
        }
        for (index, element) in elements.iter().enumerate() {
            let path = match &element.name {
                Some(name) => format!("{}.{}", received.path, spelled_label(name)),
                None => format!("{}[{index}]", received.path),
            };
            self.value(received.inner(path, &element.ty, given.map(|given| &given[index])))?;
        }
        Ok(())
    }

    /// Checks the elements one by one by the same rules. The symbols of an empty sequence are visited too.
    fn sequence(&mut self, received: &Received<'a>, element: &'a ParamType) -> Checked<()> {
        let given = received.given.map(elements_of);
        let count = Found::Several(given.map_or(0, <[_]>::len), Vec::new());
        self.note(received, count.clone());
        self.found.push((elements(&received.path), count));
        if *element == ParamType::Leaf(Leaf::Any) {
            return Ok(());
        }
        let Some(given) = given.filter(|given| !given.is_empty()) else {
            return self.element(received, element, 0, None);
        };
        let before = self.symbols.rules();
        for (index, one) in given.iter().enumerate() {
            self.symbols.restore(before.clone());
            self.element(received, element, index, Some(one))?;
        }
        Ok(())
    }

    /// Checks the entries one by one, each key before its value.
    fn mapping(&mut self, received: &Received<'a>, types: &'a [ParamType; 2]) -> Checked<()> {
        let given = received.given.map_or(&[][..], entries_of);
        if given.is_empty() {
            return self.entry(received, types, 0, None);
        }
        let before = self.symbols.rules();
        for (index, entry) in given.iter().enumerate() {
            self.symbols.restore(before.clone());
            self.entry(received, types, index, Some(entry))?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        received: &Received<'a>,
        types: &'a [ParamType; 2],
        index: usize,
        given: Option<&'a (Argument, Argument)>,
    ) -> Checked<()> {
        let given = [given.map(|(key, _)| key), given.map(|(_, value)| value)];
        for ((part, ty), given) in ["keys", "values"].into_iter().zip(types).zip(given) {
            let mut inner = received.inner(format!("{}.{part}[{index}]", received.path), ty, given);
            (inner.uncertain, inner.many) = (true, true);
            self.value(inner)?;
        }
        let parts = ["keys", "values"].map(|part| format!("{}.{part}[{index}]", received.path));
        parts.iter().try_for_each(|path| self.compare_in(path))
    }

    fn element(
        &mut self,
        received: &Received<'a>,
        ty: &'a ParamType,
        index: usize,
        given: Option<&'a Argument>,
    ) -> Checked<()> {
        let mut inner = received.inner(format!("{}[{index}]", received.path), ty, given);
        (inner.uncertain, inner.many) = (true, true);
        let path = inner.path.clone();
        self.value(inner)?;
        self.compare_in(&path)
    }
}

/// Returns the elements of a sequence; none of an object that only claims to be one.
fn elements_of(given: &Argument) -> &[Argument] {
    if let Argument::Array(elements) | Argument::List(elements) = borrowed(given) {
        elements
    } else {
        &[]
    }
}

/// Returns the entries of a mapping.
fn entries_of(given: &Argument) -> &[(Argument, Argument)] {
    if let Argument::Map(entries) | Argument::Dict(entries) = borrowed(given) {
        entries
    } else {
        &[]
    }
}

/// Returns true for types without a check of the type index: unions, whose types check it, and `Any`.
fn is_free(ty: &ParamType) -> bool {
    matches!(ty, ParamType::Union(_) | ParamType::Leaf(Leaf::Any))
}

fn wrong_size(received: &Received<'_>, expected: usize, got: usize) -> Fault {
    received.mismatch(".size", format!("{expected} but got {got}"))
}

/// Checks the type of a value, and that an object is not NULL.
pub(super) fn check_type(received: &Received<'_>, given: &Argument) -> Checked<()> {
    let given = borrowed(given);
    let (index, payload) = words(given);
    let accepted = accepts(received.ty, index);
    let empty_slot = matches!(given, Argument::RValue(None)) || (index == 10 && payload == 0);
    let takes_objects = (64..=128).any(|index| accepts(received.ty, index));
    let null = index >= 64 || matches!(index, 7..=9);
    if (accepted && null && payload == 0 && !is_text(given)) || (empty_slot && takes_objects) {
        return Err(received.wrong_type("NULL"));
    }
    if !accepted || !is_instance(received.ty, given) {
        return Err(received.wrong_type(&received_type(received.ty, given)));
    }
    if let Argument::Small { length: length @ 8.., .. } = given {
        let expected = format!("at most 7 but got {length}");
        return Err(received.fault("ValueError", "Out of range", ".size", expected));
    }
    Ok(())
}

/// Returns the type of a refused value as errors print it. Where a tensor object would do, a `DLTensor*` is called
/// that.
pub(super) fn received_type(ty: &ParamType, given: &Argument) -> String {
    let is_view = words(given).0 == 7 && takes(ty, 70) && !takes(ty, 7);
    if is_view { "DLTensor*".to_owned() } else { type_name(given) }
}

/// Returns true if a type, or one of a union, accepts the type index of a tensor.
fn takes(ty: &ParamType, index: i32) -> bool {
    if let ParamType::Union(types) = ty {
        return types.iter().any(|ty| takes(ty, index));
    }
    let is_number = matches!(ty, ParamType::Scalar(_));
    matches!(ty, ParamType::Tensor(_)) || (!is_number && accepts(ty, index))
}

/// Returns true for strings and bytes, which are never NULL although [`words`] gives them the payload 0.
fn is_text(given: &Argument) -> bool {
    matches!(given, Argument::Str(_) | Argument::Bytes(_))
}

/// Returns true for a string.
pub(super) fn is_string(given: &Argument) -> bool {
    accepts(&ParamType::Leaf(Leaf::Str), words(given).0)
}

/// Returns true if a type accepts a type index.
pub(super) fn accepts(ty: &ParamType, index: i32) -> bool {
    let is_str = matches!(index, 8 | 11 | 65);
    let is_bytes = matches!(index, 9 | 12 | 66);
    match ty {
        ParamType::Leaf(Leaf::Str) => is_str,
        ParamType::Leaf(Leaf::Bytes) => is_bytes,
        ParamType::Leaf(Leaf::DType) => index == 5 || is_str || is_bytes,
        ParamType::Leaf(Leaf::Device) => index == 6 || is_str,
        ParamType::Shape(_) => matches!(index, 69 | 71 | 75),
        ParamType::Object(ObjectClass::Function) => index == 68,
        ParamType::Object(ObjectClass::Module) => index == 73,
        ParamType::Object(ObjectClass::Tensor) => index == 70,
        ParamType::Object(ObjectClass::Any) => index >= 64,
        ParamType::Object(ObjectClass::Key(key)) if key == ROOT => index >= 64,
        // Type indices from 128 on are registered; no object has the index 127.
        ParamType::Object(ObjectClass::Key(_)) => index >= 127,
        ParamType::Sequence(..) => matches!(index, 71 | 75),
        ParamType::Mapping(..) => matches!(index, 72 | 76),
        ParamType::Tuple(_) => index == 71,
        ParamType::Leaf(Leaf::Any) | ParamType::Union(_) => index >= 0,
        ParamType::Leaf(Leaf::Stream) => matches!(index, 0 | 1 | 4),
        ParamType::Leaf(Leaf::Handle) => {
            matches!(index, 0 | 4 | 7) || (index >= 64 && !matches!(index, 65 | 66 | 78))
        }
        ParamType::Literal(literals) => literals.iter().any(|literal| match literal {
            Literal::None => false,
            Literal::Bool(_) | Literal::Int(_) => matches!(index, 1 | 2 | 78),
            Literal::Float(_) => matches!(index, 1..=3),
            Literal::Str(_) => is_str,
        }),
        ParamType::Scalar(_) | ParamType::Tensor(_) | ParamType::Optional(_) => {
            unreachable!("checked elsewhere")
        }
    }
}

fn is_instance(ty: &ParamType, given: &Argument) -> bool {
    let ParamType::Object(ObjectClass::Key(key)) = ty else { return true };
    key == ROOT || matches!(given, Argument::Registered(classes) if classes.contains(key))
}

/// Returns the bytes of text or bytes.
fn text(given: &Argument) -> Option<&[u8]> {
    let given = borrowed(given);
    if let Argument::Str(text) | Argument::RawStr(text) = given {
        return Some(text.as_bytes());
    }
    if let Argument::Small { text, length, .. } = given {
        return text.get(..*length as usize);
    }
    let (Argument::Bytes(text) | Argument::RawBytes(text) | Argument::Text { text, .. }) = given
    else {
        return None;
    };
    Some(text)
}

/// Checks that a text names an element type or a device.
fn named<T: FromStr>(received: &Received<'_>, given: &Argument) -> Checked<()> {
    let Some(text) = text(given) else { return Ok(()) };
    if String::from_utf8_lossy(text).parse::<T>().is_ok() {
        return Ok(());
    }
    Err(received.mismatch("", format!("{} but got {}", received.expected(), quoted(text))))
}

/// Returns the numbers of a shape, or of a sequence that stands for one.
pub(super) fn numbers(received: &Received<'_>, given: &Argument) -> Checked<Vec<i64>> {
    if let Argument::Shape(numbers) = borrowed(given) {
        return Ok(numbers.clone());
    }
    let elements = elements_of(given);
    let number = |(index, element): (usize, &Argument)| match words(element) {
        (1 | 2, value) => Ok(value),
        _ => {
            let at = format!("[{index}]");
            Err(if let Argument::BigInt(value) = element {
                let expected = format!("int64 but got {value}");
                received.fault("ValueError", "Out of range", &at, expected)
            } else {
                let expected = format!("int but got {}", type_name(element));
                received.fault("TypeError", "Mismatched type of", &at, expected)
            })
        }
    };
    elements.iter().enumerate().map(number).collect()
}

/// Checks for one of several literals: numbers compare with numbers, text with text.
fn literal(received: &Received<'_>, literals: &[Literal], given: &Argument) -> Checked<()> {
    let (index, bits) = words(borrowed(given));
    let number = matches!(index, 1 | 2).then_some(bits);
    let text = text(given);
    let known = literals.iter().any(|literal| match literal {
        Literal::None | Literal::Float(_) => false,
        Literal::Bool(value) => number == Some(i64::from(*value)),
        Literal::Int(value) => number == Some(*value),
        Literal::Str(value) => text == Some(value.as_bytes()),
    });
    if known {
        return Ok(());
    }
    if let Argument::BigInt(value) = given {
        return Err(received.mismatch("", format!("{} but got {value}", received.expected())));
    }
    if index == 78 {
        return Err(received.wrong_type(&type_name(given)));
    }
    let got = match text {
        Some(text) => quoted(text),
        None if index == 2 => (if bits == 0 { "False" } else { "True" }).to_owned(),
        None => bits.to_string(),
    };
    Err(received.mismatch("", format!("{} but got {got}", received.expected())))
}
