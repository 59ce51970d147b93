//! The command `import-triton`.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use super::emit::refuse_overwriting;
use crate::file::{self, Mode};
use crate::{Error, triton};

/// Takes what Triton leaves of a kernel, and writes a declaration to read and edit.
#[derive(Args)]
pub(super) struct ImportTriton {
    /// The kernel's metadata, NAME.json as Triton writes it to its cache; `-` for standard input. If NAME.ttir is in the
    /// same folder, the signature must promise what that says of divisibility.
    metadata: PathBuf,
    /// The kernel's code, from the same folder.
    cubin: PathBuf,
    /// The kernel's parameters in order, in Triton's words: 'x: *fp32[n]:16, n: i32:16, stride: i32:1, BLOCK: 1024'. A
    /// shape and `= EXPR`, which is given instead of an argument, are optional; `name(…)` around it names the function.
    #[arg(long, value_name = "PARAMS")]
    signature: String,
    /// How many programs run, in up to three directions: 'cdiv(n, BLOCK)'.
    #[arg(long, value_name = "EXPRS")]
    grid: String,
    /// Where to write; `-` for standard output.
    #[arg(short, value_name = "OUT")]
    output: PathBuf,
}

impl ImportTriton {
    /// Writes the declaration, and above it how it becomes a library.
    pub(super) fn run(&self) -> Result<(), Error> {
        refuse_overwriting(&self.output, &[self.metadata.clone(), self.cubin.clone()])?;
        let metadata = text(&self.metadata)?;
        // Triton writes it to the same folder, but launches do not need it.
        let ttir = self.metadata.with_extension("ttir");
        if ttir.is_file() {
            triton::check_specialization(&text(&ttir)?, &self.signature)?;
        }
        let cubin = file::read(&self.cubin)?;
        let library = triton::import(&metadata, &cubin, &self.signature, &self.grid)?;
        let mut written = String::new();
        for image in &library.images {
            let _ = writeln!(written, "# --image {}={}", image.name, name_of(&self.cubin));
        }
        let _ = write!(written, "{library}");
        file::write(&self.output, written.as_bytes(), Mode::Data)
    }
}

fn text(path: &Path) -> Result<String, Error> {
    String::from_utf8(file::read(path)?).map_err(|error| {
        let source = io::Error::new(io::ErrorKind::InvalidData, error);
        Error::Read { path: path.to_owned(), source }
    })
}

/// The name of a file in a comment, where the end of a line would end it.
fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().replace(char::is_control, " ")
}
