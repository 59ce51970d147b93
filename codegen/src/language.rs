//! The declaration language: the text of files, of the command line and of error messages.
//!
//! ```
//! let text = "\
//! /// Multiplies every element.
//! scale(x: Tensor([n, 64], float32, strides=[s, 1], align=16), factor: float64) -> None
//!     where n % 4 == 0, n <= 4096
//!     = try scale_kernel(x.data, int32(n), s, factor);
//! ";
//! let library: tvm_ffi_codegen::Library = text.parse()?;
//! assert_eq!(library.functions[0].signature.name, "scale");
//! assert_eq!(library.to_string(), text);
//! # Ok::<(), tvm_ffi_codegen::Error>(())
//! ```
//!
//! # Grammar
//!
//! ```text
//! library    = { "image" word [ "on" "load" "@" quoted ] ";" | function }
//! function   = { doc } [ location ] [ "extern" ] signature "=" body
//! location   = "@" quoted ":" int [ ":" int ]             (file, line, column: for backtraces and debuggers)
//! signature  = label "(" [ param { "," param } ] ")" "->" result
//!              [ "where" constraint { "," constraint } ]
//! result     = "None" | type | output | "(" output { "," output } ")"
//! output     = name ":" tensor                            (a tensor that is allocated for the kernel)
//! param      = { doc } ( name ":" type [ "=" literal ] | "*" name ":" "Any" )
//! type       = scalar | "str" | "bytes" | "dtype" | "Device" | "Function" | "Module" | "Any" | "Stream" | "handle"
//!            | "Object" [ "[" quoted "]" ] | "Shape" [ "(" shape ")" ] | tensor | "Tensor"
//!            | "Optional" "[" type "]" | ( "Array" | "List" ) [ "[" type "]" ]
//!            | ( "Map" | "Dict" ) [ "[" type "," type "]" ]
//!            | "Tuple" "[" [ element { "," element } ] "]" | "Union" "[" type { "," type } "]"
//!            | "Literal" "[" literal { "," literal } "]"
//! element    = [ name ":" ] type
//! literal    = "None" | "True" | "False" | [ "-" ] ( int | float ) | quoted
//! tensor     = "Tensor" "(" ( shape | trailing ) "," ( [ name ":" ] dtypes | name ) { "," option } ")"
//!                                                         (a name that could be read as a dtype stands in backticks)
//! dtypes     = dtype { "|" dtype } | "any"                (every element type)
//! option     = "strides" "=" ( "contiguous" | "any" | "[" [ "..." "," ] dims "]" )
//!            | "device" "=" ( device | "any" )
//!            | "align" "=" int
//!            | "dtypes" "=" ( "exact" | "storage" )
//!            | "access" "=" ( "update" | "read" | "write" )      (each option at most once, in any order)
//! shape      = "[" ( "..." | dims ) "]"
//! trailing   = "[" "..." "," dim { "," dim } "]" | "[" name "..." { "," dim } "]"
//! dims       = [ dim { "," dim } ]
//! dim        = "_" | expr
//! constraint = expr [ "else" quoted ]
//! body       = kernel ";" | block ";"
//! block      = "{" { [ location ] statement } "}"
//! statement  = "let" name "=" expr ";" | "let" name ":" type "=" call ";" | call ";"
//!            | "let" name "=" "@" label "(" args ")" ";"      (of the type that a function of this library returns)
//!            | "let" name "=" "alloc" tensor [ "on" expr ] ";" | "let" name "=" map ";"
//!            | branch | "for" name "in" expr ".." expr block | "match" expr "{" { arm } "}"
//!            | "return" [ expr ] ";" | "raise" kind [ expr { "," expr } ] ";"
//!            | "launch" name "." quoted "(" [ given { "," given } ] ")" { clause } ";"
//!            | "upload" expr "(" given { "," given } ")" { target } ";"
//!            | ( "fill" | "copy" ) expr "," expr "," expr { target } ";"
//!            | "wait" expr "," expr [ "on" expr ] ";"
//! arm        = ( "None" | ( name | "_" ) ":" type ) "=>" block
//! branch     = "if" expr block { "else" "if" expr block } [ "else" block ]
//! call       = kernel | [ "cached" "(" expr { "," expr } ")" ] "@" ( label | quoted | "(" expr ")" ) "(" args ")"
//! kernel     = [ "try" ] callee "(" args ")" [ errors ]
//! callee     = a word that is not reserved | quoted | "(" expr ")"     (a symbol, or the address of a C function)
//! args       = [ expr { "," expr } ]
//! errors     = "errors" "{" [ status { "," status } ] "}"                    (only after "try")
//! given      = expr | "struct" "(" [ given { "," given } ] ")" | ( "scratch" | "bytes" ) "(" expr "," int ")"
//!            | map
//! map        = "tensormap" "(" expr { "," ( option | columns ) } ")"
//! columns    = "im2col" "(" option { "," option } ")"                        (lower, upper, channels, pixels: each once)
//! option     = word "=" ( "[" args "]" | expr | quoted )
//! clause     = ( "grid" | "block" | "cluster" | "preferred_cluster" ) "(" expr [ "," expr [ "," expr ] ] ")"
//!            | ( "smem" | "priority" | "mem_sync_domain" ) "(" expr ")" | "cooperative" | "pdl"
//!            | "attribute" "(" int "," args ")" | target              (grid and block always, each once)
//! target     = "on" expr | "stream" expr                       (each once)
//! status     = ( "_" | [ "-" ] int ) ":" kind quoted           (each status at most once)
//! kind       = word { "." word }
//!
//! expr       = all { "or" all }
//! all        = denial { "and" denial }
//! denial     = "not" denial | comparison
//! comparison = sum [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum ]
//! sum        = term { ( "+" | "-" ) term }
//! term       = unary { ( "*" | "/" | "%" ) unary }
//! unary      = "-" unary | int | float | postfix
//! postfix    = atom { "." member | "[" expr "]" }
//! member     = "data" | "size" | "ndim" | "dtype" | "numel" | "device_type" | "device_id" | "byte_offset"
//!            | "is_contiguous" | "object" | "is_some" | ( "shape" | "strides" ) "[" [ "-" ] int "]" | label
//!            | "device" "." ( "multiprocessors" | "attribute" "(" int ")" )
//!            | "global" "(" quoted ")"                    (after the name of an image: a device variable)
//! atom       = "null" | "None" | "True" | "False" | name | quoted | "(" expr ")" | "[" args "]"
//!            | "Shape" "(" args ")" | scalar "(" expr ")" | "stream" "(" expr ")"
//!            | "current_device" "(" ")"
//!            | ( "min" | "max" | "ceildiv" ) "(" expr "," expr ")" | closure
//! closure    = "function" "(" [ param { "," param } ] ")" "->" result
//!              [ "where" constraint { "," constraint } ] block               (only in a block)
//!
//! scalar     = "bool" | "int8" | … | "float64" | "ptr"   (the names of `Scalar`)
//! dtype      = a word that names a `DType`, such as "float32x4"
//! device     = a word that names a `DeviceType`, such as "cuda"
//! name       = a word that is not reserved | "`" any "`"
//! label      = word | "`" any "`"
//! any        = characters, at least one, but no "`" and no control characters
//! word       = ( letter | "_" ) { letter | digit | "_" }
//! int        = digits
//! digits     = digit { digit }
//! float      = digits "." digits [ exponent ] | digits exponent
//! exponent   = ( "e" | "E" ) [ "+" | "-" ] digits
//! quoted     = '"' { any character but '"', '\' and the end of the line | '\"' | '\\' } '"'
//! doc        = "///" and the rest of the line
//! comment    = "#" and the rest of the line
//! ```
//!
//! Blanks, ends of lines and comments may stand between any two tokens; tokens are as long as possible. Letters are
//! ASCII. A byte order mark at the start of a text is skipped, and positions are counted without it. The reserved words
//! are `where try null stream current_device min max ceildiv else and or not _ None True False` and the words that
//! types start with. In backticks any text names a value or a function, a reserved word too: `` `my.f`(`stream`: int64)
//! ``. It has [`MAX_NAME`] bytes at most. The canonical text, and with it every message, has backticks only where they
//! are needed; Rust values have none. No way is needed to write a backtick in a name, so there is none. A function
//! whose symbol the runtime reads as something else is refused: `_library_ctx`, `_library_bin`, and the names that
//! begin with `_metadata_`, `_doc_` and `_cubin_`. Images are words, kinds of errors too, also with dots. All other
//! words are names: `errors`, `extern` and the words of statements have a meaning only where the grammar has them and
//! no `(` follows, so that `let(x);` calls a C function. The first operand of `upload`, `fill`, `copy` and `wait` may
//! start with a parenthesis, unless nothing but `;` follows the one that closes it: `wait(s);` calls a C function. `if`
//! and `return` always start a statement, since a parenthesis may follow them; a C function of that name is called as
//! `"if"(x);`. In quotes a C function may have any name that the runtime, LLVM and assemblers do not reserve: no
//! control characters, and no prefix `__tvm_ffi_`, `TVMFFI`, `tvm_ffi_codegen.`, `llvm.` or `.`. One blank after `///`
//! is not part of the documentation. A `-` directly before a literal is part of it, so that the least `int64` can be
//! written.
//!
//! Documentation stands before a function, and before a parameter that needs some:
//!
//! ```
//! let text = "\
//! /// Multiplies every element.
//! scale(
//!     /// Rows of 64 elements, changed in place.
//!     x: Tensor([n, 64], float32),
//!     factor: float64
//! ) -> None
//!     = scale_kernel(x.data, n, factor);
//! ";
//! let library: tvm_ffi_codegen::Library = text.parse()?;
//! assert_eq!(library.to_string(), text);
//! let docs = "Multiplies every element.\n\nArgs:\n    x: Rows of 64 elements, changed in place.";
//! assert_eq!(library.functions[0].documentation(), docs);
//! # Ok::<(), tvm_ffi_codegen::Error>(())
//! ```
//!
//! Python's `help`, the stubs, `describe`, the texts in the library and the comments of the C header have both.
//!
//! # Types
//!
//! A *value* is a parameter or a part of its type. [Kinds](crate::guide::kinds) has what the kernel gets of each as an
//! argument of the body. A value that is None passes zeros and NULL; `x.is_some` is one byte.
//!
//! `x.object` is the `TVMFFIObject*` of a tensor `x`, whose `DLTensor` follows its header. A caller may pass a
//! `DLTensor*` that is part of no object; then `x.object` is a TypeError where it is evaluated. A parameter of type
//! `Tensor`, without constraints, accepts objects only.
//!
//! | value | members |
//! |---|---|
//! | tensor | `data ndim shape[i] strides[i] dtype numel is_contiguous device_type device_id byte_offset object`; on cuda also `device.multiprocessors device.attribute(id)` |
//! | `str`, `bytes`, `Shape`, `*rest` | `data size`; of a shape also `s[i]` |
//! | `Array`, `List` | `size`, and the elements `xs[i]` |
//! | `Device` | `device_type device_id` |
//! | tuple | `t[i]`, or `t.name` where the element has one |
//! | optional values | `is_some` |
//!
//! The index of `xs[i]` and of `s[i]` is any `int64`. When it is evaluated, it must be from 0 to below the size:
//! `Out of range xs[i] when calling: …, expected an index below 3 but got 5`. All other indices are literals. In
//! `where` too, `and` and `or` evaluate an index in their second operand only if they reach it.
//!
//! A parameter accepts the same arguments as the C++ export macro, with these differences:
//!
//! * Integers must fit.
//! * None is accepted only by `Optional`, `ptr`, `handle` and `Stream`.
//! * `Tensor(…)` accepts only tensor objects and `DLTensor*`.
//! * An rvalue reference to an object is borrowed wherever an object other than a tensor is accepted.
//!
//! Some rules for the values:
//!
//! * An integer beyond `int64`, which the runtime passes as an object, is accepted by `uint64` and `ptr` if it fits 64
//!   bits, and out of range elsewhere. A `uint64` on which an extent or a stride depends must fit `int64`.
//! * A float is rounded to the nearest of its type, as in C++. One that is too large becomes an infinity: `1e300` for a
//!   `float32`.
//! * Text in quotes is compared with text, and with the name of an element type or a device; the empty text names
//!   neither. Text may contain a NUL, which does not end it.
//! * A default is a literal that the parameter accepts as an argument; with a NUL it has at most 7 bytes.
//!
//! `...` before the dims of a tensor stands for any number of leading dims:
//! `Tensor([..., m, k], float32, strides=[..., s, 1])`. With a name before the dots the leading dims are one, as in
//! `Tensor([outer..., k], float32, strides=[s, 1])`:
//!
//! * The symbol `outer` is the product of the leading extents, 1 if there are none.
//! * The leading dims are one dim in memory: the stride of each is that of the next leading dim times the extent of
//!   that one, where extents are not 1. The stride `s` is that of the innermost leading dim whose extent is above 1.
//! * Leading extents are checked for their sign first. One that is 0 makes the tensor empty, so that it may have any
//!   strides.
//!
//! `x.shape[i]`, `x.ndim` and `x.numel` are those of the tensor itself, whatever is declared of it; a negative index
//! counts from the end. Errors name declared dims from the end: `x.shape[-1]`, and `x.shape[:-1]` for `outer`.
//!
//! **Symbols in containers.** The elements of a sequence or mapping are compared with a symbol, but determine none
//! outside of the parameters. Errors name elements of a sequence `xs[3]`, and those of a mapping `m.keys[0]` and
//! `m.values[0]`. A shape may be passed as an array or list of at most [`MAX_RANK`] integers.
//!
//! **Symbols in unions.** A symbol that nothing but types of a union mention is bound by each of them for itself, and
//! known only in the arm of a `match` for the type. If anything binds the symbol before, the union is compared with it.
//!
//! **Symbols in optional values.** A symbol that only optional values determine is bound by the first of them that is
//! there, and compared with the others. An expression with several such symbols is compared where all of them are
//! bound. The symbol may be used only where one of these values is known to be there:
//!
//! * after `where x.is_some or y.is_some`,
//! * to the right of `x.is_some and` or `not x.is_some or`,
//! * in `if x.is_some { … }`,
//! * after `if not x.is_some { return; }`.
//!
//! In the message of a condition the symbol is 0 if nothing has bound it. So is a number that is None, there and in a
//! `raise`.
//!
//! ```
//! let text = "\
//! total(x: Optional[Tensor([n], float32)], y: Optional[Tensor([n, 2], float32)]) -> int64
//!     where not x.is_some or n > 3
//!     = { if x.is_some or y.is_some { return n; } return 0; };
//! ";
//! let function: tvm_ffi_codegen::Function = text.parse()?;
//! # Ok::<(), tvm_ffi_codegen::Error>(())
//! ```
//!
//! An element type may have a name, too. `x: Tensor([n], T: float16|bfloat16)` determines `T`, and a tensor after it,
//! `y: Tensor([n], T)`, must have the same element type, be it optional, an element or a result; allocated tensors of
//! type `T` get it. The tensor that determines `T` is neither optional nor an element of a sequence. `T` is a value of
//! kind `dtype`: compared with text or another one, passed to C as its 32 bits.
//!
//! `any` stands for every element type, listed by DLPack or not: `Tensor([n], any)`, `Tensor([n], T: any)`. Elements
//! are aligned by what their type may be:
//!
//! | tensor | alignment of its elements |
//! |---|---|
//! | of type `T`, given | that of the smallest type that `T` may be |
//! | of type `T`, allocated | that of the largest |
//! | of `any`, given | 1 byte |
//! | of `any`, allocated | 16 bytes |
//!
//! ```
//! let text = "\
//! axpy(x: Tensor([n], T: float16|bfloat16), y: Tensor([n], T)) -> z: Tensor([n], T)
//!     = {
//!         if T == \"float16\" {
//!             axpy_half(x.data, y.data, z.data, n);
//!         } else {
//!             axpy_any(x.data, y.data, z.data, n, T);
//!         }
//!     };
//! ";
//! let function: tvm_ffi_codegen::Function = text.parse()?;
//! assert_eq!(format!("{function}\n"), text);
//! # Ok::<(), tvm_ffi_codegen::Error>(())
//! ```
//!
//! `access` says what a function does with the elements of a tensor that it is given, as do its kernels and whatever it
//! calls:
//!
//! | `access=` | the elements | in C |
//! |---|---|---|
//! | `update`, the default | may be read and written | `void*`, `DLTensor*` |
//! | `read` | are only read, so that callers may give memory that is read-only | `const void*` for `x.data` and addresses made of it, `const DLTensor*` for `x` |
//! | `write` | are not read before they are written | `void*`, `DLTensor*` |
//!
//! * All calls of a C function have one type, which has the `const` of each.
//! * Objects, containers and unions have no `const` in C; who gets them keeps the promise as well.
//! * It is an error of the declaration if a command writes to memory that is only read, or if a call gives such memory
//!   to a function of this library whose parameter is declared without `access=read`.
//! * A tensor that is allocated or returned has no access.
//!
//! ```
//! let text = "scale(x: Tensor([n], float32, access=read), y: Tensor([n], float32, access=write)) -> None = k(x.data, y.data, n);";
//! let library: tvm_ffi_codegen::Library = text.parse()?;
//! assert_eq!(library.kernels()?[0].params, ["const void*", "void*", "int64_t"]);
//! # Ok::<(), tvm_ffi_codegen::Error>(())
//! ```
//!
//! # Arithmetic
//!
//! Integer expressions are exact, wherever they stand. Each operation has its value in mathematics; otherwise the call
//! is a ValueError that names the first operation whose result is no `int64`, with that result. Only what is evaluated
//! counts: neither the second operand of an `and` or `or` that the first one decides, nor what an absent value would
//! be.
//!
//! ```text
//! Out of range a * b when calling: `f(a: int64, b: int64)`, expected int64 but got 18446744073709551620
//! ```
//!
//! | expression | its value |
//! |---|---|
//! | `a / b`, `a % b` | the floor division and its remainder (`-12 % 5 == 3`). A divisor of 0 is a ValueError that names the expression |
//! | `ceildiv(a, b)` | the division rounded up |
//! | a comparison of an integer with a float | one of floats: the integer is rounded to a `float64` |
//! | `float16(e)`, `bfloat16(e)` as an argument of a C function | C's `_Float16` and `__bf16` |
//! | `int64(p)` of an address | checked like a `uint64` |
//! | an address and a number of bytes | their sum wraps like that of pointers in hardware, while the number is an expression as any other |
//! | `x.numel`, a compact `x.strides[i]` | products of extents: 0 where an extent is 0, else out of range where they are no `int64` |
//!
//! **Large integers.** A `uint64` above `int64` is out of range as an operand, by its name. Comparisons, conversions
//! such as `int32(u)` and calls of C functions use its value. A parameter reaches functions of the FFI and the caller
//! as the `ffi.BigInt` that it came as; any other such number is out of range there.
//!
//! **Extents.** An expression over extents that a dim declares is solved for its one unknown symbol:
//! `Tensor([2 * n + 1], …)` with 7 elements says that `n` is 3. A number that no `int64` solves is a mismatch. Checks
//! that cannot fail are left out, by what is known of extents, types, literals and the conditions before.
//!
//! # Results
//!
//! The type decides how the kernel gives its result:
//!
//! | result | without `try` | with `try`, where the return value is the status |
//! |---|---|---|
//! | None | nothing | nothing |
//! | a scalar | the return value | written through the last argument, a pointer to the scalar's C type |
//! | a tuple of scalars | as any other | written through the last arguments, a pointer for each element, in order |
//! | any other | written through a `TVMFFIAny*`, the last argument | the same |
//!
//! * **Scalars** that are written are 0 before, and read only if the status is 0.
//! * **Other results.** The `TVMFFIAny` holds None before. The kernel stores a value that it owns. The wrapper checks
//!   this value as an argument of its type, elements included, and returns it as declared, or releases it, also if a
//!   status says that the kernel has failed.
//! * **What can be no result.** Values that cannot be owned: a `DLTensor*`, `const char*` or `TVMFFIByteArray*`. Nor
//!   may an array that a body makes hold a `DLTensor*`, whose memory is lent for the call: that is a TypeError.
//!
//! An *output* is a compact tensor that the wrapper allocates through `TVMFFIEnvTensorAlloc` after all checks, and that
//! the kernel fills. Several outputs are returned as an array.
//!
//! * **Extents** of an output are expressions over symbols.
//! * **Device.** It is that of the first tensor parameter that is declared for the same device (with `device=any`: of
//!   the first tensor), else the first device of its type, the cpu for `any`.
//! * **In the body**, arguments may use `out`, `out.data`, `stream(out)` and, known before the allocation,
//!   `out.shape[0]`, `out.strides[0]` and `out.ndim`.
//! * **Errors.** An error of the allocator is passed on. The tensor that it returns must be compact and aligned as
//!   declared.
//!
//! The allocator is the caller's: that of PyTorch if one of its tensors is among the arguments, or the one that the
//! host has set with `TVMFFIEnvSetDLPackManagedTensorAllocator`. Without one, tensors on the cpu are memory of the C
//! library, aligned to 64 bytes at least, and on other devices an error names the missing allocator.
//!
//! # Statements
//!
//! ```
//! let text = "\
//! mlp(x: Tensor([n, 64], float32), w: Tensor([64, m], float32), y: Tensor([n, m], float32)) -> None
//!     = {
//!         let t = alloc Tensor([n, m], float32) on x;
//!         @\"blas.matmul\"(x, w, t);
//!         @relu(t, y);
//!         let k: int64 = choose_tile(n, m);
//!         if n > 1024 and k > 0 {
//!             try wide(y.data, n * m, k);
//!         } else {
//!             try narrow(y.data, n * m, k) errors { 1: ValueError \"too small\" };
//!         }
//!         for i in 0..ceildiv(n, k) {
//!             tile(y.data, i * k, m);
//!         }
//!     };
//! ";
//! let function: tvm_ffi_codegen::Function = text.parse()?;
//! assert_eq!(format!("{function}\n"), text);
//! # Ok::<(), tvm_ffi_codegen::Error>(())
//! ```
//!
//! A body in braces is a program: calls, allocations and the control flow around kernels.
//!
//! | statement | meaning |
//! |---|---|
//! | `let v = e;` | a number, a truth value or an address, or another name for a value in scope |
//! | `let v: T = call;`, `call;` | the result of a call, checked against `T` as an argument is; without a name it is dropped. A symbol in `T`, as in the type of the result of the function, is the integer of that name in scope, if there is one |
//! | `let v = @name(a);` | the result of a function of this library, of the type that it declares. A symbol in this type is what the arguments say of it: the extent that the caller declares of the tensor that it passes, or the number; any, where they say nothing |
//! | `k(a)`, `try k(a) errors { … }` | a call of a C function, as in a body of one call |
//! | `(p)(a)`, `try (p)(a) errors { … }` | a call of the C function at an address, in every way in which a C function is called by its symbol; its type is that which the call implies, and NULL is a ValueError |
//! | `@name(a)` | a call of `__tvm_ffi_name`, defined here or left to the linker. A function of this library is entered behind its checks where the types that the caller declares imply all of them |
//! | `let f: Function = cached (n % 16 == 0, T) @name(a);` | the object that this statement has kept for equal keys; where there is none, the call is made and its result kept |
//! | `@name(a) into t, u;` | a call of a function of this library that writes its results into tensors that exist instead of allocating them. They are checked as arguments are, and nothing is returned |
//! | `@"name"(a)` | a call of the function of that name in the imports of the library, else in the registry |
//! | `@(f)(a)` | a call of a value of type `Function` |
//! | `let t = alloc Tensor([n], float32) on x;` | workspace, allocated as outputs are, on the device of `x`; without `on` on the first device of its own type: the cpu, unless its `device` is another |
//! | `launch i."k"(…) grid(…) block(…);` | a kernel of an image: see [launches](crate::guide::launches) |
//! | `let m = tensormap(x, box=[…], …);`, `let m = tensormap(x, im2col(…), …);` | a tensor map for launches, of boxes or of columns of pixels |
//! | `if c { … } else if d { … } else { … }` | the statements of the first condition, a truth, that holds; those after it are not evaluated. A chain of `else if` is no nesting |
//! | `for i in a..b { … }` | a loop; `i` is an `int64`, both ends are evaluated once, and `b` is excluded |
//! | `match v { x: T => { … } _: U => { … } None => { … } }` | the statements of the first type of a union that the value has: see below |
//! | `return e;`, `return [a, b];`, `return;` | the results as declared |
//! | `raise ValueError "n is ", n;` | an error; text and scalars are joined |
//! | `@"kernel.py":12` before a statement | the source line in its errors |
//!
//! * `and` and `or` evaluate their second operand only if the first does not decide, so that `n > 0 and m / n > 2`
//!   never divides by zero. They bind less tightly than `not`, and `not` less than comparisons.
//! * `True`, `False`, `None`, text, `[a, b]` (an array) and `Shape(n, m)` are arguments of FFI functions.
//! * Names of a block live until its end and shadow no others.
//! * Results of calls and of `alloc` are owned by their name and released on every way out of the block, in reverse
//!   order.
//!
//! A C function is called by its symbol unless parentheses are around the callee. `(p)(n)` calls the function at the
//! address that `p` stands for: a parameter or element of type `ptr`, the result of a C function, or an expression of
//! them.
//!
//! * A symbol that is also the name of an address or of a function in scope is an error, since `p(n)` does not say
//!   which one is meant.
//! * Arguments are evaluated before the address. Nothing but NULL tells an address from one of a function of this type.
//! * Prototypes, headers and `kernels` list only functions that are called by symbols.
//!
//! ```
//! let text = "\
//! tiled(x: Tensor([n], float32)) -> None
//!     = {
//!         let kernel: ptr = pick(n);
//!         try (kernel)(x.data, n) errors { 1: ValueError \"not a multiple of the tile\" };
//!     };
//! ";
//! let library: tvm_ffi_codegen::Library = text.parse()?;
//! assert_eq!(library.to_string(), text);
//! assert_eq!(library.kernels()?.len(), 1);
//! # Ok::<(), tvm_ffi_codegen::Error>(())
//! ```
//!
//! `function(i: int64) -> None { … }` makes a function: a value of type `Function` that `let` names, a call takes, an
//! array contains or `return` returns. See [functions that bodies make](#functions-that-bodies-make).
//!
//! A `match` has an arm for each type of the union `v`, in its order and in the same words, and for None at the end if
//! `v` is optional. An optional value that is no union has the arms `x: T` and `None`. `v` is a parameter, a name of
//! the body, an element of a tuple or `xs[i]`.
//!
//! In its arm the value has a name (`_` for none) and that type, and the symbols of the type are known. The argument
//! was checked before: a `match` looks only at the number of the type that fitted.
//!
//! `let x = xs[i];` names an element. All other expressions may contain `xs[i]` directly, except the extents of
//! `alloc`. Before the first call of a function an element is not checked again. A call may change a list: afterwards
//! an element is checked like the result of a call, and the function holds a reference to it until its statement or the
//! scope of its name ends.
//!
//! An address plus or minus an integer is the address that many bytes further: `x.data + 2 * n`. `int64(p)` is the
//! number of an address, and `ptr(n)` the address of a number. Both are for addresses of memory: `x.data` and
//! parameters of type `ptr`. Where a stream stands, `ptr(n)` is the stream whose handle is this number.
//!
//! `min(a, b)` is `a` if `a < b`, else `b`; `max(a, b)` is `b` if `a < b`, else `a`. If one of them is a NaN, `min` is
//! therefore `b` and `max` is `a`.
//!
//! A function may call itself, by `@name` or through others. Only the C stack bounds the depth; a program that exhausts
//! it ends as one in C does.
//!
//! A name is looked up at the first call and kept once it was found. If the library imports modules, the runtime
//! searches them by `TVMFFIEnvModLookupFromImports`, and holds one mutex of the process meanwhile. While the
//! `GetFunction` of an imported module runs, no thread that it waits for may call a function that looks up a name for
//! the first time: both would wait for ever. Make such a call earlier, or in the function that `GetFunction` returns.
//!
//! # Functions that bodies make
//!
//! ```
//! let text = "\
//! prepare(x: Tensor([n, k], float32), scale: float32) -> Function
//!     = {
//!         let size = n * k;
//!         return function(y: Tensor([n, k], float32), i: int64) -> None where i < n {
//!             step(x.data, y.data, size, i, scale);
//!         };
//!     };
//! ";
//! let function: tvm_ffi_codegen::Function = text.parse()?;
//! assert_eq!(format!("{function}\n"), text);
//! # Ok::<(), tvm_ffi_codegen::Error>(())
//! ```
//!
//! A function that a body makes, a *closure*, holds what it names of the outside, as it is when the function is made:
//! numbers, truths, addresses, text (copied), tensor maps (their bytes), and a reference to every object and tensor.
//!
//! * Symbols of the outside are known inside, so that above `y` must have the extents of `x`.
//! * Its parameters are checked when the closure is called. The outside has been checked already.
//! * Names of its parameters differ from all names outside.
//! * In errors the closure is called `function`.
//!
//! | held | rule |
//! |---|---|
//! | a tensor | must come as an object: a `DLTensor*`, which belongs to the caller, is a TypeError when the closure is made. Python passes objects; C, C++ and Rust may pass either |
//! | an array, a list | as an object. What a list contains may change after the closure was made, so that its elements are checked whenever the closure reads them |
//! | the name of an address | if it is a parameter of type `ptr` or the result of a C function. `let p = x.data;` names an address in a value, which the closure would not hold: an error that asks for `x.data` inside |
//! | a tensor map | its tensor is held too |
//! | `uint64` | the value, also above `int64` |
//! | `*rest` | cannot be held |
//! | the library | held too: the closure may outlive every other reference to its module, or to code of a JIT |
//!
//! A closure holds its values in an `ffi.Array` of the runtime. The runtime frees it, so that no code of the library
//! runs when a closure is dropped, on whatever thread. Making a closure takes about four allocations, calling it none.
//!
//! # C functions
//!
//! `extern` before a signature adds a C function of the same name (in a system library with its prefix). It packs its
//! parameters, calls the function and returns 0, or -1 with the error in the thread's slot. The name is an identifier
//! of C without a leading underscore, no word of C or C++ and no function of the C library.
//! [`Resolved::header`](crate::Resolved::header) is its header. Its arguments are borrowed.
//!
//! | parameter | in C | `Optional` |
//! |---|---|---|
//! | scalars; literals that are all integers or truths | its C type; a `bool` is one byte, a 16-bit float its bits | the address of it, or NULL |
//! | `ptr`, `Stream`, `handle` | `void*` | |
//! | `str`, `bytes`, literals that are text | `const char*` and `int64_t`; text need not end with a NUL and may contain it | an address or NULL |
//! | `dtype`; `Device` | `uint32_t`; `int32_t` type and `int32_t` index | the address of the first, or NULL |
//! | `Shape` | `const int64_t*` and `int64_t`, at most [`MAX_RANK`] integers | an address or NULL |
//! | `Tensor(…)` | `DLTensor*` | or NULL |
//! | objects, `Tensor` without constraints, sequences, mappings, tuples | `TVMFFIObject*` | or NULL |
//! | `Any`, `Union`, other literals | `const TVMFFIAny*`, NULL for None | |
//!
//! * **The result.** The last parameter receives it, only on success: a scalar in its C type, anything else as a
//!   `TVMFFIAny` that the caller then owns. NULL drops the result. For `-> None` there is no such parameter.
//! * **Numbers.** A `uint64` above `int64` is a ValueError, as is a negative size.
//! * **Defaults.** Parameters with a default are passed too.
//! * **Functions without a C function** are closures and variadic functions, and those whose name is a word of C or
//!   C++, that of a kernel, or that of a function of the platform which libraries import: `malloc`, `free`, `dlopen`
//!   and the like.
//!
//! # Errors
//!
//! **Constraints.** A violated constraint raises ``ValueError: Violated n % 4 == 0 when calling: `…`, n = 6``. A text
//! after `else` replaces `Violated n % 4 == 0`.
//!
//! **Conversions.** A conversion that does not fit names the argument that it converts, or the places that have bound
//! its symbols: ``Out of range int32(n) when calling: `…`, expected int32 but got 2147483648 (= x.shape[0])``, and of
//! `int8(n * m)` `…, n = 6 (= x.shape[0]), m = 30 (= y.shape[0])`.
//!
//! **Statuses.** A non-zero status raises, of the following, what there is first:
//!
//! 1. the error that the kernel has left in the thread's slot, which no kernel leaves there with a status of 0;
//! 2. the entry of that status, or that of `_`, which is the kind and the text of an error
//!    ``<text> when calling: `…`, status = 1``;
//! 3. a RuntimeError `Failed kernel …`.
//!
//! **Frames.** The wrapper adds one frame to every error: the location of the statement, of one around it or of the
//! function, or `<tvm-ffi-codegen>` without a line, and the function's name. Errors that the wrapper raises have no
//! other frames. The error of a callee remains the same object, with its kind, its text and its own frames. The
//! wrapper's frame is appended to these, up to a backtrace of 64 KiB.
//!
//! # Canonical text
//!
//! `Display` prints one blank around binary operators and after `,` and `:`, only the parentheses that the structure
//! needs, no option that holds its default, and each statement and its location on lines of their own.
//!
//! Parsing the text of a valid value yields an equal value, if the text is no longer than [`MAX_TEXT`]; an `align` that
//! is the default is read as `None`. The text of a library has its images and its functions. No part of it are `entry`,
//! `prepare`, `system_lib`, `imports`, `handlers`, `torch`, `inquiry` and the bytes of images.
//!
//! # Depth
//!
//! A text of any depth is parsed, or refused, with little stack. So is a value validated: what is deeper than
//! [`MAX_NESTING`] is an error.
//!
//! A value in Rust may be built deeper than that. It is dropped without a frame for each level. To clone, compare,
//! print or format one for debugging takes stack for its depth, as such walks of the standard library do.
//! [`Library::check_form`](crate::Library::check_form) says first whether a value from elsewhere is refused.

mod token;

mod parser;

mod command;
mod fingerprint;
mod launch;
mod map;
mod parse;
mod parse_body;
mod parse_call;
mod parse_expression;
mod parse_items;
mod parse_types;
mod print_body;
mod print_expression;
mod print_items;
mod print_types;
mod suggest;

#[cfg(test)]
mod tests;

pub use crate::declaration::limit::{
    Limit, MAX_ARGUMENTS, MAX_BRANCHES, MAX_CONSTRAINTS, MAX_DTYPES, MAX_ERRORS, MAX_FILE,
    MAX_FUNCTIONS, MAX_IMAGES, MAX_KEYS, MAX_LITERALS, MAX_MESSAGE, MAX_NAME, MAX_NESTING,
    MAX_PARAMS, MAX_RANK, MAX_RESULTS, MAX_STATEMENTS, MAX_SYMBOL, MAX_TEXT, MAX_TYPES, MAX_VALUES,
};
pub use crate::declaration::reserved::{is_reserved, spelled, spelled_label};
pub use fingerprint::Fingerprint;
#[cfg(test)]
use parse::parse_library;
pub(crate) use print_body::MARK;

use crate::declaration::reserved;
