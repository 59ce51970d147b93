//! The features of the processors of LLVM 22, by machine. LLVM warns of an unknown name on stderr and ignores it. `llc
//! -mtriple=<target> -mattr=help` lists them.
//!
//! Left out are those for other widths and calling conventions than the machine's, those that call functions of a
//! compiler's library, those that LLVM ends the process for if another is missing (vectors of a length for riscv64,
//! which come with the name of a processor), and experiments.

/// The features of a machine.
pub(crate) struct Features {
    /// Features that can be used.
    all: &'static str,
    /// Those that must stay: without them the C ABI of the machine is another one, or LLVM ends the process for
    /// processors whose features build on them.
    required: &'static str,
}

impl Features {
    /// Returns whether a feature can be used, or not used.
    pub(crate) fn has(&self, name: &str, enabled: bool) -> bool {
        let within = |list: &str| list.split_ascii_whitespace().any(|known| known == name);
        within(self.all) && (enabled || !within(self.required))
    }
}

/// Features of x86_64.
pub(crate) const X86_64: Features = Features {
    all: "\
        64bit 64bit-mode adx aes allow-light-256-bit amx-avx512 amx-bf16 amx-complex amx-fp16 amx-fp8 \
        amx-int8 amx-movrs amx-tf32 amx-tile avx avx10.1 avx10.1-512 avx10.2 avx10.2-512 avx2 avx512bf16 \
        avx512bitalg avx512bw avx512cd avx512dq avx512f avx512fp16 avx512ifma avx512vbmi avx512vbmi2 \
        avx512vl avx512vnni avx512vp2intersect avx512vpopcntdq avxifma avxneconvert avxvnni avxvnniint16 \
        avxvnniint8 bmi bmi2 branch-hint branchfusion ccmp cf cldemote clflushopt clwb clzero cmov \
        cmpccxadd crc32 cx16 cx8 egpr enqcmd ermsb evex512 f16c false-deps-getmant \
        false-deps-lzcnt-tzcnt false-deps-mulc false-deps-mullq false-deps-perm false-deps-popcnt \
        false-deps-range fast-11bytenop fast-15bytenop fast-7bytenop fast-bextr fast-dpwssd fast-gather \
        fast-hops fast-imm16 fast-lzcnt fast-movbe fast-scalar-fsqrt fast-scalar-shift-masks \
        fast-shld-rotate fast-variable-crosslane-shuffle fast-variable-perlane-shuffle fast-vector-fsqrt \
        fast-vector-shift-masks faster-shift-than-shuffle fma fma4 fsgsbase fsrm fxsr gfni \
        harden-sls-ijmp harden-sls-ret hreset idivl-to-divb idivq-to-divl inline-asm-use-gpr32 invpcid \
        kl lea-sp lea-uses-ag lvi-cfi lvi-load-hardening lwp lzcnt macrofusion mmx movbe movdir64b \
        movdiri movrs mwaitx ndd nf no-bypass-delay no-bypass-delay-blend no-bypass-delay-mov \
        no-bypass-delay-shuffle nopl pad-short-functions pclmul pconfig pku popcnt ppx prefer-128-bit \
        prefer-256-bit prefer-legacy-setcc prefer-mask-registers prefer-movmsk-over-vtest \
        prefer-no-gather prefer-no-scatter prefetchi prfchw ptwrite push2pop2 raoint rdpid rdpru rdrnd \
        rdseed retpoline retpoline-indirect-branches retpoline-indirect-calls rtm sahf sbb-dep-breaking \
        serialize seses sgx sha sha512 shstk slow-3ops-lea slow-incdec slow-lea slow-pmaddwd slow-pmulld \
        slow-pmullq slow-shld slow-two-mem-ops slow-unaligned-mem-16 slow-unaligned-mem-32 sm3 sm4 sse \
        sse-unaligned-mem sse2 sse3 sse4.1 sse4.2 sse4a ssse3 tbm tsxldtrk tuning-fast-imm-vector-shift \
        uintr use-glm-div-sqrt-costs use-slm-arith-costs usermsr vaes vpclmulqdq vzeroupper waitpkg \
        wbnoinvd widekl x87 xop xsave xsavec xsaveopt xsaves zu",
    required: "64bit 64bit-mode cmov cx8 fxsr sse sse2",
};

/// Features of aarch64.
pub(crate) const AARCH64: Features = Features {
    all: "\
        a320 a35 a510 a520 a520ae a53 a55 a57 a64fx a65 a710 a715 a72 a720 a720ae a73 a75 a76 a77 a78 \
        a78ae a78c addr-lsl-slow-14 aes aggressive-fma aggressive-interleaving \
        alternate-sextload-cvt-f32-pattern altnzcv alu-lsl-fast am ampere1 ampere1a ampere1b ampere1c \
        amvs apple-a10 apple-a11 apple-a12 apple-a13 apple-a14 apple-a15 apple-a16 apple-a17 apple-a7 \
        apple-m4 apple-m5 arith-bcc-fusion arith-cbz-fusion ascend-store-address avoid-ldapur \
        balance-fp-ops bf16 brbe bti btie c1-nano c1-premium c1-pro c1-ultra carmel ccdp ccidx ccpp chk \
        clrbhb cmh cmp-bcc-fusion cmpbr complxnum cortex-a725 cortex-r82 cortex-r82ae cortex-x1 \
        cortex-x2 cortex-x3 cortex-x4 cortex-x925 cpa crc crypto cssc d128 disable-fast-inc-vl \
        disable-latency-sched-heuristic disable-ldp disable-maximize-scalable-bandwidth disable-stp \
        disable-unpredicated-ld-st-lower dit dotprod ecv el2vmsa el3 enable-select-opt ete execute-only \
        exynos-cheap-as-move exynosm3 exynosm4 f16f32dot f16f32mm f16mm f32mm f64mm f8f16mm f8f32mm \
        falkor faminmax fgt fix-cortex-a53-835769 flagm fmv force-32bit-jump-tables fp-armv8 fp16fml fp8 \
        fp8dot2 fp8dot4 fp8fma fpac fprcvt fptoint fujitsu-monaka fullfp16 fuse-address \
        fuse-addsub-2reg-const1 fuse-adrp-add fuse-aes fuse-arith-logic fuse-crypto-eor fuse-csel \
        fuse-cset fuse-literals gcie gcs harden-sls-blr harden-sls-nocomdat harden-sls-retbr hbc hcx \
        i8mm ite jsconv kryo ldp-aligned-only lor ls64 lscp lse lse128 lse2 lsfe lsui lut \
        max-interleave-factor-4 mec mops mops-go mpam mpamv2 mte mtetc neon neoverse512tvb neoversee1 \
        neoversen1 neoversen2 neoversen3 neoversev1 neoversev2 neoversev3 nmi no-bti-at-return-twice \
        no-neg-immediates no-sve-fp-ld1r no-zcz-fpr64 nv occmo olympus oryon-1 pan pan-rwv pauth \
        pauth-lr pcdphint perfmon poe2 pops predictable-select-expensive predres prfm-slc-target rand \
        ras rasv2 rcpc rcpc-immo rcpc3 rdm reserve-lr-for-ra reserve-x10 reserve-x11 reserve-x12 \
        reserve-x13 reserve-x14 reserve-x15 reserve-x18 reserve-x20 reserve-x21 reserve-x22 reserve-x23 \
        reserve-x24 reserve-x25 reserve-x26 reserve-x27 reserve-x28 reserve-x9 rme saphira sb sel2 sha2 \
        sha3 slow-misaligned-128store slow-paired-128 slow-strqro-store sm4 sme sme-b16b16 sme-f16f16 \
        sme-f64f64 sme-f8f16 sme-f8f32 sme-fa64 sme-i16i64 sme-lutv2 sme-mop4 sme-tmop sme2 sme2p1 \
        sme2p2 sme2p3 spe spe-eef specres2 specrestrict ssbs ssve-aes ssve-bitperm ssve-fexpa \
        ssve-fp8dot2 ssve-fp8dot4 ssve-fp8fma store-pair-suppress stp-aligned-only strict-align sve \
        sve-aes sve-aes2 sve-b16b16 sve-b16mm sve-bfscale sve-bitperm sve-f16f32mm sve-sha3 sve-sm4 sve2 \
        sve2-aes sve2-bitperm sve2-sha3 sve2-sm4 sve2p1 sve2p2 sve2p3 tev the thunderx thunderx2t99 \
        thunderx3t110 thunderxt81 thunderxt83 thunderxt88 tlb-rmi tlbid tlbiw tpidr-el1 tpidr-el2 \
        tpidr-el3 tpidrro-el0 tracev8.4 trbe tsv110 uaops use-fixed-over-scalable-if-equal-cost \
        use-postra-scheduler use-reciprocal-square-root use-wzr-to-vec-move v8.1a v8.2a v8.3a v8.4a \
        v8.5a v8.6a v8.7a v8.8a v8.9a v8a v8r v9.1a v9.2a v9.3a v9.4a v9.5a v9.6a v9.7a v9a vh wfxt xs \
        zcm-fpr128 zcm-fpr32 zcm-fpr64 zcm-gpr32 zcm-gpr64 zcz-fp-workaround zcz-fpr128 zcz-gpr32 \
        zcz-gpr64",
    required: "fp-armv8 neon v8a",
};

/// Features of riscv64.
pub(crate) const RISCV64: Features = Features {
    all: "\
        64bit a add-load-fusion addi-load-fusion andes45 auipc-addi-fusion auipc-load-fusion b \
        bfext-fusion c conditional-cmv-fusion d disable-latency-sched-heuristic \
        disable-misched-load-clustering disable-misched-store-clustering \
        disable-postmisched-load-clustering disable-postmisched-store-clustering dlen-factor-2 \
        enable-vsetvli-sched-heuristic exact-asm f forced-atomics h i ld-add-fusion log-vrgather \
        lui-addi-fusion lui-load-fusion m mips-p8700 no-default-unroll no-sink-splat-operands \
        no-trailing-seq-cst-fence optimized-nf2-segment-load-store optimized-nf3-segment-load-store \
        optimized-nf4-segment-load-store optimized-nf5-segment-load-store \
        optimized-nf6-segment-load-store optimized-nf7-segment-load-store \
        optimized-nf8-segment-load-store optimized-zero-stride-load permissive-zalrsc \
        predictable-select-expensive prefer-vsetvli-over-read-vlenb prefer-w-inst q relax reserve-x16 \
        reserve-x17 reserve-x18 reserve-x19 reserve-x20 reserve-x21 reserve-x22 reserve-x23 reserve-x24 \
        reserve-x25 reserve-x26 reserve-x27 reserve-x28 reserve-x29 reserve-x3 reserve-x30 reserve-x31 \
        reserve-x4 reserve-x5 reserve-x6 reserve-x7 reserve-x8 reserve-x9 rva20s64 rva20u64 rva22s64 \
        rva22u64 rva23s64 rva23u64 rvb23s64 rvb23u64 rvi20u64 sdext sdtrig sha shcounterenw shgatpa \
        shifted-zextw-fusion shlcofideleg short-forward-branch-ialu short-forward-branch-iload \
        short-forward-branch-iminmax short-forward-branch-imul shtvala shvsatpa shvstvala shvstvecd \
        shxadd-load-fusion sifive7 single-element-vec-fp64 smaia smcdeleg smcntrpmf smcsrind smctr \
        smdbltrp smepmp smmpm smnpm smrnmi smstateen ssaia ssccfg ssccptr sscofpmf sscounterenw sscsrind \
        ssctr ssdbltrp ssnpm sspm ssqosid ssstateen ssstrict sstc sstvala sstvecd ssu64xl supm svade \
        svadu svbare svinval svnapot svpbmt svvptc unaligned-scalar-mem unaligned-vector-mem \
        use-postra-scheduler v ventana-veyron vl-dependent-latency vxrm-pipeline-flush xandesbfhcvt \
        xandesperf xandesvbfhcvt xandesvdot xandesvpackfph xandesvsinth xandesvsintload xcvalu xcvbi \
        xcvbitmanip xcvelw xcvmac xcvmem xcvsimd xmipscbop xmipscmov xmipsexectl xmipslsp xsfcease \
        xsfmm128t xsfmm16t xsfmm32a16f xsfmm32a32f xsfmm32a8f xsfmm32a8i xsfmm32t xsfmm64a64f xsfmm64t \
        xsfmmbase xsfvcp xsfvfexp16e xsfvfexp32e xsfvfexpa xsfvfexpa64e xsfvfnrclipxfqf xsfvfwmaccqqq \
        xsfvqmaccdod xsfvqmaccqoq xsifivecdiscarddlone xsifivecflushdlone xsmtvdot xtheadba xtheadbb \
        xtheadbs xtheadcmo xtheadcondmov xtheadfmemidx xtheadmac xtheadmemidx xtheadmempair xtheadsync \
        xtheadvdot xventanacondops za128rs za64rs zaamo zabha zacas zalasr zalrsc zama16b zawrs zba zbb \
        zbc zbkb zbkc zbkx zbs zca zcb zcd zcmop zexth-fusion zextw-fusion zfa zfbfmin zfh zfhmin zic64b \
        zicbom zicbop zicboz ziccamoa ziccamoc ziccif zicclsm ziccrse zicntr zicond zicsr zifencei \
        zihintntl zihintpause zihpm zilsd-4byte-align zimop zk zkn zknd zkne zknh zkr zks zksed zksh zkt \
        zmmul ztso zvbb zvbc zve32f zve32x zve64d zve64f zve64x zvfbfmin zvfbfwma zvfh zvfhmin zvkb zvkg \
        zvkn zvknc zvkned zvkng zvknha zvknhb zvks zvksc zvksed zvksg zvksh zvkt",
    required: "64bit d f i zicsr zve32x",
};
