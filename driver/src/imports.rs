//! Import trees as files: reading them for a library, and extracting them from one.
//!
//! A TOML file describes a tree of any shape, beside files with the bytes of its modules:
//!
//! ```toml
//! # Loading the library returns the first module.
//! [[module]]
//! kind = "_lib"            # the library itself; it has no file
//! imports = [1, 2]         # positions in this list, counted from 0
//!
//! [[module]]
//! kind = "cuda"            # selects the loader, ffi.Module.load_from_bytes.cuda
//! file = "kernels.fatbin"  # relative to the folder of this file
//! imports = [2]
//!
//! [[module]]
//! kind = "weights"
//! file = "weights.bin"
//! ```
//!
//! ```
//! use tvm_ffi_codegen_driver::imports::{extract, read_tree};
//! use tvm_ffi_codegen_driver::{File, Request, inspect};
//! # use codegen as tvm_ffi_codegen;
//! use tvm_ffi_codegen::Library;
//! use tvm_ffi_codegen::library_bin::ImportTree;
//!
//! let folder = tempfile::tempdir()?;
//! let weights = folder.path().join("weights.bin");
//! std::fs::write(&weights, [1, 2, 3])?;
//! let imports = vec![("weights".to_owned(), File::Path(weights))];
//!
//! let library: Library = "twice(n: int64) -> int64 = twice_kernel(n);".parse()?;
//! let object = Request { imports, ..Request::default() }.emit(&library)?;
//!
//! let blob = inspect::library_bin(&object)?.expect("the object embeds a tree");
//! let tree = ImportTree::decode(blob)?;
//! extract(&tree, &folder.path().join("parts"))?;
//! assert_eq!(read_tree(&folder.path().join("parts/tree.toml"))?, tree);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use abi_spec::library_bin::{ImportTree, LIBRARY_KIND, Module, Node};
use serde::{Deserialize, Serialize};

use crate::{Error, File, file};

/// Name of the description that [`extract`] writes.
pub const TREE_FILE: &str = "tree.toml";

/// Most bytes of a description.
const MAX_DESCRIPTION: usize = 16 << 20;

/// Most characters of a kind in the name of a file.
const MAX_KIND: usize = 32;

/// A tree in TOML.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    module: Vec<Entry>,
}

/// A node in TOML.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    imports: Vec<usize>,
}

/// Makes the tree of a library that imports one module per kind and file, in order.
///
/// # Errors
/// [`link::Error::Read`], and [`Error::Import`] for an empty file, or a kind that is empty, `_lib`, or holds a
/// control character.
pub(crate) fn read_modules(modules: &[(String, File)]) -> Result<ImportTree<'static>, Error> {
    let children = (1..=modules.len()).collect();
    let mut nodes = vec![Node { module: Module::Library, children }];
    for (kind, file) in modules {
        if kind.contains(char::is_control) {
            let reason = format!("the kind {kind:?} holds a control character");
            return Err(fault(&file.path(), reason));
        }
        nodes.push(Node { module: custom(kind, file)?, children: Vec::new() });
    }
    let tree = ImportTree { nodes };
    match tree.validate() {
        Ok(()) => Ok(tree),
        Err(error) => {
            let at = error.node().and_then(|node| modules.get(node.wrapping_sub(1)));
            Err(fault(&at.map_or_else(PathBuf::new, |(_, file)| file.path()), error))
        }
    }
}

/// Reads the tree that a TOML file describes, in the form that is shown [above](self).
///
/// # Errors
/// [`link::Error::Read`] for a file that cannot be read, [`Error::Import`] for an invalid description, or a tree that cannot
/// be loaded.
pub fn read_tree(path: &Path) -> Result<ImportTree<'static>, Error> {
    let text = file::text(path, MAX_DESCRIPTION)?;
    let text = text.ok_or_else(|| fault(path, format!("more than {MAX_DESCRIPTION} bytes")))?;
    let description: Description = toml::from_str(&text).map_err(|error| Error::Import {
        path: path.to_owned(),
        position: position(&text, &error),
        reason: error.message().to_owned(),
    })?;
    // With a folder in front a file named `-` is not standard input.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut nodes = Vec::with_capacity(description.module.len());
    for (index, Entry { kind, file, imports }) in description.module.into_iter().enumerate() {
        let module = match file {
            None if kind == LIBRARY_KIND => Module::Library,
            Some(_) if kind == LIBRARY_KIND => {
                return Err(fault(
                    path,
                    format!("module {index} is the library, which has no file"),
                ));
            }
            None => return Err(fault(path, format!("module {index} has no file"))),
            Some(file) => custom(&kind, &File::Path(folder.join(file)))?,
        };
        nodes.push(Node { module, children: imports });
    }
    let tree = ImportTree { nodes };
    tree.validate().map_err(|error| fault(path, error))?;
    Ok(tree)
}

fn custom(kind: &str, file: &File) -> Result<Module<'static>, Error> {
    Ok(Module::Custom { kind: kind.to_owned().into(), bytes: file.read()?.into() })
}

fn fault(path: &Path, reason: impl ToString) -> Error {
    Error::Import { path: path.to_owned(), position: None, reason: reason.to_string() }
}

/// Returns the line and column of an error of the parser.
fn position(text: &str, error: &toml::de::Error) -> Option<(usize, usize)> {
    let before = text.get(..error.span()?.start)?;
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    Some((line, column))
}

/// Writes the bytes of each module to a file in `folder`, and [`TREE_FILE`], from which [`read_tree`] makes the same
/// tree. Creates the folder if need be.
///
/// # Errors
/// [`Error::Write`], also if a file of such a name exists. The files that have been written are then removed.
pub fn extract(tree: &ImportTree<'_>, folder: &Path) -> Result<(), Error> {
    let fail = |path: &Path, source| Error::Write { path: path.to_owned(), source };
    fs::create_dir_all(folder).map_err(|source| fail(folder, source))?;
    let (description, files) = describe(tree);
    let text = toml::to_string(&description)
        .map_err(|error| fail(&folder.join(TREE_FILE), io::Error::other(error)))?;
    let files = files.iter().map(|(name, bytes)| (name.as_str(), *bytes));
    let mut written: Vec<PathBuf> = Vec::new();
    for (name, bytes) in files.chain([(TREE_FILE, text.as_bytes())]) {
        let path = folder.join(name);
        if let Err(source) = write_new(&path, bytes) {
            // Failures to remove are ignored: the first failure is reported.
            written.iter().for_each(|path| drop(fs::remove_file(path)));
            return Err(fail(&path, source));
        }
        written.push(path);
    }
    Ok(())
}

/// Returns a tree in TOML, and the names and contents of its files.
fn describe<'a>(tree: &'a ImportTree<'_>) -> (Description, Vec<(String, &'a [u8])>) {
    let mut files = Vec::new();
    let mut module = Vec::with_capacity(tree.nodes.len());
    for (index, node) in tree.nodes.iter().enumerate() {
        let file = match &node.module {
            Module::Library => None,
            Module::Custom { kind, bytes } => {
                let name = format!("{index}.{}", file_ending(kind));
                files.push((name.clone(), &**bytes));
                Some(name)
            }
        };
        let (kind, imports) = (node.module.kind().to_owned(), node.children.clone());
        module.push(Entry { kind, file, imports });
    }
    (Description { module }, files)
}

/// Returns an untrusted kind as an ending of a file name that is valid on any system.
fn file_ending(kind: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    kind.chars().take(MAX_KIND).map(safe).collect()
}

/// Creates and writes a file; fails if one exists, even a link.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes).inspect_err(|_| drop(fs::remove_file(path)))
}
