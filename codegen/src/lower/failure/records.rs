//! The constant that holds the records of a module. It has no relocations and grows while functions are lowered.

use rustc_hash::FxHashMap;

use crate::declaration::Location;
use crate::ir::{Builder, Data, DataPrinter, Linkage, Module, Symbol, SymbolKind, Value};
use crate::lower::quote::elide;
use crate::lower::routines::records::{Head, Host, Piece, Span, Start, TextRef};
use crate::lower::routines::schema::{FieldType, Texts, WordReader};
use crate::resolve::function::Function;

/// Symbol of the constant.
const NAME: &str = "tvm_ffi_codegen.records";

/// The records so far. Equal texts, pieces and shared records are stored once.
#[derive(Debug)]
pub(crate) struct Records {
    /// The words of the records.
    words: Vec<u32>,
    /// The bytes of the texts.
    texts: Vec<u8>,
    /// The offset of each text.
    known_texts: FxHashMap<Box<str>, u32>,
    /// The offset of each run of words that records share.
    known_words: FxHashMap<Box<[u32]>, u32>,
    /// The offset and the printer of each record.
    printers: Vec<(u32, DataPrinter)>,
}

/// The record of a function, with what code needs to raise errors that name it.
#[derive(Debug)]
pub(crate) struct Reporter<'m> {
    /// The offset of the record of the function.
    pub(crate) record: u32,
    pub(crate) records: &'m mut Records,
    /// The linkage of routines.
    pub(crate) linkage: Linkage,
}

impl Reporter<'_> {
    /// Lends this to code for the same function that ends before it is used again.
    pub(crate) fn lend(&mut self) -> Reporter<'_> {
        Reporter { record: self.record, records: self.records, linkage: self.linkage }
    }
}

impl Records {
    /// Creates a constant that has room for its [`Start`] only.
    pub(crate) fn new() -> Records {
        Records {
            words: vec![0; Start::WORDS as usize],
            texts: Vec::new(),
            known_texts: FxHashMap::default(),
            known_words: FxHashMap::default(),
            printers: Vec::new(),
        }
    }

    /// Adds a text that messages quote, elided where it is too long.
    pub(crate) fn quoted(&mut self, text: &str) -> TextRef {
        self.text(&elide(text))
    }

    /// Adds a text as it is.
    pub(crate) fn text(&mut self, text: &str) -> TextRef {
        let length = text.len() as u32;
        if let Some(&offset) = self.known_texts.get(text) {
            return TextRef(Span { offset, length });
        }
        let offset = self.texts.len() as u32;
        self.texts.extend_from_slice(text.as_bytes());
        self.known_texts.insert(text.into(), offset);
        TextRef(Span { offset, length })
    }

    /// Returns the head of the record that is added next, for a function whose record is at offset `host`.
    pub(crate) fn head(&self, host: u32) -> Head {
        Head { at: self.next(), host }
    }

    /// Returns the offset of the record that is added next.
    pub(crate) fn next(&self) -> u32 {
        4 * self.words.len() as u32
    }

    /// Appends a record. Returns its offset.
    pub(crate) fn add<P: FieldType>(&mut self, record: P) -> u32 {
        let at = self.next();
        record.encode(&mut self.words);
        self.printers.push((at, print::<P>));
        at
    }

    /// Appends a record and words after it. Returns the offset of the record.
    pub(crate) fn add_with<P: FieldType>(&mut self, record: P, more: &[u32]) -> u32 {
        let at = self.add(record);
        self.words.extend_from_slice(more);
        at
    }

    /// Appends the encoded pieces of a message, unless the same pieces exist. Returns their offset.
    pub(crate) fn pieces(&mut self, pieces: &[u32]) -> u32 {
        if let Some(&known) = self.known_words.get(pieces) {
            return known;
        }
        let at = self.next();
        self.words.extend_from_slice(pieces);
        self.known_words.insert(pieces.into(), at);
        let size = Piece::WORDS as usize;
        let count = pieces.len() / size;
        let ats = (0..count).map(|nth| at + (4 * size * nth) as u32);
        self.printers.extend(ats.map(|at| (at, print::<Piece> as DataPrinter)));
        at
    }

    /// Appends a record without a [`Head`] and words after it, unless the same words exist. Returns the offset.
    pub(crate) fn shared<P: FieldType>(&mut self, record: P, more: &[u32]) -> u32 {
        let at = self.next();
        let start = self.words.len();
        record.encode(&mut self.words);
        self.words.extend_from_slice(more);
        if let Some(&known) = self.known_words.get(&self.words[start..]) {
            self.words.truncate(start);
            return known;
        }
        self.known_words.insert(self.words[start..].into(), at);
        self.printers.push((at, print::<P>));
        at
    }

    /// Appends the record of a function at a source location. Returns its offset.
    pub(crate) fn host(
        &mut self,
        function: &Function<'_>,
        location: Option<&Location>,
        header: &str,
    ) -> u32 {
        let signature = function.shown;
        let record = Host {
            head: self.head(self.next()),
            signature: self.quoted(header),
            backtrace: self.text(&line(location, &signature.name)),
            least: signature.required() as u32,
            most: signature.most().map(|most| most as u32),
        };
        self.add(record)
    }

    /// Defines the constant if the module refers to it.
    pub(crate) fn define(mut self, module: &mut Module) {
        let Some(symbol) = module.find(NAME) else { return };
        self.words[0] = 4 * self.words.len() as u32;
        let mut bytes: Vec<u8> = Vec::with_capacity(4 * self.words.len() + self.texts.len());
        bytes.extend(self.words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(self.texts);
        module.data.push(Data::constant(symbol, bytes, 8));
        module.printers.push((symbol, self.printers));
    }
}

/// Emits the address of the record at an offset.
pub(crate) fn address(b: &mut Builder<'_>, record: u32) -> Value {
    let symbol = symbol(b.module);
    b.address_in(symbol, record as i32)
}

fn symbol(module: &mut Module) -> Symbol {
    module.declare(NAME, Linkage::Local, SymbolKind::Data)
}

/// Formats the record at offset `at` of the constant.
fn print<P: FieldType>(bytes: &[u8], at: u32) -> String {
    let words = |at: u32, count: u32| -> Vec<u32> {
        let words = bytes.get(at as usize..).unwrap_or_default().chunks_exact(4);
        let word = |word: &[u8]| word.iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte));
        words.take(count as usize).map(word).collect()
    };
    let text = Texts(bytes.get(words(0, 1)[0] as usize..).unwrap_or_default());
    let record = P::decode(&mut WordReader { left: &words(at, P::WORDS) });
    record.map_or_else(|| "damaged".to_owned(), |record| record.show(&text))
}

/// Formats the line of a backtrace.
fn line(location: Option<&Location>, name: &str) -> String {
    let (file, line) = match location {
        Some(location) => (&location.file[..], location.line),
        None => ("<tvm-ffi-codegen>", 0),
    };
    format!("  File \"{file}\", line {line}, in {}\n", elide(name))
}
