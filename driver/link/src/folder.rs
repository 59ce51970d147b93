//! A temporary folder with the files of a linker that is a program.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::{Input, words};

/// A folder with copies of inputs, so that the linked bytes are the checked ones. It is removed with the value.
pub(super) struct Folder<'a> {
    folder: TempDir,
    inputs: &'a [Input],
    /// The files of the inputs, relative to the folder. Each is in a folder of its own, so that it keeps its name.
    pub(super) files: Vec<PathBuf>,
}

impl Folder<'_> {
    /// Writes copies of the inputs. An error names the folder of temporary files, and not that of this link.
    pub(super) fn of(inputs: &[Input]) -> Result<Folder<'_>, String> {
        let root = env::temp_dir();
        let fail =
            |error| format!("cannot write to the temporary folder {}: {error}", root.display());
        // Without this check a missing folder would be reported with the name of the one to be made in it.
        fs::metadata(&root).map_err(fail)?;
        Folder::within(&root, inputs).map_err(fail)
    }

    fn within<'a>(root: &Path, inputs: &'a [Input]) -> io::Result<Folder<'a>> {
        let folder = TempDir::new_in(root)?;
        let mut files = Vec::new();
        for (i, input) in inputs.iter().enumerate() {
            let file = PathBuf::from(words::path(i, input));
            fs::create_dir(folder.path().join(i.to_string()))?;
            fs::write(folder.path().join(&file), input.bytes())?;
            files.push(file);
        }
        Ok(Folder { folder, inputs, files })
    }

    /// Returns the files of the inputs, relative to the folder: absolute paths could be taken for options.
    pub(super) fn names(&self) -> Vec<String> {
        self.files.iter().map(|file| file.display().to_string()).collect()
    }

    /// Returns the folder.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes one more file.
    pub(super) fn write(&self, name: &str, contents: &str) -> io::Result<()> {
        fs::write(self.path().join(name), contents)
    }

    /// Runs a linker and returns the contents of the file `output`, or what the linker said. `advice` follows the error
    /// of a linker that is not there.
    pub(super) fn run(
        &self,
        mut command: Command,
        output: &str,
        advice: &str,
    ) -> Result<Vec<u8>, String> {
        let done = command.env("LC_ALL", "C").stdin(Stdio::null()).output();
        let done = done.map_err(|error| {
            let advice = if error.kind() == io::ErrorKind::NotFound { advice } else { "" };
            format!("{error}{advice}")
        })?;
        if !done.status.success() {
            let text = String::from_utf8_lossy(&done.stderr);
            let text = text.replace(&format!("{}/", self.path().display()), "");
            let text = words::with_names(text.trim_end(), self.inputs);
            return Err(format!("{}\n{text}", done.status));
        }
        fs::read(self.path().join(output)).map_err(|error| error.to_string())
    }
}
