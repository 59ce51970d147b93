//! Resolved declarations as text.

use crate::Library;

/// Prints resolved declarations. Images get some bytes.
fn printed(text: &str) -> String {
    let mut library: Library = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    library.images.iter_mut().for_each(|image| image.bytes = Some(b".version 8.0\n".to_vec()));
    let resolved = library.resolve().unwrap_or_else(|error| panic!("{text}: {error}"));
    resolved.to_string()
}

/// Checks that the text of declarations has these lines in this order, perhaps with others between them.
fn check(text: &str, expected: &str) {
    let printed = printed(text);
    let mut lines = printed.lines();
    for line in expected.lines().filter(|line| !line.is_empty()) {
        assert!(lines.any(|found| found == line), "{text}\nhas no line\n{line}\nthere:\n{printed}");
    }
}

#[test]
fn values_symbols_and_steps() {
    check(
        UNION,
        "
  values
    0 u: Union[int8, Tensor([n], int8)], argument 0, holds 1 2, matched
    1 u: int8, alternative of 0, dynamic
    3 o?: Tensor([m], float32), argument 1, guard 3
  symbols
    n: bound by u.shape[0]
    m: bound by o.shape[0], y.shape[0]
  prologue
    one of u
      type int8
        int8 u
      type Tensor([n], int8)
        u.shape[0]: n
    o.shape[0]: m
    y.shape[1] = mul(m, 2)
  body
    match u
      u: int8
        passed
          int8 u
        return u: int64",
    );
}

#[test]
fn actions_are_nested() {
    check(
        PROGRAM,
        "
    0 x: Tensor([n], float32, strides=[s]), argument 0, kept
    3 g: Function, argument 2
    5 xs[0]: Tensor([n], float32), look-up 0
    s: bound by x.strides[0], compact x.strides[0]
  outputs
    out: Tensor([n, 4], float32), extents [n, 4], device of x
  locals
    a: ptr, lent
  look-ups
    xs[0]: element 0 of xs, changed: checked again, held
      data xs[0] align 4
  prologue
    bind s by compact x.strides[0]
    require or(x.is_contiguous, gt(n, 1))
  body
    allocate t
    let a = offset(x.data, 4)
    call @\"a.b\"(x, t, 1.5: float, array[n: int, \"q\"], None)
    look up xs[0]
    let result of @(g) = call @(g)(xs[0])
      int64 result of @(g)[0]
    let result of choose = call choose(n: int64, a: ptr) as int64_t(int64_t, void*)
    if and(ugt(w, 3), lt(result of choose, 2))
      try wide(x.data: ptr, mul(n, result of choose): int64) as int32_t(void*, int64_t), errors 1: ValueError \"too small\"
    else
      raise ValueError \"bad \", result of choose
    for i in 0..ceildiv(n, 128)
      look up xs[i]
      call each(xs[i], narrow_int32(i): int32, \"text\") as void(DLTensor*, int32_t, const char*, int64_t)
    let c = closure 0
    call @other(c, shape(n, 3))
    return out
  closure 0 given [result of choose: int]: function(a2: int64) -> int64
    captured
      local k
    body
      return add(a2, k): int64",
    );
}

#[test]
fn launches_and_commands() {
    check(
        LAUNCH,
        "
    let map 0 = tensormap(y, box=[32, 32])
      address y.data
      y must be on a GPU
    launch code.\"kernel\" grid(narrow_uint32(ceildiv(n, 128)): uint32, 1: uint32, 1: uint32) block(128: uint32, 1: uint32, 1: uint32) smem(narrow_uint32(mul(n, 4)): uint32)
      parameter x.data: ptr
      parameter struct {0: narrow_int32(n): int32, 8: n} of 16 bytes
      parameter map 0
      attribute 4 = struct {0: 2: uint32, 4: 1: uint32, 8: 1: uint32} of 12 bytes
      device of x
      stream of the environment
    fill x.data, 4, 0
      device of x",
    );
}

#[test]
fn c_functions_come_last() {
    check(
        "extern f(x: Optional[int8], s: str) -> float64 = k(s, x.is_some);",
        "
    call k(s, x.is_some: bool) as double(const char*, int64_t, uint8_t)
extern f(x: const int8_t*, s: const char*, s_size: int64_t, result: double*)",
    );
}

#[test]
fn results_bind_symbols() {
    check(
        "f(g: Function) -> int64 = { let t: Tensor([p], int8) = @(g)(); return p; };",
        "
  symbols
    p: bound by result of @(g).shape[0]
  body
    let result of @(g) = call @(g)()
      result of @(g).shape[0]: p
    return p: int64",
    );
}

const UNION: &str = "\
f(u: Union[int8, Tensor([n], int8)], o: Optional[Tensor([m], float32)], y: Tensor([m, m * 2], float32)) -> int64
    = { match u { i: int8 => { return i; } t: Tensor([n], int8) => { k(t.data, n); return n; } } };";

const PROGRAM: &str = "\
f(x: Tensor([n], float32, strides=[s]), xs: Array[Tensor([n], float32)], g: Function, w: uint64)
    -> out: Tensor([n, 4], float32)
    where x.is_contiguous or n > 1
    = {
        let t = alloc Tensor([n, 4], int8) on x;
        let a = x.data + 4;
        @\"a.b\"(x, t, 1.5, [n, \"q\"], None);
        let r: Tuple[int64, str] = @(g)(xs[0]);
        let k: int64 = choose(n, a);
        if w > 3 and k < 2 {
            try wide(x.data, n * k) errors { 1: ValueError \"too small\" };
        } else {
            raise ValueError \"bad \", k;
        }
        for i in 0..ceildiv(n, 128) { each(xs[i], int32(i), \"text\"); }
        let c = function(a2: int64) -> int64 { return a2 + k; };
        @other(c, Shape(n, 3));
        write(out, t.data);
    };";

const LAUNCH: &str = "\
image code;
f(x: Tensor([], float32, device=cuda), n: int64, y: Tensor([64, 64], float32, device=any)) -> None
    = {
        let m = tensormap(y, box=[32, 32]);
        launch code.\"kernel\"(x.data, struct(int32(n), n), m) grid(ceildiv(n, 128)) block(128) smem(n * 4) cluster(2) on x;
        fill x.data, 4, 0;
    };";
