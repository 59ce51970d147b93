//! Mistakes planted in host IR, each of which the table of calls must find in the machine.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "a mistake is made in one kind of instruction, however many kinds there are"
)]

use codegen::ir::{Binary, Checked, Function, Inst, Module, Placed, Target, Terminator, Type};
use tvm_ffi_codegen_tests::cases::{self, Case};
use tvm_ffi_codegen_tests::machine::{InMachine, Linked};
use tvm_ffi_codegen_tests::outcome::End;
use tvm_ffi_codegen_tests::route::{Call, Route};

/// Makes a mistake in a function; returns false if the function has no place for it.
type Mistake = fn(&Module, &mut Function) -> bool;

/// Mistakes: a description; a part of the names of functions in which the mistake is planted, one after another until
/// it is found; the change.
const MISTAKES: &[(&str, &str, Mistake)] = &[
    ("an offset of a load", "__tvm_ffi_add_one", |_, function| {
        edit(function, |inst| match inst {
            Inst::Load { offset, .. } if *offset == 24 => {
                *offset += 16;
                true
            }
            _ => false,
        })
    }),
    ("an alignment that nobody promised", "__tvm_ffi_add_one", |_, function| {
        edit(function, |inst| match inst {
            Inst::Load { align, .. } => {
                *align = 512;
                true
            }
            _ => false,
        })
    }),
    ("a missing check", "__tvm_ffi_add_one", |_, function| skip_checks(function) > 0),
    ("a shift by the width", "tvm_ffi_codegen.", |_, function| {
        let mut amount = None;
        edit(function, |inst| match inst {
            Inst::Binary { op: Binary::Shl | Binary::Lshr, rhs, .. } if amount.is_none() => {
                amount = Some(*rhs);
                true
            }
            _ => false,
        });
        let insts = function.blocks.iter_mut().flat_map(|block| &mut block.insts);
        let mut constants =
            insts.filter(|placed| placed.result.is_some() && placed.result == amount);
        match constants.next() {
            Some(Placed { inst: Inst::Const { bits, .. }, .. }) => {
                *bits = 64;
                true
            }
            _ => false,
        }
    }),
    ("a division without its check", "__tvm_ffi_divides", |_, function| skip_checks(function) > 0),
    ("a leak", "tvm_ffi_codegen.", |module, function| {
        remove(module, function, "TVMFFIObjectDecRef")
    }),
    ("a reference that is not taken", "tvm_ffi_codegen.", |module, function| {
        remove(module, function, "TVMFFIObjectIncRef")
    }),
    ("a release too many", "", |module, function| twice(module, function, "TVMFFIObjectDecRef")),
    ("a failure without an error", "tvm_ffi_codegen.", |module, function| {
        remove(module, function, "TVMFFIErrorSetRaised")
    }),
    ("a word that is not written", "tvm_ffi_codegen.", |_, function| {
        for block in &mut function.blocks {
            let is_store = |placed: &Placed| matches!(placed.inst, Inst::Store { .. });
            if let Some(at) = block.insts.iter().position(is_store) {
                block.insts.remove(at);
                return true;
            }
        }
        false
    }),
    ("a loop that goes too far", "tvm_ffi_codegen.put", |_, function| {
        use codegen::ir::Cond;
        edit(function, |inst| match inst {
            Inst::Compare { cond, .. } if *cond == Cond::Ne || *cond == Cond::Ult => {
                *cond = Cond::Ule;
                true
            }
            _ => false,
        })
    }),
    ("a read of another argument", "__tvm_ffi_", |_, function| {
        edit(function, |inst| match inst {
            Inst::Load { offset, .. } if *offset == 8 => {
                *offset += 16;
                true
            }
            _ => false,
        })
    }),
    ("what is lent in an array", "__tvm_ffi_lent_in_array", |_, f| skip_checks(f) > 0),
    ("what is lent in an array of a match", "__tvm_ffi_lent_in_match", |_, f| skip_checks(f) > 0),
    ("an element that is not checked anew", ".closure.held_list.", |_, f| skip_checks(f) > 0),
    ("a tensor that is not checked anew", ".closure.held_tensors.", |_, f| skip_checks(f) > 0),
    ("a condition that is not checked anew", ".closure.held_condition.", |_, f| skip_checks(f) > 0),
    ("a NULL in an array", "tvm_ffi_codegen.make_array", |_, f| skip_checks(f) > 0),
    ("an overflow that nobody asks about", "__tvm_ffi_allocated_product", |_, function| {
        edit(function, |inst| match inst {
            Inst::Overflowed { .. } => {
                *inst = Inst::Const { ty: Type::Bool, bits: 0 };
                true
            }
            _ => false,
        })
    }),
    ("a sum for a product", "__tvm_ffi_workspace_product", |_, function| {
        edit(function, |inst| match inst {
            Inst::Checked { op, .. } => {
                *op = Checked::CheckedAdd;
                true
            }
            _ => false,
        })
    }),
    ("a plain read of what threads share", "__tvm_ffi_", |_, function| {
        edit(function, |inst| match *inst {
            Inst::AtomicLoad { ty, base, offset } => {
                *inst = Inst::Load { ty, base, offset, align: 8 };
                true
            }
            _ => false,
        })
    }),
    ("a write to a tensor that is only read", "__tvm_ffi_access_told", |_, function| {
        // The address of the elements is a sum, with the byte offset of the tensor.
        for block in &mut function.blocks {
            let is_offset = |placed: &Placed| matches!(placed.inst, Inst::Load { offset: 40, .. });
            let Some(at) = block.insts.iter().position(is_offset) else { continue };
            let Some(sum) = block.insts.get(at + 1) else { continue };
            if let (Some(value), Some(base)) = (block.insts[at].result, sum.result) {
                let store = Inst::Store { value, base, offset: 0, align: 1 };
                block.insts.insert(at + 2, store.into());
                return true;
            }
        }
        false
    }),
    ("a question about a class that may be unknown", "tvm_ffi_codegen.is_instance", |module, f| {
        let Some((block, at)) = position(module, f, "tvm_ffi_codegen.is_known") else {
            return false;
        };
        f.blocks[block].insts[at].inst = Inst::Const { ty: Type::I32, bits: 1 };
        true
    }),
];

/// Changes the first instruction that `change` accepts.
fn edit(function: &mut Function, change: impl FnMut(&mut Inst) -> bool) -> bool {
    let insts = function.blocks.iter_mut().flat_map(|block| &mut block.insts);
    insts.map(|placed| &mut placed.inst).any(change)
}

/// Replaces every branch to a cold and a hot block by a jump to the hot one; returns their number.
fn skip_checks(function: &mut Function) -> usize {
    let cold: Vec<bool> = function.blocks.iter().map(|block| block.cold).collect();
    let is_cold = |target: &Target| cold[target.block.index()];
    let mut count = 0;
    for end in function.blocks.iter_mut().filter_map(|block| block.end.as_mut()) {
        let Terminator::Branch { then, otherwise, .. } = &*end else { continue };
        let hot = if is_cold(then) { otherwise.clone() } else { then.clone() };
        if is_cold(then) != is_cold(otherwise) {
            *end = Terminator::Jump(hot);
            count += 1;
        }
    }
    count
}

fn position(module: &Module, function: &Function, callee: &str) -> Option<(usize, usize)> {
    function.blocks.iter().enumerate().find_map(|(block, data)| {
        let calls =
            |placed: &Placed| placed.inst.symbol().is_some_and(|of| module.name(of) == callee);
        Some((block, data.insts.iter().position(calls)?))
    })
}

/// Removes the first call of a function of the runtime, whose result must be unused.
fn remove(module: &Module, function: &mut Function, callee: &str) -> bool {
    let Some((block, at)) = position(module, function, callee) else { return false };
    let Placed { inst, .. } = &mut function.blocks[block].insts[at];
    *inst = Inst::Const { ty: codegen::ir::Type::I32, bits: 0 };
    true
}

/// Doubles the first call of a function of the runtime.
fn twice(module: &Module, function: &mut Function, callee: &str) -> bool {
    let Some((block, at)) = position(module, function, callee) else { return false };
    let call = function.blocks[block].insts[at].clone();
    function.blocks[block].insts.insert(at, call);
    true
}

/// Returns the first wrong outcome of the table. The calls of a case share a machine, since linking one takes longer
/// than they do.
fn found(table: &[Case], machine: &InMachine) -> Option<String> {
    table.iter().find_map(|case| {
        let function = &case.function.signature.name;
        let calls = case.rows.iter().map(|row| Call {
            function,
            arguments: &row.arguments,
            count: row.count,
        });
        let outcomes = machine.run(&calls.collect::<Vec<_>>());
        case.rows.iter().zip(outcomes).find_map(|(row, outcome)| {
            let outcome = outcome.ok()?;
            let text = || match &outcome.end {
                End::Broken(reason) => reason.lines().next().unwrap_or_default().to_owned(),
                End::Result(_) | End::Error { .. } => format!("{outcome}, not {}", row.expected),
            };
            (outcome != row.expected).then(|| format!("{}: {}", row.place, text()))
        })
    })
}

#[test]
fn every_mistake_is_found() {
    let table = cases::table();
    let library = cases::library(&table);
    let sound = InMachine::new(&library, Linked::Inside);
    assert_eq!(found(&table, &sound), None, "without a mistake");
    for (what, names, mistake) in MISTAKES {
        let mut machine = sound.copied();
        let mut places = Vec::new();
        let report = loop {
            let module = machine.modules_mut().next().expect("it is the only one");
            let next = (0..module.functions.len()).find(|at| {
                let name = module.name(module.functions[*at].symbol);
                name.contains(names) && !places.contains(at)
            });
            let Some(at) = next else { panic!("{what}: not found in {} functions", places.len()) };
            places.push(at);
            let original = module.functions[at].clone();
            let mut changed = original.clone();
            if !mistake(module, &mut changed) {
                continue;
            }
            module.functions[at] = changed;
            if let Some(report) = found(&table, &machine) {
                break report;
            }
            let module = machine.modules_mut().next().expect("it is the only one");
            module.functions[at] = original;
        };
        println!("{what}, planted {} times until it was found: {report}", places.len());
    }
}
