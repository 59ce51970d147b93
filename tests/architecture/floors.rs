//! The floors of `jit/src`: each file uses files below it only, so that no two import each other.

use crate::paths::{Mention, Modules};
use crate::sources::sources;

/// Files, or whole folders, from the ground up. Inside a folder the order is that of the list too.
const FLOORS: [&str; 38] = [
    "abi",
    "kernel",
    "error",
    "builtin",
    "runtime/functions",
    "runtime/find",
    "runtime",
    "value/object",
    "value/returned",
    "value/element",
    "value/view",
    "value/arg",
    "value/held",
    "value/call",
    "value/args",
    "value/function",
    "value/tensor",
    "value/array",
    "value/content",
    "value/ndarray",
    "value/tvm_ffi",
    "code/address",
    "code/machine",
    "code/pool",
    "code/memory",
    "code/native",
    "code/frames",
    "code/image",
    "code/debugger",
    "code/perf",
    "code/symbols",
    "code/assembly",
    "code/routines",
    "compiled",
    "closure",
    "typed",
    "module_object",
    "jit",
];

/// Where a module is; roots of folders that only hand on are nowhere.
fn floor(module: &[String]) -> Option<usize> {
    let path = module.join("/");
    let is_in = |floor: &&str| path == **floor || path.starts_with(&format!("{floor}/"));
    // The longest name that fits: a folder's file is apart from the files in it.
    let found = FLOORS.iter().enumerate().filter(|(_, floor)| is_in(floor));
    found.max_by_key(|(_, floor)| floor.len()).map(|(index, _)| index)
}

#[test]
fn no_file_of_the_jit_uses_one_above_it() {
    let sources = sources("jit/src");
    let modules = Modules::new(&sources);
    let mut faults = Vec::new();
    for source in &sources {
        let Some(from) = floor(&source.module) else { continue };
        for Mention { line, path } in modules.mentions(source) {
            let module = modules.module_of(&path);
            let Some(to) = floor(&module) else { continue };
            // What a folder's file hands on of its own files is below it.
            let own = FLOORS[to].starts_with(&format!("{}/", FLOORS[from]));
            if to > from && !own {
                faults.push(format!("{}:{line}: uses {}", source.path, path.join("::")));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_file_of_the_jit_has_a_floor() {
    for source in sources("jit/src") {
        let handing_on = ["", "value", "code"].contains(&source.module.join("/").as_str());
        assert_eq!(floor(&source.module).is_none(), handing_on, "{}", source.path);
    }
}
