//! The command `import-triton`.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use super::emit::refuse_second_standard;
use super::refuse_overwriting;
use crate::file::{self, Mode};
use crate::{Error, triton};

/// Declares a kernel from the files that Triton compiled it to. The declaration is to be read and edited.
#[derive(Args)]
pub(super) struct ImportTriton {
    /// Metadata of the kernel, NAME.json as Triton writes it to its cache; `-` for standard input. If NAME.ttir is in
    /// the same folder, the signature must have all hints of divisibility in it.
    metadata: PathBuf,
    /// Code of the kernel, NAME.cubin or NAME.hsaco, from the same folder.
    code: PathBuf,
    /// Parameters of the kernel in order, in Triton's syntax: 'x: *fp32[n]:16, n: i32:16, stride: i32:1, BLOCK: 1024'.
    /// A shape and `= EXPR`, which replaces an argument, are optional; `name(…)` around them names the function.
    #[arg(long, value_name = "PARAMS")]
    signature: String,
    /// Number of programs, in up to three directions: 'cdiv(n, BLOCK)'. With '...' the function is for a launcher: it
    /// checks nothing, and gets addresses, the device, the stream and the number of programs.
    #[arg(long, value_name = "EXPRS")]
    grid: String,
    /// Output; `-` for standard output.
    #[arg(short, value_name = "OUT")]
    output: PathBuf,
}

impl ImportTriton {
    /// Writes the declaration, below comments with the options that make a library of it.
    pub(super) fn run(&self) -> Result<(), Error> {
        let inputs = [self.metadata.clone(), self.code.clone()];
        refuse_second_standard(&inputs)?;
        refuse_overwriting(&self.output, &inputs)?;
        let metadata = text(&self.metadata)?;
        // The IR is beside the metadata, unless only the files for launches were kept.
        let ttir = self.metadata.with_extension("ttir");
        if ttir.is_file() {
            triton::check_specialization(&text(&ttir)?, &self.signature)?;
        }
        let code = file::read(&self.code)?;
        let library = triton::import(&metadata, &code, &self.signature, &self.grid)?;
        let mut written = String::new();
        for image in &library.images {
            let _ = writeln!(written, "# --image {}={}", image.name, name_of(&self.code));
        }
        let _ = write!(written, "{library}");
        file::write(&self.output, written.as_bytes(), Mode::Data)
    }
}

fn text(path: &Path) -> Result<String, Error> {
    let text = String::from_utf8(file::read(path)?).map_err(|error| {
        let source = io::Error::new(io::ErrorKind::InvalidData, error);
        link::Error::Read { path: path.to_owned(), source }
    });
    Ok(text?)
}

/// Returns the name of a file without control characters, since an end of line would end the comment.
fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().replace(char::is_control, " ")
}
