//! Functions, data objects and aliases, and what they say of themselves.

use codegen::ir;
use melior::dialect::llvm::r#type::array;
use melior::ir::attribute::{ArrayAttribute, DictionaryAttribute, TypeAttribute};
use melior::ir::operation::{OperationLike, OperationMutLike};
use melior::ir::{Attribute, BlockLike, Identifier, Operation, Region, RegionLike, Type, Value};

use super::{Named, Ops, build};
use crate::raw;
use crate::symbols::is_defined;
use crate::types::extension;

/// A function.
pub(crate) const FUNC: &str = "llvm.func";
/// A data object.
pub(crate) const GLOBAL: &str = "llvm.mlir.global";
/// Another name of a function or data object.
const ALIAS: &str = "llvm.mlir.alias";
/// The attributes of the parameters of a function or call: a list of dictionaries.
pub(crate) const ARG_ATTRS: &str = "arg_attrs";
/// The attributes of the result: a list of one dictionary.
pub(crate) const RES_ATTRS: &str = "res_attrs";
/// The calling convention of a function or call.
pub(crate) const CONVENTION: &str = "CConv";
/// The attribute that says who sees a symbol.
pub(crate) const LINKAGE: &str = "linkage";
/// Where constants go that are out of the reach of code.
const LARGE: &str = ".lrodata";
/// `unnamed_addr`: the address of a data object is never compared.
const UNNAMED: i64 = 2;

impl<'c> Ops<'c> {
    /// True if a symbol is seen in its module only.
    pub(crate) fn is_local<'a>(&self, symbol: &impl OperationLike<'c, 'a>) -> bool
    where
        'c: 'a,
    {
        let linkage = symbol.attribute(LINKAGE);
        linkage.is_ok_and(|linkage| linkage == self.internal || linkage == self.private)
    }

    /// The linkage of what everybody sees.
    pub(crate) fn external(&self) -> Attribute<'c> {
        self.external
    }

    /// Makes a definition local if everybody sees it.
    pub(crate) fn internalize(&self, symbol: &mut Operation<'c>) {
        if is_defined(symbol) && symbol.attribute(LINKAGE) == Ok(self.external) {
            symbol.set_attribute(LINKAGE, self.internal);
        }
    }

    /// A function without a body.
    pub(crate) fn func(
        &self,
        name: &str,
        linkage: ir::Linkage,
        signature: &ir::Signature,
        ty: Type<'c>,
    ) -> Operation<'c> {
        let linkage = match linkage {
            ir::Linkage::Import | ir::Linkage::Export => self.external,
            ir::Linkage::Local => self.internal,
        };
        let attributes = [
            (self.names.sym_name, self.string(name)),
            (self.names.function_type, TypeAttribute::new(ty).into()),
            (self.names.linkage, linkage),
        ];
        let extensions: Vec<_> = self.named_extensions(signature, true).collect();
        let start = self.start(FUNC, &[], &attributes).add_attributes(&extensions);
        build(start.add_regions([Region::new()]))
    }

    /// The attributes that a function gets with its body.
    pub(crate) fn body_attributes(
        &self,
        function: &ir::Function,
    ) -> Vec<(&'static str, Attribute<'c>)> {
        let mut attributes = vec![("no_unwind", self.unit)];
        if function.cold || function.no_inline {
            attributes.push(("no_inline", self.unit));
        }
        if function.cold {
            let words = ["cold", "minsize"].map(|word| self.string(word));
            let words = ArrayAttribute::new(self.context, &words).into();
            attributes.push(("passthrough", words));
        }
        attributes
    }

    /// The type of a data object.
    pub(crate) fn bytes(&self, count: usize) -> Type<'c> {
        array(self.types.i8, count as u32)
    }

    /// A data object without contents.
    pub(crate) fn global(&self, name: &str, linkage: ir::Linkage, ty: Type<'c>) -> Operation<'c> {
        let linkage = match linkage {
            ir::Linkage::Import | ir::Linkage::Export => self.external,
            ir::Linkage::Local => self.private,
        };
        let attributes = [
            (self.names.sym_name, self.string(name)),
            (self.names.global_type, TypeAttribute::new(ty).into()),
            (self.names.linkage, linkage),
        ];
        build(self.start(GLOBAL, &[], &attributes).add_regions([Region::new()]))
    }

    /// The attributes that a data object gets with its contents.
    pub(crate) fn contents(
        &self,
        data: &ir::Data,
        linkage: ir::Linkage,
    ) -> Vec<(&'static str, Attribute<'c>)> {
        let ty = self.bytes(data.bytes.len());
        let mut attributes = vec![
            ("global_type", TypeAttribute::new(ty).into()),
            ("value", raw::bytes_attribute(self.context, &data.bytes)),
            ("alignment", self.integer(self.types.i64, i64::from(data.align))),
        ];
        if data.large && self.large {
            attributes.push(("section", self.string(LARGE)));
        }
        if !data.writable {
            attributes.push(("constant", self.unit));
            if linkage == ir::Linkage::Local {
                attributes.push(("unnamed_addr", self.integer(self.types.i64, UNNAMED)));
            }
        }
        attributes
    }

    /// Another name for a symbol, seen in this module only.
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

    /// A list of functions that run when the code is loaded, none earlier than others want to.
    pub(crate) fn constructors(&self, functions: &[Attribute<'c>]) -> Operation<'c> {
        const PRIORITY: i64 = 65535;
        let list = |entries: &[Attribute<'c>]| ArrayAttribute::new(self.context, entries).into();
        let all = |entry| vec![entry; functions.len()];
        let no_data = Attribute::parse(self.context, "#llvm.zero").unwrap_or(self.unit);
        let name = |name| Identifier::new(self.context, name);
        let attributes = [
            (name("ctors"), list(functions)),
            (name("priorities"), list(&all(self.integer(self.types.i32, PRIORITY)))),
            (name("data"), list(&all(no_data))),
        ];
        self.op("llvm.mlir.global_ctors", &[], &[], &attributes)
    }

    /// The C calling convention.
    pub(crate) fn c_convention(&self) -> Attribute<'c> {
        Attribute::parse(self.context, "#llvm.cconv<ccc>").unwrap_or(self.unit)
    }

    /// What a signature says of extension: one attribute for the parameters, one for the result, where
    /// any is extended and, for the result, if `result`.
    pub(crate) fn extensions(
        &self,
        signature: &ir::Signature,
        result: bool,
    ) -> [Option<(&'static str, Attribute<'c>)>; 2] {
        let list = |name, abis: &[ir::AbiType]| {
            let found = || abis.iter().map(|&abi| extension(abi, self.riscv));
            found().any(|extension| extension.is_some()).then(|| {
                let each: Vec<Attribute> = found().map(|name| self.flag(name)).collect();
                (name, ArrayAttribute::new(self.context, &each).into())
            })
        };
        let results = if result { signature.result.as_slice() } else { &[] };
        [list(ARG_ATTRS, &signature.params), list(RES_ATTRS, results)]
    }

    pub(super) fn named_extensions(
        &self,
        signature: &ir::Signature,
        result: bool,
    ) -> impl Iterator<Item = Named<'c>> {
        let [params, result] = self.extensions(signature, result);
        let params = params.map(|(_, value)| (self.names.arg_attrs, value));
        params.into_iter().chain(result.map(|(_, value)| (self.names.res_attrs, value)))
    }

    /// A dictionary of at most one unit attribute.
    fn flag(&self, name: Option<&str>) -> Attribute<'c> {
        let entry = name.map(|name| (Identifier::new(self.context, name), self.unit));
        DictionaryAttribute::new(self.context, entry.as_slice()).into()
    }
}
