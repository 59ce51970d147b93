//! The facts of LLVM 22 about machines and their processors.
//!
//! LLVM warns of an unknown name on stderr, aborts for a 32-bit one, and has no function to ask first. `llc
//! -mtriple=<target> -mcpu=help` lists them.

use codegen::backend::{Feature, Machine};
use inkwell::targets::{InitializationConfig, Target};
use target_lexicon::Triple;

use crate::features::{self, Features};

/// Row of the table: the facts about a machine.
pub(crate) struct Known {
    /// Adds the code generator to those that LLVM knows.
    pub(crate) initialize: fn(&InitializationConfig),
    /// The name of the C ABI; empty for the only one.
    pub(crate) abi: &'static str,
    /// The processor that clang assumes.
    elsewhere: Cpu,
    /// The processor that clang assumes on Apple's systems.
    apple: Cpu,
    /// The processors with 64 bits.
    cpus: &'static str,
    /// The features of processors.
    features: Features,
}

/// A processor.
#[derive(Clone, Copy)]
pub(crate) struct Cpu {
    pub(crate) name: &'static str,
    /// The features that clang adds; without them code that clang compiled would not be inlined.
    pub(crate) features: &'static str,
}

impl Known {
    /// Returns the processor that clang assumes for a target.
    pub(crate) fn default(&self, triple: &Triple) -> Cpu {
        if triple.operating_system.is_like_darwin() { self.apple } else { self.elsewhere }
    }

    /// Returns true if the machine has a processor of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.cpus.split_ascii_whitespace().any(|cpu| cpu == name)
    }

    /// Returns true if processors of the machine can have a feature, or be without it.
    pub(crate) fn has_feature(&self, feature: &Feature) -> bool {
        self.features.has(&feature.name, feature.enabled)
    }
}

/// Returns the row of a machine.
pub(crate) const fn known(machine: Machine) -> &'static Known {
    match machine {
        Machine::X86_64 => &Known {
            initialize: Target::initialize_x86,
            abi: "",
            elsewhere: Cpu { name: "x86-64", features: "" },
            apple: Cpu { name: "x86-64", features: "" },
            cpus: X86_64,
            features: features::X86_64,
        },
        Machine::Aarch64 => &Known {
            initialize: Target::initialize_aarch64,
            abi: "",
            elsewhere: Cpu { name: "generic", features: "+fp-armv8,+neon,+v8a" },
            apple: Cpu { name: "apple-m1", features: "+ccidx" },
            cpus: AARCH64,
            features: features::AARCH64,
        },
        Machine::Riscv64 => &Known {
            initialize: Target::initialize_riscv,
            abi: "lp64d",
            elsewhere: RV64,
            apple: RV64,
            cpus: RISCV64,
            features: features::RISCV64,
        },
    }
}

/// The default of riscv64.
const RV64: Cpu = Cpu {
    name: "generic-rv64",
    features: "+i,+m,+a,+f,+d,+c,+zicsr,+zaamo,+zalrsc,+zca,+zcd,+zmmul,+relax",
};

/// 64-bit processors of x86_64.
const X86_64: &str = "\
    alderlake amdfam10 arrowlake arrowlake-s arrowlake_s athlon-fx athlon64 athlon64-sse3 \
    atom atom_sse4_2 atom_sse4_2_movbe barcelona bdver1 bdver2 bdver3 bdver4 bonnell \
    broadwell btver1 btver2 cannonlake cascadelake clearwaterforest cooperlake core-avx-i \
    core-avx2 core2 core_2_duo_sse4_1 core_2_duo_ssse3 core_2nd_gen_avx core_3rd_gen_avx \
    core_4th_gen_avx core_4th_gen_avx_tsx core_5th_gen_avx core_5th_gen_avx_tsx \
    core_aes_pclmulqdq core_i7_sse4_2 corei7 corei7-avx diamondrapids emeraldrapids generic \
    goldmont goldmont-plus goldmont_plus gracemont grandridge graniterapids graniterapids-d \
    graniterapids_d haswell icelake-client icelake-server icelake_client icelake_server \
    ivybridge k8 k8-sse3 knl knm lunarlake meteorlake mic_avx512 nehalem nocona novalake \
    opteron opteron-sse3 pantherlake penryn raptorlake rocketlake sandybridge sapphirerapids \
    sierraforest silvermont skx skylake skylake-avx512 skylake_avx512 slm tigerlake tremont \
    westmere wildcatlake x86-64 x86-64-v2 x86-64-v3 x86-64-v4 znver1 znver2 znver3 znver4 \
    znver5";

/// 64-bit processors of aarch64.
const AARCH64: &str = "\
    a64fx ampere1 ampere1a ampere1b ampere1c apple-a10 apple-a11 apple-a12 apple-a13 \
    apple-a14 apple-a15 apple-a16 apple-a17 apple-a18 apple-a19 apple-a7 apple-a8 apple-a9 \
    apple-m1 apple-m2 apple-m3 apple-m4 apple-m5 apple-s10 apple-s4 apple-s5 apple-s6 \
    apple-s7 apple-s8 apple-s9 c1-nano c1-premium c1-pro c1-ultra carmel cobalt-100 \
    cortex-a320 cortex-a34 cortex-a35 cortex-a510 cortex-a520 cortex-a520ae cortex-a53 \
    cortex-a55 cortex-a57 cortex-a65 cortex-a65ae cortex-a710 cortex-a715 cortex-a72 \
    cortex-a720 cortex-a720ae cortex-a725 cortex-a73 cortex-a75 cortex-a76 cortex-a76ae \
    cortex-a77 cortex-a78 cortex-a78ae cortex-a78c cortex-r82 cortex-r82ae cortex-x1 \
    cortex-x1c cortex-x2 cortex-x3 cortex-x4 cortex-x925 cyclone exynos-m3 exynos-m4 \
    exynos-m5 falkor fujitsu-monaka gb10 generic grace kryo neoverse-512tvb neoverse-e1 \
    neoverse-n1 neoverse-n2 neoverse-n3 neoverse-v1 neoverse-v2 neoverse-v3 neoverse-v3ae \
    olympus oryon-1 saphira thunderx thunderx2t99 thunderx3t110 thunderxt81 thunderxt83 \
    thunderxt88 tsv110";

/// 64-bit processors of riscv64.
const RISCV64: &str = "\
    andes-ax25 andes-ax45 andes-ax45mpv andes-nx45 generic generic-rv64 mips-p8700 \
    rocket-rv64 sifive-p450 sifive-p470 sifive-p550 sifive-p670 sifive-p870 sifive-s21 \
    sifive-s51 sifive-s54 sifive-s76 sifive-u54 sifive-u74 sifive-x280 sifive-x390 \
    spacemit-x60 syntacore-scr3-rv64 syntacore-scr4-rv64 syntacore-scr5-rv64 syntacore-scr7 \
    tt-ascalon-d8 veyron-v1 xiangshan-kunminghu xiangshan-nanhu";

/// The processor that code is for, in LLVM's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processor {
    /// The name.
    pub cpu: String,
    /// The features that are not those of the name, with commas in between; each begins with its sign.
    pub features: String,
}

impl Processor {
    /// Returns the names and values of the attributes of functions for this processor.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let features = Some(("target-features", &*self.features));
        [("target-cpu", &*self.cpu)]
            .into_iter()
            .chain(features.filter(|(_, list)| !list.is_empty()))
    }
}
