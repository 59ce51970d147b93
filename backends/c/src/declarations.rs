//! The declarations of symbols.

use codegen::ir::{self, Linkage, SymbolKind};

use crate::data::declarator;
use crate::prelude::{Helper, Prelude};
use crate::prototype::prototype;
use crate::symbols::{Symbols, heat};

impl Symbols {
    /// Writes the declarations of functions and of imported data: imports first, then what is defined here. `declared`
    /// and `aliased` say which symbols get a declaration and an alias.
    pub(crate) fn declarations(
        &self,
        source: &ir::Module,
        [declared, aliased]: [&[bool]; 2],
        prelude: &mut Prelude,
        text: &mut String,
    ) {
        let all = || source.symbols.iter().filter_map(|symbol| source.find(&symbol.name));
        let is_import = |symbol: &ir::Symbol| self.linkages[symbol.index()] == Linkage::Import;
        for symbol in all().filter(|symbol| declared[symbol.index()]).filter(is_import) {
            if self.is_declared_before(source, symbol) {
                continue;
            }
            let name = &self.names[symbol.index()];
            let label = self.label(source, symbol, prelude);
            let head = match source.signature(symbol) {
                Some(signature) => prototype(name, signature, &[], &[], prelude),
                None => format!("char {name}[]"),
            };
            text.push_str(&format!("{} {head}{label};\n", prelude.name(Helper::External)));
        }
        for function in source.functions.iter().filter(|f| declared[f.symbol.index()]) {
            let symbol = function.symbol;
            let name = &self.names[symbol.index()];
            let pointees = &self.pointees[symbol.index()];
            let head = prototype(name, &function.signature, &[], pointees, prelude);
            if let Some(alias) = &self.named[symbol.index()] {
                let mut outer = prototype(alias, &function.signature, &[], pointees, prelude);
                if let Some(heat) = heat(function) {
                    outer = format!("{} {outer}", prelude.name(heat));
                }
                let (declare, symbol) = (prelude.name(Helper::Named), source.name(symbol));
                text.push_str(&format!("{declare}({head}, {outer}, \"{name}\", \"{symbol}\")\n"));
                continue;
            }
            // The definition says that it is cold.
            let attributes = self.attributes(function, None, prelude);
            let label = self.label(source, symbol, prelude);
            text.push_str(&format!("{attributes}{head}{label};\n"));
        }
        for symbol in all().filter(|symbol| aliased[symbol.index()]) {
            self.alias(source, symbol, prelude, text);
        }
    }

    /// Writes the alias of a symbol.
    fn alias(
        &self,
        source: &ir::Module,
        symbol: ir::Symbol,
        prelude: &mut Prelude,
        text: &mut String,
    ) {
        let (name, reference) = (&self.names[symbol.index()], &self.references[symbol.index()]);
        if name == reference {
            return;
        }
        let head = match &source.symbols[symbol.index()].kind {
            SymbolKind::Function(signature) => {
                let pointees = &self.pointees[symbol.index()];
                let function = source.functions.iter().find(|f| f.symbol == symbol);
                // The signature of the definition counts: callers may say more.
                let signature = function.map_or(signature, |function| &function.signature);
                let head = prototype(reference, signature, &[], pointees, prelude);
                let heat = function.and_then(heat).map(|heat| prelude.name(heat));
                heat.map_or(head.clone(), |heat| format!("{heat} {head}"))
            }
            SymbolKind::Data => {
                let data = source.data.iter().find(|data| data.symbol == symbol);
                data.map_or(String::new(), |data| declarator(self, data, reference))
            }
        };
        let only = match self.named[symbol.index()] {
            Some(_) => " && defined(__clang__)",
            None => "",
        };
        text.push_str(&format!(
            "#if defined(__ELF__) && !defined(__cplusplus){only}\n\
             static {head} __attribute__((__alias__(\"{}\")));\n\
             #else\n#define {reference} {name}\n#endif\n",
            source.name(symbol)
        ));
    }
}
