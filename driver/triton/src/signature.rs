//! Parser of signatures in Triton's syntax.

use abi_spec::{DType, Scalar};
use codegen::{Access, Dim, Expr, Shape};

use crate::Error;
use crate::scan::{bracketed, called, is_word, outside, split, tuple};

/// Signature of a kernel.
pub(crate) struct KernelSignature {
    /// Name of the declared function, if given.
    pub(crate) name: Option<String>,
    /// Parameters, without constants.
    pub(crate) parameters: Vec<Parameter>,
    constants: Vec<(String, String)>,
}

/// Parameter of a kernel.
pub(crate) struct Parameter {
    /// Source text.
    pub(crate) text: String,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Shape of the tensor.
    pub(crate) shape: Option<Shape>,
    pub(crate) hint: Option<Hint>,
    /// True for a tensor of at most 2^31 - 1 bytes.
    pub(crate) small: bool,
    /// Expression that the kernel gets instead of an argument.
    pub(crate) given: Option<Expr>,
}

/// Number of programs in each direction.
pub(crate) enum Grid {
    /// Expressions of the arguments, one to three.
    Programs(Vec<Expr>),
    /// Three further arguments.
    Given,
}

/// Text of the grid that a launcher passes.
const GIVEN: &str = "...";

/// Type of a parameter.
pub(crate) enum Kind {
    /// `*fp32`, or `*kfp32` for memory that the kernel only reads.
    Pointer { dtype: DType, access: Access },
    /// `i32`
    Scalar(Scalar),
    /// `tensordesc<fp16[32, 32]>`, `tensordesc_im2col<fp16[64, 64], input_rank=4>`
    Descriptor(Described),
}

/// The type of a tensor descriptor in a signature.
pub(crate) struct Described {
    pub(crate) dtype: DType,
    /// Rank of the tensor; 3 to 5 for columns of pixels.
    pub(crate) rank: usize,
    /// True for columns of pixels.
    pub(crate) by_columns: bool,
    /// Corners of the columns, if they are given.
    pub(crate) corners: Option<Corners>,
}

/// The bounding box of columns of pixels. Offsets are in the order of the dims, and so are the steps, of which there
/// are none if all are 1.
pub(crate) struct Corners {
    pub(crate) lower: Vec<Expr>,
    pub(crate) upper: Vec<Expr>,
    pub(crate) steps: Vec<Expr>,
}

/// Type of a descriptor of columns of pixels.
const IM2COL: &str = "tensordesc_im2col<";

/// Form of the corners of columns.
const CORNERS: &str =
    "expected `im2col(lower=[…], upper=[…])`, with `steps=[…]` where they are not 1";

/// Specialisation of a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hint {
    /// Multiples of 16.
    Divisible,
    /// The value 1; the kernel has no such parameter.
    One,
}

/// The hint of a small tensor: Triton's letter for it.
const SMALL: &str = ":S";

/// Triton's types: name, data type of elements, and type of scalars.
const TYPES: [(&str, &str, Option<Scalar>); 20] = [
    ("i1", "bool", Some(Scalar::Bool)),
    ("i8", "int8", Some(Scalar::Int8)),
    ("i16", "int16", Some(Scalar::Int16)),
    ("i32", "int32", Some(Scalar::Int32)),
    ("i64", "int64", Some(Scalar::Int64)),
    ("u1", "bool", Some(Scalar::Bool)),
    ("u8", "uint8", Some(Scalar::Uint8)),
    ("u16", "uint16", Some(Scalar::Uint16)),
    ("u32", "uint32", Some(Scalar::Uint32)),
    ("u64", "uint64", Some(Scalar::Uint64)),
    ("fp16", "float16", Some(Scalar::Float16)),
    ("bf16", "bfloat16", Some(Scalar::BFloat16)),
    ("fp32", "float32", Some(Scalar::Float32)),
    ("f32", "float32", Some(Scalar::Float32)),
    ("fp64", "float64", Some(Scalar::Float64)),
    ("fp8e4nv", "float8_e4m3fn", None),
    ("fp8e5", "float8_e5m2", None),
    ("fp8e4b8", "float8_e4m3fnuz", None),
    ("fp8e5b16", "float8_e5m2fnuz", None),
    // No framework has this type; its tensors hold bytes.
    ("fp8e4b15", "uint8", None),
];

/// A parameter split into its parts.
struct Raw<'a> {
    text: &'a str,
    name: &'a str,
    ty: &'a str,
    given: Option<&'a str>,
}

impl KernelSignature {
    pub(crate) fn parse(text: &str) -> Result<KernelSignature, Error> {
        let (name, list) = called(text);
        let raw = split(list).into_iter().map(Raw::parse).collect::<Result<Vec<_>, _>>()?;
        let constants = raw.iter().filter_map(Raw::constant).collect();
        let mut kernel =
            KernelSignature { name: name.map(str::to_owned), parameters: vec![], constants };
        for raw in raw.iter().filter(|raw| !raw.is_constant()) {
            let parameter = kernel.parameter(raw).map_err(|reason| raw.fault(reason))?;
            kernel.parameters.push(parameter);
        }
        Ok(kernel)
    }

    fn parameter(&self, raw: &Raw<'_>) -> Result<Parameter, String> {
        let (mut kind, mut rest) = kind(raw.ty)?;
        let (mut shape, mut hint, mut small) = (None, None, false);
        while !rest.is_empty() {
            let (dims, after) =
                bracketed(rest).map_or((None, rest), |(dims, after)| (Some(dims), after));
            if let Some(dims) = dims.filter(|_| shape.is_none()) {
                (shape, rest) = (Some(self.shape(dims)?), after);
            } else if let Some(after) = rest.strip_prefix(SMALL).filter(|_| !small) {
                (small, rest) = (true, after.trim_start());
            } else if let Some(after) = rest.strip_prefix(':').filter(|_| hint.is_none()) {
                (hint, rest) = (Some(read_hint(after)?.0), read_hint(after)?.1);
            } else {
                let expected = "expected `[` and a shape, `:16`, `:1` or `:S`";
                return Err(format!("{expected}, found `{rest}`"));
            }
        }
        let mut given = raw.given;
        if let Kind::Descriptor(described) = &mut kind
            && described.by_columns
        {
            described.corners = given.take().map(|given| self.corners(given)).transpose()?;
        }
        let given = given.map(|given| self.expr(given)).transpose()?;
        let (text, name) = (raw.text.to_owned(), raw.name.to_owned());
        Ok(Parameter { text, name, kind, shape, hint, small, given })
    }

    /// Parses `im2col(lower=[-1], upper=[-1], steps=[1, 2, 1])`.
    fn corners(&self, text: &str) -> Result<Corners, String> {
        let (Some("im2col"), parts) = called(text) else { return Err(CORNERS.to_owned()) };
        let (mut lower, mut upper, mut steps) = (None, None, None);
        for part in split(parts) {
            let (name, list) = part.split_once('=').ok_or(CORNERS)?;
            let (list, after) = bracketed(list.trim()).ok_or(CORNERS)?;
            let numbers: Vec<Expr> =
                split(list).into_iter().map(|one| self.expr(one)).collect::<Result<_, _>>()?;
            let place = match name.trim() {
                "lower" => &mut lower,
                "upper" => &mut upper,
                "steps" => &mut steps,
                _ => return Err(CORNERS.to_owned()),
            };
            if place.replace(numbers).is_some() || !after.is_empty() {
                return Err(CORNERS.to_owned());
            }
        }
        let (lower, upper) = lower.zip(upper).ok_or(CORNERS)?;
        Ok(Corners { lower, upper, steps: steps.unwrap_or_default() })
    }

    fn shape(&self, text: &str) -> Result<Shape, String> {
        if text == "..." {
            return Ok(Shape::AnyRank);
        }
        let dim = |text: &str| match text {
            "_" => Ok(Dim::Any),
            _ => self.expr(text).map(Dim::Expr),
        };
        split(text).into_iter().map(dim).collect::<Result<_, _>>().map(Shape::Dims)
    }

    /// Parses one to three numbers of programs, with or without parentheses, or `...`. Drops ones at the end.
    pub(crate) fn grid(&self, text: &str) -> Result<Grid, Error> {
        if text.trim() == GIVEN {
            return Ok(Grid::Given);
        }
        let refused = |reason: String| Error::Grid { reason };
        let extents = tuple(text).into_iter().map(|extent| self.expr(extent));
        let mut extents = extents.collect::<Result<Vec<_>, _>>().map_err(refused)?;
        if !(1..=3).contains(&extents.len()) {
            return Err(refused(format!("expected one to three extents, found {}", extents.len())));
        }
        while extents.len() > 1 && extents.last() == Some(&Expr::Int(1)) {
            extents.pop();
        }
        Ok(Grid::Programs(extents))
    }

    /// Parses an expression of our language with Python's `cdiv` and `//`, and with constants replaced by their values.
    fn expr(&self, text: &str) -> Result<Expr, String> {
        let mut ours = String::new();
        for piece in text.split_inclusive(|c| !is_word(c)) {
            let word = piece.trim_end_matches(|c| !is_word(c));
            let constant = self.constants.iter().find(|(name, _)| name == word);
            ours += match word {
                "cdiv" | "tl.cdiv" | "triton.cdiv" => "ceildiv",
                _ => constant.map_or(word, |(_, value)| value),
            };
            ours += &piece[word.len()..];
        }
        ours.replace("//", "/").parse().map_err(|error: codegen::Error| error.to_string())
    }
}

impl<'a> Raw<'a> {
    fn parse(text: &'a str) -> Result<Raw<'a>, Error> {
        let (name, rest) = text.split_once(':').ok_or_else(|| Error::Parameter {
            text: text.to_owned(),
            reason: "expected a name, `:` and a type, such as `n: i32`".to_owned(),
        })?;
        let (ty, given) = match outside(rest, '=') {
            Some(at) => (&rest[..at], Some(rest[at + 1..].trim())),
            None => (rest, None),
        };
        Ok(Raw { text, name: name.trim(), ty: ty.trim(), given })
    }

    fn fault(&self, reason: String) -> Error {
        Error::Parameter { text: self.text.to_owned(), reason }
    }

    /// Returns whether the parameter is a constant: its type is a value, or `constexpr`.
    fn is_constant(&self) -> bool {
        let is_number = self.ty.starts_with(|c: char| c.is_ascii_digit() || "-'\"".contains(c));
        is_number || ["constexpr", "tl.constexpr", "True", "False", "None"].contains(&self.ty)
    }

    /// Returns name and value of a constant whose value is given.
    fn constant(&self) -> Option<(String, String)> {
        let is_value = self.is_constant() && !self.ty.ends_with("constexpr");
        let value =
            if is_value { Some(self.ty) } else { self.given.filter(|_| self.is_constant()) }?;
        let value = if value.starts_with('-') { format!("({value})") } else { value.to_owned() };
        Some((self.name.to_owned(), value))
    }
}

fn read_hint(text: &str) -> Result<(Hint, &str), String> {
    let end = text.find(['[', ':']).unwrap_or(text.len());
    let (hint, rest) = text.split_at(end);
    match hint.trim() {
        "16" => Ok((Hint::Divisible, rest)),
        "1" => Ok((Hint::One, rest)),
        other => Err(format!("Triton specialises for 16, 1 and S, not for `{other}`")),
    }
}

/// Parses a type; returns the rest of the text, too.
fn kind(text: &str) -> Result<(Kind, &str), String> {
    if let Some(inner) = text.strip_prefix("tensordesc<") {
        return descriptor(inner, false);
    }
    if let Some(inner) = text.strip_prefix(IM2COL) {
        return descriptor(inner, true);
    }
    let (pointer, name) = text.strip_prefix('*').map_or((false, text), |name| (true, name));
    let end = name.find(|c: char| !is_word(c)).unwrap_or(name.len());
    let (name, rest) = name.split_at(end);
    if pointer {
        // The prefix `k` marks memory that the kernel only reads.
        let (name, access) = match name.strip_prefix('k') {
            Some(name) => (name, Access::Read),
            None => (name, Access::Update),
        };
        let (dtype, _) = element(name)?;
        return Ok((Kind::Pointer { dtype, access }, rest.trim()));
    }
    match element(name)? {
        (_, Some(scalar)) => Ok((Kind::Scalar(scalar), rest.trim())),
        (_, None) => Err(format!("`{name}` is a type of elements only")),
    }
}

/// Parses the rest of a type after `tensordesc<`: the element type, the extents of a block, and anything up to `>`, of
/// which the rank of the tensor matters for columns of pixels.
fn descriptor(text: &str, by_columns: bool) -> Result<(Kind, &str), String> {
    let expected = || {
        let form = if by_columns {
            "tensordesc_im2col<fp16[64, 64], input_rank=4>"
        } else {
            "tensordesc<fp16[32, 32]>"
        };
        format!("expected a type such as `{form}`")
    };
    let (inner, rest) = text.rsplit_once('>').ok_or_else(expected)?;
    let (name, block) = inner.split_once('[').ok_or_else(expected)?;
    let (block, more) = block.split_once(']').ok_or_else(expected)?;
    let mut rank = split(block).len();
    if by_columns {
        let said = split(more).into_iter().find_map(|part| part.strip_prefix("input_rank="));
        let said = said.and_then(|said| said.parse().ok());
        rank = said.filter(|rank| (3..=5).contains(rank)).ok_or_else(expected)?;
    }
    let (dtype, _) = element(name.trim())?;
    Ok((Kind::Descriptor(Described { dtype, rank, by_columns, corners: None }), rest.trim()))
}

fn element(name: &str) -> Result<(DType, Option<Scalar>), String> {
    let known = TYPES.into_iter().find(|(triton, ..)| *triton == name);
    let (_, dtype, scalar) = known.ok_or_else(|| format!("Triton has no type `{name}`"))?;
    let dtype = dtype.parse().unwrap_or_else(|_| unreachable!("{dtype} is a type"));
    Ok((dtype, scalar))
}
