//! What crates may depend on and say: backends know nothing of the ABI, and most crates have no unsafe code.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};

use crate::sources::{Source, read, sources};

const BACKENDS: [&str; 3] = ["backends/cranelift", "backends/llvm", "backends/mlir"];

/// Roots of crates in which the compiler refuses unsafe code.
const SAFE: [&str; 5] = [
    "abi-spec/src/lib.rs",
    "codegen/src/lib.rs",
    "backends/cranelift/src/lib.rs",
    "driver/src/lib.rs",
    "driver/src/main.rs",
];

/// Identifiers and literals, each as it is written.
fn words(tokens: TokenStream, found: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => words(group.stream(), found),
            TokenTree::Ident(word) => found.push(word.to_string()),
            TokenTree::Literal(literal) => found.push(literal.to_string()),
            TokenTree::Punct(_) => {}
        }
    }
}

fn words_of(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    let tokens = source.text.parse().unwrap_or_else(|error| panic!("{}: {error}", source.path));
    words(tokens, &mut found);
    found
}

/// Texts in quotes of at least eight bytes.
fn texts(folder: &str) -> BTreeSet<String> {
    let files = sources(folder);
    let without_docs = |source: &Source| {
        let is_doc = |line: &&str| line.trim_start().starts_with("//");
        let lines = source.text.lines().map(|line| if is_doc(&line) { "" } else { line });
        let text = lines.collect::<Vec<_>>().join("\n");
        words_of(&Source { text, path: source.path.clone(), module: Vec::new() })
    };
    let words = files.iter().flat_map(without_docs);
    words.filter(|word| word.starts_with('"') && word.len() >= 10).collect()
}

#[test]
fn backends_do_not_depend_on_the_abi() {
    for backend in BACKENDS {
        let manifest = read(&format!("{backend}/Cargo.toml"));
        assert!(!manifest.contains("abi-spec"), "{backend}/Cargo.toml");
        for source in sources(&format!("{backend}/src")) {
            let words = words_of(&source);
            let found =
                words.iter().find(|word| word.contains("abi_spec") || word.contains("TVMFFI"));
            assert_eq!(found, None, "{}", source.path);
        }
    }
}

/// Of the ABI, what generates code in process knows the names of symbols only.
#[test]
fn code_generation_in_process_knows_names_only() {
    let is_generator = |module: &str| module == "jit" || module.starts_with("code/");
    let files = sources("jit/src").into_iter();
    let files: Vec<Source> = files.filter(|file| is_generator(&file.module.join("/"))).collect();
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        let words = words_of(&file);
        let mut uses = words.windows(2).filter(|pair| pair[0] == "abi_spec");
        assert!(uses.all(|pair| pair[1] == "symbol"), "{}", file.path);
    }
}

/// Indices of static types, but for 64: that is a number of bits as well.
#[test]
fn backends_know_no_type_index() {
    let indices: Vec<String> = (65..=78).map(|index: u32| index.to_string()).collect();
    for backend in BACKENDS {
        for source in sources(&format!("{backend}/src")) {
            let words = words_of(&source);
            let found = words.iter().find(|word| indices.contains(word));
            assert_eq!(found, None, "{}", source.path);
        }
    }
}

#[test]
fn backends_have_no_texts_of_messages() {
    let messages = texts("codegen/src/lower/routines");
    assert!(messages.iter().any(|text| text.contains("Mismatched")), "{messages:?}");
    for backend in BACKENDS {
        let theirs = texts(&format!("{backend}/src"));
        let shared: Vec<&String> = theirs.intersection(&messages).collect();
        assert!(shared.is_empty(), "{backend}: {shared:?}");
    }
}

#[test]
fn unsafe_code_is_forbidden() {
    for path in SAFE {
        let file = syn::parse_file(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        let forbids = file.attrs.iter().any(|attribute| {
            let list = attribute.meta.require_list();
            attribute.path().is_ident("forbid")
                && list.is_ok_and(|list| list.tokens.to_string() == "unsafe_code")
        });
        assert!(forbids, "{path}");
    }
}

/// Cargo makes no programs of tests of these, to save the time, and so would leave out any in their sources.
#[test]
fn no_tests_are_left_out() {
    for folder in ["driver", "driver/stdout", "driver/triton", "python"].into_iter().chain(BACKENDS)
    {
        assert!(read(&format!("{folder}/Cargo.toml")).contains("test = false"), "{folder}");
        for source in sources(&format!("{folder}/src")) {
            let words = words_of(&source);
            let found = words.iter().any(|word| word == "test");
            assert!(!found, "{}: tests of {folder} are in its folder `tests`", source.path);
        }
    }
    let examples = sources("examples").into_iter().filter(|file| file.path != "examples/output.rs");
    for source in examples {
        assert!(!source.text.contains("#[test]"), "{}", source.path);
    }
}
