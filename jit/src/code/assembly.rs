//! The way from host IR to machine code in memory.

use abi_spec::symbol;
use backend_cranelift::Lines;
use cranelift_codegen::ir::Signature;
use cranelift_module::{DataId, FuncId, FuncOrDataId, Linkage, Module};
use tvm_ffi_codegen::ir;
use tvm_ffi_codegen::linker::KEEPER;

use super::address::{Address, DataRange};
use super::callers::Known;
use super::debugger::Announced;
use super::frames::{self, Registered};
use super::machine::OptLevel;
use super::memory::Memory;
use super::native::{Defined, Native};
use super::observers::{Observers, announce};
use super::routines::SharedRoutines;
use super::symbols::Symbols;
use crate::builtin::c_function;
use crate::error::Error;
use crate::runtime::Runtime;

/// A native module that is being filled with functions.
pub(crate) struct Assembly {
    pub(crate) native: Native,
    pub(crate) symbols: Symbols,
    memory: Memory,
    exports: Vec<(String, FuncId)>,
    /// Functions that the user has defined in the native module.
    own: Vec<OwnFunction<FuncId>>,
    data: Vec<(String, DataId)>,
    /// The lines of the user's source that code is for.
    lines: Lines,
    /// Symbols of variables to fill in, where the module has them.
    pub(crate) variables: Vec<String>,
}

/// A function that the user has defined in the native module.
pub(crate) struct OwnFunction<Place> {
    pub(crate) symbol: String,
    pub(crate) signature: Signature,
    pub(crate) place: Place,
}

/// Linked code: its exports by name, and the handle that keeps it.
pub(crate) struct Linked {
    pub(crate) functions: Vec<(String, Address)>,
    pub(crate) own: Vec<OwnFunction<Address>>,
    pub(crate) data: Vec<(String, DataRange)>,
    /// The variable [`KEEPER`], if functions make closures.
    pub(crate) keeper: Option<DataRange>,
    /// The places of [`Assembly::variables`], in their order.
    pub(crate) variables: Vec<Option<DataRange>>,
    pub(crate) uncalled: Vec<String>,
    pub(crate) text: Text,
}

/// Machine code. Fields are dropped in this order: debugger, unwinder and [`callers`](super::callers) forget the code
/// before its memory goes.
pub(crate) struct Text {
    _announced: Option<Announced>,
    _registered: Vec<Registered>,
    _known: Known,
    pub(crate) memory: Memory,
}

impl Assembly {
    /// Makes an empty module for code that calls these routines.
    pub(crate) fn new(
        runtime: &'static Runtime,
        level: OptLevel,
        routines: &'static SharedRoutines,
    ) -> Result<Assembly, Error> {
        let (memory, symbols) = (Memory::new(), Symbols::new(runtime, routines));
        let answering = symbols.clone();
        let native = Native::new(level, &memory, move |name| answering.answer(name))?;
        let (exports, own, data) = (Vec::new(), Vec::new(), Vec::new());
        let (lines, variables) = (Lines::default(), Vec::new());
        Ok(Assembly { native, symbols, memory, exports, own, data, lines, variables })
    }

    /// The symbols of the exports so far.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.exports.iter().map(|(name, _)| name.as_str())
    }

    /// Lets the user define functions in the native module, and remembers them.
    pub(crate) fn define<E>(
        &mut self,
        define: impl FnOnce(&mut dyn Module) -> Result<(), E>,
    ) -> Result<(), E> {
        let before = self.native.defined.len();
        self.native.verifies = true;
        let defined = define(&mut self.native);
        self.native.verifies = false;
        defined?;
        let declarations = self.native.module.declarations();
        for &Defined { id: place, .. } in &self.native.defined[before..] {
            let declaration = declarations.get_function_decl(place);
            if let Some(symbol) = declaration.name.clone() {
                self.own.push(OwnFunction {
                    symbol,
                    signature: declaration.signature.clone(),
                    place,
                });
            }
        }
        Ok(())
    }

    /// Declares a function that another library has defined for itself. The backend checks that it is called as it was
    /// defined.
    pub(crate) fn import(&mut self, own: &OwnFunction<Address>) -> Result<(), Error> {
        let OwnFunction { symbol, signature, place } = own;
        if self.native.get_name(symbol).is_none() {
            let declared = self.native.declare_function(symbol, Linkage::Import, signature);
            declared.map_err(|_| {
                Error::Backend(backend_cranelift::Error::Defined { symbol: symbol.clone() })
            })?;
        }
        self.symbols.import(symbol, place.0);
        Ok(())
    }

    /// Emits host IR and compiles it.
    pub(crate) fn emit(&mut self, source: &ir::Module) -> Result<(), Error> {
        let imports = source.symbols.iter().filter(|symbol| symbol.linkage == ir::Linkage::Import);
        self.symbols.load_routines(imports.map(|symbol| &*symbol.name))?;
        let missing = source.symbols.iter().filter(|symbol| self.is_missing(symbol));
        let (own, missing): (Vec<_>, Vec<_>) =
            missing.partition(|symbol| self.is_for_routines(source, symbol));
        if !missing.is_empty() {
            let symbols = missing.into_iter().map(|symbol| symbol.name.clone()).collect();
            return Err(Error::Undefined { symbols });
        }
        for symbol in own {
            if let Some(address) = c_function(&symbol.name) {
                self.symbols.define(&symbol.name, address, None);
            }
        }
        self.check_kernels(source)?;
        let ids = backend_cranelift::emit_with_lines(&mut self.native, source, &mut self.lines)?;
        let exported =
            source.functions.iter().map(|function| &source.symbols[function.symbol.index()]);
        let exported = exported.filter(|symbol| symbol.linkage == ir::Linkage::Export);
        self.exports.extend(exported.map(|symbol| symbol.name.clone()).zip(ids));
        for name in source.data.iter().map(|data| source.name(data.symbol)) {
            if name.starts_with(symbol::PREFIX)
                && let Some(FuncOrDataId::Data(id)) = self.native.get_name(name)
            {
                self.data.push((name.to_owned(), id));
            }
        }
        Ok(())
    }

    /// Checks the types of the kernels that a module calls. The backend checks the kernels that the native module
    /// defines.
    fn check_kernels(&self, source: &ir::Module) -> Result<(), Error> {
        let imports = source.symbols.iter().filter(|symbol| symbol.linkage == ir::Linkage::Import);
        for symbol in imports.filter(|symbol| self.native.get_name(&symbol.name).is_none()) {
            if let ir::SymbolKind::Function(called) = &symbol.kind {
                self.symbols.check_type(&symbol.name, called)?;
            }
        }
        Ok(())
    }

    /// True for an import that nothing defines.
    fn is_missing(&self, symbol: &ir::SymbolData) -> bool {
        symbol.linkage == ir::Linkage::Import
            && self.native.get_name(&symbol.name).is_none()
            && self.symbols.find(&symbol.name).is_none()
    }

    /// True for a function of the C library to which only routines refer, such as `malloc`, with which they allocate
    /// tensors. A name to which another function refers is that of a kernel, which the user must give.
    fn is_for_routines(&self, source: &ir::Module, symbol: &ir::SymbolData) -> bool {
        let refers = |function: &&ir::Function| {
            let insts = function.blocks.iter().flat_map(|block| &block.insts);
            let mut used = insts.filter_map(|placed| placed.inst.symbol());
            used.any(|used| source.name(used) == symbol.name)
        };
        c_function(&symbol.name).is_some()
            && source
                .functions
                .iter()
                .filter(refers)
                .all(|function| self.symbols.is_routine(source.name(function.symbol)))
    }

    /// Links all functions, makes them executable, and announces them to unwinder and observers.
    pub(crate) fn link(mut self, observers: Observers) -> Result<Linked, Error> {
        self.symbols.check(&self.native.module)?;
        self.native.finalize()?;
        self.symbols.finish()?;
        let all = 0..self.native.defined.len();
        let known = self.native.frames(all.clone());
        let isa = self.native.module.isa();
        let is_observed = observers != Observers::default();
        let ranges = if is_observed { self.native.ranges(all) } else { Vec::new() };
        let frames = if is_observed { frames::section(isa, &known)? } else { Vec::new() };
        let registered = frames::register(isa, known)?;
        let module = &self.native.module;
        let start = |id| module.get_finalized_function(id).expose_provenance() as u64;
        let lines = if observers.debugger { self.lines.sections(start) } else { Ok(Vec::new()) };
        let lines = lines.map_err(Error::Backend)?;
        let announced = announce(&ranges, &frames, &lines, observers)?;
        let address = |(name, id)| (name, Address(module.get_finalized_function(id)));
        let place = |id| {
            let (start, size) = module.get_finalized_data(id);
            DataRange { start: Address(start), size }
        };
        let functions = self.exports.into_iter().map(address).collect();
        let own = self.own.into_iter().map(|OwnFunction { symbol, signature, place }| {
            OwnFunction { place: Address(module.get_finalized_function(place)), symbol, signature }
        });
        let own = own.collect();
        let data = self.data.into_iter().map(|(name, id)| (name, place(id))).collect();
        // Closures need the context of the library, which one module of a JIT can define; so there is one keeper.
        let variable = |name: &str| match module.get_name(name) {
            Some(FuncOrDataId::Data(id)) => Some(place(id)),
            Some(FuncOrDataId::Func(_)) | None => None,
        };
        let keeper = variable(KEEPER);
        let variables = self.variables.iter().map(|name| variable(name)).collect();
        let known = Known::new(self.memory.code().into_iter(), self.symbols.runtime());
        let text = Text {
            _announced: announced,
            _registered: registered,
            _known: known,
            memory: self.memory,
        };
        let uncalled = self.symbols.uncalled();
        Ok(Linked { functions, own, data, keeper, variables, uncalled, text })
    }
}
