//! Logger that prints the reasons of the library for its choices to standard error, where the variable
//! `TVM_FFI_CODEGEN_LOG` names a level.

use std::env;

use log::{LevelFilter, Log, Metadata, Record};

use super::{print, say};

/// Variable that names a level: `debug` for all lines, `off` for none.
const VARIABLE: &str = "TVM_FFI_CODEGEN_LOG";

/// The beginning of the names of modules whose lines are printed. Dependencies have lines too.
const OWN: &str = "tvm_ffi_codegen";

/// Logger that prints to standard error.
struct Printer;

impl Log for Printer {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with(OWN)
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let level = record.level().as_str().to_lowercase();
            // A line that cannot be written is lost.
            let _ = print(&format!("{level}: {}\n", record.args()));
        }
    }

    fn flush(&self) {}
}

/// Prints lines of the level that the variable names, and of those above it. A program with a logger of its own keeps
/// it.
pub(super) fn start() {
    let Some(name) = env::var(VARIABLE).ok().filter(|name| !name.is_empty()) else { return };
    let Ok(level) = name.parse::<LevelFilter>() else {
        let levels = LevelFilter::iter().map(|level| level.as_str().to_lowercase());
        let levels = levels.collect::<Vec<_>>().join(", ");
        let _ = say("warning", &format!("{VARIABLE} is {name:?}, which is none of {levels}"));
        return;
    };
    if log::set_logger(&Printer).is_ok() {
        log::set_max_level(level);
    }
}
