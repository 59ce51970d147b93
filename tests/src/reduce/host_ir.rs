//! Passes over modules of host IR.

use std::borrow::Cow;

use codegen::ir::{Function, Linkage, Module, Symbol, verify};

use super::{Changes, Pass, Subject, instruction};

/// A module, and the lines of its file that start with `#`.
#[derive(Clone, Debug)]
pub(super) struct HostIr {
    notes: Vec<String>,
    pub(super) module: Module,
}

impl Subject for HostIr {
    const PASSES: &'static [Pass<HostIr>] = &[
        ("functions", HostIr::functions),
        ("data", HostIr::data),
        ("imports", HostIr::imports),
        ("branches", |file, changes| each(file, changes, instruction::branches)),
        ("returns", |file, changes| each(file, changes, instruction::returns)),
        ("instructions", |file, changes| each(file, changes, instruction::instructions)),
        ("constants", |file, changes| each(file, changes, instruction::constants)),
        ("operands", |file, changes| each(file, changes, instruction::operands)),
        ("block parameters", |file, changes| each(file, changes, instruction::params)),
        ("jumps", |file, changes| each(file, changes, instruction::jumps)),
        ("numbers", |file, changes| each(file, changes, instruction::numbers)),
        ("bytes", HostIr::bytes),
        ("marks", HostIr::marks),
        ("notes", |file, changes| file.notes.retain(|_| !changes.makes_next())),
    ];

    fn read(text: &str) -> Result<HostIr, String> {
        let notes = text.lines().filter(|line| line.trim_start().starts_with('#'));
        let module = text.parse::<Module>().map_err(|error| error.to_string())?;
        Ok(HostIr { notes: notes.map(str::to_owned).collect(), module })
    }

    fn text(&self) -> String {
        let notes: String = self.notes.iter().map(|note| format!("{note}\n")).collect();
        format!("{notes}{:#}", self.module)
    }

    fn is_valid(&self) -> bool {
        verify(&self.module).is_ok()
    }
}

fn each(file: &mut HostIr, changes: &mut Changes, change: fn(&mut Function, &mut Changes)) {
    file.module.functions.iter_mut().for_each(|function| change(function, changes));
}

impl HostIr {
    /// Removes constructors, and imports functions that are defined.
    fn functions(&mut self, changes: &mut Changes) {
        let Module { constructors, functions, symbols, .. } = &mut self.module;
        constructors.retain(|_| !changes.makes_next());
        functions.retain(|function| {
            let imports = changes.makes_next();
            if imports {
                symbols[function.symbol.index()].linkage = Linkage::Import;
            }
            !imports
        });
    }

    /// Imports data that is defined.
    fn data(&mut self, changes: &mut Changes) {
        let Module { data, symbols, .. } = &mut self.module;
        data.retain(|data| {
            let imports = changes.makes_next();
            if imports {
                symbols[data.symbol.index()].linkage = Linkage::Import;
            }
            !imports
        });
    }

    /// Removes imports that nothing names. A module declares its symbols for good, so that its text loses their lines.
    fn imports(&mut self, changes: &mut Changes) {
        let named = names(&self.module);
        let imported = self.module.symbols.iter().enumerate();
        let mut imported = imported.filter(|(_, symbol)| symbol.linkage == Linkage::Import);
        let mut is_kept = |line: &&str| {
            let is_import = line.starts_with("import ");
            let index = if is_import { imported.next().map(|(index, _)| index) } else { None };
            index.is_none_or(|index| named[index] || !changes.makes_next())
        };
        let text = format!("{:#}", self.module);
        let kept: String = text.split_inclusive('\n').filter(|line| is_kept(line)).collect();
        if kept.len() < text.len()
            && let Ok(module) = kept.parse()
        {
            self.module = module;
        }
    }

    /// Removes addresses from data, shortens it, and replaces its bytes by zeros.
    fn bytes(&mut self, changes: &mut Changes) {
        for data in &mut self.module.data {
            data.relocations.retain(|_| !changes.makes_next());
            let size = data.bytes.len();
            let kept = (0..usize::BITS).map(|shift| size - (size >> shift));
            for kept in kept.filter(|kept| *kept < size) {
                if changes.makes_next() {
                    data.bytes.truncate(kept);
                    data.relocations.retain(|relocation| relocation.offset as usize + 8 <= kept);
                }
            }
            if changes.makes_next() {
                data.bytes.fill(0);
            }
        }
    }

    /// Removes what no result depends on: hints, names of blocks, and marks of functions and data.
    fn marks(&mut self, changes: &mut Changes) {
        let Module { functions, data, .. } = &mut self.module;
        let of_data = data.iter_mut().flat_map(|data| [&mut data.large, &mut data.listed]);
        let of_functions = functions.iter_mut().flat_map(|function| {
            let of_blocks = function.blocks.iter_mut().map(|block| &mut block.cold);
            let own = [&mut function.cold, &mut function.no_inline];
            of_blocks.chain(own)
        });
        of_data.chain(of_functions).filter(|mark| **mark).for_each(|mark| {
            *mark &= !changes.makes_next();
        });
        for block in functions.iter_mut().flat_map(|function| function.blocks.iter_mut().skip(1)) {
            if block.label != "b" && changes.makes_next() {
                block.label = Cow::Borrowed("b");
            }
        }
    }
}

/// Returns for each symbol whether something names it.
fn names(module: &Module) -> Vec<bool> {
    let blocks = module.functions.iter().flat_map(|function| &function.blocks);
    let insts = blocks.flat_map(|block| &block.insts).filter_map(|placed| placed.inst.symbol());
    let relocations = module.data.iter().flat_map(|data| &data.relocations);
    let all = insts.chain(relocations.map(|relocation| relocation.symbol));
    let mut named = vec![false; module.symbols.len()];
    all.chain(module.constructors.iter().copied()).for_each(|symbol: Symbol| {
        named[symbol.index()] = true;
    });
    named
}
