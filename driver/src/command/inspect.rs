//! The command `inspect`.

use std::path::{Path, PathBuf};

use crate::file::{self, Mode};
use crate::imports::extract;
use crate::{Error, inspect};
use abi_spec::library_bin::ImportTree;
use clap::Args;

/// Prints the exports and imports of a library or object.
#[derive(Args)]
pub(super) struct Inspect {
    /// Shared library or object; `-` for standard input.
    file: PathBuf,
    /// Print JSON, for programs.
    #[arg(long)]
    json: bool,
    /// Also write the modules of the import tree to this folder, with a tree.toml for --import-tree.
    #[arg(long, value_name = "DIR")]
    extract: Option<PathBuf>,
}

impl Inspect {
    /// Prints the report, and extracts the import tree if asked.
    pub(super) fn run(&self) -> Result<(), Error> {
        let path = &self.file;
        let contents = inspect::open(path)?;
        let fault = |fault| link::Error::Object { file: path.display().to_string(), fault };
        let found = contents.inspect().map_err(fault)?;
        if let Some(folder) = &self.extract {
            let refused =
                |reason: String| Error::Import { path: path.clone(), position: None, reason };
            let blob = contents.library_bin().map_err(fault)?;
            let blob = blob.ok_or_else(|| refused("there is no import tree to extract".into()))?;
            let tree = ImportTree::decode(blob).map_err(|error| refused(error.to_string()))?;
            extract(&tree, folder)?;
        }
        let report = if self.json { found.to_json() } else { found.to_string() };
        file::write(Path::new("-"), report.as_bytes(), Mode::Data)
    }
}
