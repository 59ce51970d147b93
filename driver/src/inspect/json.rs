//! The report of an inspection, for programs.

use serde_json::{Value, json};

use super::{Function, Inspection, LibraryBin, Text};

impl Inspection {
    /// Formats the report as a JSON object; later versions may add keys.
    ///
    /// `functions` is a list of objects: `name`, `size` in bytes, `signature`, `metadata` as [`codegen::metadata`]
    /// describes it, and `doc`; null for unknown values. `computed` lists which of `metadata` and `doc` only a call
    /// would return. Other keys: `machine`, `kind`, `import_tree` (`prefix`, `size`, and either `modules`, each with
    /// `kind`, `size` and the positions of its `imports`, or `damaged`), `loaders`, `library_context`, `reserved`,
    /// `runtime` (`name`, `since`), `release`, `undefined` (`name`, `weak`), `needed`.
    pub fn to_json(&self) -> String {
        let runtime = self.runtime.iter().map(
            |used| json!({ "name": used.name, "since": used.since.map(|since| since.to_string()) }),
        );
        let undefined = self.undefined.iter();
        let undefined = undefined.map(|one| json!({ "name": one.name, "weak": one.weak }));
        let report = json!({
            "machine": self.machine,
            "kind": self.kind,
            "functions": self.functions.iter().map(function).collect::<Vec<_>>(),
            "import_tree": self.library_bin.as_ref().map(tree),
            "loaders": self.loaders(),
            "library_context": self.library_ctx.map(|data| json!({ "size": data.size })),
            "reserved": self.reserved,
            "runtime": runtime.collect::<Vec<_>>(),
            "release": self.release().map(|release| release.to_string()),
            "undefined": undefined.collect::<Vec<_>>(),
            "needed": self.needed,
        });
        format!("{report:#}\n")
    }
}

fn function(function: &Function) -> Value {
    let texts = [("metadata", &function.metadata), ("doc", &function.doc)];
    let computed = texts.into_iter().filter(|(_, text)| **text == Text::Computed);
    let doc = match &function.doc {
        Text::Constant(doc) => Some(doc),
        Text::Absent | Text::Computed => None,
    };
    json!({
        "name": function.name,
        "size": function.size,
        "signature": function.signature(),
        "metadata": function.told(),
        "doc": doc,
        "computed": computed.map(|(name, _)| name).collect::<Vec<_>>(),
    })
}

fn tree(LibraryBin { prefix, size, modules }: &LibraryBin) -> Value {
    let modules = match modules {
        Err(error) => {
            return json!({ "prefix": prefix, "size": size, "damaged": error.to_string() });
        }
        Ok(modules) => modules.iter(),
    };
    let modules = modules.map(
        |module| json!({ "kind": module.kind, "size": module.size, "imports": module.imports }),
    );
    json!({ "prefix": prefix, "size": size, "modules": modules.collect::<Vec<_>>() })
}
