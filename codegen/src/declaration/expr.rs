//! Expressions: dims, constraints, operands of statements and call arguments.

use abi_spec::Scalar;

use super::{Function, Global};

/// An expression over symbols, parameters and names of the body. Integer arithmetic is exact, with floor division: the
/// call fails if a result is no `int64`. An operation of an integer and a float is a `float64` operation.
///
/// `Display` prints the canonical text: one space around binary operators, no needless parentheses.
///
/// A library may have expressions of up to [`MAX_NESTING`](crate::language::MAX_NESTING) levels; an expression itself
/// may have any number. `clone`, `==`, `Display` and `Debug` call themselves once for each level, so they need a stack
/// for the depth ([`Library`](super::Library#depth)).
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Expr {
    /// An integer literal.
    Int(i64),
    /// An integer literal above `int64`, in a comparison with a `uint64`.
    Unsigned(u64),
    /// A finite float literal.
    Float(f64),
    /// Text in quotes. It compares with text, and stands for the element type or device that it names.
    Text(String),
    /// `null`, the null pointer.
    Null,
    /// A name of a symbol, a parameter or a local. The name of a tensor stands for its `DLTensor*`.
    Name(String),
    /// `x.shape[0]`: a member of a value.
    Member(Box<Expr>, Member),
    /// `xs[i]`: an element of an array or a list, or a number of a shape. `t[1]`: an element of a tuple, whose index is
    /// a literal.
    Element(Box<Expr>, Box<Expr>),
    /// `t.x`: an element of a tuple by its name.
    Field(Box<Expr>, String),
    /// `-e`.
    Neg(Box<Expr>),
    /// `a + b`: an arithmetic operation.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `min(a, b)`: a call of a builtin function.
    Call(Builtin, Box<Expr>, Box<Expr>),
    /// `stream(x)`: the environment's stream for the device of tensor `x`; NULL for the cpu.
    Stream(Box<Expr>),
    /// `current_device()`: the index of the driver's current device.
    CurrentDevice,
    /// `code.global("state")`: the address of a device variable of an image.
    Global(Box<Global>),
    /// `x.device.multiprocessors`: an attribute of the device of tensor `x`, an `int64`.
    DeviceAttribute(Box<Expr>, DeviceAttribute),
    /// `int32(e)`: a checked narrowing to an integer type, or a rounding to a float type.
    Cast(Scalar, Box<Expr>),
    /// `True` or `False`.
    Bool(bool),
    /// `None`, as an argument of a function of the FFI.
    None,
    /// `a < b`: a comparison, which yields a truth.
    Compare(Comparison, Box<Expr>, Box<Expr>),
    /// `not a`.
    Not(Box<Expr>),
    /// `a and b`: the second operand is evaluated only if the first does not decide.
    Logic(Logic, Box<Expr>, Box<Expr>),
    /// `[a, b]`: an array object, as an argument of a function of the FFI or as a result.
    Array(Vec<Expr>),
    /// `Shape(n, m)`: a shape object, as an argument of a function of the FFI or as a result.
    Shape(Vec<Expr>),
    /// `function(i: int64) -> None { … }`: a function object that holds what its body names of the outside. Its
    /// signature is that of [`Signature::closure`](super::Signature::closure).
    Function(Box<Function>),
}

/// Declares the members that take no index: the enum, its table, and a constructor for each.
macro_rules! members {
    ($($(#[$doc:meta])* $name:ident $member:ident;)*) => {
        /// A member of a value.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Member {
            /// `x.shape[i]`: the extent of dim i, in elements; a negative index counts from the end.
            Shape(i32),
            /// `x.strides[i]`: the stride of dim i in elements; the compact stride where the strides are NULL. A
            /// negative index counts from the end.
            Strides(i32),
            $($(#[$doc])* $member,)*
        }

        impl Member {
            /// Members without an index, with their names.
            pub(crate) const PLAIN: [(&'static str, Member); [$(stringify!($name)),*].len()] =
                [$((stringify!($name), Member::$member)),*];
        }

        impl Expr {
            $(
                #[doc = concat!("Builds `self.", stringify!($name), "`, see [`Member::", stringify!($member), "`].")]
                pub fn $name(&self) -> Expr {
                    self.member(Member::$member)
                }
            )*
        }
    };
}

members! {
    /// `x.data`: the address of the first element, `byte_offset` applied.
    data Data;
    /// `x.ndim`: the rank.
    ndim Ndim;
    /// `x.device_type`: the DLPack number of the device type.
    device_type DeviceType;
    /// `x.device_id`: the index of the device.
    device_id DeviceId;
    /// `x.byte_offset`: the offset of the first element in bytes.
    byte_offset ByteOffset;
    /// `x.dtype`: the element type.
    dtype DType;
    /// `x.numel`: the number of elements.
    numel Numel;
    /// `x.is_contiguous`: true if the strides are compact.
    is_contiguous IsContiguous;
    /// `x.object`: the address of the tensor object, whose `DLTensor` is `x`; a `DLTensor*` that is part of no object
    /// is a TypeError.
    object Object;
    /// `s.size`: the number of bytes, numbers or elements.
    size Size;
    /// `x.is_some`: true if an optional value is not None.
    is_some IsSome;
}

impl Member {
    /// Returns true for names of members, which tuple elements cannot have.
    pub(crate) fn is_name(word: &str) -> bool {
        matches!(word, "shape" | "strides") || Member::PLAIN.iter().any(|(name, _)| *name == word)
    }
}

/// An attribute of a CUDA device, a `CUdevice_attribute`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceAttribute {
    /// `x.device.multiprocessors`: the number of multiprocessors.
    Multiprocessors,
    /// `x.device.attribute(75)`: an attribute by its number, 1 to 2147483647.
    Other(u32),
}

/// Declares operators with their spellings.
macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident { $($(#[$note:meta])* $variant:ident $text:literal;)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $(#[doc = concat!("`", $text, "`")] $(#[$note])* $variant,)*
        }

        impl $name {
            /// Returns the spelling.
            pub const fn text(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }
    )*};
}

operators! {
    /// An arithmetic operator.
    BinaryOp {
        Add "+";
        Sub "-";
        Mul "*";
        /// Floor division of integers, division of floats.
        Div "/";
        /// Remainder of floor division; integers only.
        Rem "%";
    }
    /// A comparison operator.
    Comparison {
        Eq "==";
        Ne "!=";
        Lt "<";
        Le "<=";
        Gt ">";
        Ge ">=";
    }
    /// A logical operator.
    Logic {
        And "and";
        Or "or";
    }
    /// A builtin function of two arguments.
    Builtin {
        /// Quotient rounded up; integers only.
        CeilDiv "ceildiv";
        Min "min";
        Max "max";
    }
}

impl Comparison {
    /// Returns the comparison with its operands exchanged.
    pub(crate) fn turned(self) -> Comparison {
        match self {
            Comparison::Eq | Comparison::Ne => self,
            Comparison::Lt => Comparison::Gt,
            Comparison::Le => Comparison::Ge,
            Comparison::Gt => Comparison::Lt,
            Comparison::Ge => Comparison::Le,
        }
    }
}

impl Expr {
    /// Returns the direct subexpressions in source order. The body of a function has none of them.
    pub fn children(&self) -> impl Iterator<Item = &Expr> {
        let (first, second, rest) = match self {
            Expr::Int(_)
            | Expr::Unsigned(_)
            | Expr::Float(_)
            | Expr::Text(_)
            | Expr::Null
            | Expr::Name(_)
            | Expr::Bool(_)
            | Expr::None
            | Expr::CurrentDevice
            | Expr::Global(_)
            | Expr::Function(_) => (None, None, &[][..]),
            Expr::Member(e, _)
            | Expr::Field(e, _)
            | Expr::Neg(e)
            | Expr::Not(e)
            | Expr::Stream(e)
            | Expr::DeviceAttribute(e, _)
            | Expr::Cast(_, e) => (Some(&**e), None, &[][..]),
            Expr::Binary(_, a, b)
            | Expr::Call(_, a, b)
            | Expr::Element(a, b)
            | Expr::Compare(_, a, b)
            | Expr::Logic(_, a, b) => (Some(&**a), Some(&**b), &[][..]),
            Expr::Array(all) | Expr::Shape(all) => (None, None, &all[..]),
        };
        first.into_iter().chain(second).chain(rest)
    }

    /// Returns true if a name occurs in the expression.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        let is_it = matches!(self, Expr::Name(own) if own == name);
        is_it || self.children().any(|child| child.mentions(name))
    }

    /// Calls `with` with every name in the expression.
    pub(crate) fn names<'a>(&'a self, with: &mut impl FnMut(&'a str)) {
        if let Expr::Name(name) = self {
            with(name);
        }
        self.children().for_each(|child| child.names(with));
    }

    /// Appends the functions that the expression makes, in source order, without those within them, each with the
    /// number of expressions around it, which is `around` for this one.
    pub(crate) fn functions<'a>(&'a self, around: usize, all: &mut Vec<(&'a Function, usize)>) {
        if let Expr::Function(function) = self {
            all.push((function, around));
        }
        self.children().for_each(|child| child.functions(around + 1, all));
    }
}

/// Constructors of expressions. Rust's operators build arithmetic, and `!` builds `not`. They take an expression or a
/// reference to one on each side; anything that converts on the right; an `i64` or an `f64`, such as a literal, on the
/// left.
///
/// ```
/// use tvm_ffi_codegen::Expr;
///
/// let [n, m, x] = ["n", "m", "x"].map(Expr::name);
/// let tiles = (&n + 1).ceildiv(&m) * 64;
/// assert_eq!(tiles.to_string(), "ceildiv(n + 1, m) * 64");
/// let fits = (&n % 4).equal(0).and(!x.is_contiguous().or(x.shape(0).less(m)));
/// assert_eq!(fits.to_string(), "n % 4 == 0 and not (x.is_contiguous or x.shape[0] < m)");
/// ```
impl Expr {
    /// Builds a name of a symbol, a parameter or a local.
    pub fn name(name: impl Into<String>) -> Expr {
        Expr::Name(name.into())
    }

    /// Builds `True` or `False`.
    ///
    /// There is no conversion from a `bool`, since Rust's `==` of two expressions is one: whether they are the same
    /// expression. [`equal`](Expr::equal) builds the comparison that a call makes.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Expr, Statement};
    ///
    /// let [n, m] = ["n", "m"].map(Expr::name);
    /// let check = Statement::if_then(n.equal(m), [Statement::return_value(Expr::bool(true))]);
    /// ```
    ///
    /// ```compile_fail,E0277
    /// use tvm_ffi_codegen::{Expr, Statement};
    ///
    /// let [n, m] = ["n", "m"].map(Expr::name);
    /// let check = Statement::if_then(n == m, [Statement::return_value(Expr::bool(true))]);
    /// ```
    pub fn bool(value: bool) -> Expr {
        Expr::Bool(value)
    }

    /// Builds text in quotes.
    pub fn text(text: impl Into<String>) -> Expr {
        Expr::Text(text.into())
    }

    /// Builds `[a, b]`.
    pub fn array(entries: impl IntoIterator<Item: Into<Expr>>) -> Expr {
        Expr::Array(entries.into_iter().map(Into::into).collect())
    }

    /// Builds `Shape(n, m)`.
    pub fn shape_of(numbers: impl IntoIterator<Item: Into<Expr>>) -> Expr {
        Expr::Shape(numbers.into_iter().map(Into::into).collect())
    }

    /// Builds `function(…) -> … { … }` from a function with a [closure's signature](super::Signature::closure).
    pub fn function(function: Function) -> Expr {
        Expr::Function(Box::new(function))
    }

    /// Builds `self.member`.
    pub fn member(&self, member: Member) -> Expr {
        Expr::Member(Box::new(self.clone()), member)
    }

    /// Builds `self.shape[dim]`, from the end if `dim` is negative.
    pub fn shape(&self, dim: i32) -> Expr {
        self.member(Member::Shape(dim))
    }

    /// Builds `self.strides[dim]`, from the end if `dim` is negative.
    pub fn strides(&self, dim: i32) -> Expr {
        self.member(Member::Strides(dim))
    }

    /// Builds `self[index]`: an element of an array, a list or a tuple, or a number of a shape.
    ///
    /// ```
    /// use tvm_ffi_codegen::Expr;
    ///
    /// let [xs, i] = ["xs", "i"].map(Expr::name);
    /// assert_eq!(xs.element(&i + 1).element(0).shape(2).to_string(), "xs[i + 1][0].shape[2]");
    /// ```
    pub fn element(&self, index: impl Into<Expr>) -> Expr {
        Expr::Element(Box::new(self.clone()), Box::new(index.into()))
    }

    /// Builds `self.name`: an element of a tuple by its name.
    pub fn field(&self, name: impl Into<String>) -> Expr {
        Expr::Field(Box::new(self.clone()), name.into())
    }

    /// Builds `stream(self)`.
    pub fn stream(&self) -> Expr {
        Expr::Stream(Box::new(self.clone()))
    }

    /// Builds `self.device.multiprocessors`, or another attribute of the device of a tensor.
    ///
    /// ```
    /// use tvm_ffi_codegen::{DeviceAttribute, Expr};
    ///
    /// let x = Expr::name("x");
    /// let count = x.device_attribute(DeviceAttribute::Multiprocessors);
    /// assert_eq!(count.to_string(), "x.device.multiprocessors");
    /// let shared = x.device_attribute(DeviceAttribute::Other(97));
    /// assert_eq!(shared.to_string(), "x.device.attribute(97)");
    /// ```
    pub fn device_attribute(&self, attribute: DeviceAttribute) -> Expr {
        Expr::DeviceAttribute(Box::new(self.clone()), attribute)
    }

    /// Builds `int32(self)`: a checked narrowing, or a rounding to a float type.
    pub fn cast(self, scalar: Scalar) -> Expr {
        Expr::Cast(scalar, Box::new(self))
    }

    /// Builds `self op rhs`, an arithmetic operation.
    pub fn binary(self, op: BinaryOp, rhs: impl Into<Expr>) -> Expr {
        Expr::Binary(op, Box::new(self), Box::new(rhs.into()))
    }

    /// Builds `self op rhs`, a comparison.
    pub fn compare(self, op: Comparison, rhs: impl Into<Expr>) -> Expr {
        Expr::Compare(op, Box::new(self), Box::new(rhs.into()))
    }

    /// Builds `self and rhs` or `self or rhs`.
    pub fn logic(self, op: Logic, rhs: impl Into<Expr>) -> Expr {
        Expr::Logic(op, Box::new(self), Box::new(rhs.into()))
    }

    /// Builds `builtin(self, rhs)`.
    pub fn builtin(self, builtin: Builtin, rhs: impl Into<Expr>) -> Expr {
        Expr::Call(builtin, Box::new(self), Box::new(rhs.into()))
    }
}
