//! The report of an inspection, for people.

use std::fmt::{self, Display};

use super::symbols::text;
use super::{Data, Function, Inspection, LibraryBin, Module, Text};

impl Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {}", self.machine, self.kind)?;
        list(f, "functions", &self.functions, function)?;
        import_tree(f, self.library_bin.as_ref())?;
        list(f, "module loaders", &self.loaders(), String::clone)?;
        writeln!(f, "library context: {}", data(self.library_ctx))?;
        list(f, "other reserved symbols", &self.reserved, String::clone)?;
        list(f, "runtime functions", &self.runtime, |used| match used.since {
            Some(since) => format!("{} since {since}", used.name),
            None => format!("{} since an unknown release", used.name),
        })?;
        match self.release() {
            Some(release) => writeln!(f, "runtime release: {release} or newer")?,
            None => writeln!(f, "runtime release: unknown")?,
        }
        list(f, "other undefined symbols", &self.undefined, |symbol| {
            format!("{}{}", symbol.name, if symbol.weak { " (weak)" } else { "" })
        })?;
        list(f, "needed libraries", &self.needed, String::clone)
    }
}

fn list<T>(
    f: &mut fmt::Formatter<'_>,
    title: &str,
    items: &[T],
    item: impl Fn(&T) -> String,
) -> fmt::Result {
    if items.is_empty() {
        return writeln!(f, "{title}: none");
    }
    writeln!(f, "{title}: {}", items.len())?;
    items.iter().try_for_each(|one| writeln!(f, "  {}", item(one)))
}

fn import_tree(f: &mut fmt::Formatter<'_>, tree: Option<&LibraryBin>) -> fmt::Result {
    let Some(LibraryBin { prefix, size, modules }) = tree else {
        return writeln!(f, "import tree: none");
    };
    if prefix.is_empty() {
        write!(f, "import tree: {size} bytes")?;
    } else {
        write!(f, "import tree of system library {prefix}: {size} bytes")?;
    }
    match modules {
        Err(error) => writeln!(f, ", damaged: {error}"),
        Ok(modules) => {
            writeln!(f)?;
            branches(f, modules)
        }
    }
}

/// Prints each module below the first module that imports it, and a note below the others.
fn branches(f: &mut fmt::Formatter<'_>, modules: &[Module]) -> fmt::Result {
    let mut shown = vec![false; modules.len()];
    for root in 0..modules.len() {
        let mut open = if shown[root] { Vec::new() } else { vec![(root, 1)] };
        while let Some((index, depth)) = open.pop() {
            let Some(module) = modules.get(index) else { continue };
            let indent = "  ".repeat(depth);
            if std::mem::replace(&mut shown[index], true) {
                writeln!(f, "{indent}{index}: {}, as above", module.kind)?;
                continue;
            }
            let size = module.size.map_or(String::new(), |size| format!(", {size} bytes"));
            writeln!(f, "{indent}{index}: {}{size}", module.kind)?;
            open.extend(module.imports.iter().rev().map(|&child| (child, depth + 1)));
        }
    }
    Ok(())
}

/// Formats a function: its signature, or else its name, and its documentation below.
fn function(function: &Function) -> String {
    let declared = function.signature();
    let mut lines = text(declared.as_ref().unwrap_or(&function.name).as_bytes());
    if let Text::Constant(docs) = &function.doc {
        for line in docs.lines() {
            let line = text(line.as_bytes());
            lines.push('\n');
            lines.push_str(format!("    {line}").trim_end());
        }
    }
    let size = function.size.map(|size| format!("{size} bytes"));
    let place = function.location().map(|place| format!("from {}", text(place.as_bytes())));
    let facts = [size, place, told(&function.metadata, "metadata"), told(&function.doc, "doc")];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    if !facts.is_empty() {
        lines.push_str(&format!("\n    ({})", facts.join(", ")));
    }
    lines
}

/// Returns a note about a text that only a call would return.
fn told(text: &Text, what: &str) -> Option<String> {
    (*text == Text::Computed).then(|| format!("{what} by a call"))
}

fn data(data: Option<Data>) -> String {
    match data {
        None => "none".to_owned(),
        Some(Data { size: None }) => "present".to_owned(),
        Some(Data { size: Some(size) }) => format!("{size} bytes"),
    }
}
