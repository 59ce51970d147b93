//! The names of symbols.

use std::collections::{BTreeSet, HashSet};
use std::convert::Infallible;

use codegen::backend::{
    Capabilities, Error, Existing, Plan, State, is_safe_call, is_system_function,
};
use codegen::ir::{self, FieldType, Linkage, Pointee, Struct, SymbolKind};

use crate::Headers;
use crate::names::{Taken, identifier, is_free, is_quotable, is_symbol};
use crate::prelude::{Helper, Prelude};
use crate::refused;

/// The capabilities of C: weak symbols, and aliases in ELF.
pub(crate) const CAPABILITIES: Capabilities = Capabilities { once: true, aliases: true };

/// The symbols of a new file: none.
pub(crate) struct ExistingSymbols;

impl Existing for ExistingSymbols {
    type Native = Infallible;

    fn find(&self, _name: &str) -> Option<Infallible> {
        None
    }

    fn state(&self, native: Infallible) -> State {
        match native {}
    }

    fn check(&self, _symbol: &ir::SymbolData, native: Infallible) -> Result<(), Error> {
        match native {}
    }
}

/// The names of the symbols of the host IR.
pub(crate) struct Symbols {
    /// The name of each symbol in C.
    pub(crate) names: Vec<String>,
    /// The name by which code reaches each symbol.
    pub(crate) references: Vec<String>,
    /// Names in use, in either list.
    pub(crate) taken: HashSet<String>,
    pub(crate) linkages: Vec<Linkage>,
    /// True for each symbol that is an object with addresses.
    pub(crate) is_struct: Vec<bool>,
    /// Pointees of the parameters of each function that is defined here.
    pub(crate) pointees: Vec<Vec<Option<Pointee>>>,
    /// True for each symbol that is declared under another name than its own.
    renamed: Vec<bool>,
    /// The source of declarations.
    pub(crate) headers: Headers,
    /// The alias of each function that is defined here and whose name stands in quotes, for compilers that need one.
    pub(crate) named: Vec<Option<String>>,
}

/// Names the planned symbols.
///
/// # Errors
/// [`Error::Native`] for a name that no assembler takes.
pub(crate) fn declare(
    source: &ir::Module,
    plan: &[Plan<'_, Infallible>],
    headers: Headers,
) -> Result<Symbols, Error> {
    let structs = structs(source);
    let is_own = |symbol: &ir::SymbolData| {
        let is_seen = symbol.linkage != Linkage::Local;
        let is_plain = is_free(&symbol.name) && !structs.contains(&symbol.name);
        is_seen && is_plain && !is_declared_otherwise(symbol, headers)
    };
    let own = source.symbols.iter().filter(|symbol| is_own(symbol));
    let mut taken = Taken { headers, ..Taken::default() };
    taken.own.extend(own.map(|symbol| symbol.name.clone()));
    taken.own.extend(structs.iter().cloned());
    let otherwise = source.symbols.iter().filter(|symbol| is_declared_otherwise(symbol, headers));
    taken.own.extend(otherwise.map(|symbol| symbol.name.clone()));
    let mut symbols = Symbols {
        names: Vec::new(),
        references: Vec::new(),
        taken: HashSet::new(),
        linkages: source.symbols.iter().map(|symbol| symbol.linkage).collect(),
        is_struct: vec![false; source.symbols.len()],
        pointees: vec![Vec::new(); source.symbols.len()],
        renamed: Vec::new(),
        headers,
        named: Vec::new(),
    };
    for function in &source.functions {
        let params = function.blocks[0].params.iter();
        let pointees = params.map(|param| function.values[param.index()].points_to).collect();
        symbols.pointees[function.symbol.index()] = pointees;
    }
    for data in &source.data {
        symbols.is_struct[data.symbol.index()] = !data.relocations.is_empty();
    }
    for (symbol, plan) in source.symbols.iter().zip(plan) {
        let renamed = symbol.linkage != Linkage::Local && !is_own(symbol);
        if renamed && !is_quotable(&symbol.name) {
            let name = symbol.name.escape_debug();
            return Err(refused(format!("no name of a symbol in C: `{name}`")));
        }
        let name =
            if is_own(symbol) { symbol.name.clone() } else { identifier(&symbol.name, &mut taken) };
        let alias = plan.alias.as_ref().map(|alias| identifier(alias, &mut taken));
        let is_named = renamed && symbol.linkage == Linkage::Export && !is_symbol(&symbol.name);
        let named = is_named.then(|| identifier(&format!("{name}_named"), &mut taken));
        symbols.named.push(named.filter(|_| matches!(symbol.kind, SymbolKind::Function(_))));
        symbols.references.push(alias.unwrap_or_else(|| name.clone()));
        symbols.names.push(name);
        symbols.renamed.push(renamed);
    }
    symbols.taken = taken.own;
    Ok(symbols)
}

/// Returns true for a function that what stands before the text may declare with other types: those of the system, and
/// the exported ones that are for C, which a header of the library has.
fn is_declared_otherwise(symbol: &ir::SymbolData, headers: Headers) -> bool {
    let is_for_c = matches!(symbol.kind, ir::SymbolKind::Function(_))
        && symbol.linkage == Linkage::Export
        && !is_safe_call(&symbol.name);
    match headers {
        Headers::Own => false,
        Headers::Include => is_for_c || is_system_function(&symbol.name),
    }
}

/// Returns the names of the structs that values point to, and of those in them.
fn structs(source: &ir::Module) -> BTreeSet<String> {
    let values = source.functions.iter().flat_map(|function| &function.values);
    let mut waiting: Vec<&Struct> = values
        .filter_map(|value| match value.points_to {
            Some(Pointee::Struct(pointee)) => Some(pointee),
            Some(Pointee::Values(_)) | None => None,
        })
        .collect();
    let mut names = BTreeSet::new();
    while let Some(found) = waiting.pop() {
        if names.insert(found.name.to_owned()) {
            waiting.extend(found.fields.iter().filter_map(|field| match field.ty {
                FieldType::Struct(inner) => Some(inner),
                FieldType::U8
                | FieldType::U16
                | FieldType::I32
                | FieldType::U32
                | FieldType::I64
                | FieldType::U64
                | FieldType::Ptr
                | FieldType::Union => None,
            }));
        }
    }
    names
}

/// Returns the attribute of a function that is not inlined.
pub(crate) fn heat(function: &ir::Function) -> Option<Helper> {
    if function.cold { Some(Helper::Cold) } else { function.no_inline.then_some(Helper::NoInline) }
}

impl Symbols {
    /// Returns true if other objects see the symbol.
    pub(crate) fn is_seen(&self, symbol: ir::Symbol) -> bool {
        self.linkages[symbol.index()] != Linkage::Local
    }

    /// Returns the words before a function, with the attribute that `heat` says.
    pub(crate) fn attributes(
        &self,
        function: &ir::Function,
        heat: Option<Helper>,
        prelude: &mut Prelude,
    ) -> String {
        let linkage = match self.linkages[function.symbol.index()] {
            Linkage::Export if self.named[function.symbol.index()].is_some() => {
                prelude.name(Helper::Inner)
            }
            Linkage::Export | Linkage::Weak => prelude.name(Helper::Export),
            Linkage::Once => prelude.name(Helper::Once),
            Linkage::Import => prelude.name(Helper::External),
            Linkage::Local => "static",
        };
        let heat = heat.map(|heat| format!("{} ", prelude.name(heat)));
        format!("{linkage} {}", heat.unwrap_or_default())
    }

    /// Returns true if the text leaves the declaration of an import to what stands before it.
    pub(crate) fn is_declared_before(&self, source: &ir::Module, symbol: ir::Symbol) -> bool {
        let is_function = source.signature(symbol).is_some();
        let is_import = self.linkages[symbol.index()] == Linkage::Import;
        match self.headers {
            Headers::Own => false,
            Headers::Include => is_import && is_function && !self.is_renamed(symbol),
        }
    }

    /// Returns true if the symbol has another name in C.
    pub(crate) fn is_renamed(&self, symbol: ir::Symbol) -> bool {
        self.renamed[symbol.index()]
    }

    /// Returns the assembler's name of a symbol that has another in C.
    pub(crate) fn label(
        &self,
        source: &ir::Module,
        symbol: ir::Symbol,
        prelude: &mut Prelude,
    ) -> String {
        if !self.renamed[symbol.index()] {
            return String::new();
        }
        let name = source.name(symbol);
        let helper = if is_symbol(name) { Helper::Symbol } else { Helper::Quoted };
        format!(" {}(\"{name}\")", prelude.name(helper))
    }
}
