//! Unwind tables of objects, with which debuggers, profilers and backtraces walk through the frames of emitted
//! functions: in ELF, and in COFF for x86-64.
//!
//! In ELF the tables of `cranelift-object` have absolute addresses, which the read-only segment of a shared library
//! must not have. In COFF it writes none.

mod coff;
mod rows;

use cranelift_codegen::CompiledCode;
use cranelift_codegen::gimli::constants::{DW_EH_PE_pcrel, DW_EH_PE_sdata4};
use cranelift_codegen::gimli::write::{
    Address, CieId, EhFrame, EndianVec, FrameTable, RelocateWriter, Relocation, RelocationTarget,
};
use cranelift_codegen::gimli::{DwEhPe, LittleEndian};
use cranelift_codegen::isa::TargetIsa;
use cranelift_module::FuncId;
use cranelift_object::ObjectProduct;
use cranelift_object::object::write::{self, Object, StandardSection, Symbol, SymbolId};
use cranelift_object::object::{RelocationEncoding, RelocationFlags, RelocationKind};
use target_lexicon::{Architecture, BinaryFormat, Triple};

use codegen::backend::{Error, Machine};

pub(crate) use coff::Sections;
pub use rows::Rows;

use crate::refused;

/// The unwind tables of the functions defined so far.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    frames: FrameTable,
    cie: Option<CieId>,
    functions: Vec<FuncId>,
    coff: coff::Tables,
}

impl Tables {
    /// Adds a function that has just been compiled.
    pub(crate) fn add(
        &mut self,
        isa: &dyn TargetIsa,
        id: FuncId,
        code: &CompiledCode,
    ) -> Result<(), Error> {
        let Some(rows) = Rows::of(isa, code).map_err(refused)? else {
            // Tables of aarch64 on Windows cannot be written.
            let is_known = isa.triple().architecture == Architecture::X86_64;
            return if is_known { self.coff.add(id, code) } else { Ok(()) };
        };
        let Some(cie) = self.cie.or_else(|| self.add_cie(isa)) else { return Ok(()) };
        let address = Address::Symbol { symbol: self.functions.len(), addend: 0 };
        self.functions.push(id);
        self.frames.add_fde(cie, rows.describe(address));
        Ok(())
    }

    fn add_cie(&mut self, isa: &dyn TargetIsa) -> Option<CieId> {
        let mut cie = isa.create_systemv_cie()?;
        cie.fde_address_encoding = DwEhPe(DW_EH_PE_pcrel.0 | DW_EH_PE_sdata4.0);
        self.cie = Some(self.frames.add_cie(cie));
        self.cie
    }

    /// Writes the sections, unless they are empty. Returns those that belong to one function each.
    pub(crate) fn write(
        self,
        product: &mut ObjectProduct,
        triple: &Triple,
    ) -> Result<Sections, Error> {
        if self.functions.is_empty() {
            return self.coff.write(product);
        }
        let mut section =
            EhFrame(Section { bytes: EndianVec::new(LittleEndian), relocations: vec![] });
        self.frames.write_eh_frame(&mut section).map_err(refused)?;
        let Section { bytes, relocations } = section.0;
        let frame = product.object.section_id(StandardSection::EhFrame);
        product.object.append_section_data(frame, bytes.slice(), 8);
        for relocation in relocations {
            let RelocationTarget::Symbol(function) = relocation.target else { continue };
            let function = product.function_symbol(self.functions[function]);
            let relocation = distance(&mut product.object, function, &relocation, triple);
            product.object.add_relocation(frame, relocation).map_err(refused)?;
        }
        Ok(Sections::new())
    }
}

/// Returns a relocation with the distance to a function. The relocation refers to the section of the function, since
/// the symbol may be preempted.
fn distance(
    object: &mut Object<'_>,
    function: SymbolId,
    at: &Relocation,
    triple: &Triple,
) -> write::Relocation {
    let &Symbol { value, section, .. } = object.symbol(function);
    let symbol = section.id().map_or(function, |section| object.section_symbol(section));
    // The writer of objects does not know every machine's relocation.
    let is_elf = triple.binary_format == BinaryFormat::Elf;
    let machine = Machine::of_architecture(triple.architecture).filter(|_| is_elf);
    let (kind, encoding) = (RelocationKind::Relative, RelocationEncoding::Generic);
    let flags = machine.map_or(RelocationFlags::Generic { kind, encoding, size: 32 }, |machine| {
        RelocationFlags::Elf { r_type: machine.facts().distance }
    });
    write::Relocation { offset: at.offset as u64, symbol, addend: at.addend + value as i64, flags }
}

/// The bytes of the section, and its relocations to functions.
#[derive(Clone)]
pub(crate) struct Section {
    pub(crate) bytes: EndianVec<LittleEndian>,
    pub(crate) relocations: Vec<Relocation>,
}

impl RelocateWriter for Section {
    type Writer = EndianVec<LittleEndian>;

    fn writer(&self) -> &Self::Writer {
        &self.bytes
    }

    fn writer_mut(&mut self) -> &mut Self::Writer {
        &mut self.bytes
    }

    fn relocate(&mut self, relocation: Relocation) {
        self.relocations.push(relocation);
    }
}
