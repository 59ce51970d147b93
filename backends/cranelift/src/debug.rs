//! Debug information: the lines of the user's source that machine code is for, as DWARF. Functions that have no place
//! in a source have none.

use codegen::backend::Error;
use codegen::ir::{self, SourceLocation, TopicId};
use cranelift_codegen::CompiledCode;
use cranelift_codegen::gimli::constants::{
    DW_AT_decl_file, DW_AT_decl_line, DW_AT_external, DW_AT_high_pc, DW_AT_language, DW_AT_low_pc,
    DW_AT_name, DW_AT_producer, DW_AT_ranges, DW_LANG_C99, DW_TAG_subprogram,
};
use cranelift_codegen::gimli::write::{
    Address, AttributeValue, DwarfUnit, EndianVec, FileId, LineProgram, LineString, Range,
    RangeList, RelocationTarget, Sections, Writer,
};
use cranelift_codegen::gimli::{Encoding, Format, LineEncoding, LittleEndian};
use cranelift_module::FuncId;
use cranelift_object::ObjectProduct;
use cranelift_object::object::write::{self, Symbol, SymbolId};
use cranelift_object::object::{RelocationEncoding, RelocationFlags, RelocationKind, SectionKind};

use crate::refused;
use crate::unwind::Section;

/// The name by which tools know where debug information comes from.
const PRODUCER: &[u8] = b"tvm-ffi-codegen";

/// The form of the sections, which every debugger reads.
const ENCODING: Encoding = Encoding { format: Format::Dwarf32, version: 4, address_size: 8 };

/// The lines of the user's source that compiled functions are for, which [`emit_with_lines`](crate::emit_with_lines)
/// fills.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    files: Vec<String>,
    functions: Vec<Function>,
}

/// The lines of a function.
#[derive(Clone, Debug)]
struct Function {
    id: FuncId,
    name: String,
    size: u64,
    place: SourceLocation,
    /// The byte offsets at which code for another place begins, in order.
    rows: Vec<(u32, SourceLocation)>,
}

impl Lines {
    /// Returns true if no function has lines.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Adds a function that has just been compiled, if it has a place in a source.
    pub(crate) fn add(
        &mut self,
        module: &ir::Module,
        source: &ir::Function,
        id: FuncId,
        code: &CompiledCode,
    ) {
        let Some(place) = source.location() else { return };
        let first = self.files.len() as u32;
        if !self.files.ends_with(&module.files) {
            self.files.extend_from_slice(&module.files);
        }
        let first = first.min((self.files.len() - module.files.len()) as u32);
        let moved = |at: SourceLocation| SourceLocation { file: first + at.file, ..at };
        let mut rows = vec![(0, moved(place))];
        let located = code.buffer.get_srclocs_sorted().iter().filter(|at| !at.loc.is_default());
        for at in located {
            let found = source.location_of(TopicId::new(at.loc.bits())).unwrap_or(place);
            let row = (at.start, moved(found));
            if rows.last().is_none_or(|last| last.1 != row.1) {
                rows.push(row);
            }
        }
        let (name, size) = (module.name(source.symbol).to_owned(), code.code_buffer().len() as u64);
        self.functions.push(Function { id, name, size, place: moved(place), rows });
    }

    /// Returns the sections of functions at these addresses, each with its name. References between sections are final.
    ///
    /// # Errors
    /// [`Error::Native`] if the format has no place for a number.
    pub fn sections(
        &self,
        address: impl Fn(FuncId) -> u64,
    ) -> Result<Vec<(&'static str, Vec<u8>)>, Error> {
        let address = |_, function: &Function| Address::Constant(address(function.id));
        let sections = self.write(EndianVec::new(LittleEndian), address)?;
        let mut all = Vec::new();
        sections.for_each(|id, section| {
            if !section.slice().is_empty() {
                all.push((id.name(), section.slice().to_vec()));
            }
            Ok::<(), Error>(())
        })?;
        Ok(all)
    }

    /// Adds the sections to an ELF object, whose functions are at the places that its symbols have.
    ///
    /// # Errors
    /// [`Error::Native`] if the format has no place for a number.
    pub fn define(&self, product: &mut ObjectProduct) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        let address = |symbol, _: &Function| Address::Symbol { symbol, addend: 0 };
        let empty = Section { bytes: EndianVec::new(LittleEndian), relocations: vec![] };
        let sections = self.write(empty, address)?;
        let mut made = Vec::new();
        sections.for_each(|id, section| {
            if !section.bytes.slice().is_empty() {
                let name = id.name().as_bytes().to_vec();
                let native = product.object.add_section(Vec::new(), name, SectionKind::Debug);
                product.object.append_section_data(native, section.bytes.slice(), 1);
                made.push((id, native, section));
            }
            Ok::<(), Error>(())
        })?;
        for &(_, native, section) in &made {
            for at in &section.relocations {
                let target = match at.target {
                    RelocationTarget::Symbol(index) => {
                        Some(place(product, self.functions[index].id))
                    }
                    RelocationTarget::Section(wanted) => {
                        let to = made.iter().find(|(id, _, _)| *id == wanted);
                        to.map(|(_, to, _)| (product.object.section_symbol(*to), 0))
                    }
                };
                let Some((symbol, start)) = target else { continue };
                let (kind, encoding) = (RelocationKind::Absolute, RelocationEncoding::Generic);
                let flags = RelocationFlags::Generic { kind, encoding, size: at.size * 8 };
                let (offset, addend) = (at.offset as u64, at.addend + start);
                let relocation = write::Relocation { offset, symbol, addend, flags };
                product.object.add_relocation(native, relocation).map_err(refused)?;
            }
        }
        Ok(())
    }

    /// Writes all sections. `address` returns that of a function, by its number.
    fn write<W: Writer + Clone>(
        &self,
        empty: W,
        address: impl Fn(usize, &Function) -> Address,
    ) -> Result<Sections<W>, Error> {
        let text = |text: &str| LineString::String(text.as_bytes().to_vec());
        let Some(first) = self.functions.first() else { return Ok(Sections::new(empty)) };
        let main = &self.files[first.place.file as usize];
        let mut unit = DwarfUnit::new(ENCODING);
        let lines = LineEncoding::default();
        let mut program = LineProgram::new(ENCODING, lines, text("."), None, text(main), None);
        let folder = program.default_directory();
        let files: Vec<FileId> =
            self.files.iter().map(|file| program.add_file(text(file), folder, None)).collect();
        let mut ranges = Vec::new();
        for (index, function) in self.functions.iter().enumerate() {
            let start = address(index, function);
            function.lines(start, &files, &mut program);
            ranges.push(Range::StartLength { begin: start, length: function.size });
            function.describe(start, &files, &mut unit);
        }
        unit.unit.line_program = program;
        let ranges = unit.unit.ranges.add(RangeList(ranges));
        let root = unit.unit.root();
        let root = unit.unit.get_mut(root);
        root.set(DW_AT_producer, AttributeValue::String(PRODUCER.to_vec()));
        root.set(DW_AT_language, AttributeValue::Language(DW_LANG_C99));
        root.set(DW_AT_name, AttributeValue::String(main.as_bytes().to_vec()));
        root.set(DW_AT_low_pc, AttributeValue::Address(Address::Constant(0)));
        root.set(DW_AT_ranges, AttributeValue::RangeListRef(ranges));
        let mut sections = Sections::new(empty);
        unit.write(&mut sections).map_err(refused)?;
        Ok(sections)
    }
}

/// Returns the place of a function as its section and an offset, since the symbol may be preempted.
fn place(product: &mut ObjectProduct, function: FuncId) -> (SymbolId, i64) {
    let symbol = product.function_symbol(function);
    let &Symbol { value, section, .. } = product.object.symbol(symbol);
    match section.id() {
        Some(section) => (product.object.section_symbol(section), value as i64),
        None => (symbol, 0),
    }
}

impl Function {
    /// Writes the rows of the line table.
    fn lines(&self, start: Address, files: &[FileId], program: &mut LineProgram) {
        program.begin_sequence(Some(start));
        for &(offset, SourceLocation { file, line, column }) in &self.rows {
            let row = program.row();
            row.address_offset = offset.into();
            row.file = files[file as usize];
            row.line = line.into();
            row.column = column.into();
            program.generate_row();
        }
        program.end_sequence(self.size);
    }

    /// Writes the entry of the function.
    fn describe(&self, start: Address, files: &[FileId], unit: &mut DwarfUnit) {
        let root = unit.unit.root();
        let entry = unit.unit.add(root, DW_TAG_subprogram);
        let entry = unit.unit.get_mut(entry);
        let file = files[self.place.file as usize];
        entry.set(DW_AT_name, AttributeValue::String(self.name.as_bytes().to_vec()));
        entry.set(DW_AT_external, AttributeValue::Flag(true));
        entry.set(DW_AT_low_pc, AttributeValue::Address(start));
        entry.set(DW_AT_high_pc, AttributeValue::Udata(self.size));
        entry.set(DW_AT_decl_file, AttributeValue::FileIndex(Some(file)));
        entry.set(DW_AT_decl_line, AttributeValue::Udata(self.place.line.into()));
    }
}
