//! Facts that crates must not know: backends are independent of the ABI.

use std::collections::BTreeSet;
use std::fs;

use crate::sources::{Module, Source, read, root, sources};

/// Returns the folders of the backends.
fn backends() -> Vec<String> {
    let entries = fs::read_dir(root().join("backends")).expect("the folder can be listed");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let folders = names.map(|name| format!("backends/{}", name.to_string_lossy()));
    let mut crates: Vec<String> =
        folders.filter(|folder| root().join(folder).join("Cargo.toml").exists()).collect();
    crates.sort();
    assert!(crates.len() > 3, "the backends are found: {crates:?}");
    crates
}

/// Returns the string literals of at least eight bytes in the files of a folder.
fn literals(files: &[Source]) -> BTreeSet<&str> {
    let lines = files.iter().flat_map(|file| file.text.lines());
    let code = lines.filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split('"').skip(1).step_by(2))
        .filter(|text| text.len() >= 8)
        .collect()
}

#[test]
fn backends_know_nothing_of_the_abi() {
    let routines = sources("codegen/src/lower/routines");
    let messages = literals(&routines);
    assert!(messages.iter().any(|text| text.contains("Mismatched")), "{messages:?}");
    // Indices of static types, but for 64: that is a number of bits as well.
    let is_type_index = |word: &str| (65..=78).any(|index: u32| word == index.to_string());
    for backend in backends() {
        assert!(!read(&format!("{backend}/Cargo.toml")).contains("abi-spec"), "{backend}");
        let files = sources(&format!("{backend}/src"));
        for file in &files {
            let is_fact = |word: &&str| word.contains("TVMFFI") || is_type_index(word);
            assert_eq!(file.words().find(is_fact), None, "{}", file.path);
        }
        let texts = literals(&files);
        let shared: Vec<_> = texts.intersection(&messages).collect();
        assert!(shared.is_empty(), "{backend}: {shared:?}");
    }
}

/// Returns true if the manifest of a backend says that it lacks a file which the others have.
fn lacks(backend: &str, module: &Module) -> bool {
    let manifest = read(&format!("{backend}/Cargo.toml"));
    let lacking = manifest.lines().find_map(|line| line.strip_prefix("lacks = ")).unwrap_or("");
    lacking.contains(&format!("\"{}\"", module.join("/")))
}

/// Returns the names of the functions of a file in order, those of a trait with its name.
fn functions(file: &Source) -> Vec<String> {
    let mut found = Vec::new();
    for item in file.parse().items {
        if let syn::Item::Fn(function) = item {
            found.push(function.sig.ident.to_string());
        } else if let syn::Item::Impl(item) = item {
            let of =
                item.trait_.and_then(|(path, _)| Some(path.segments.last()?.ident.to_string()));
            let of = of.unwrap_or_default();
            for item in item.items {
                if let syn::ImplItem::Fn(function) = item {
                    found.push(format!("{of}::{}", function.sig.ident));
                }
            }
        }
    }
    found
}

/// Backends have the same files, and in them the functions that all have in the same order.
#[test]
fn backends_mirror_each_other() {
    let with_files = |backend: String| {
        let files = sources(&format!("{backend}/src"));
        (backend, files)
    };
    let files: Vec<(String, Vec<Source>)> = backends().into_iter().map(with_files).collect();
    let find =
        |files: &[Source], module: &[String]| files.iter().position(|file| file.module == module);
    let modules: BTreeSet<&Module> =
        files.iter().flat_map(|(_, files)| files).map(|file| &file.module).collect();
    for module in modules {
        let has = |(backend, own): &(String, Vec<Source>)| {
            find(own, module).is_some() || lacks(backend, module)
        };
        let has: Vec<bool> = files.iter().map(has).collect();
        let count = has.iter().filter(|has| **has).count();
        assert!(count == 1 || count == files.len(), "{}: {has:?}", module.join("/"));
        let lists: Vec<Vec<String>> = files
            .iter()
            .filter_map(|(_, files)| Some(functions(&files[find(files, module)?])))
            .collect();
        let common = |list: &Vec<String>| -> Vec<String> {
            let is_common = |name: &&String| lists.iter().all(|list| list.contains(name));
            list.iter().filter(is_common).cloned().collect()
        };
        for list in &lists {
            assert_eq!(common(list), common(&lists[0]), "{}", module.join("/"));
        }
    }
}

/// The parts of the JIT that generate code know names of symbols only.
#[test]
fn code_generation_in_process_knows_names_only() {
    let is_generator =
        |file: &Source| file.module[..] == ["jit"] || file.module.starts_with(&["code".to_owned()]);
    let files: Vec<Source> = sources("jit/src").into_iter().filter(is_generator).collect();
    assert!(files.len() > 10, "files are found: {}", files.len());
    for file in files {
        let words: Vec<&str> = file.words().filter(|word| !word.is_empty()).collect();
        let mut uses = words.windows(2).filter(|pair| pair[0] == "abi_spec");
        assert!(uses.all(|pair| pair[1] == "symbol"), "{}", file.path);
    }
}

/// Unit tests of crates with `test = false` would never run: they belong to the folder `tests` of the crate.
#[test]
fn no_unit_tests_are_left_out() {
    let others =
        ["driver", "driver/link", "driver/triton", "python", "python/call"].map(str::to_owned);
    for folder in others.into_iter().chain(backends()) {
        assert!(read(&format!("{folder}/Cargo.toml")).contains("test = false"), "{folder}");
        for file in sources(&format!("{folder}/src")) {
            assert!(file.words().all(|word| word != "test"), "{}", file.path);
        }
    }
}
