//! Commands: statements other than launches that work on a stream. They write and copy device memory, and make one
//! stream wait for another.

use super::{Expr, LaunchArg, Statement, StatementKind};

/// `upload w.data (x.data, n) on x;`: writes values into device memory, laid out as C lays out a struct.
///
/// The bytes are part of the command, so that a captured upload writes the same bytes at each replay.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Upload {
    /// Address on the device, a multiple of the alignment of the struct and of 4 bytes. Its text does not start with a
    /// parenthesis.
    pub to: Expr,
    /// Fields of the struct, whose size is a multiple of 4 bytes.
    pub values: Vec<LaunchArg>,
    /// Device and stream of the command.
    pub target: Target,
}

/// `fill w.data, bytes, 0 on x;`: sets every byte of device memory to a value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MemoryFill {
    /// Address on the device. Its text does not start with a parenthesis.
    pub to: Expr,
    /// Size in bytes; 0 does nothing.
    pub bytes: Expr,
    /// Value of each byte, 0 to 255.
    pub value: Expr,
    /// Device and stream of the command.
    pub target: Target,
}

/// `copy to, from, bytes on x;`: copies memory. Both addresses are valid on the device.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MemoryCopy {
    /// Address to write. Its text does not start with a parenthesis.
    pub to: Expr,
    /// Address to read.
    pub from: Expr,
    /// Size in bytes; 0 does nothing.
    pub bytes: Expr,
    /// Device and stream of the command.
    pub target: Target,
}

/// `wait a, b;`: makes stream `a` wait for the work that stream `b` has been given so far.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Wait {
    /// Stream that waits. Its text does not start with a parenthesis.
    pub waiter: Expr,
    /// Stream that is waited for.
    pub other: Expr,
    /// Tensor whose device has the streams; matters for default streams only.
    pub on: Option<Expr>,
}

/// Device and stream of a command.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Target {
    /// Tensor on whose device the command runs. `None` selects the first tensor among the operands, else the first
    /// tensor parameter that is not on the cpu.
    pub on: Option<Expr>,
    /// Stream; `None` for the environment's stream of the device.
    pub stream: Option<Expr>,
}

impl Target {
    /// Returns the expressions: `on`, then the stream.
    fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.on.iter().chain(&self.stream)
    }
}

/// Constructors of commands.
///
/// ```
/// use tvm_ffi_codegen::{DType, DeviceType, Expr, Leaf, MemoryCopy, MemoryFill, Signature, Tensor, Upload, Wait, exprs};
///
/// let [x, n, s] = ["x", "n", "s"].map(Expr::name);
/// let bytes = Tensor::new([&n], DType::UINT8).with_device(DeviceType::CUDA);
/// let function = Signature::new("f").param("x", bytes).param("s", Leaf::Stream).body([
///     Wait::new("s", x.stream()).into(),
///     MemoryFill::new(x.data(), n.clone(), 0).stream("s").into(),
///     Upload::new(x.data(), exprs![x.data(), n.clone()]).on("x").stream("s").into(),
///     MemoryCopy::new(x.data(), x.data(), n).into(),
///     Wait::new(x.stream(), s).on("x").into(),
/// ]);
/// let text = "\
/// f(x: Tensor([n], uint8, device=cuda), s: Stream) -> None
///     = {
///         wait s, stream(x);
///         fill x.data, n, 0 stream s;
///         upload x.data (x.data, n) on x stream s;
///         copy x.data, x.data, n;
///         wait stream(x), s on x;
///     };";
/// assert_eq!(function.to_string(), text);
/// assert_eq!(text.parse(), Ok(function));
/// ```
impl Upload {
    /// Builds an upload of values to an address.
    pub fn new(to: impl Into<Expr>, values: impl IntoIterator<Item: Into<LaunchArg>>) -> Upload {
        let values = values.into_iter().map(Into::into).collect();
        Upload { to: to.into(), values, target: Target::default() }
    }

    /// Returns all expressions: address, values, then those of the target.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let mut all = vec![&self.to];
        self.values.iter().for_each(|value| value.exprs(&mut all));
        all.into_iter().chain(self.target.exprs())
    }
}

impl MemoryFill {
    /// Builds a fill of `bytes` bytes at an address with a value of one byte.
    pub fn new(to: impl Into<Expr>, bytes: impl Into<Expr>, value: impl Into<Expr>) -> MemoryFill {
        let (to, bytes, value) = (to.into(), bytes.into(), value.into());
        MemoryFill { to, bytes, value, target: Target::default() }
    }

    /// Returns all expressions: address, size, value, then those of the target.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        [&self.to, &self.bytes, &self.value].into_iter().chain(self.target.exprs())
    }
}

impl MemoryCopy {
    /// Builds a copy of `bytes` bytes from one address to another.
    pub fn new(to: impl Into<Expr>, from: impl Into<Expr>, bytes: impl Into<Expr>) -> MemoryCopy {
        let (to, from, bytes) = (to.into(), from.into(), bytes.into());
        MemoryCopy { to, from, bytes, target: Target::default() }
    }

    /// Returns all expressions: both addresses, size, then those of the target.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        [&self.to, &self.from, &self.bytes].into_iter().chain(self.target.exprs())
    }
}

impl Wait {
    /// Builds `wait waiter, other;`.
    pub fn new(waiter: impl Into<Expr>, other: impl Into<Expr>) -> Wait {
        Wait { waiter: waiter.into(), other: other.into(), on: None }
    }

    /// Sets the tensor whose device has the streams.
    pub fn on(mut self, tensor: impl Into<Expr>) -> Wait {
        self.on = Some(tensor.into());
        self
    }

    /// Returns all expressions: both streams, then `on`.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        [&self.waiter, &self.other].into_iter().chain(&self.on)
    }
}

macro_rules! targeted {
    ($($name:ident)*) => {$(
        impl $name {
            /// Sets the tensor on whose device the command runs.
            pub fn on(mut self, tensor: impl Into<Expr>) -> $name {
                self.target.on = Some(tensor.into());
                self
            }

            /// Sets the stream.
            pub fn stream(mut self, stream: impl Into<Expr>) -> $name {
                self.target.stream = Some(stream.into());
                self
            }
        }
    )*};
}

targeted! { Upload MemoryFill MemoryCopy }

macro_rules! statements {
    ($($name:ident $variant:ident;)*) => {$(
        impl From<$name> for Statement {
            fn from(command: $name) -> Statement {
                StatementKind::$variant(Box::new(command)).into()
            }
        }
    )*};
}

statements! {
    Upload Upload;
    MemoryFill Fill;
    MemoryCopy Copy;
    Wait Wait;
}
