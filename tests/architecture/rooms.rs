//! The rooms of `codegen/src`: what each may use. A room is what a folder and the file of its name hold;
//! the files directly under `lower/` are the floor that its rooms share.

use crate::paths::{Mention, Modules};
use crate::sources::sources;

/// A room, and the groups of rooms that it may use besides itself.
struct Room(&'static str, &'static [&'static [&'static str]]);

/// What is declared, and the code that it becomes.
const BASE: &[&str] = &["ir", "declaration", "language", "resolve", "lower/floor"];

/// What every part of a wrapper is written with.
const TOOLS: &[&str] = &["lower/routines", "lower/emitter"];

/// From the ground up: each uses earlier ones only, so that there is no circle.
const ROOMS: [Room; 16] = [
    Room("ir", &[]),
    Room("backend", &[&["ir"]]),
    Room("declaration", &[]),
    Room("error", &[&["declaration"]]),
    Room("language", &[&["declaration", "error"]]),
    Room("resolve", &[&["ir", "declaration", "error", "language"]]),
    Room("lower/floor", &[&["ir", "declaration", "resolve"]]),
    Room("lower/routines", &[BASE]),
    Room("lower/emitter", &[BASE, &["lower/routines"]]),
    Room("lower/failure", &[BASE, TOOLS]),
    Room("lower/terms", &[BASE, TOOLS, &["lower/failure"]]),
    Room("lower/prologue", &[BASE, TOOLS, &["lower/failure", "lower/terms"]]),
    Room("lower/launch", &[BASE, TOOLS, &["lower/failure", "lower/terms"]]),
    Room(
        "lower/body",
        &[BASE, TOOLS, &["lower/failure", "lower/terms", "lower/prologue", "lower/launch"]],
    ),
    Room("lower/library", &[BASE, &["lower/routines", "lower/failure", "lower/launch"]]),
    Room(
        "lower",
        &[
            BASE,
            TOOLS,
            &["lower/failure", "lower/prologue", "lower/launch", "lower/body", "lower/library"],
        ],
    ),
];

impl Room {
    /// The rooms that it may use.
    fn uses(&self) -> impl Iterator<Item = &'static str> {
        self.1.iter().copied().flatten().copied()
    }
}

/// True if one room may use another.
pub(crate) fn may_use(from: &str, to: &str) -> bool {
    let room = ROOMS.iter().find(|Room(name, _)| *name == from);
    let room = room.unwrap_or_else(|| panic!("{from} is no room"));
    from == to || room.uses().any(|used| used == to)
}

/// What is against the rules nevertheless: a file, the room that it uses, and why.
const EXCEPTIONS: [(&str, &str, &str); 0] = [];

/// The room of a module; the root of the crate, which only hands on, and chapters for users are in none.
pub(crate) fn room(module: &[String]) -> Option<String> {
    let names: Vec<&str> = module.iter().map(String::as_str).collect();
    Some(match names[..] {
        [] | ["guide", ..] => return None,
        ["lower"] | ["lower", "function"] => "lower".to_owned(),
        [
            "lower",
            room @ ("emitter" | "terms" | "prologue" | "launch" | "body" | "routines" | "library"),
            ..,
        ] => {
            format!("lower/{room}")
        }
        // A wrapper is an emitter that can fail.
        ["lower", "wrapper" | "failure", ..] => "lower/failure".to_owned(),
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
        for Mention { line, path } in modules.mentions(source) {
            let Some(to) = room(&modules.module_of(&path)) else { continue };
            if !may_use(&from, &to) {
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
    for (index, room @ Room(name, _)) in ROOMS.iter().enumerate() {
        for used in room.uses() {
            let earlier = ROOMS[..index].iter().any(|Room(name, _)| *name == used);
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
