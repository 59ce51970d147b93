//! Dependencies inside of crates: a room of `codegen/src` uses only rooms below it; files of other crates have no circle.

use std::collections::{BTreeMap, BTreeSet};

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

/// Returns the files of a folder that are in a circle, or above one. Uses of a parent module do not count.
fn circles(folder: &str) -> Vec<String> {
    let sources = sources(folder);
    let modules = Modules::new(&sources);
    let files =
        sources.iter().filter(|source| !only_reexports(source) && !source.module.is_empty());
    let mut uses: BTreeMap<&Module, BTreeSet<Module>> =
        files.map(|source| (&source.module, modules.uses(source).into_iter().collect())).collect();
    assert!(uses.len() > 7, "files of {folder} are found: {}", uses.len());
    // Removes files that use no remaining file, until only cycles and their users are left.
    loop {
        let left: BTreeSet<Module> = uses.keys().map(|module| (*module).clone()).collect();
        uses.retain(|module, uses| {
            uses.iter().any(|used| !module.starts_with(used) && left.contains(used))
        });
        if uses.len() == left.len() {
            return uses.keys().map(|module| format!("{folder}/{}", module.join("/"))).collect();
        }
    }
}

#[test]
fn files_have_no_circle() {
    let circles: Vec<String> =
        ["backends/c/src", "jit/src", "python/call/src"].into_iter().flat_map(circles).collect();
    assert!(circles.is_empty(), "in a circle, or above one: {circles:?}");
}
