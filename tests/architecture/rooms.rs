//! The rooms of `codegen/src`: what each may use. A room is what a folder and the file of its name hold;
//! the files directly under `lower/` are the floor that its rooms share.

use crate::paths::{Mention, Modules};
use crate::sources::sources;

/// A room, and the rooms that it may use besides itself.
struct Room(&'static str, &'static [&'static str]);

/// From the ground up: each uses earlier ones only, so that there is no circle.
const ROOMS: [Room; 13] = [
    Room("ir", &[]),
    Room("backend", &["ir"]),
    Room("declaration", &[]),
    Room("error", &["declaration"]),
    Room("language", &["declaration", "error"]),
    Room("resolve", &["ir", "declaration", "error", "language"]),
    Room("lower/floor", &["ir", "declaration", "resolve"]),
    Room("lower/routines", &["ir", "declaration", "language", "resolve", "lower/floor"]),
    Room(
        "lower/wrapper",
        &["ir", "declaration", "language", "resolve", "lower/floor", "lower/routines"],
    ),
    Room(
        "lower/prologue",
        &[
            "ir",
            "declaration",
            "language",
            "resolve",
            "lower/floor",
            "lower/routines",
            "lower/wrapper",
        ],
    ),
    Room(
        "lower/body",
        &[
            "ir",
            "declaration",
            "language",
            "resolve",
            "lower/floor",
            "lower/routines",
            "lower/wrapper",
            "lower/prologue",
        ],
    ),
    Room(
        "lower/library",
        &[
            "ir",
            "declaration",
            "language",
            "resolve",
            "lower/floor",
            "lower/routines",
            "lower/wrapper",
        ],
    ),
    Room(
        "lower",
        &[
            "ir",
            "declaration",
            "resolve",
            "lower/floor",
            "lower/routines",
            "lower/wrapper",
            "lower/prologue",
            "lower/body",
            "lower/library",
        ],
    ),
];

/// What is against the rules nevertheless: a file, the room that it uses, and why.
const EXCEPTIONS: [(&str, &str, &str); 0] = [];

/// The room of a module; the root of the crate, which only hands on, and chapters for users are in none.
fn room(module: &[String]) -> Option<String> {
    let names: Vec<&str> = module.iter().map(String::as_str).collect();
    Some(match names[..] {
        [] | ["guide", ..] => return None,
        ["lower"] | ["lower", "function"] => "lower".to_owned(),
        ["lower", room @ ("prologue" | "body" | "routines" | "library"), ..] => {
            format!("lower/{room}")
        }
        // What is known and owned, and how it fails, is part of the wrapper that is being written.
        ["lower", "wrapper" | "state" | "frame" | "failure", ..] => "lower/wrapper".to_owned(),
        ["lower", ..] => "lower/floor".to_owned(),
        [room, ..] => room.to_owned(),
    })
}

/// Every use of a room by another that may not: the file, the room that it uses, and the place in words.
fn faults() -> Vec<(String, String, String)> {
    let sources = sources("codegen/src");
    let modules = Modules::new(&sources);
    let mut faults = Vec::new();
    for source in &sources {
        let Some(from) = room(&source.module) else { continue };
        let known = ROOMS.iter().find(|Room(name, _)| *name == from);
        let Room(_, allowed) = known.unwrap_or_else(|| panic!("{}: no room", source.path));
        for Mention { line, path } in modules.mentions(source) {
            let Some(to) = room(&modules.module_of(&path)) else { continue };
            if to != from && !allowed.contains(&to.as_str()) {
                let place =
                    format!("{}:{line}: {from} uses {to}: {}", source.path, path.join("::"));
                faults.push((source.path.clone(), to, place));
            }
        }
    }
    faults
}

#[test]
fn no_room_uses_one_above_it() {
    let excused = |path: &str, to: &str| EXCEPTIONS.iter().any(|(a, b, _)| (*a, *b) == (path, to));
    let faults = faults().into_iter().filter(|(path, to, _)| !excused(path, to));
    let places: Vec<String> = faults.map(|(_, _, place)| place).collect();
    assert!(places.is_empty(), "\n{}", places.join("\n"));
}

#[test]
fn there_is_no_circle() {
    for (index, Room(name, uses)) in ROOMS.iter().enumerate() {
        for used in *uses {
            let earlier = ROOMS[..index].iter().any(|Room(name, _)| name == used);
            assert!(earlier, "{name} uses {used}, which is not below it");
        }
    }
}

#[test]
fn every_exception_is_needed() {
    let faults = faults();
    for (path, to, reason) in EXCEPTIONS {
        let is_needed = faults.iter().any(|(from, used, _)| (&**from, &**used) == (path, to));
        assert!(is_needed && !reason.is_empty(), "{path} uses {to}");
    }
}

/// A file in the root of the crate would import from the root what is not there.
#[test]
fn nothing_is_imported_from_the_root() {
    let sources = sources("codegen/src");
    let modules = Modules::new(&sources);
    for source in sources.iter().filter(|source| !source.module.is_empty()) {
        for Mention { line, path } in modules.mentions(source) {
            let is_root = modules.module_of(&path).is_empty();
            assert!(!is_root, "{}:{line}: crate::{} is in no room", source.path, path.join("::"));
        }
    }
}
