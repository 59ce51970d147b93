//! Unwind tables of COFF objects for x86-64, as "x64 exception handling" of Microsoft's documentation defines them.

use std::collections::BTreeMap;

use codegen::backend::Error;
use cranelift_codegen::CompiledCode;
use cranelift_codegen::binemit::CodeOffset;
use cranelift_codegen::isa::unwind::UnwindInst;
use cranelift_module::FuncId;
use cranelift_object::ObjectProduct;
use cranelift_object::object::write::{Object, Relocation, SectionId, SymbolId};
use cranelift_object::object::{RelocationEncoding, RelocationFlags, RelocationKind, SectionKind};

use regalloc2::RegClass;

use crate::refused;

/// The sections of each function's tables. A linker that drops a copy of a function drops them too.
pub(crate) type Sections = BTreeMap<SymbolId, [SectionId; 2]>;

/// The unwind tables of the functions defined so far.
#[derive(Debug, Default)]
pub(super) struct Tables(Vec<Table>);

#[derive(Debug)]
struct Table {
    function: FuncId,
    /// The length of the code, in bytes.
    length: usize,
    /// An `UNWIND_INFO`.
    info: Vec<u8>,
}

impl Tables {
    pub(super) fn add(&mut self, function: FuncId, code: &CompiledCode) -> Result<(), Error> {
        let info = unwind_info(&code.buffer.unwind_info)?;
        self.0.push(Table { function, length: code.code_buffer().len(), info });
        Ok(())
    }

    pub(super) fn write(self, product: &mut ObjectProduct) -> Result<Sections, Error> {
        let mut sections = Sections::new();
        for Table { function, length, info } in self.0 {
            let function = product.function_symbol(function);
            let written = write(&mut product.object, function, length as u64, &info);
            sections.insert(function, written.map_err(refused)?);
        }
        Ok(sections)
    }
}

/// Number of the register RBP, which is the frame pointer.
const RBP: u8 = 5;

/// The length of `mov rbp, rsp`, which follows the push of RBP.
const MOVE: u8 = 3;

/// Operations of unwind codes.
mod operation {
    pub(super) const PUSH: u8 = 0;
    pub(super) const ALLOCATE_LARGE: u8 = 1;
    pub(super) const ALLOCATE_SMALL: u8 = 2;
    pub(super) const SET_FRAME: u8 = 3;
    pub(super) const SAVE: u8 = 4;
    pub(super) const SAVE_XMM: u8 = 8;
}

/// Most bytes of a small allocation.
const MAX_SMALL: u32 = 128;

/// Returns the `UNWIND_INFO` of a function, by what Cranelift notes of its prologue: RBP is pushed and set, and
/// registers are saved in an area below it.
///
/// Cranelift's own (0.135) scales the places of integers as those of vectors, and counts from RBP instead of from the
/// area, so that the caller's registers come out wrong. The frame here is the area: RBP points to its end, and it
/// counts as allocated where RBP is set. Memory below it is no part of the tables, since every place counts from RBP.
/// Cranelift notes the frame only behind the loop that touches its pages, in which RSP moves already.
fn unwind_info(prologue: &[(CodeOffset, UnwindInst)]) -> Result<Vec<u8>, Error> {
    let mut codes: Vec<Vec<u8>> = Vec::new();
    let (mut end, mut framed, mut area) = (0, 0, 0);
    for (at, inst) in prologue {
        end = u8::try_from(*at).map_err(|_| refused("a prologue has more than 255 bytes"))?;
        let code_at = |at: u8, operation, operand| vec![at, operation | operand << 4];
        let code = |operation, operand| code_at(end, operation, operand);
        let frame = |operation, operand| code_at(framed, operation, operand);
        match inst {
            UnwindInst::PushFrameRegs { .. } => {
                codes.push(code(operation::PUSH, RBP));
                framed = end + MOVE;
            }
            UnwindInst::DefineNewFrame { offset_downward_to_clobbers: size, .. } => {
                area = *size;
                if (8..=MAX_SMALL).contains(size) {
                    let eighths = (size / 8 - 1) as u8;
                    codes.push(frame(operation::ALLOCATE_SMALL, eighths));
                } else if *size > 0 {
                    codes.push([frame(operation::ALLOCATE_LARGE, 0), word(size / 8)].concat());
                }
                codes.push(frame(operation::SET_FRAME, 0));
            }
            UnwindInst::SaveReg { clobber_offset, reg } => {
                let (operation, unit) = match reg.class() {
                    RegClass::Int => (operation::SAVE, 8),
                    RegClass::Float | RegClass::Vector => (operation::SAVE_XMM, 16),
                };
                let save = code(operation, reg.hw_enc());
                codes.push([save, word(clobber_offset / unit)].concat());
            }
            UnwindInst::StackAlloc { .. }
            | UnwindInst::RegStackOffset { .. }
            | UnwindInst::Aarch64SetPointerAuth { .. } => {
                return Err(refused(format!("no unwind code of x86-64 is {inst:?}")));
            }
        }
    }
    // The last of the prologue comes first.
    codes.reverse();
    let mut nodes = codes.concat();
    let frame = u8::try_from(area / 16).ok().filter(|units| *units < 16);
    let frame = frame.ok_or_else(|| refused("the area of saved registers is too large"))?;
    let count = u8::try_from(nodes.len() / 2).map_err(refused)?;
    nodes.resize(nodes.len().next_multiple_of(4), 0);
    Ok([vec![VERSION, end, count, frame << 4 | RBP], nodes].concat())
}

/// Version of `UNWIND_INFO`, without flags.
const VERSION: u8 = 1;

/// Returns a number of 16 bits, the operand of an unwind code.
fn word(number: u32) -> Vec<u8> {
    number.to_le_bytes()[..2].to_vec()
}

/// Writes the `UNWIND_INFO` of a function and its `RUNTIME_FUNCTION`: begin, end, and the place of the former.
fn write(
    object: &mut Object<'_>,
    function: SymbolId,
    length: u64,
    info: &[u8],
) -> cranelift_object::object::write::Result<[SectionId; 2]> {
    let xdata = object.add_section(Vec::new(), b".xdata".to_vec(), SectionKind::ReadOnlyData);
    let pdata = object.add_section(Vec::new(), b".pdata".to_vec(), SectionKind::ReadOnlyData);
    object.append_section_data(xdata, info, 4);
    object.append_section_data(pdata, &[0; 12], 4);
    let xdata_symbol = object.section_symbol(xdata);
    object.section_symbol(pdata);
    let start = object.symbol(function).value;
    let code = object.symbol(function).section.id();
    let code = code.map_or(function, |section| object.section_symbol(section));
    let places = [(code, start), (code, start + length), (xdata_symbol, 0)];
    for (index, (symbol, addend)) in (0..).zip(places) {
        let flags = RelocationFlags::Generic {
            kind: RelocationKind::ImageOffset,
            encoding: RelocationEncoding::Generic,
            size: 32,
        };
        let relocation = Relocation { offset: 4 * index, symbol, addend: addend as i64, flags };
        object.add_relocation(pdata, relocation)?;
    }
    Ok([xdata, pdata])
}
