//! The machine code of single functions, with the parts of the declaration that instructions are for.

use std::ops::Range;

use codegen::backend::{self, Error, Facts};
use codegen::ir;
use cranelift_codegen::FinalizedRelocTarget;
use cranelift_codegen::ir::ExternalName;
use cranelift_module::FuncOrDataId;
use target_lexicon::Triple;

use crate::function::{Functions, define};
use crate::generators::Generators;
use crate::symbols::{self, CAPABILITIES, ExistingSymbols};
use crate::{Cranelift, function_id, object, refused};

/// The machine code of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The code; its constants follow it.
    pub code: Vec<u8>,
    /// The places that a linker writes to, in bytes, each with the name of the symbol, in order.
    pub relocations: Vec<(u32, String)>,
    /// The ranges of bytes that are for a part of the declaration, in order.
    pub topics: Vec<(Range<u32>, ir::TopicId)>,
}

/// Returns the machine code of functions of the host IR as it is in an object for the target.
///
/// # Errors
/// Those of an object; [`Error::Native`] for a symbol without a definition.
pub fn listings(
    triple: &Triple,
    source: &ir::Module,
    wanted: &[ir::Symbol],
) -> Result<Vec<Listing>, Error> {
    ir::verify(source)?;
    let target = Cranelift::new(triple.clone());
    let mut module = object::module(&target, false)?;
    let source = &*backend::with_preserving_thunks(source, &Facts::of(triple));
    let plan = backend::plan(source, &ExistingSymbols(&module), CAPABILITIES)?;
    let symbols = symbols::declare(&mut module, source, &plan)?;
    let mut functions = Functions::new(&mut module, &symbols);
    functions.listed = true;
    functions.linked = symbols::calls_by_linker(triple);
    let mut generators = Generators::new(&target);
    let mut all = Vec::with_capacity(wanted.len());
    for &symbol in wanted {
        let defined = source.functions.iter().find(|function| function.symbol == symbol);
        let id = function_id(symbols[symbol.index()]);
        let (Some(function), Some(id)) = (defined, id) else {
            return Err(refused(format!("{} has no definition", source.name(symbol))));
        };
        define(&mut functions, id, function, Some(&mut generators))?;
        all.push(listing(&functions, source));
    }
    Ok(all)
}

/// Returns the code that was compiled last.
fn listing(functions: &Functions<'_>, source: &ir::Module) -> Listing {
    let Some(compiled) = functions.context.compiled_code() else { return Listing::default() };
    let buffer = &compiled.buffer;
    let name = |target: &FinalizedRelocTarget| name(functions, source, target);
    let relocations = buffer.relocs().iter().map(|reloc| (reloc.offset, name(&reloc.target)));
    let located = buffer.get_srclocs_sorted().iter().filter(|found| !found.loc.is_default());
    let topics = located.map(|found| (found.start..found.end, ir::TopicId::new(found.loc.bits())));
    Listing {
        code: buffer.data().to_vec(),
        relocations: relocations.collect(),
        topics: topics.collect(),
    }
}

/// Returns the name of what a linker writes the address of; that of the library's helper for what has none here.
fn name(functions: &Functions<'_>, source: &ir::Module, target: &FinalizedRelocTarget) -> String {
    let names = functions.context.func.params.user_named_funcs();
    match target {
        FinalizedRelocTarget::ExternalName(ExternalName::User(name)) => {
            let wanted = (names[*name].namespace, names[*name].index);
            let is_it = |id: &FuncOrDataId| match id {
                FuncOrDataId::Func(id) => wanted == (0, id.as_u32()),
                FuncOrDataId::Data(id) => wanted == (1, id.as_u32()),
            };
            let found = functions.symbols.iter().position(is_it);
            found.map(|at| source.symbols[at].name.clone()).unwrap_or_default()
        }
        FinalizedRelocTarget::ExternalName(other) => other.display(None).to_string(),
        FinalizedRelocTarget::Func(offset) => format!("+{offset}"),
    }
}
