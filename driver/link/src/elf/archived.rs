//! Functions that glibc had in an archive, `libc_nonshared.a`, which compilers link by themselves: each calls another
//! one of its libraries. Headers of every version use them; `stat` and its kin are in libraries since 2.33.
//!
//! They are added for the [stated](crate::glibc::STATED) glibc. A sysroot has the archive.

use codegen::backend::Machine;
use object::SymbolScope;

use super::code;
use crate::machine::{Code, LibraryCode, facts};
use crate::{Error, Input, undefined};

/// Function of the archive. The stated version has no others that code for these machines calls, but those of the
/// start-up files of programs.
struct Function {
    name: &'static str,
    callee: &'static str,
    code: fn(&LibraryCode) -> &Code,
}

/// Returns the row of a function about a file; its callee has the version of `struct stat` as first argument.
const fn of_file(name: &'static str, callee: &'static str) -> Function {
    Function { name, callee, code: |code| &code.versioned }
}

const FUNCTIONS: [Function; 13] = [
    of_file("stat", "__xstat"),
    of_file("stat64", "__xstat64"),
    of_file("fstat", "__fxstat"),
    of_file("fstat64", "__fxstat64"),
    of_file("lstat", "__lxstat"),
    of_file("lstat64", "__lxstat64"),
    of_file("fstatat", "__fxstatat"),
    of_file("fstatat64", "__fxstatat64"),
    Function { name: "mknod", callee: "__xmknod", code: |code| &code.node },
    Function { name: "mknodat", callee: "__xmknodat", code: |code| &code.node_at },
    Function { name: "at_quick_exit", callee: "__cxa_at_quick_exit", code: |code| &code.second },
    Function { name: "atexit", callee: "__cxa_atexit", code: |code| &code.third },
    Function { name: "pthread_atfork", callee: "__register_atfork", code: |code| &code.fourth },
];

/// Makes the objects of the functions that are undefined in the inputs, if the code for the machine is known.
pub(super) fn objects(inputs: &[Input], machine: Machine) -> Result<Vec<Input>, Error> {
    let Some(code) = &facts(machine).code else { return Ok(Vec::new()) };
    let undefined = undefined(inputs);
    let wanted = FUNCTIONS.iter().filter(|function| undefined.contains(function.name.as_bytes()));
    wanted.map(|function| function.object(code, machine)).collect()
}

impl Function {
    fn object(&self, code: &LibraryCode, machine: Machine) -> Result<Input, Error> {
        let mut object = code::object(machine);
        let scope = SymbolScope::Linkage;
        let added =
            code::add_function(&mut object, self.name, scope, (self.code)(code), self.callee);
        let bytes = added.and_then(|_| object.write()).map_err(|error| Error::Linker {
            name: self.name.to_owned(),
            reason: error.to_string(),
        })?;
        Input::new(format!("{}.o", self.name), bytes)
    }
}
