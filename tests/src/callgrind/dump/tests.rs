//! Test on a dump of callgrind 3.19: a function with a loop, called four times by a function whose own costs do not
//! count.

use super::Counts;

const DUMP: &str = "# callgrind format
version: 1
positions: instr line
events: Ir Bc Bcm Bi Bim
summary: 332 40 10 4

ob=/tmp/lib.so
fl=???
fn=__tvm_ffi_f
0x10f9 0 8
0x10fb 0 4 4
0x1116 0 196
0x112f 0 32 32 6
jcnd=28/32 0x1116 0 
0x112f 0 
0x1131 0 4
jump=4 0x1139 0 
0x1131 0 
0x1139 0 60

ob=/tmp/main
fl=???
fn=callgrind_call
0x1149 0 12
0x114d 0 4 4 4
jcnd=4/4 0x1155 0 
0x114d 0 
0x1155 0 4 0 0 4
cob=/tmp/lib.so
cfi=???
cfn=__tvm_ffi_f
calls=4 0x10f9 0 
0x1155 0 304 36 6
0x1157 0 8

fn=main
cfn=callgrind_call
calls=1 0x1149 0 
0x118f 0 332 40 10 4

totals: 332 40 10 4
";

#[test]
fn totals_are_of_all_functions() {
    let counts = Counts { instructions: 332, branches: 40, taken: None };
    assert_eq!(Counts::read(DUMP, None, false), Ok(counts));
    let each = Counts { instructions: 83, branches: 10, taken: None };
    assert_eq!(counts.each(4), each);
}

#[test]
fn what_a_caller_costs_itself_is_taken_off() {
    let counts = Counts { instructions: 304, branches: 36, taken: Some(32) };
    assert_eq!(Counts::read(DUMP, Some("callgrind_call"), true), Ok(counts));
}

#[test]
fn a_share_is_rounded_up() {
    let counts = Counts { instructions: 301, branches: 36, taken: Some(1) };
    assert_eq!(counts.each(4), Counts { instructions: 76, branches: 9, taken: Some(1) });
}

#[test]
fn nothing_is_no_measure() {
    assert_eq!(Counts::read("totals: 0\n", None, true), Err("no total".to_owned()));
    assert_eq!(Counts::read("version: 1\n", None, true), Err("no total".to_owned()));
}
