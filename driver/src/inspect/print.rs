//! The report of an inspection.

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
            let mut modules = modules.iter().enumerate();
            modules.try_for_each(|(i, node)| writeln!(f, "  {i}: {}", module(node)))
        }
    }
}

fn module(module: &Module) -> String {
    let size = module.size.map_or(String::new(), |size| format!(", {size} bytes"));
    let imports: Vec<String> = module.imports.iter().map(usize::to_string).collect();
    let verb = if imports.is_empty() { "" } else { ", imports " };
    format!("{}{size}{verb}{}", module.kind, imports.join(" "))
}

fn function(function: &Function) -> String {
    let size = function.size.map(|size| format!("{size} bytes"));
    let has = |text: &Text, name: &str| (*text != Text::Absent).then(|| name.to_owned());
    let facts = [size, has(&function.metadata, "metadata"), has(&function.doc, "doc")];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    let separator = if facts.is_empty() { "" } else { ": " };
    let mut lines = format!("{}{separator}{}", function.name, facts.join(", "));
    if let Text::Constant(docs) = &function.doc {
        docs.lines()
            .for_each(|line| lines.push_str(&format!("\n    /// {}", text(line.as_bytes()))));
    }
    if let Text::Constant(metadata) = &function.metadata {
        lines.push_str(&format!("\n    {}", text(metadata.as_bytes())));
    }
    lines
}

fn data(data: Option<Data>) -> String {
    match data {
        None => "none".to_owned(),
        Some(Data { size: None }) => "present".to_owned(),
        Some(Data { size: Some(size) }) => format!("{size} bytes"),
    }
}
