//! Files of dependencies for build systems, as compilers of C write them with `-MD`.

use std::io;
use std::path::{Path, PathBuf};

use super::refuse_overwriting;
use crate::Error;
use crate::file::{self, Mode};
use crate::link::file::STANDARD;

/// Writes which files an output was made from, but for standard input.
pub(super) fn write(path: &Path, output: &Path, read: &[PathBuf]) -> Result<(), Error> {
    if file::is_same(path, output) {
        let source = io::Error::other("it is the output");
        return Err(Error::Write { path: path.to_owned(), source });
    }
    refuse_overwriting(path, read)?;
    let files = read.iter().filter(|file| file.as_path() != Path::new(STANDARD));
    let words: Option<Vec<Vec<u8>>> =
        [output].into_iter().chain(files.map(PathBuf::as_path)).map(word).collect();
    let rule = words.map(|words| {
        let (target, files) = words.split_first().expect("the output is the first");
        let files = files.iter().flat_map(|file| [b" \\\n  ", file.as_slice()].concat());
        target.iter().copied().chain(*b":").chain(files).chain(*b"\n").collect::<Vec<u8>>()
    });
    let rule = rule.ok_or_else(|| Error::Write {
        path: path.to_owned(),
        source: io::Error::other(
            "the name of a file has an end of line, for which Make has no word",
        ),
    })?;
    file::write(path, &rule, Mode::Data)
}

/// Returns a path as a word of Make and Ninja, escaped as GCC does it; `None` for one with an end of line.
fn word(path: &Path) -> Option<Vec<u8>> {
    let mut word = Vec::new();
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'\n' | b'\r' => return None,
            b' ' | b'\t' => {
                // Backslashes before a blank would escape each other.
                let before = word.iter().rev().take_while(|&&byte| byte == b'\\').count();
                word.extend(std::iter::repeat_n(b'\\', before + 1));
            }
            b'#' => word.push(b'\\'),
            b'$' => word.push(b'$'),
            _ => {}
        }
        word.push(byte);
    }
    Some(word)
}
