//! A module with every instruction, operation, condition, conversion and terminator on every type.

mod code;

use codegen::ir::{
    Binary, Builder, Checked, Cond, Convert, Data, Inst, Linkage, Module, Placed, Relocation,
    Signature, SymbolKind, Type, Value, verify,
};

const INTS: [Type; 4] = [Type::I8, Type::I16, Type::I32, Type::I64];
const FLOATS: [Type; 2] = [Type::F32, Type::F64];
const STORED: [Type; 7] =
    [Type::I8, Type::I16, Type::I32, Type::I64, Type::F32, Type::F64, Type::Ptr];

const INTEGER: [Binary; 13] = [
    Binary::Add,
    Binary::Sub,
    Binary::Mul,
    Binary::Sdiv,
    Binary::Srem,
    Binary::Udiv,
    Binary::Urem,
    Binary::And,
    Binary::Or,
    Binary::Xor,
    Binary::Shl,
    Binary::Lshr,
    Binary::Ashr,
];
const FLOAT: [Binary; 4] = [Binary::Fadd, Binary::Fsub, Binary::Fmul, Binary::Fdiv];

const INTEGER_CONDS: [Cond; 10] = [
    Cond::Eq,
    Cond::Ne,
    Cond::Slt,
    Cond::Sle,
    Cond::Sgt,
    Cond::Sge,
    Cond::Ult,
    Cond::Ule,
    Cond::Ugt,
    Cond::Uge,
];
const POINTER_CONDS: [Cond; 6] = [Cond::Eq, Cond::Ne, Cond::Ult, Cond::Ule, Cond::Ugt, Cond::Uge];
const FLOAT_CONDS: [Cond; 6] = [Cond::Feq, Cond::Fne, Cond::Flt, Cond::Fle, Cond::Fgt, Cond::Fge];

/// Constants whose bits an assembler, a printer or a conversion may get wrong.
const CONSTANTS: [(Type, u64); 22] = [
    (Type::I8, 0x80),
    (Type::I8, 0xffff),
    (Type::I16, 0x8000),
    (Type::I32, 0x8000_0000),
    (Type::I64, 0),
    (Type::I64, u64::MAX),
    (Type::I64, 1 << 63),
    (Type::F32, 0x3fc0_0000),
    (Type::F32, 0x8000_0000),
    (Type::F32, 0x0000_0001),
    (Type::F32, 0x7f80_0000),
    (Type::F32, 0x7fc0_0000),
    (Type::F32, 0x7f80_0001),
    (Type::F32, 0xffc1_2345),
    (Type::F64, 0x3ff8_0000_0000_0000),
    (Type::F64, 0x8000_0000_0000_0000),
    (Type::F64, 0x0000_0000_0000_0001),
    (Type::F64, 0x7ff0_0000_0000_0000),
    (Type::F64, 0x7ff0_0000_0000_0001),
    (Type::F64, 0xfff8_0000_0001_2345),
    (Type::Ptr, 0),
    (Type::Ptr, 0x1234_5678_9abc),
];

/// Writes results one after the other to the address in the last parameter.
struct Out {
    base: Value,
    offset: i32,
}

impl Out {
    fn write(&mut self, b: &mut Builder<'_>, value: Value) {
        b.store(value, self.base, self.offset);
        self.offset += 8;
    }

    fn flag(&mut self, b: &mut Builder<'_>, value: Value) {
        let wide = b.widen_bool(value, Type::I8);
        self.write(b, wide);
    }
}

/// An exported function of two parameters of `ty` and a pointer to write to.
fn define(
    module: &mut Module,
    name: &str,
    ty: Type,
    body: impl FnOnce(&mut Builder<'_>, Value, Value, &mut Out),
) {
    let signature = Signature::new(&[ty, ty, Type::Ptr], None);
    let mut b = Builder::function(module, name, Linkage::Export, signature);
    let (lhs, rhs, base) = (b.param(0), b.param(1), b.param(2));
    body(&mut b, lhs, rhs, &mut Out { base, offset: 0 });
    b.ret(None);
    let function = b.finish();
    module.functions.push(function);
}

/// Returns the module.
pub(crate) fn every() -> Module {
    let mut module = Module::default();
    arithmetic(&mut module);
    conversions(&mut module);
    constants(&mut module);
    memory(&mut module);
    symbols(&mut module);
    code::calls(&mut module);
    code::flow(&mut module);
    verify(&module).unwrap();
    module
}

fn arithmetic(module: &mut Module) {
    for ty in INTS {
        define(module, &format!("binary_{ty}"), ty, |b, lhs, rhs, out| {
            INTEGER.into_iter().for_each(|op| {
                let value = b.binary(op, lhs, rhs);
                out.write(b, value);
            });
        });
        compare(module, ty, &INTEGER_CONDS);
    }
    define(module, "checked", Type::I64, |b, lhs, rhs, out| {
        for op in [Checked::CheckedAdd, Checked::CheckedSub, Checked::CheckedMul] {
            let (value, overflowed) = b.checked(op, lhs, rhs);
            out.write(b, value);
            out.flag(b, overflowed);
        }
    });
    for ty in FLOATS {
        define(module, &format!("binary_{ty}"), ty, |b, lhs, rhs, out| {
            FLOAT.into_iter().for_each(|op| {
                let value = b.binary(op, lhs, rhs);
                out.write(b, value);
            });
        });
        compare(module, ty, &FLOAT_CONDS);
    }
    compare(module, Type::Ptr, &POINTER_CONDS);
    define(module, "binary_bool", Type::I64, |b, lhs, rhs, out| {
        let (less, odd) = (b.compare(Cond::Slt, lhs, rhs), b.compare_const(Cond::Ne, lhs, 7));
        for op in [Binary::And, Binary::Or, Binary::Xor] {
            let value = b.binary(op, less, odd);
            out.flag(b, value);
        }
        let (either, no) = (b.select(less, odd, less), b.not(less));
        out.flag(b, either);
        out.flag(b, no);
    });
}

fn compare(module: &mut Module, ty: Type, conds: &[Cond]) {
    define(module, &format!("compare_{ty}"), ty, |b, lhs, rhs, out| {
        for &cond in conds {
            let value = b.compare(cond, lhs, rhs);
            out.flag(b, value);
            let value = b.select(value, lhs, rhs);
            out.write(b, value);
        }
    });
}

fn conversions(module: &mut Module) {
    for from in INTS {
        define(module, &format!("convert_{from}"), from, |b, value, _, out| {
            for to in INTS {
                let ops: &[Convert] = match from.bytes().cmp(&to.bytes()) {
                    std::cmp::Ordering::Less => &[Convert::Zext, Convert::Sext],
                    std::cmp::Ordering::Equal => &[],
                    std::cmp::Ordering::Greater => &[Convert::Trunc],
                };
                ops.iter().for_each(|&op| convert(b, out, op, value, to));
            }
            for to in FLOATS {
                convert(b, out, Convert::SintToFloat, value, to);
                convert(b, out, Convert::UintToFloat, value, to);
                if from.bytes() == to.bytes() {
                    convert(b, out, Convert::Bitcast, value, to);
                }
            }
            if from == Type::I64 {
                convert(b, out, Convert::IntToPtr, value, Type::Ptr);
            }
        });
    }
    for (from, ops) in [
        (Type::F32, [(Convert::Promote, Type::F64), (Convert::Bitcast, Type::I32)]),
        (Type::F64, [(Convert::Demote, Type::F32), (Convert::Bitcast, Type::I64)]),
    ] {
        define(module, &format!("convert_{from}"), from, |b, value, _, out| {
            ops.into_iter().for_each(|(op, to)| convert(b, out, op, value, to));
        });
    }
    define(module, "convert_ptr", Type::Ptr, |b, value, _, out| {
        convert(b, out, Convert::PtrToInt, value, Type::I64);
        let null = b.null();
        let flag = b.eq(value, null);
        INTS.into_iter().for_each(|to| convert(b, out, Convert::Zext, flag, to));
    });
}

fn convert(b: &mut Builder<'_>, out: &mut Out, op: Convert, value: Value, to: Type) {
    let value = b.convert(op, value, to);
    out.write(b, value);
}

fn constants(module: &mut Module) {
    define(module, "constants", Type::I64, |b, lhs, rhs, out| {
        for (ty, bits) in CONSTANTS {
            let value = b.constant(ty, bits);
            out.write(b, value);
        }
        for bits in [0, 1] {
            let (truth, less) = (b.constant(Type::Bool, bits), b.compare(Cond::Slt, lhs, rhs));
            let value = b.binary(Binary::Xor, truth, less);
            out.flag(b, value);
        }
    });
}

fn memory(module: &mut Module) {
    for ty in STORED {
        define(module, &format!("memory_{ty}"), Type::Ptr, |b, from, other, out| {
            for offset in [0, 1, -8, 4096, i32::MAX, i32::MIN, i32::MIN + 1] {
                let value = b.load_aligned(ty, from, offset, 1);
                out.write(b, value);
            }
            let value = b.load(ty, other, 64);
            b.store(value, from, i32::MIN);
            let distance = b.convert(Convert::PtrToInt, other, Type::I64);
            let (far, near) = (b.ptr_add(from, distance), b.ptr_offset(from, -24));
            b.store(value, far, 0);
            b.store(value, near, 16);
        });
    }
    for ty in [Type::I32, Type::I64, Type::Ptr] {
        define(module, &format!("atomic_{ty}"), ty, |b, expected, new, out| {
            let base = out.base;
            let first = b.atomic_load(ty, base, 64);
            let old = b.compare_exchange(base, expected, new);
            b.atomic_store(old, base, -8);
            b.atomic_store(first, base, 0);
            out.write(b, old);
        });
    }
    define(module, "slots", Type::I64, |b, lhs, rhs, out| {
        let sink = b.module.declare(
            "sink",
            Linkage::Import,
            SymbolKind::Function(Signature::new(&[Type::Ptr, Type::Ptr], None)),
        );
        let (small, large) = (b.stack_slot(1, 1), b.stack_slot(48, 16));
        let narrow = b.convert(Convert::Trunc, lhs, Type::I8);
        b.store(narrow, small, 0);
        b.store(rhs, large, 40);
        b.call(sink, &[small, large]);
        let value = b.load(Type::I64, large, 40);
        out.write(b, value);
    });
}

fn data(module: &mut Module, name: &str, linkage: Linkage, bytes: &[u8], writable: bool) {
    let symbol = module.declare(name, linkage, SymbolKind::Data);
    module.data.push(Data { writable, ..Data::constant(symbol, bytes.to_vec(), 8) });
}

/// Data objects that hold addresses.
fn pointers(module: &mut Module) {
    let symbols = ["table", "version", "binary_i8"].map(|name| module.find(name));
    for (name, linkage, writable) in [
        ("pointers", Linkage::Local, false),
        ("shared", Linkage::Once, false),
        ("places", Linkage::Export, true),
    ] {
        data(module, name, linkage, &[0; 40], writable);
        let relocations = symbols.iter().flatten().zip([(8, 0), (16, 3), (24, -8)]);
        let relocation = |(&symbol, (offset, addend))| Relocation { offset, symbol, addend };
        let pointers = module.data.last_mut().expect("added above");
        pointers.relocations = relocations.map(relocation).collect();
    }
}

fn symbols(module: &mut Module) {
    let all: Vec<u8> = (0..=255).collect();
    data(module, "table", Linkage::Local, &all, false);
    data(module, "counter", Linkage::Local, &[0; 8], true);
    data(module, "empty", Linkage::Local, &[], false);
    data(module, "version", Linkage::Export, b"1.0\0", false);
    data(module, "state", Linkage::Export, &[7; 16], true);
    data(module, "blob", Linkage::Export, &[1; 100], false);
    let blob = module.data.last_mut().expect("added above");
    blob.large = true;
    pointers(module);
    let mut addresses: Vec<_> =
        ["table", "counter", "empty", "version", "state", "pointers", "shared", "places"]
            .into_iter()
            .filter_map(|name| module.find(name))
            .collect();
    addresses.push(module.declare("environ", Linkage::Import, SymbolKind::Data));
    addresses.extend(["binary_i8", "sink"].into_iter().filter_map(|name| module.find(name)));
    define(module, "addresses", Type::I64, |b, index, step, out| {
        for symbol in addresses {
            let address = b.address(symbol);
            out.write(b, address);
        }
        let counter = b.module.find("counter").expect("declared above");
        let counter = b.address(counter);
        let count = b.load(Type::I64, counter, 0);
        let count = b.binary(Binary::Add, count, step);
        b.store(count, counter, 0);
        let table = b.module.find("table").expect("declared above");
        let table = b.address(table);
        let entry = b.ptr_add(table, index);
        let byte = b.load(Type::I8, entry, 0);
        out.write(b, byte);
    });
}

/// Returns true if the module has an instruction of each kind; the match covers all kinds.
pub(crate) fn kinds(module: &Module) -> [bool; 17] {
    let mut seen = [false; 17];
    let blocks = module.functions.iter().flat_map(|function| &function.blocks);
    for Placed { inst, .. } in blocks.flat_map(|block| &block.insts) {
        let kind = match inst {
            Inst::Const { .. } => 0,
            Inst::Address { .. } => 1,
            Inst::StackSlot { .. } => 2,
            Inst::Load { .. } => 3,
            Inst::Store { .. } => 4,
            Inst::AtomicLoad { .. } => 5,
            Inst::AtomicStore { .. } => 6,
            Inst::CompareExchange { .. } => 7,
            Inst::PtrAdd { .. } => 8,
            Inst::Binary { .. } => 9,
            Inst::Compare { .. } => 10,
            Inst::Select { .. } => 11,
            Inst::Convert { .. } => 12,
            Inst::Call { .. } => 13,
            Inst::CallIndirect { .. } => 14,
            Inst::Checked { .. } => 15,
            Inst::Overflowed { .. } => 16,
        };
        seen[kind] = true;
    }
    seen
}
