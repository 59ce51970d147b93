//! Files and functions that a reader can take in.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::sources::{Source, sources};

/// Lines of a file of `lower/`, `resolve/`, the JIT and the module for other languages.
const MAX_FILE: usize = 400;

/// Lines of a function, from its first word to its closing brace.
const MAX_FUNCTION: usize = 40;

#[test]
fn files_and_functions_are_short() {
    let sources =
        ["codegen/src", "codegen/routine/src", "jit/src", "python/src"].map(sources).concat();
    let long: Vec<String> = sources.iter().flat_map(too_long).collect();
    assert!(long.is_empty(), "longer than {MAX_FILE} or {MAX_FUNCTION} lines: {long:#?}");
}

/// The file and its functions, if they are. Tables of tests may have as many rows as they need.
fn too_long(source: &Source) -> Vec<String> {
    let path = source.path.trim_start_matches("codegen/src/");
    let is_ours =
        ["lower/", "resolve/", "jit/", "python/"].iter().any(|folder| path.starts_with(folder));
    let is_file = is_ours && source.text.lines().count() > MAX_FILE;
    let mut functions = Functions::default();
    functions.visit_file(&source.parse());
    let is_table = source.module.iter().any(|name| name == "tests");
    let long = functions.found.into_iter().filter(|(.., lines)| !is_table && *lines > MAX_FUNCTION);
    let file = is_file.then(|| path.to_owned());
    file.into_iter().chain(long.map(|(name, ..)| format!("{path}: {name}"))).collect()
}

/// Functions: name, first line, number of lines.
#[derive(Default)]
struct Functions {
    found: Vec<(String, usize, usize)>,
}

impl Functions {
    fn add(&mut self, signature: &syn::Signature, end: Span) {
        let (first, last) = (signature.span().start().line, end.end().line);
        self.found.push((signature.ident.to_string(), first, last + 1 - first));
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig, function.block.span());
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig, function.block.span());
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.add(&function.sig, function.span());
        visit::visit_trait_item_fn(self, function);
    }
}

#[test]
fn the_lines_of_functions_are_counted() {
    let text = "/// Doc.\nfn one() {}\ntrait T {\n    fn two(\n        a: u8,\n    );\n}\nimpl U {\n    fn three() {\n        fn four() {\n        }\n    }\n}\n";
    let mut functions = Functions::default();
    functions.visit_file(&syn::parse_file(text).unwrap());
    let expected = [("one", 2, 1), ("two", 4, 3), ("three", 9, 4), ("four", 10, 2)];
    let expected = expected.map(|(name, first, lines)| (name.to_owned(), first, lines));
    assert_eq!(functions.found, expected);
}
