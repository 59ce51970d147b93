//! The parts of the target's C library that kernels use.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::Error;
use crate::link::search::{folders, is_gnu};
use crate::link::{Input, Target};

/// Libraries that kernels may use without naming them: the C library, its mathematics, support functions of compilers,
/// and the loader. Each becomes a dependency only if it is used.
const SYSTEM: [&str; 5] =
    ["libc.so.6", "libm.so.6", "libmvec.so.1", "libgcc_s.so.1", "ld-linux-x86-64.so.2"];

/// Returns the parts of the target's C library that define any of these names, as far as this machine has them.
pub(super) fn libraries(names: &BTreeSet<&[u8]>, target: &Target<'_>) -> Result<Vec<Input>, Error> {
    let mut wanted = names.clone();
    let (mut inputs, folders) = (Vec::new(), folders(target.triple));
    for file in SYSTEM.iter().filter(|_| is_gnu(target.triple)) {
        if wanted.is_empty() {
            break;
        }
        let path = folders.iter().map(|folder| folder.join(file)).find(|path| path.is_file());
        let Some(path) = path else { continue };
        let input = read_once(&path)?;
        let fits = input.is_library()
            && input.objects().iter().all(|facts| facts.machine == target.machine);
        let before = wanted.len();
        if fits {
            wanted.retain(|name| !input.defines_bytes(name));
        }
        if wanted.len() < before {
            inputs.push(input);
        }
    }
    Ok(inputs)
}

/// Reads a library of the system, which is large, once until the file changes.
fn read_once(path: &Path) -> Result<Input, Error> {
    static READ: Mutex<Vec<(PathBuf, SystemTime, Input)>> = Mutex::new(Vec::new());
    let Ok(modified) = path.metadata().and_then(|metadata| metadata.modified()) else {
        return Input::read(path);
    };
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    read.retain(|(known, when, _)| known != path || *when == modified);
    if let Some((_, _, input)) = read.iter().find(|(known, _, _)| known == path) {
        return Ok(input.clone());
    }
    let input = Input::read(path)?;
    read.push((path.to_owned(), modified, input.clone()));
    Ok(input)
}
