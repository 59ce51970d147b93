; A module of a compiler.
source_filename = "mine.mine"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

%pair = type { i32, ptr }

$shared = comdat any

@shared = linkonce_odr global i32 3, comdat, align 4
@table = internal constant [2 x i64] [i64 1, i64 2], align 8
@visible = global %pair { i32 7, ptr @table }, section "mine", align 8
@hidden = hidden thread_local global i32 0
@other_name = alias i32, ptr @shared
@chosen = ifunc i32 (i32), ptr @choose

define internal i32 @tvm_ffi_codegen.say(i32 %x) unnamed_addr #0 {
entry:
  ret i32 %x
}

define internal ptr @choose() {
  ret ptr @tvm_ffi_codegen.say
}

define protected void @add_one_kernel(ptr noalias %x, ptr noalias %y, i64 %n) #1 !dbg !8 {
entry:
  %some = icmp sgt i64 %n, 0, !dbg !11
  br i1 %some, label %body, label %done, !dbg !11
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %from = getelementptr float, ptr %x, i64 %i
  %to = getelementptr float, ptr %y, i64 %i
  %value = load float, ptr %from, align 4, !tbaa !12
  %sum = fadd float %value, 1.0
  store float %sum, ptr %to, align 4, !tbaa !12
  %next = add nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %done, !llvm.loop !15
done:
  ret void, !dbg !11
}

define weak_odr i64 @unused(i64 %n) prefix i32 9 {
  %r = call i32 @tvm_ffi_codegen.say(i32 3) #2
  ret i64 %n
}

declare extern_weak void @maybe()

attributes #0 = { noinline }
attributes #1 = { nounwind "mine"="yes" }
attributes #2 = { nounwind }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3, !4}
!llvm.ident = !{!5}
!mine.kernels = !{!6}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "mine", isOptimized: false, emissionKind: FullDebug)
!1 = !DIFile(filename: "k.mine", directory: "/mine")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 7, !"Dwarf Version", i32 4}
!4 = !{i32 1, !"mine", i32 5}
!5 = !{!"mine 1.0"}
!6 = !{ptr @add_one_kernel, !7}
!7 = !{!"entry"}
!8 = distinct !DISubprogram(name: "add_one_kernel", scope: !1, file: !1, line: 3, type: !9, unit: !0, spFlags: DISPFlagDefinition)
!9 = !DISubroutineType(types: !10)
!10 = !{null}
!11 = !DILocation(line: 4, column: 2, scope: !8)
!12 = !{!13, !13, i64 0}
!13 = !{!"float", !14, i64 0}
!14 = !{!"mine"}
!15 = distinct !{!15}
