//! Dependencies inside of crates: a room of `codegen/src` uses only rooms below it; files of other crates have no
//! circle.

use std::collections::BTreeSet;

use crate::sources::{Module, Modules, Source, sources};

/// The rooms of `codegen/src`, from the ground up: a room uses itself and rooms before it.
///
/// A room is a folder with the file of its name. Files directly under `lower/` are `lower/floor`, which its rooms
/// share.
const ROOMS: [&str; 18] = [
    "trace",
    "ir",
    "backend",
    "declaration",
    "error",
    "language",
    "resolve",
    "lower/floor",
    "lower/routines",
    "lower/emitter",
    "lower/failure",
    "lower/checks",
    "lower/prologue",
    "lower/body",
    "lower/entries",
    "lower/library",
    "lower",
    "explain",
];

/// Returns the room of a module as an index into [`ROOMS`]; none for the root of the crate and the guide.
fn room(module: &[String]) -> Option<usize> {
    let names: Vec<&str> = module.iter().map(String::as_str).collect();
    let name = match names[..] {
        [] | ["guide", ..] => return None,
        ["lower"] | ["lower", "function"] => "lower".to_owned(),
        ["lower", room, ..] => match format!("lower/{room}") {
            name if ROOMS.contains(&&*name) => name,
            _ => "lower/floor".to_owned(),
        },
        [room, ..] => room.to_owned(),
    };
    let index = ROOMS.iter().position(|room| *room == name);
    Some(index.unwrap_or_else(|| panic!("{name} is not in the list of rooms")))
}

#[test]
fn rooms_use_rooms_below_them() {
    let sources = sources("codegen/src");
    let modules = Modules::new(&sources);
    let mut faults = Vec::new();
    for source in &sources {
        let Some(from) = room(&source.module) else { continue };
        for module in modules.uses(source) {
            match room(&module) {
                Some(to) if to <= from => {}
                Some(to) => faults.push(format!("{}: uses {}", source.path, ROOMS[to])),
                None => faults.push(format!("{}: imports from the root", source.path)),
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// True if a file consists of `mod` and `use`, as roots of folders do that only re-export.
fn only_reexports(source: &Source) -> bool {
    source.parse().items.iter().all(|item| matches!(item, syn::Item::Mod(_) | syn::Item::Use(_)))
}

/// Returns the files of a folder that are in a circle, or between two. Uses of a parent module do not count.
fn circles(folder: &str) -> Vec<String> {
    let sources = sources(folder);
    let modules = Modules::new(&sources);
    let files =
        sources.iter().filter(|source| !only_reexports(source) && !source.module.is_empty());
    let mut uses: BTreeSet<(&Module, Module)> = files
        .flat_map(|source| modules.uses(source).into_iter().map(|used| (&source.module, used)))
        .filter(|(module, used)| !module.starts_with(used))
        .collect();
    assert!(uses.len() > 7, "files of {folder} use each other: {}", uses.len());
    // Removes uses by files that none uses and of files that use none, until only those of circles are left.
    loop {
        let users: BTreeSet<Module> = uses.iter().map(|(module, _)| (*module).clone()).collect();
        let used: BTreeSet<Module> = uses.iter().map(|(_, used)| used.clone()).collect();
        let before = uses.len();
        uses.retain(|(module, to)| used.contains(*module) && users.contains(to));
        if uses.len() == before {
            let text = |(module, used): &(&Module, Module)| {
                format!("{folder}/{} uses {}", module.join("/"), used.join("/"))
            };
            return uses.iter().map(text).collect();
        }
    }
}

/// Folders of `codegen/src` whose files call each other, since what they walk over holds its like: types, terms, steps.
const RECURSIVE: [&str; 2] = ["language/tests", "lower/checks"];

#[test]
fn files_have_no_circle() {
    let mut found: Vec<String> =
        ["backends/c/src", "jit/src", "python/call/src"].into_iter().flat_map(circles).collect();
    let is_recursive = |file: &String| {
        RECURSIVE.iter().any(|folder| file.starts_with(&format!("codegen/src/{folder}/")))
    };
    found.extend(circles("codegen/src").into_iter().filter(|file| !is_recursive(file)));
    assert!(found.is_empty(), "in a circle, or between two: {found:#?}");
}
