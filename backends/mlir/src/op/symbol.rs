//! Functions, data objects and aliases, and their attributes.

use codegen::backend::{self, Side, Weak};
use codegen::ir;
use melior::ir::attribute::{ArrayAttribute, DictionaryAttribute, StringAttribute, TypeAttribute};
use melior::ir::operation::{OperationLike, OperationMutLike};
use melior::ir::{Attribute, BlockLike, Identifier, Operation, Region, RegionLike, Type, Value};

use super::{Named, Ops, build, parse};

/// A function.
pub(crate) const FUNC: &str = "llvm.func";
/// A data object.
pub(crate) const GLOBAL: &str = "llvm.mlir.global";
/// An alias of a function or data object.
const ALIAS: &str = "llvm.mlir.alias";
/// The attributes of the parameters of a function or call: a list of dictionaries.
pub(crate) const ARG_ATTRS: &str = "arg_attrs";
/// The attributes of the result: a list of one dictionary.
pub(crate) const RES_ATTRS: &str = "res_attrs";
/// The calling convention of a function or call.
pub(crate) const CONVENTION: &str = "CConv";
/// The attribute of linkage.
pub(super) const LINKAGE: &str = "linkage";
/// A list of COMDATs, and an entry of it.
const COMDAT: &str = "llvm.comdat";
const SELECTOR: &str = "llvm.comdat_selector";
/// The attribute of visibility, and its values.
const VISIBILITY: &str = "visibility_";
const DEFAULT: i64 = 0;
const HIDDEN: i64 = 1;
const PROTECTED: i64 = 2;
/// The attribute of sign extension.
pub(crate) const SIGNEXT: &str = "llvm.signext";
/// The attribute of zero extension.
pub(crate) const ZEROEXT: &str = "llvm.zeroext";

/// Returns the name of a symbol operation.
pub(crate) fn name<'c: 'a, 'a>(operation: &impl OperationLike<'c, 'a>) -> Option<&'c str> {
    let name = operation.attribute("sym_name").ok()?;
    StringAttribute::try_from(name).ok().map(|name| name.value())
}

/// Returns true if a function has a body, or a data object contents.
pub(crate) fn is_defined<'c: 'a, 'a>(operation: &impl OperationLike<'c, 'a>) -> bool {
    let body = operation.region(0).is_ok_and(|region| region.first_block().is_some());
    body || operation.has_attribute("value")
}

/// Returns true for a data object.
pub(crate) fn is_variable<'c: 'a, 'a>(operation: &impl OperationLike<'c, 'a>) -> bool {
    operation.name().as_string_ref().as_str() == Ok(GLOBAL)
}

/// Returns true for attributes of a declaration that its definition does not have from it. `sym_visibility` is one of
/// them: MLIR would remove a private definition as unused.
pub(crate) fn is_of_declaration(attribute: &str) -> bool {
    const OF_BOTH: [&str; 8] = [
        "sym_name",
        "function_type",
        "global_type",
        LINKAGE,
        VISIBILITY,
        CONVENTION,
        "addr_space",
        "thread_local_",
    ];
    // Attributes of other dialects have the name of the dialect.
    !attribute.contains('.') && !OF_BOTH.contains(&attribute)
}

impl<'c> Ops<'c> {
    /// Returns true if a symbol is visible in its module only.
    pub(crate) fn is_local<'a>(&self, symbol: &impl OperationLike<'c, 'a>) -> bool
    where
        'c: 'a,
    {
        let linkage = symbol.attribute(LINKAGE);
        linkage.is_ok_and(|linkage| linkage == self.internal || linkage == self.private)
    }

    /// Returns true if a linker keeps one copy of a symbol.
    pub(crate) fn is_once<'a>(&self, symbol: &impl OperationLike<'c, 'a>) -> bool
    where
        'c: 'a,
    {
        symbol.attribute(LINKAGE) == Ok(self.once)
    }

    /// Returns the attribute of a linkage.
    fn linkage(&self, linkage: ir::Linkage, is_data: bool) -> Attribute<'c> {
        match linkage {
            ir::Linkage::Import | ir::Linkage::Export => self.external,
            ir::Linkage::Local if is_data => self.private,
            ir::Linkage::Local => self.internal,
            ir::Linkage::Once => self.once,
            ir::Linkage::Weak if self.facts.weak == Weak::Common => self.common,
            ir::Linkage::Weak => self.weak,
        }
    }

    /// Returns the attributes of linkage and visibility of a definition. `group` is its entry in the list of COMDATs.
    pub(crate) fn visibility(
        &self,
        linkage: ir::Linkage,
        is_data: bool,
        group: Option<Attribute<'c>>,
    ) -> Vec<(&'static str, Attribute<'c>)> {
        let visibility = match linkage {
            ir::Linkage::Once => HIDDEN,
            ir::Linkage::Weak if self.facts.weak == Weak::Protected => PROTECTED,
            ir::Linkage::Import | ir::Linkage::Local | ir::Linkage::Export | ir::Linkage::Weak => {
                DEFAULT
            }
        };
        let mut attributes = vec![
            (LINKAGE, self.linkage(linkage, is_data)),
            (VISIBILITY, self.integer(self.types.i64, visibility)),
        ];
        if self.is_grouped(linkage) {
            attributes.extend(group.map(|group| ("comdat", group)));
        }
        attributes
    }

    /// Returns true if definitions of a linkage are in a COMDAT.
    pub(crate) fn is_grouped(&self, linkage: ir::Linkage) -> bool {
        match linkage {
            ir::Linkage::Once => self.facts.groups,
            ir::Linkage::Weak => self.facts.weak == Weak::Group,
            ir::Linkage::Import | ir::Linkage::Local | ir::Linkage::Export => false,
        }
    }

    /// Returns a list of COMDATs, with an entry for each symbol.
    pub(crate) fn groups(&self, name: &str, symbols: &[&str]) -> Operation<'c> {
        const ANY: i64 = 0;
        let region = Region::new();
        let block = region.append_block(self.block(std::iter::empty()));
        for symbol in symbols {
            let kind = Identifier::new(self.context, "comdat");
            let kind = (kind, self.integer(self.types.i64, ANY));
            let name = (self.names.sym_name, self.string(symbol));
            block.append_operation(self.op(SELECTOR, &[], &[], &[name, kind]));
        }
        let name = [(self.names.sym_name, self.string(name))];
        build(self.start(COMDAT, &[], &name).add_regions([region]))
    }

    /// Makes an external definition internal.
    pub(crate) fn internalize(&self, symbol: &mut Operation<'c>) {
        if is_defined(symbol) && symbol.attribute(LINKAGE) == Ok(self.external) {
            symbol.set_attribute(LINKAGE, self.internal);
        }
    }

    /// Returns an external function without a body.
    pub(crate) fn func(&self, name: &str, ty: Type<'c>) -> Operation<'c> {
        let attributes = [
            (self.names.sym_name, self.string(name)),
            (self.names.function_type, TypeAttribute::new(ty).into()),
            (self.names.linkage, self.external),
        ];
        build(self.start(FUNC, &[], &attributes).add_regions([Region::new()]))
    }

    /// Returns the attributes that a function gets with its body.
    pub(crate) fn body_attributes(
        &self,
        function: &ir::Function,
    ) -> Vec<(&'static str, Attribute<'c>)> {
        let mut attributes = Vec::new();
        attributes.extend(self.processor.iter().flatten());
        let is_long = backend::is_long(function);
        if function.cold || function.no_inline || is_long {
            attributes.push(("no_inline", self.unit));
        }
        let list = |words: &[Attribute<'c>]| ArrayAttribute::new(self.context, words).into();
        let mut words = Vec::new();
        if function.cold {
            words.extend(["cold", "minsize"].map(|word| self.string(word)));
        }
        if is_long {
            words.push(self.string("optnone"));
        }
        if backend::needs_no_builtins(function) {
            words.push(list(&["no-builtins", ""].map(|word| self.string(word))));
        }
        // The kind of table that is exact at every instruction.
        words.push(list(&["uwtable", "2"].map(|word| self.string(word))));
        if self.facts.probes {
            words.push(list(&["probe-stack", "inline-asm"].map(|word| self.string(word))));
        }
        if !words.is_empty() {
            attributes.push(("passthrough", list(&words)));
        }
        attributes
    }

    /// Returns an external data object without contents.
    pub(crate) fn global(&self, name: &str, ty: Type<'c>) -> Operation<'c> {
        let attributes = [
            (self.names.sym_name, self.string(name)),
            (self.names.global_type, TypeAttribute::new(ty).into()),
            (self.names.linkage, self.external),
        ];
        build(self.start(GLOBAL, &[], &attributes).add_regions([Region::new()]))
    }

    /// Returns the attributes that a data object gets with its contents.
    pub(crate) fn contents_attributes(
        &self,
        data: &ir::Data,
        ty: Type<'c>,
        linkage: ir::Linkage,
    ) -> Vec<(&'static str, Attribute<'c>)> {
        /// The value for objects whose address is never compared.
        const UNNAMED: i64 = 2;
        let mut attributes = vec![
            ("global_type", TypeAttribute::new(ty).into()),
            ("alignment", self.integer(self.types.i64, i64::from(data.align))),
        ];
        if !data.writable {
            attributes.push(("constant", self.unit));
            if linkage == ir::Linkage::Local {
                attributes.push(("unnamed_addr", self.integer(self.types.i64, UNNAMED)));
            }
        }
        attributes
    }

    /// Returns an internal alias of a symbol.
    pub(crate) fn alias(&self, name: &str, ty: Type<'c>, target: Attribute<'c>) -> Operation<'c> {
        let attributes = [
            (self.names.sym_name, self.string(name)),
            (Identifier::new(self.context, "alias_type"), TypeAttribute::new(ty).into()),
            (self.names.linkage, self.internal),
        ];
        let region = Region::new();
        let block = region.append_block(self.block(std::iter::empty()));
        let address = block.append_operation(self.address_of(target));
        let address: Vec<Value> = address.results().map(Value::from).collect();
        block.append_operation(self.op("llvm.return", &address, &[], &[]));
        build(self.start(ALIAS, &[], &attributes).add_regions([region]))
    }

    /// Returns a list of constructors, at the last priority.
    pub(crate) fn constructors(&self, functions: &[Attribute<'c>]) -> Operation<'c> {
        const PRIORITY: i64 = 65535;
        let list = |entries: &[Attribute<'c>]| ArrayAttribute::new(self.context, entries).into();
        let all = |entry| vec![entry; functions.len()];
        let no_data = parse(self.context, "#llvm.zero");
        let name = |name| Identifier::new(self.context, name);
        let attributes = [
            (name("ctors"), list(functions)),
            (name("priorities"), list(&all(self.integer(self.types.i32, PRIORITY)))),
            (name("data"), list(&all(no_data))),
        ];
        self.op("llvm.mlir.global_ctors", &[], &[], &attributes)
    }

    /// Returns the C calling convention.
    pub(crate) fn c_convention(&self) -> Attribute<'c> {
        parse(self.context, "#llvm.cconv<ccc>")
    }

    /// Returns the convention by which a callee preserves most registers.
    pub(crate) fn preserve_most(&self) -> Attribute<'c> {
        parse(self.context, "#llvm.cconv<preserve_mostcc>")
    }

    /// Sets the extension attributes of a function, for one side of the arguments and of the result.
    pub(crate) fn extend<'a>(
        &self,
        function: &mut impl OperationMutLike<'c, 'a>,
        signature: &ir::Signature,
        sides: [Side; 2],
    ) where
        'c: 'a,
    {
        for (name, value) in self.extensions(signature, sides) {
            function.set_attribute(name.as_string_ref().as_str().unwrap_or_default(), value);
        }
    }

    /// Returns the lists of extension attributes of arguments and result, for one side of each; without any extension
    /// there is no list.
    pub(crate) fn extensions(
        &self,
        signature: &ir::Signature,
        [argument, result]: [Side; 2],
    ) -> impl Iterator<Item = Named<'c>> {
        let argument = |&abi: &ir::AbiType| self.facts.argument(abi, argument);
        let result = |&abi: &ir::AbiType| self.facts.result(abi, result);
        let arguments: Vec<ir::Extend> = signature.params.iter().map(argument).collect();
        let results: Vec<ir::Extend> = signature.result.iter().map(result).collect();
        let list = |extends: &[ir::Extend]| {
            let each: Vec<Attribute> = extends.iter().map(|&extend| self.flag(extend)).collect();
            ArrayAttribute::new(self.context, &each).into()
        };
        [(self.names.arg_attrs, arguments), (self.names.res_attrs, results)]
            .into_iter()
            .filter(|(_, extends)| extends.iter().any(|&extend| extend != ir::Extend::No))
            .map(move |(name, extends)| (name, list(&extends)))
    }

    /// Returns a dictionary of at most one unit attribute.
    fn flag(&self, extend: ir::Extend) -> Attribute<'c> {
        let name = match extend {
            ir::Extend::No | ir::Extend::Float16 | ir::Extend::BFloat16 => None,
            ir::Extend::Sign => Some(SIGNEXT),
            ir::Extend::Zero | ir::Extend::Truth => Some(ZEROEXT),
        };
        let entry = name.map(|name| (Identifier::new(self.context, name), self.unit));
        DictionaryAttribute::new(self.context, entry.as_slice()).into()
    }
}
