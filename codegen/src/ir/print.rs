//! The text form of host IR.

use std::fmt::{self, Write as _};

use super::entity::{Block, Symbol, TopicId, Value};
use super::inst::{Inst, Target, Terminator};
use super::module::{BlockData, Data, Function, Module, Placed};
use super::operator::mnemonic;
use super::read::is_word;
use super::symbols::{Linkage, SymbolKind};

/// Prints a module. `{:#}` prints all bytes of all data, for `FromStr`.
impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for symbol in self.symbols.iter().filter(|symbol| symbol.linkage == Linkage::Import) {
            first = false;
            match &symbol.kind {
                SymbolKind::Function(signature) => {
                    writeln!(f, "import func {}{signature}", Name('@', &symbol.name))?;
                }
                SymbolKind::Data => writeln!(f, "import data {}", Name('@', &symbol.name))?,
            }
        }
        for &constructor in &self.constructors {
            first = false;
            writeln!(f, "constructor {}", Name('@', self.name(constructor)))?;
        }
        for data in &self.data {
            separate(f, &mut first)?;
            print_data(f, self, data)?;
        }
        for function in &self.functions {
            separate(f, &mut first)?;
            print_function(f, self, function)?;
        }
        Ok(())
    }
}

fn separate(f: &mut fmt::Formatter<'_>, first: &mut bool) -> fmt::Result {
    if std::mem::take(first) { Ok(()) } else { f.write_str("\n") }
}

/// The number of bytes of a data object that are printed.
const SHOWN: usize = 16 << 10;

/// Prints a data object, 32 bytes per line, and the number of bytes left out.
fn print_data(f: &mut fmt::Formatter<'_>, module: &Module, data: &Data) -> fmt::Result {
    let symbol = &module.symbols[data.symbol.index()];
    let access = match (data.writable, data.large, data.listed) {
        (true, ..) => " writable",
        (false, true, _) => " large",
        (false, false, true) => " listed",
        (false, false, false) => "",
    };
    let (size, align) = (data.bytes.len(), data.align);
    let name = Name('@', &symbol.name);
    writeln!(f, "{} data {name}{access} size {size} align {align} {{", symbol.linkage)?;
    let shown = if f.alternate() { size } else { size.min(SHOWN) };
    if let (false, Some((_, printers))) =
        (f.alternate(), module.printers.iter().find(|(symbol, _)| *symbol == data.symbol))
    {
        for (at, print) in printers {
            writeln!(f, "    {at}: {}", print(&data.bytes, *at))?;
        }
        return f.write_str("}\n");
    }
    for line in data.bytes[..shown].chunks(32) {
        f.write_str("    ")?;
        quote(f, line)?;
        f.write_str("\n")?;
    }
    if size > shown {
        writeln!(f, "    ({} more bytes)", size - shown)?;
    }
    for relocation in &data.relocations {
        let name = Name('@', module.name(relocation.symbol));
        writeln!(f, "    {} = address {name}{:+}", relocation.offset, relocation.addend)?;
    }
    f.write_str("}\n")
}

/// Prints bytes in quotes: printable ASCII as it is, the rest as `\hh`.
fn quote(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    f.write_str("\"")?;
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => write!(f, "\\{}", byte as char)?,
            b' '..=b'~' => f.write_char(byte as char)?,
            0..=0x1f | 0x7f..=0xff => write!(f, "\\{byte:02x}")?,
        }
    }
    f.write_str("\"")
}

/// A name behind its sigil, in quotes unless it is a plain word.
struct Name<'a>(char, &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Name(sigil, name) = self;
        f.write_char(*sigil)?;
        if !name.is_empty() && name.chars().all(is_word) {
            f.write_str(name)
        } else {
            quote(f, name.as_bytes())
        }
    }
}

/// A line of text, and the parts of a declaration that it is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The text, without its end.
    pub text: String,
    /// The parts, as indices of the topics of a function.
    pub topics: Vec<TopicId>,
}

impl Module {
    /// Returns the text of a function of this module in lines, each with what it is for.
    pub fn lines(&self, function: &Function) -> Vec<Line> {
        let mut topics = vec![None];
        for (_, data) in function.blocks() {
            topics.push(None);
            topics.extend(data.insts.iter().map(|placed| Some(placed.topic)));
            topics.push(Some(data.end_topic));
        }
        topics.push(None);
        let text = FunctionText { module: self, function }.to_string();
        let lines = text.lines().map(str::to_owned).zip(topics);
        lines.map(|(text, topic)| Line { text, topics: topic.into_iter().collect() }).collect()
    }
}

/// A function as text.
struct FunctionText<'a> {
    module: &'a Module,
    function: &'a Function,
}

impl fmt::Display for FunctionText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_function(f, self.module, self.function)
    }
}

/// The printer of one function.
struct Printer<'a> {
    module: &'a Module,
    function: &'a Function,
    names: Vec<String>,
}

pub(super) fn print_function(
    f: &mut fmt::Formatter<'_>,
    module: &Module,
    function: &Function,
) -> fmt::Result {
    let symbol = &module.symbols[function.symbol.index()];
    let printer = Printer { module, function, names: function.value_names() };
    write!(f, "{} func {}(", symbol.linkage, Name('@', &symbol.name))?;
    for (i, (abi, &value)) in
        function.signature.params.iter().zip(&function.blocks[0].params).enumerate()
    {
        let comma = if i == 0 { "" } else { ", " };
        write!(f, "{comma}{}: {abi}", printer.value(value))?;
    }
    f.write_str(")")?;
    if let Some(result) = function.signature.result {
        write!(f, " -> {result}")?;
    }
    let cold = if function.cold { " cold" } else { "" };
    let no_inline = if function.no_inline { " noinline" } else { "" };
    writeln!(f, "{cold}{no_inline} {{")?;
    for (block, data) in function.blocks() {
        printer.block(f, block, data)?;
    }
    f.write_str("}\n")
}

impl Printer<'_> {
    fn block(&self, f: &mut fmt::Formatter<'_>, block: Block, data: &BlockData) -> fmt::Result {
        f.write_str(&self.label(block))?;
        if block.index() != 0 && !data.params.is_empty() {
            f.write_str("(")?;
            for (i, &param) in data.params.iter().enumerate() {
                let comma = if i == 0 { "" } else { ", " };
                write!(f, "{comma}{}: {}", self.value(param), self.function.ty(param))?;
            }
            f.write_str(")")?;
        }
        writeln!(f, "{}:", if data.cold { " cold" } else { "" })?;
        for Placed { result, inst, .. } in &data.insts {
            f.write_str("    ")?;
            if let Some(value) = *result {
                write!(f, "{}: {} = ", self.value(value), self.function.ty(value))?;
            }
            self.inst(f, inst)?;
            f.write_str("\n")?;
        }
        match &data.end {
            Some(end) => self.terminator(f, end),
            None => writeln!(f, "    (unfinished)"),
        }
    }

    fn inst(&self, f: &mut fmt::Formatter<'_>, inst: &Inst) -> fmt::Result {
        let v = |value: &Value| self.value(*value);
        match inst {
            Inst::Const { ty, bits } => write!(f, "const {}", constant(*ty, *bits)),
            Inst::Address { symbol, offset } => f.write_str(&self.address(*symbol, *offset)),
            Inst::StackSlot { size, align } => write!(f, "stack_slot {size} align {align}"),
            Inst::Load { base, offset, align, .. } => {
                write!(f, "load {}{offset:+} align {align}", v(base))
            }
            Inst::Store { value, base, offset, align } => {
                write!(f, "store {}, {}{offset:+} align {align}", v(value), v(base))
            }
            Inst::AtomicLoad { base, offset, .. } => {
                write!(f, "atomic_load {}{offset:+}", v(base))
            }
            Inst::AtomicStore { value, base, offset } => {
                write!(f, "atomic_store {}, {}{offset:+}", v(value), v(base))
            }
            Inst::CompareExchange { base, expected, new } => {
                write!(f, "compare_exchange {}, {}, {}", v(base), v(expected), v(new))
            }
            Inst::PtrAdd { base, offset } => write!(f, "ptr_add {}, {}", v(base), v(offset)),
            Inst::Binary { op, lhs, rhs } => {
                write!(f, "{} {}, {}", mnemonic(op), v(lhs), v(rhs))
            }
            Inst::Checked { op, lhs, rhs } => {
                write!(f, "{} {}, {}", mnemonic(op), v(lhs), v(rhs))
            }
            Inst::Overflowed { of } => write!(f, "overflowed {}", v(of)),
            Inst::Compare { cond, lhs, rhs } => {
                write!(f, "compare {} {}, {}", mnemonic(cond), v(lhs), v(rhs))
            }
            Inst::Select { cond, then, otherwise } => {
                write!(f, "select {}, {}, {}", v(cond), v(then), v(otherwise))
            }
            Inst::Convert { op, value, .. } => write!(f, "{} {}", mnemonic(op), v(value)),
            Inst::Call { callee, args } => {
                write!(f, "call {}({})", self.symbol(*callee), self.list(args))
            }
            Inst::CallIndirect { signature, callee, args } => {
                write!(f, "call_indirect {}{signature}({})", v(callee), self.list(args))
            }
        }
    }

    fn terminator(&self, f: &mut fmt::Formatter<'_>, end: &Terminator) -> fmt::Result {
        match end {
            Terminator::Jump(target) => writeln!(f, "    jump {}", self.target(target)),
            Terminator::Branch { cond, then, otherwise } => {
                let (then, otherwise) = (self.target(then), self.target(otherwise));
                writeln!(f, "    branch {}, {then}, {otherwise}", self.value(*cond))
            }
            Terminator::Return(None) => writeln!(f, "    return"),
            Terminator::Return(Some(value)) => writeln!(f, "    return {}", self.value(*value)),
        }
    }

    fn value(&self, value: Value) -> String {
        Name('%', &self.names[value.index()]).to_string()
    }

    fn symbol(&self, symbol: Symbol) -> String {
        Name('@', self.module.name(symbol)).to_string()
    }

    fn address(&self, symbol: Symbol, offset: i32) -> String {
        let symbol = self.symbol(symbol);
        if offset == 0 {
            format!("address {symbol}")
        } else {
            format!("address {symbol}{offset:+}")
        }
    }

    fn label(&self, block: Block) -> String {
        self.function.label(block)
    }

    fn list(&self, values: &[Value]) -> String {
        let values: Vec<String> = values.iter().map(|&value| self.value(value)).collect();
        values.join(", ")
    }

    fn target(&self, target: &Target) -> String {
        let label = self.label(target.block);
        if target.args.is_empty() { label } else { format!("{label}({})", self.list(&target.args)) }
    }
}

fn constant(ty: super::Type, bits: u64) -> String {
    use super::Type;
    match ty {
        Type::Bool => (bits != 0).to_string(),
        Type::I8 => (bits as i8).to_string(),
        Type::I16 => (bits as i16).to_string(),
        Type::I32 => (bits as i32).to_string(),
        Type::I64 => (bits as i64).to_string(),
        // NaNs differ in their bits.
        Type::F32 if f32::from_bits(bits as u32).is_nan() => format!("{bits:#x}"),
        Type::F64 if f64::from_bits(bits).is_nan() => format!("{bits:#x}"),
        Type::F32 => format!("{:?}", f32::from_bits(bits as u32)),
        Type::F64 => format!("{:?}", f64::from_bits(bits)),
        Type::Ptr if bits == 0 => "null".to_owned(),
        Type::Ptr => format!("{bits:#x}"),
    }
}
