//! Debug information: a compile unit for the host IR, a subprogram for each function that has a place in the user's
//! source, and a location for each of its instructions. A module whose functions have no place gets none of it.
//!
//! The nodes are read from text: LLVM's builder of debug information makes only units that have an index of names, and
//! GDB looks for nothing in units without one, such as those of kernels, if another has one.

use std::collections::BTreeMap;
use std::fmt::Write;

use codegen::backend::{Error, quoted};
use codegen::ir::{self, SourceLocation};
use inkwell::debug_info::debug_metadata_version;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::{FlagBehavior, Module};
use inkwell::values::{FunctionValue, MetadataValue};

use crate::types::Types;
use crate::{native, raw};

/// The name by which tools know where debug information comes from.
const PRODUCER: &str = "tvm-ffi-codegen";

/// The number of columns that LLVM knows.
const COLUMNS: u32 = 1 << 16;

/// The flag of modules by which LLVM keeps their debug information.
const VERSION: &str = "Debug Info Version";

/// The list of compile units of a module.
const UNITS: &str = "llvm.dbg.cu";

/// The list of the nodes that functions and instructions refer to, in the module that is read from text.
const NODES: &str = "tvm_ffi_codegen.nodes";

/// The kind of metadata of a function that is its subprogram.
const KIND: u32 = 0;

/// The debug information of a module.
pub(crate) struct Debug<'ctx> {
    /// The subprogram of each function that has a place in a source, and the location of each of its topics.
    functions: BTreeMap<ir::Symbol, (MetadataValue<'ctx>, Vec<MetadataValue<'ctx>>)>,
}

impl<'ctx> Debug<'ctx> {
    /// Adds the debug information of the host IR to a module.
    pub(crate) fn new(
        module: &Module<'ctx>,
        types: &Types<'ctx>,
        source: &ir::Module,
    ) -> Result<Self, Error> {
        let Some(text) = Text::of(source) else { return Ok(Debug { functions: BTreeMap::new() }) };
        if module.get_flag(VERSION).is_none() {
            let version = types.context.i32_type();
            let version = version.const_int(debug_metadata_version().into(), false);
            module.add_basic_value_flag(VERSION, FlagBehavior::Warning, version);
        }
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.module().as_bytes(), UNITS);
        // LLVM reads no text where it discards names.
        let discards = raw::discards_names(types.context);
        raw::discard_names(types.context, false);
        let read = types.context.create_module_from_ir(buffer).map_err(native);
        raw::discard_names(types.context, discards);
        let read = read?;
        for unit in read.get_global_metadata(UNITS) {
            module.add_global_metadata(UNITS, &unit).map_err(crate::refused)?;
        }
        let mut nodes = read.get_global_metadata(NODES).into_iter();
        let functions = text.functions.iter().filter_map(|&(symbol, topics)| {
            Some((symbol, (nodes.next()?, nodes.by_ref().take(topics).collect())))
        });
        Ok(Debug { functions: functions.collect() })
    }

    /// Gives a function its subprogram. Returns the location of each of its topics; none if the function has no place
    /// in a source.
    pub(crate) fn describe(
        &self,
        function: FunctionValue<'ctx>,
        source: &ir::Function,
    ) -> &[MetadataValue<'ctx>] {
        self.functions.get(&source.symbol).map_or(&[], |(subprogram, locations)| {
            function.as_global_value().set_metadata(*subprogram, KIND);
            locations
        })
    }

    /// Returns true if no function has debug information.
    pub(crate) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }
}

/// The text of the nodes of a module.
struct Text {
    /// The definitions, numbered from 0: the version, then the unit.
    definitions: Vec<String>,
    /// The numbers of subprograms and locations, in the order of functions and topics.
    nodes: Vec<usize>,
    /// The functions that have a subprogram, with the number of their topics.
    functions: Vec<(ir::Symbol, usize)>,
    /// The number of the node of each file.
    files: Vec<usize>,
}

impl Text {
    /// Returns the text of a module; `None` if no function has a place in a source.
    fn of(source: &ir::Module) -> Option<Text> {
        let first = source.functions.iter().find_map(ir::Function::location)?;
        let version = debug_metadata_version();
        let (nodes, functions, files) = (Vec::new(), Vec::new(), Vec::new());
        let definitions = vec![format!("!{{i32 2, !\"{VERSION}\", i32 {version}}}"), String::new()];
        let mut text = Text { definitions, nodes, functions, files };
        for file in &source.files {
            let node = format!("!DIFile(filename: {}, directory: \"\")", quoted(file));
            let number = text.define(node);
            text.files.push(number);
        }
        let types = text.define("!DISubroutineType(types: !{null})".to_owned());
        text.definitions[1] = format!(
            "distinct !DICompileUnit(language: DW_LANG_C99, file: !{}, producer: \"{PRODUCER}\", \
             isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug, nameTableKind: None)",
            text.files[first.file as usize]
        );
        for function in &source.functions {
            if let Some(own) = function.location() {
                text.function(source.name(function.symbol), function, own, types);
            }
        }
        Some(text)
    }

    /// Adds a definition; returns its number.
    fn define(&mut self, node: String) -> usize {
        self.definitions.push(node);
        self.definitions.len() - 1
    }

    /// Adds the subprogram of a function at `own`, and the locations of its topics.
    fn function(&mut self, name: &str, source: &ir::Function, own: SourceLocation, types: usize) {
        let SourceLocation { file, line, .. } = own;
        let (name, file) = (quoted(name), self.files[file as usize]);
        let subprogram = self.define(format!(
            "distinct !DISubprogram(name: {name}, linkageName: {name}, scope: !{file}, \
             file: !{file}, line: {line}, type: !{types}, scopeLine: {line}, \
             spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !1)"
        ));
        self.nodes.push(subprogram);
        self.functions.push((source.symbol, source.topics.len()));
        let mut scopes = vec![(own.file, subprogram)];
        for other in source.other_files() {
            let file = self.files[other as usize];
            let block = self.define(format!(
                "distinct !DILexicalBlock(scope: !{subprogram}, file: !{file}, line: {line}, \
                 column: {})",
                own.column_below(COLUMNS)
            ));
            scopes.push((other, block));
        }
        for topic in &source.topics {
            let at = topic.location.unwrap_or(own);
            let scope = scopes.iter().find(|(file, _)| *file == at.file);
            let scope = scope.map_or(subprogram, |(_, scope)| *scope);
            let (line, column) = (at.line, at.column_below(COLUMNS));
            let location = format!("!DILocation(line: {line}, column: {column}, scope: !{scope})");
            let location = self.define(location);
            self.nodes.push(location);
        }
    }

    /// Returns a module with all nodes.
    fn module(&self) -> String {
        let list = self.nodes.iter().map(|number| format!("!{number}")).collect::<Vec<_>>();
        let mut text = format!(
            "!llvm.module.flags = !{{!0}}\n!{UNITS} = !{{!1}}\n!{NODES} = !{{{}}}\n",
            list.join(", ")
        );
        for (number, node) in self.definitions.iter().enumerate() {
            let _ = writeln!(text, "!{number} = {node}");
        }
        text
    }
}
