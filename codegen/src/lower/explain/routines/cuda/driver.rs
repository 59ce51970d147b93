//! The driver: opened when something is first launched, and never linked.

use abi_spec::c_library::loader;

use crate::ir::{Builder, Cond, Convert, Data, Linkage, Signature, SymbolKind, Type, Value};
use crate::lower::cuda::{Entry, LIBRARY, VERSION, WINDOWS_LIBRARY};
use crate::lower::explain::codes::{Feature, Used};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;

/// The addresses of the functions, and at last a word that is not 0 once they are there.
const TABLE: &str = "tvm_ffi_codegen.driver";
const READY: i32 = 8 * Entry::ALL.len() as i32;

/// Bytes of a name in the list of functions, the NUL and padding included.
const NAME_SIZE: usize = 32;

/// `(descriptor, site)`: finds every function; 0, or -1 once it has raised.
pub(crate) fn open(b: &mut Builder<'_>, used: Used) {
    let [descriptor, site] = [0, 1].map(|i| b.param(i));
    let table = b.driver_table();
    let ready = b.atomic_load(Type::I64, table, READY);
    let ready = b.compare_const(Cond::Ne, ready, 0);
    b.return_if(ready, 0);
    let file = if used.has(Feature::Windows) { WINDOWS_LIBRARY } else { LIBRARY };
    let name = b.text(&format!("{file}\0"));
    let length = b.i64(file.len() as i64);
    let file = [name[0], length];
    let library = b.open_library(used, file[0]);
    let found = b.compare_const(Cond::Ne, library, 0);
    b.unless(found, |b| b.fail_with(descriptor, site, Complaint::NoDriver, &file));
    find_all(b, used, [descriptor, site, library], file);
    let version = b.stack_slot(4, 4);
    let status = b.driver(Entry::DriverGetVersion, &[version]);
    b.check_driver(descriptor, site, Entry::DriverGetVersion, status);
    let version = b.signed(version, 0);
    let new = b.compare_const(Cond::Sge, version, VERSION);
    b.unless(new, |b| {
        let wanted = b.i64(VERSION);
        b.fail_with(descriptor, site, Complaint::OldDriver, &[file[0], file[1], wanted, version]);
    });
    let flags = b.i32(0);
    let status = b.driver(Entry::Init, &[flags]);
    b.check_driver(descriptor, site, Entry::Init, status);
    let one = b.i64(1);
    b.atomic_store(one, table, READY);
    b.return_code(0);
}

/// Writes the address of every function; those that are needed must be there.
fn find_all(
    b: &mut Builder<'_>,
    used: Used,
    [descriptor, site, library]: [Value; 3],
    file: [Value; 2],
) {
    let mut names = vec![0; NAME_SIZE * Entry::ALL.len()];
    for (cell, entry) in names.chunks_exact_mut(NAME_SIZE).zip(Entry::ALL) {
        cell[..entry.name().len()].copy_from_slice(entry.name().as_bytes());
    }
    let names = b.table(&names);
    let (table, count) = (b.driver_table(), b.i64(Entry::ALL.len() as i64));
    let needed = Entry::ALL.iter().take_while(|entry| entry.is_needed()).count();
    b.fold(count, [names], |b, at, [name]| {
        let address = b.library_symbol(used, library, name);
        let cell = b.element(table, at);
        b.atomic_store(address, cell, 0);
        let there = b.compare_const(Cond::Ne, address, 0);
        let optional = b.compare_const(Cond::Sge, at, needed as i64);
        let fine = b.or(there, optional);
        b.unless(fine, |b| {
            let length = b.c_length(name);
            b.fail_with(descriptor, site, Complaint::NoEntry, &[name, length, file[0], file[1]]);
        });
        [b.ptr_offset(name, NAME_SIZE as i64)]
    });
}

impl Builder<'_> {
    fn driver_table(&mut self) -> Value {
        let known = self.module.find(TABLE).is_some();
        let symbol = self.module.declare(TABLE, Linkage::Local, SymbolKind::Data);
        if !known {
            let bytes = vec![0; READY as usize + 8];
            self.module.data.push(Data::variable(symbol, bytes, 8));
        }
        self.address(symbol)
    }

    /// The address of a function of the driver, which is open.
    pub(crate) fn entry(&mut self, entry: Entry) -> Value {
        let table = self.driver_table();
        self.load(Type::Ptr, table, 8 * entry as i32)
    }

    /// A `Bool`: the driver has a function that is not needed.
    pub(crate) fn driver_has(&mut self, entry: Entry) -> Value {
        let address = self.entry(entry);
        self.compare_const(Cond::Ne, address, 0)
    }

    /// Calls a function of the driver, which is open; yields the status.
    pub(crate) fn driver(&mut self, entry: Entry, args: &[Value]) -> Value {
        let address = self.entry(entry);
        self.call_indirect_value(entry.signature(), address, args)
    }

    /// `dlopen(name, RTLD_NOW)`, or `LoadLibraryA(name)`.
    fn open_library(&mut self, used: Used, name: Value) -> Value {
        if used.has(Feature::Windows) {
            return self.imported(loader::LOAD_LIBRARY, &[name]);
        }
        let now = self.i32(loader::RTLD_NOW);
        self.imported(loader::DLOPEN, &[name, now])
    }

    fn library_symbol(&mut self, used: Used, library: Value, name: Value) -> Value {
        let windows = used.has(Feature::Windows);
        let function = if windows { loader::GET_PROC_ADDRESS } else { loader::DLSYM };
        self.imported(function, &[library, name])
    }

    /// Calls a function of the platform that yields an address.
    fn imported(&mut self, name: &str, args: &[Value]) -> Value {
        let params: Vec<Type> = args.iter().map(|&arg| self.ty(arg)).collect();
        let kind = SymbolKind::Function(Signature::new(&params, Some(Type::Ptr)));
        let symbol = self.module.declare(name, Linkage::Import, kind);
        self.call_value(symbol, args)
    }

    /// The length of text that ends with a NUL; of NULL 0.
    pub(crate) fn c_length(&mut self, text: Value) -> Value {
        let (zero, none) = (self.i64(0), self.compare_const(Cond::Eq, text, 0));
        let empty = self.table(&[0; 8]);
        let text = self.select(none, empty, text);
        let [length] = self.repeat(
            [zero],
            |b, [at]| {
                let character = b.ptr_add(text, at);
                let character = b.load(Type::I8, character, 0);
                b.compare_const(Cond::Ne, character, 0)
            },
            |b, [at]| [b.binary_const(crate::ir::Binary::Add, at, 1)],
        );
        length
    }

    /// Unless a function of the driver has succeeded, raises that it failed and returns -1.
    pub(crate) fn check_driver(
        &mut self,
        descriptor: Value,
        site: Value,
        entry: Entry,
        status: Value,
    ) {
        let failed = self.compare_const(Cond::Ne, status, 0);
        self.if_then(failed, |b| {
            let [name, length] = b.text(entry.name());
            let status = b.convert(Convert::Sext, status, Type::I64);
            b.routine(Routine::DriverFailed, &[descriptor, site, name, length, status]);
            b.return_code(-1);
        });
    }

    /// The same of one that has to do with a kernel.
    pub(crate) fn check_kernel(
        &mut self,
        [descriptor, site, kernel, device]: [Value; 4],
        status: Value,
    ) {
        let failed = self.compare_const(Cond::Ne, status, 0);
        self.if_then(failed, |b| {
            let status = b.convert(Convert::Sext, status, Type::I64);
            b.routine(Routine::KernelFailed, &[descriptor, site, kernel, device, status]);
            b.return_code(-1);
        });
    }
}
