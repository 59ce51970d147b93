//! The Rust files of a crate, and the modules that they use.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Item, UseTree, Visibility};

/// A path of modules from the root of the crate; empty for the root itself.
pub(crate) type Module = Vec<String>;

/// A Rust file.
pub(crate) struct Source {
    /// Path from the root of the repository.
    pub(crate) path: String,
    /// The module that the file defines.
    pub(crate) module: Module,
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn parse(&self) -> syn::File {
        syn::parse_file(&self.text).unwrap_or_else(|error| panic!("{}: {error}", self.path))
    }

    /// Splits the file, without its comment lines, at every character that is neither alphanumeric nor `_`.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        let lines = self.text.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
    }
}

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Reads a file of the repository.
pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Reads every Rust file of a folder, sorted by path. Modules are named as if the folder were the `src` of a crate.
pub(crate) fn sources(folder: &str) -> Vec<Source> {
    let mut paths = Vec::new();
    collect(folder, &mut paths);
    paths.sort();
    assert!(!paths.is_empty(), "{folder} has no sources");
    let source = |path: String| {
        let name = path[folder.len() + 1..].trim_end_matches(".rs");
        let is_root = name == "lib" || name == "main";
        let module = name.split('/').filter(|_| !is_root).map(str::to_owned).collect();
        Source { text: read(&path), path, module }
    };
    paths.into_iter().map(source).collect()
}

fn collect(folder: &str, found: &mut Vec<String>) {
    let entries = fs::read_dir(root().join(folder)).unwrap_or_else(|e| panic!("{folder}: {e}"));
    for entry in entries {
        let entry = entry.expect("a folder can be listed");
        let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&name, found);
        } else if name.ends_with(".rs") {
            found.push(name);
        }
    }
}

/// The modules of a crate.
pub(crate) struct Modules {
    all: Vec<Module>,
    /// Modules of the names that the root exports.
    exports: BTreeMap<String, Module>,
}

impl Modules {
    pub(crate) fn new(sources: &[Source]) -> Modules {
        let all: Vec<Module> = sources.iter().map(|source| source.module.clone()).collect();
        let root = sources.iter().find(|source| source.module.is_empty());
        let mut exports = BTreeMap::new();
        for item in root.expect("a crate has a root").parse().items {
            if let Item::Use(item) = item {
                let mut paths = Vec::new();
                leaves(&item.tree, Vec::new(), &mut paths);
                let named = paths.into_iter().filter_map(|mut path| Some((path.pop()?, path)));
                exports.extend(named.filter(|(_, module)| all.contains(module)));
            }
        }
        Modules { all, exports }
    }

    /// Resolves a path to the module that defines its last name, as far as the path tells.
    fn resolve(&self, path: &[String]) -> Module {
        let prefixes = (1..=path.len()).rev().map(|length| &path[..length]);
        let module = prefixes.map(<[String]>::to_vec).find(|prefix| self.all.contains(prefix));
        let export = || self.exports.get(path.first()?).cloned();
        module.or_else(export).unwrap_or_default()
    }

    /// Returns the modules of this crate that a file uses.
    pub(crate) fn uses(&self, source: &Source) -> Vec<Module> {
        let mut scan = Scan { modules: self, module: source.module.clone(), uses: Vec::new() };
        scan.visit_file(&source.parse());
        scan.uses
    }
}

/// Uses of a file within its own crate.
struct Scan<'m> {
    modules: &'m Modules,
    /// The module that is being visited.
    module: Module,
    uses: Vec<Module>,
}

impl Scan<'_> {
    /// Records the module of a path that starts in this crate.
    fn mention(&mut self, path: &[String]) {
        let child = || [&self.module[..], &path[..1]].concat();
        let (start, rest) = match path[0].as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "super" => (self.module[..self.module.len() - 1].to_vec(), &path[1..]),
            _ if self.modules.all.contains(&child()) => (self.module.clone(), path),
            _ => return,
        };
        self.uses.push(self.modules.resolve(&[&start[..], rest].concat()));
    }
}

impl<'ast> Visit<'ast> for Scan<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut paths = Vec::new();
        leaves(&item.tree, Vec::new(), &mut paths);
        // A module that re-exports what its children define does not depend on them.
        let is_import = matches!(item.vis, Visibility::Inherited);
        for path in paths.iter().filter(|path| is_import || path[0] == "crate") {
            self.mention(path);
        }
    }

    /// Names a module that is above, and uses nothing of it.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter().map(|segment| segment.ident.to_string());
        if path.segments.len() > 1 {
            self.mention(&segments.collect::<Vec<_>>());
        }
        visit::visit_path(self, path);
    }
}

/// Collects the paths of a `use`, without renames and stars.
fn leaves(tree: &UseTree, mut path: Vec<String>, found: &mut Vec<Vec<String>>) {
    match tree {
        UseTree::Path(tree) => {
            path.push(tree.ident.to_string());
            leaves(&tree.tree, path, found);
        }
        UseTree::Name(tree) if tree.ident == "self" => found.push(path),
        UseTree::Name(syn::UseName { ident }) | UseTree::Rename(syn::UseRename { ident, .. }) => {
            path.push(ident.to_string());
            found.push(path);
        }
        UseTree::Glob(_) => found.push(path),
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| leaves(tree, path.clone(), found));
        }
    }
}

#[test]
fn used_modules_are_found() {
    let source = |module: &str, text: &str| Source {
        path: module.to_owned(),
        module: module.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        text: text.to_owned(),
    };
    let text = "
        use crate::d::{self, e::{Two, Three}};
        use super::c;
        fn f() -> crate::Handed { (crate::d::e::G, f::three()) }
        mod inner { use super::f; }
        /// See [`crate::g`].
        fn four() {}
    ";
    let sources = [
        source("", "pub use d::e::Handed;"),
        source("a::b", text),
        source("a::b::f", ""),
        source("a::c", ""),
        source("d", ""),
        source("d::e", ""),
        source("g", ""),
    ];
    let modules = Modules::new(&sources);
    let uses = modules.uses(&sources[1]);
    let uses: Vec<String> = uses.iter().map(|module| module.join("::")).collect();
    assert_eq!(uses, ["d", "d::e", "d::e", "a::c", "d::e", "d::e", "a::b::f", "a::b::f"]);
}
