//! Linking of modules and models into a machine.

use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use codegen::ir::{Linkage, Module, Signature, Symbol, SymbolKind};

use crate::fault::{Failing, Fault};
use crate::finding::Finding;
use crate::memory::Memory;
use crate::run::Outcome;
use crate::runtime::{self, Runtime};
use crate::word::Word;
use crate::{c_library, cuda};

/// A function outside of host IR. Its arguments have no bits above the width of their types, and neither may its
/// result.
pub type Host<'p> = Rc<dyn Fn(&mut Machine<'p>, &[Word]) -> Outcome + 'p>;

/// Linked modules, their memory, and the state of the models.
pub struct Machine<'p> {
    /// Memory of modules and models.
    pub memory: Memory<'p>,
    /// State of the runtime.
    pub runtime: Runtime,
    /// State of the CUDA driver.
    pub cuda: cuda::Driver,
    /// Number of instructions that may still run.
    pub budget: u64,
    /// The call that fails.
    pub fault: Option<Fault>,
    /// Number of fallible calls that host IR has made.
    pub fallible_calls: u64,
    /// Name of the function that the fault has made fail.
    pub failed: Option<String>,
    pub(crate) functions: Vec<Function<'p>>,
    pub(crate) modules: Vec<Linked<'p>>,
    /// Addresses of exported and imported names.
    names: HashMap<String, Word>,
    /// Registers of calls that have returned, for reuse.
    pub(crate) spare: Vec<Vec<Word>>,
    /// Number of calls under way.
    pub(crate) depth: usize,
}

impl fmt::Debug for Machine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let functions = self.functions.len();
        f.debug_struct("Machine").field("functions", &functions).finish_non_exhaustive()
    }
}

/// A module and the addresses of its symbols.
pub(crate) struct Linked<'p> {
    pub(crate) module: &'p Module,
    /// Address of each symbol.
    pub(crate) addresses: Vec<Word>,
}

/// A function of the machine.
#[derive(Clone)]
pub(crate) struct Function<'p> {
    pub(crate) name: String,
    pub(crate) code: Code<'p>,
}

#[derive(Clone)]
pub(crate) enum Code<'p> {
    /// A function of a module: the indices of both.
    Ir { module: usize, function: usize },
    /// A model, or a closure of the test.
    Host { run: Host<'p>, signature: Option<Signature>, failing: Failing },
    /// A declaration without a definition.
    Undefined,
}

/// Default limit of instructions per machine.
const BUDGET: u64 = 50_000_000;

impl<'p> Machine<'p> {
    /// Links modules. Imports resolve to exports of other modules, then to functions of `host`, then to models; a call
    /// of an unresolved one is a finding.
    ///
    /// # Panics
    /// If two modules export one name.
    pub fn link(modules: &[&'p Module], host: &dyn Fn(&str) -> Option<Host<'p>>) -> Machine<'p> {
        let mut machine = Machine {
            memory: Memory::default(),
            runtime: Runtime::default(),
            cuda: cuda::Driver::default(),
            budget: BUDGET,
            fault: None,
            fallible_calls: 0,
            failed: None,
            functions: Vec::new(),
            modules: Vec::new(),
            names: HashMap::new(),
            spare: Vec::new(),
            depth: 0,
        };
        for &module in modules {
            machine.define(module);
        }
        for index in 0..machine.modules.len() {
            machine.import(index, host);
        }
        for index in 0..machine.modules.len() {
            machine.relocate(index);
        }
        machine
    }

    /// Gives the definitions of a module their addresses.
    fn define(&mut self, module: &'p Module) {
        let mut addresses = vec![Word::NULL; module.symbols.len()];
        let position = self.modules.len();
        for (index, function) in module.functions.iter().enumerate() {
            let code = Code::Ir { module: position, function: index };
            let name = module.name(function.symbol);
            addresses[function.symbol.index()] = self.add(name.to_owned(), code);
        }
        for data in &module.data {
            let (name, bytes) = (module.name(data.symbol), &data.bytes[..]);
            let align = u64::from(data.align);
            addresses[data.symbol.index()] = if data.writable {
                self.memory.variable(name, bytes, align)
            } else {
                self.memory.constant(name, bytes, align)
            };
        }
        for (symbol, address) in module.symbols.iter().zip(&mut addresses) {
            let is_new = match symbol.linkage {
                Linkage::Export => self.names.insert(symbol.name.clone(), *address).is_none(),
                Linkage::Weak => {
                    *address = *self.names.entry(symbol.name.clone()).or_insert(*address);
                    true
                }
                Linkage::Once => {
                    self.names.entry(symbol.name.clone()).or_insert(*address);
                    true
                }
                Linkage::Local | Linkage::Import => true,
            };
            assert!(is_new, "{} is exported twice", symbol.name);
        }
        self.modules.push(Linked { module, addresses });
    }

    /// Resolves the imports of a module.
    fn import(&mut self, index: usize, host: &dyn Fn(&str) -> Option<Host<'p>>) {
        let module = self.modules[index].module;
        for (position, symbol) in module.symbols.iter().enumerate() {
            if symbol.linkage != Linkage::Import {
                continue;
            }
            let signature = match &symbol.kind {
                SymbolKind::Function(signature) => Some(signature),
                SymbolKind::Data => None,
            };
            let found = self.names.get(&symbol.name).copied();
            let found = found.unwrap_or_else(|| match host(&symbol.name) {
                Some(run) => self.host(&symbol.name, signature.cloned(), run),
                None => self
                    .model(&symbol.name)
                    .unwrap_or_else(|| self.add(symbol.name.clone(), Code::Undefined)),
            });
            self.names.insert(symbol.name.clone(), found);
            self.modules[index].addresses[position] = found;
        }
    }

    /// Writes the addresses that data holds.
    fn relocate(&mut self, index: usize) {
        let Linked { module, addresses } = &self.modules[index];
        for data in &module.data {
            let at = addresses[data.symbol.index()];
            for relocation in &data.relocations {
                let target = addresses[relocation.symbol.index()].offset(relocation.addend);
                self.memory.relocate(at, relocation.offset as usize, target);
            }
        }
    }

    fn add(&mut self, name: String, code: Code<'p>) -> Word {
        let number = u32::try_from(self.functions.len()).expect("there are fewer functions");
        let address = self.memory.code(name.clone().into(), number);
        self.functions.push(Function { name, code });
        address
    }

    /// Adds a function of the test and returns its address.
    pub fn host(&mut self, name: &str, signature: Option<Signature>, run: Host<'p>) -> Word {
        let failing = Failing::Never;
        self.add(name.to_owned(), Code::Host { run, signature, failing })
    }

    /// Returns the address of a model's function; the same name always has the same address.
    pub fn model(&mut self, name: &str) -> Option<Word> {
        if let Some(known) = self.names.get(name) {
            return Some(*known);
        }
        let found = runtime::function(name).or_else(|| c_library::function(name));
        let (run, signature, failing) = found.or_else(|| cuda::function(name))?;
        let code = Code::Host { run: Rc::new(run), signature, failing };
        let address = self.add(name.to_owned(), code);
        self.names.insert(name.to_owned(), address);
        Some(address)
    }

    /// Returns the address of an exported or imported name.
    pub fn symbol(&self, name: &str) -> Option<Word> {
        self.names.get(name).copied()
    }

    /// Returns the address of a symbol of a module.
    pub fn address(&self, module: usize, symbol: Symbol) -> Word {
        self.modules[module].addresses[symbol.index()]
    }

    /// Runs the constructors of all modules.
    ///
    /// # Errors
    /// The finding of the machine.
    pub fn construct(&mut self) -> Result<(), Box<Finding>> {
        for index in 0..self.modules.len() {
            for &constructor in &self.modules[index].module.constructors {
                self.call(self.modules[index].addresses[constructor.index()], &[])?;
            }
        }
        Ok(())
    }
}
