//! What the command `emit` is told.

use std::path::PathBuf;

use crate::{BACKENDS, Form, Optimize, Routines};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

/// Declarations, and what becomes of them.
#[derive(Args)]
pub(super) struct Emit {
    /// Declarations; `-` for standard input.
    pub(super) file: PathBuf,
    /// The code generator.
    #[arg(long, value_name = "NAME", value_parser = BACKENDS, default_value = "cranelift")]
    pub(super) backend: String,
    /// What to emit.
    #[arg(long, value_name = "FORM", default_value = "object", value_parser = emission())]
    pub(super) emit: Emission,
    /// How much llvm and mlir optimise.
    #[arg(short = 'O', value_name = "LEVEL", default_value_t, value_parser = level())]
    pub(super) optimization: Optimize,
    #[command(flatten)]
    pub(super) linking: Linking,
    /// A module that the library imports: what FILE holds, for the loader of this kind. May be given
    /// several times.
    #[arg(long, value_name = "KIND=FILE", value_parser = import, conflicts_with = "import_tree")]
    pub(super) import: Vec<(String, PathBuf)>,
    /// Everything that the library imports, as a TOML file describes it.
    #[arg(long, value_name = "TREE.toml")]
    pub(super) import_tree: Option<PathBuf>,
    /// The machine that the code is for, such as aarch64-unknown-linux-gnu [default: this one].
    #[arg(long, value_name = "TRIPLE")]
    pub(super) target: Option<String>,
    /// The processor that the code is for, as LLVM names it, such as x86-64-v3; with llvm and mlir
    /// [default: what every machine of the target has].
    #[arg(long, value_name = "NAME")]
    pub(super) cpu: Option<String>,
    /// The function that is exported as `main` too: what calling the loaded module calls.
    #[arg(long, value_name = "NAME")]
    pub(super) entry: Option<String>,
    /// GPU code that the declarations launch from: the bytes of `image NAME;` are those of FILE, a cubin, a fatbin or
    /// PTX. May be given several times.
    #[arg(long, value_name = "NAME=FILE", value_parser = image)]
    pub(super) image: Vec<(String, PathBuf)>,
    /// Export one more function, of this name, which loads all GPU code on a device: `(device_id: int64) -> None`.
    #[arg(long, value_name = "NAME")]
    pub(super) prepare: Option<String>,
    /// Be linked into a program instead of loaded: registered when it starts, and found as the system
    /// library of this prefix, which may be empty (`--system-lib ''`).
    #[arg(long, value_name = "PREFIX")]
    pub(super) system_lib: Option<String>,
    /// Leave out the metadata and documentation of the functions.
    #[arg(long)]
    pub(super) no_metadata: bool,
    /// Where the routines that compose messages are from; `tvm-ffi-codegen routines` writes linked ones for other linkers
    /// than that of --emit shared [default: linked with --emit shared, else embedded].
    #[arg(long)]
    pub(super) routines: Option<Routines>,
    /// Checks that are left out, for callers that have made them already: names with commas in between.
    /// What makes the wrapper's own loads legal is checked always.
    #[arg(long, value_name = "GROUPS", value_delimiter = ',')]
    pub(super) unchecked: Vec<Group>,
    /// Where to write; `-` for standard output.
    #[arg(short, value_name = "OUT")]
    pub(super) output: PathBuf,
}

/// What is linked, and how.
#[derive(Args)]
pub(super) struct Linking {
    /// What defines kernels: an object or an archive of objects; a shared library, which is then needed when
    /// ours is loaded; with llvm LLVM IR as text or bitcode, with mlir MLIR, which may be inlined. May be given
    /// several times.
    #[arg(long, value_name = "KERNEL")]
    pub(super) link: Vec<PathBuf>,
    /// A library by its name, libNAME.so or else libNAME.a, or by that of its file, `:FILE`. May be given several
    /// times.
    #[arg(short = 'l', value_name = "NAME")]
    pub(super) library: Vec<String>,
    /// A folder in which libraries are looked for, before those of the system. May be given several times.
    #[arg(short = 'L', value_name = "DIR")]
    pub(super) folder: Vec<PathBuf>,
    /// A folder in which the loader looks for what the shared library needs; `$ORIGIN` is that of the library. May
    /// be given several times.
    #[arg(long, value_name = "DIR")]
    pub(super) rpath: Vec<String>,
    /// Do not say that the shared library needs libtvm_ffi.so: for processes that hold it in another file.
    #[arg(long)]
    pub(super) no_runtime_dependency: bool,
    /// Who links; `wild` is part of this program, `cc` is $CC or else `cc` [default: wild].
    #[arg(long)]
    pub(super) linker: Option<LinkerName>,
}

/// A group of checks.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Group {
    /// Extents against what is known of them
    Shape,
    /// Strides
    Strides,
    /// Devices
    Device,
    /// Alignment of the first element
    Alignment,
}

/// The levels, which help and errors list.
fn level() -> impl TypedValueParser<Value = Optimize> {
    let levels = Optimize::ALL.map(|level| level.name());
    PossibleValuesParser::new(levels).try_map(|level| level.parse::<Optimize>())
}

/// What to emit: a form of the library, or the C header of its functions.
#[derive(Clone, Copy)]
pub(super) enum Emission {
    Form(Form),
    Header,
}

fn emission() -> impl TypedValueParser<Value = Emission> {
    let header = PossibleValue::new("header").help("A C header of the functions after `extern`");
    let forms = Form::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    PossibleValuesParser::new(forms.chain([header])).map(|name| {
        // What is no form is the header.
        Form::from_str(&name, false).map_or(Emission::Header, Emission::Form)
    })
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum LinkerName {
    Wild,
    Cc,
}

/// The kind and the file of a module.
fn import(text: &str) -> Result<(String, PathBuf), &'static str> {
    let (kind, file) = text.split_once('=').ok_or("expected KIND=FILE")?;
    Ok((kind.to_owned(), file.into()))
}

/// The name and the file of an image.
fn image(text: &str) -> Result<(String, PathBuf), &'static str> {
    let (name, file) = text.split_once('=').ok_or("expected NAME=FILE")?;
    Ok((name.to_owned(), file.into()))
}
