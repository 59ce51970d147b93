//! Gifts to a JIT besides the addresses of kernels: kernels of the native module, functions of Rust, other compiled
//! code.

use abi_spec::symbol::function_symbol;
use cranelift_module::Module;
use tvm_ffi_codegen::Library;

use crate::compiled::Compiled;
use crate::error::Error;
use crate::given::GivenFunction;
use crate::jit::Jit;
use crate::signatures::Signatures;
use crate::value::function::FfiFunction;
use crate::wrapped::IntoFunction;

impl Jit {
    /// Defines kernels of a library in the native module, with `cranelift_frontend` for instance. `define` gets the
    /// types that the declarations call them with. The symbols that the kernels import may also come from the process.
    ///
    /// ```
    /// use cranelift_codegen::ir::InstBuilder;
    /// use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
    /// use cranelift_module::Linkage;
    /// use tvm_ffi_codegen::Library;
    /// use tvm_ffi_codegen_jit::Jit;
    ///
    /// let library: Library = "
    ///     product(x: int64, y: int64) -> int64 = product(x, y);
    ///     sum(x: int64, y: int64) -> int64 = sum(x, y);
    /// ".parse()?;
    /// // SAFETY: the kernels have the types that the declarations call them with, and are sound for all integers.
    /// let jit = unsafe {
    ///     Jit::new()?.define(&library, |module, signatures| {
    ///         for (symbol, signature) in signatures.iter() {
    ///             let (mut context, mut reused) = (module.make_context(), FunctionBuilderContext::new());
    ///             context.func.signature = signature.clone();
    ///             let id = module.declare_function(symbol, Linkage::Local, signature)?;
    ///             let mut b = FunctionBuilder::new(&mut context.func, &mut reused);
    ///             let block = b.create_block();
    ///             b.append_block_params_for_function_params(block);
    ///             b.switch_to_block(block);
    ///             let (x, y) = (b.block_params(block)[0], b.block_params(block)[1]);
    ///             let result = if symbol == "sum" { b.ins().iadd(x, y) } else { b.ins().imul(x, y) };
    ///             b.ins().return_(&[result]);
    ///             b.seal_all_blocks();
    ///             b.finalize(module.target_config());
    ///             module.define_function(id, &mut context)?;
    ///         }
    ///         Ok::<_, Box<dyn std::error::Error>>(())
    ///     })?
    /// };
    /// let compiled = jit.compile(&library)?;
    /// assert_eq!(compiled.typed::<(i64, i64), i64>("product")?.call((6, 7))?, 42);
    /// assert_eq!(compiled.typed::<(i64, i64), i64>("sum")?.call((6, 7))?, 13);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Safety
    /// The functions that are defined keep the [contract of kernels](Jit#contract-of-kernels).
    ///
    /// # Errors
    /// [`Error::Declaration`] if the declarations are not valid, and the errors of `define`.
    pub unsafe fn define<E: From<Error>>(
        mut self,
        library: &Library,
        define: impl FnOnce(&mut dyn Module, &Signatures) -> Result<(), E>,
    ) -> Result<Jit, E> {
        let signatures = Signatures::of(library, self.assembly.native.isa())?;
        self.assembly.define(|module| define(module, &signatures))?;
        Ok(self)
    }

    /// Defines functions in the native module without a library, for host IR that [`Jit::emit`] gets before or after.
    /// The symbols that they import may also come from the process.
    ///
    /// # Safety
    /// The functions that are defined keep the [contract of kernels](Jit#contract-of-kernels).
    ///
    /// # Errors
    /// The errors of `define`.
    pub unsafe fn define_native<E>(
        mut self,
        define: impl FnOnce(&mut dyn Module) -> Result<(), E>,
    ) -> Result<Jit, E> {
        self.assembly.define(define)?;
        Ok(self)
    }

    /// Gives a function of Rust, which bodies call by name, `@"name"(…)`, or by symbol, `@name(…)`.
    ///
    /// The types of the closure's parameters and of its result are those that [`ClosureParam`](crate::ClosureParam) and
    /// [`ClosureResult`](crate::ClosureResult) list. Arguments are checked and converted, an `Err` is raised, and so is a
    /// panic; see [`FfiFunction::wrap`]. The closure is dropped with the code, on any thread. A later function of the
    /// same name replaces it. The name precedes that of an import or a global function; a function of this name that
    /// the library itself declares is the one that `@name(…)` calls. It is given before [`Jit::emit`].
    ///
    /// ```
    /// use tvm_ffi_codegen::Library;
    /// use tvm_ffi_codegen_jit::{CallError, Jit, ObjectRef};
    ///
    /// // Compiles declarations, and returns their functions.
    /// let compile = |text: &str| -> Result<ObjectRef, Box<dyn std::error::Error>> {
    ///     let library: Library =
    ///         text.parse().map_err(|error| CallError::new("SyntaxError", format!("{error}")))?;
    ///     let function = Jit::new()?.compile(&library)?.function("f").ok_or("no function `f`")?;
    ///     Ok(function.into_ffi_function(Default::default())?.into())
    /// };
    ///
    /// let library: Library = r#"
    ///     run(text: str, n: int64) -> int64 = {
    ///         let f: Function = @"compile"(text);
    ///         let result: int64 = @(f)(n);
    ///         return result;
    ///     };
    /// "#.parse()?;
    /// // SAFETY: the functions that `compile` returns may be called with any integer.
    /// let jit = unsafe { Jit::new()?.function("compile", compile)?.calls() };
    /// let run = jit.compile(&library)?.typed::<(&str, i64), i64>("run")?;
    /// assert_eq!(run.call(("f(n: int64) -> int64 = { return n + 1; };", 41))?, 42);
    /// let errors = ["f(n: int64", "g() -> None = {};"].map(|text| run.call((text, 0)).unwrap_err().to_string());
    /// assert!(errors[0].starts_with("SyntaxError: 1:11: "), "{}", errors[0]);
    /// assert_eq!(errors[1], "RuntimeError: no function `f`");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Call`] if the runtime refuses.
    pub fn function<M>(mut self, name: &str, closure: impl IntoFunction<M>) -> Result<Jit, Error> {
        let function = FfiFunction::wrap(name, closure, self.options.runtime)?;
        self.given.retain(|given| given.name != name);
        self.given.push(GivenFunction { name: name.to_owned(), function });
        Ok(self)
    }

    /// Lets the library call functions of another one, `@name(…)`, the C functions of its `extern` declarations, and
    /// its kernels: those that it was given, and those that it [defines](Jit::define). Types of kernels are checked as
    /// far as they are known. The other code stays as long as this one.
    ///
    /// Definitions of this library precede imports. Of kernels and imports of one name the later one counts.
    /// Closures are not imported.
    ///
    /// ```
    /// use tvm_ffi_codegen::Library;
    /// use tvm_ffi_codegen_jit::Jit;
    ///
    /// let twice: Library = "twice(n: int64) -> int64 = { return 2 * n; };".parse()?;
    /// let twice = Jit::new()?.compile(&twice)?;
    /// let library: Library = "f(n: int64) -> int64 = { let r: int64 = @twice(n); return r + 1; };".parse()?;
    /// // SAFETY: the library calls no kernel.
    /// let compiled = unsafe { Jit::new()?.import(&twice)? }.compile(&library)?;
    /// drop(twice);
    /// assert_eq!(compiled.typed::<(i64,), i64>("f")?.call((20,))?, 41);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Safety
    /// The kernels and C functions of the other code that this library calls keep the [contract of
    /// kernels](Jit#contract-of-kernels) for its declarations too. Its functions write to no tensor that a declaration
    /// which passes it on says is only read.
    ///
    /// # Errors
    /// [`Error::Foreign`] for code of another runtime; [`Error::Backend`] if the native module has another symbol of the name.
    pub unsafe fn import(mut self, compiled: &Compiled) -> Result<Jit, Error> {
        let code = &compiled.0;
        if !code.runtime.is_same(self.options.runtime) {
            return Err(Error::Foreign);
        }
        let symbols = &self.assembly.symbols;
        symbols.import_kernels(&code.symbols);
        for (symbol, address) in &code.externals {
            symbols.import(symbol, address.0);
        }
        for entry in code.entries.iter().filter(|entry| !entry.closure) {
            symbols.import(&function_symbol(&entry.name), entry.address as *const u8);
        }
        code.own.iter().try_for_each(|own| self.assembly.import(own))?;
        Ok(self.keep(compiled.clone()))
    }
}
