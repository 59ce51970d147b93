//! The modules of its own crate that a file mentions: in `use`, in code, and in the calls of macros.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::sources::Source;

/// A path of modules, from the root of the crate on.
pub(crate) type Module = Vec<String>;

/// The modules of a crate.
pub(crate) struct Modules {
    all: BTreeSet<Module>,
    /// What the root of the crate hands on, and where that is.
    exports: BTreeMap<String, Module>,
}

/// A path in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    /// The line, counted from 1.
    pub(crate) line: usize,
    /// As far as it is written out.
    pub(crate) path: Vec<String>,
}

impl Modules {
    pub(crate) fn new(sources: &[Source]) -> Modules {
        let all = sources.iter().map(|source| source.module.clone()).collect();
        let mut modules = Modules { all, exports: BTreeMap::new() };
        let root = sources.iter().find(|source| source.module.is_empty());
        let mentions = modules.mentions(root.expect("a crate has a root"));
        let exports = mentions.into_iter().filter_map(|Mention { mut path, .. }| {
            let name = path.pop().filter(|name| name.starts_with(char::is_uppercase))?;
            Some((name, path))
        });
        modules.exports = exports.collect();
        modules
    }

    /// Every path of a file that starts in its own crate.
    pub(crate) fn mentions(&self, source: &Source) -> Vec<Mention> {
        let tokens: TokenStream =
            source.text.parse().unwrap_or_else(|error| panic!("{}: {error}", source.path));
        let mut reader = Reader { modules: self, found: Vec::new() };
        reader.walk(tokens, &source.module);
        reader.found
    }

    /// The module that a path is in.
    pub(crate) fn module_of(&self, path: &[String]) -> Module {
        let lengths = (1..=path.len()).rev();
        let module = lengths.map(|length| &path[..length]).find(|part| self.all.contains(*part));
        let export = || path.first().and_then(|name| self.exports.get(name));
        module.map(<[String]>::to_vec).or_else(|| export().cloned()).unwrap_or_default()
    }
}

struct Reader<'m> {
    modules: &'m Modules,
    found: Vec<Mention>,
}

impl Reader<'_> {
    /// Reads tokens that stand in a module.
    fn walk(&mut self, tokens: TokenStream, module: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            if let TokenTree::Group(group) = &tokens[at] {
                let inner = at.checked_sub(2).and_then(|before| inline(&tokens[before..at]));
                let module: Module = module.iter().cloned().chain(inner).collect();
                self.walk(group.stream(), &module);
            } else if let Some(start) = self.start(&tokens, at, module) {
                at = self.path(&tokens, at, start);
                continue;
            }
            at += 1;
        }
    }

    /// Where a path leads that starts at a token, if one does.
    fn start(&self, tokens: &[TokenTree], at: usize, module: &[String]) -> Option<Module> {
        let TokenTree::Ident(ident) = &tokens[at] else { return None };
        if !is_separator(tokens, at + 1) || at >= 2 && is_separator(tokens, at - 2) {
            return None;
        }
        let child: Module = module.iter().cloned().chain([ident.to_string()]).collect();
        match ident.to_string().as_str() {
            "crate" => Some(Vec::new()),
            "self" => Some(module.to_vec()),
            "super" => module.split_last().map(|(_, parent)| parent.to_vec()),
            _ => self.modules.all.contains(&child).then_some(child),
        }
    }

    /// Reads the rest of a path, or of a tree of paths, whose first segment is at `at`; where it ends.
    fn path(&mut self, tokens: &[TokenTree], mut at: usize, mut path: Vec<String>) -> usize {
        let line = tokens[at].span().start().line;
        while is_separator(tokens, at + 1) {
            match tokens.get(at + 3) {
                Some(TokenTree::Ident(ident)) if ident == "super" => drop(path.pop()),
                Some(TokenTree::Ident(ident)) => path.push(ident.to_string()),
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    self.tree(group.stream(), &path);
                    return at + 4;
                }
                Some(TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_)) | None => {
                    break;
                }
            }
            at += 3;
        }
        self.found.push(Mention { line, path });
        at + 1
    }

    /// Reads what stands between the braces of a `use`.
    fn tree(&mut self, tokens: TokenStream, prefix: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is_comma =
            |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ',');
        for part in tokens.split(is_comma) {
            let Some(TokenTree::Ident(first)) = part.first() else { continue };
            let this = (first != "self").then(|| first.to_string());
            self.path(part, 0, prefix.iter().cloned().chain(this).collect());
        }
    }
}

/// The name of the module whose braces these tokens stand before.
fn inline(before: &[TokenTree]) -> Option<String> {
    match before {
        [TokenTree::Ident(word), TokenTree::Ident(name)] if word == "mod" => Some(name.to_string()),
        _ => None,
    }
}

/// True for `::`.
fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    let is_colon = |at| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == ':');
    is_colon(at) && is_colon(at + 1)
}

#[test]
fn every_form_of_a_path_is_read() {
    let source = |module: &str, text: &str| Source {
        path: module.to_owned(),
        module: module.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        text: text.to_owned(),
    };
    let text = "
        use crate::d::{self, One, e::{Two, Three}};
        use super::c;
        use super::super::d::e;
        fn f() -> crate::Handed { vec![crate::d::e::G; f::three()] }
        mod inner { use super::f; use super::super::c; }
        /// See [`crate::d`].
        const X: std::vec::Vec<crate::d::e::T> = crate::d::X;
    ";
    let sources = [
        source("", "pub use d::e::Handed;"),
        source("a", ""),
        source("a::b", text),
        source("a::b::f", ""),
        source("a::c", ""),
        source("d", ""),
        source("d::e", ""),
    ];
    let modules = Modules::new(&sources);
    let found = modules.mentions(&sources[2]).into_iter();
    let found = found.map(|Mention { line, path }| (line, modules.module_of(&path).join("::")));
    let expected = [
        (2, "d"),
        (2, "d"),
        (2, "d::e"),
        (2, "d::e"),
        (3, "a::c"),
        (4, "d::e"),
        (5, "d::e"),
        (5, "d::e"),
        (5, "a::b::f"),
        (6, "a::b::f"),
        (6, "a::c"),
        (8, "d::e"),
        (8, "d"),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected.map(|(line, path)| (line, path.to_owned())));
}
