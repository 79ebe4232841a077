//! Modifiers of matrix instructions against `nvdisasm`, on every value of the bits that they depend on.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use blockgate_arch::Arch;
use blockgate_fatbin::count_code;
use libtest_mimic::{Failed, Trial};

use crate::oracles::{find, oracle_trial};

/// A word that `ptxas` made, and the bits to try all values of.
struct Context {
    /// As `nvdisasm -b` has it, without `SM`.
    archs: &'static [&'static str],
    word: u128,
    bits: &'static [u32],
}

const HOPPER: &[&str] = &["90a"];
const TENSOR_CORE: &[&str] = &["100a", "103a", "107a", "110a"];
const BLACKWELL: &[&str] = &["120", "121"];

const HALF: &[u32] = &[53, 54, 55, 56, 57, 58, 59, 73, 74, 75, 76, 77];
const INTEGER: &[u32] = &[53, 54, 55, 56, 57, 58, 73, 74, 75, 76, 77, 82, 83];
const BINARY: &[u32] = &[53, 54, 55, 56, 57, 58, 73, 77, 78, 79, 80];
const QUARTER: &[u32] = &[53, 54, 55, 56, 57, 58, 73, 74, 75, 76, 77];
const MMA: &[u32] = &[75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85];
const BLOCK_SCALED: &[u32] = &[73, 74, 75, 76, 77, 80, 81, 82, 83, 84, 85];
const TENSOR: &[u32] = &[60, 61, 62, 63, 72, 73, 74, 75, 82, 83, 84, 85];

#[rustfmt::skip]
const CONTEXTS: &[Context] = &[
    Context { archs: HOPPER, word: 0x000f_e600_0b80_1818_03e0_0000_0818_79f0, bits: HALF },
    Context { archs: HOPPER, word: 0x000f_e600_0b80_2818_07e0_0004_9818_7df0, bits: HALF },
    Context { archs: HOPPER, word: 0x000f_e600_0b84_1018_01e0_0000_0818_79f1, bits: INTEGER },
    Context { archs: HOPPER, word: 0x000f_e600_0b84_1018_01e0_0004_3818_7df1, bits: INTEGER },
    Context { archs: HOPPER, word: 0x000f_e600_0b81_4018_0220_0000_0818_79f2, bits: BINARY },
    Context { archs: HOPPER, word: 0x000f_e600_0b81_4018_0220_0004_9818_7df2, bits: BINARY },
    Context { archs: HOPPER, word: 0x000f_e600_0b80_3a18_04e0_3800_0818_79f3, bits: QUARTER },
    Context { archs: HOPPER, word: 0x000f_e600_0b80_3a18_04e0_3804_3818_7df3, bits: QUARTER },
    Context { archs: &["89"], word: 0x004f_e600_0000_2c08_0000_0006_0c08_727a, bits: MMA },
    Context { archs: BLACKWELL, word: 0x004f_e600_0008_6c08_0000_0006_0c08_727a, bits: MMA },
    Context { archs: BLACKWELL, word: 0x004f_e600_0008_7e08_7110_0006_0c08_747a, bits: MMA },
    Context { archs: BLACKWELL, word: 0x004f_e600_0004_3e08_7110_0006_0c08_747f, bits: BLOCK_SCALED },
    Context { archs: TENSOR_CORE, word: 0x0001_f000_0800_000a_0004_080e_0c00_75ea, bits: TENSOR },
    Context { archs: TENSOR_CORE, word: 0x0001_e800_0820_0405_0008_0610_0400_79ea, bits: TENSOR },
    Context { archs: TENSOR_CORE, word: 0x0011_d800_0800_0008_8004_060e_0c00_75ea, bits: TENSOR },
    Context { archs: TENSOR_CORE, word: 0x0011_d800_0800_0005_8006_080a_0400_79ea, bits: TENSOR },
    Context { archs: TENSOR_CORE, word: 0x0011_d800_0800_0308_0004_060e_0c00_7dea, bits: TENSOR },
    Context { archs: TENSOR_CORE, word: 0x0011_d800_0800_0305_0006_080a_0400_7fea, bits: TENSOR },
];

pub(crate) fn trials() -> Vec<Trial> {
    let program = find("nvdisasm");
    let archs: BTreeSet<&str> = CONTEXTS
        .iter()
        .flat_map(|context| context.archs)
        .copied()
        .collect();
    let trial = |arch: &'static str| {
        let program = program.clone();
        oracle_trial(
            "nvdisasm-modifiers",
            &format!("sm_{arch}"),
            program.is_some(),
            move || compare(program.as_deref().ok_or("no program")?, arch),
        )
    };
    archs.into_iter().map(trial).collect()
}

fn compare(program: &Path, name: &str) -> Result<(), Failed> {
    let arch: Arch = name.parse()?;
    let mut words = Vec::new();
    for context in CONTEXTS.iter().filter(|context| context.archs.contains(&name)) {
        let start = words.len();
        words.extend((0..1_u32 << context.bits.len()).map(|value| with_bits(context, value)));
        // No other bit plays a part, whatever the modifiers.
        for at in (start..words.len()).step_by(97) {
            words.extend((12..128).map(|bit| words[at] ^ 1 << bit).collect::<Vec<_>>());
        }
    }
    let theirs = disassemble(program, name, &words)?;
    let (mut known, mut refused) = (0, 0);
    for (word, theirs) in words.iter().zip(theirs) {
        let Some(theirs) = theirs else {
            refused += 1;
            continue;
        };
        let histogram = count_code(arch, &word.to_le_bytes()).ok_or("nothing is counted")?;
        let ours = histogram.iter().next().ok_or("nothing was counted")?.0;
        let not_known = theirs.contains("INVALID") || theirs.contains('?');
        if not_known {
            if !ours.contains('?') {
                return Err(format!("{word:032x} is {theirs}, ours {ours}").into());
            }
        } else if ours == theirs {
            known += 1;
        } else {
            return Err(format!("{word:032x} is {theirs}, ours {ours}").into());
        }
    }
    if known < words.len() / 16 {
        return Err(format!(
            "of {} words {known} have a name, {refused} are refused",
            words.len()
        )
        .into());
    }
    Ok(())
}

fn with_bits(context: &Context, value: u32) -> u128 {
    (0..).zip(context.bits).fold(context.word, |word, (index, bit)| {
        word & !(1 << bit) | u128::from(value >> index & 1) << bit
    })
}

/// The mnemonics of words; `None` for words that are no instruction.
fn disassemble(program: &Path, arch: &str, words: &[u128]) -> Result<Vec<Option<String>>, Failed> {
    /// An instruction without modifiers and operands.
    const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{arch}-{}.bin", std::process::id()));
    std::fs::create_dir_all(env!("CARGO_TARGET_TMPDIR"))?;
    let mut code = words.to_vec();
    let mut refused = BTreeSet::new();
    // It names all words that it refuses for one reason at once; behind them may be others.
    let output = loop {
        let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::write(&file, bytes)?;
        let output = Command::new(program)
            .arg("-b")
            .arg(format!("SM{arch}"))
            .arg(&file)
            .output()?;
        if output.status.success() {
            break output;
        }
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        let before = refused.len();
        for (_, after) in message
            .match_indices("at address 0x")
            .map(|(at, text)| message.split_at(at + text.len()))
        {
            let digits = after
                .split(|c: char| !c.is_ascii_hexdigit())
                .next()
                .unwrap_or_default();
            let index = usize::from_str_radix(digits, 16)? / 16;
            *code.get_mut(index).ok_or("an address behind the end")? = NOP;
            refused.insert(index);
        }
        if refused.len() == before {
            return Err(message.into());
        }
    };
    std::fs::remove_file(&file)?;
    let mut names = vec![None; words.len()];
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some((address, instruction)) = line.trim().strip_prefix("/*").and_then(|l| l.split_once("*/"))
        else {
            continue;
        };
        let Ok(address) = usize::from_str_radix(address, 16) else {
            continue;
        };
        let name = instruction.split_whitespace().find(|word| !word.starts_with('@'));
        if let (Some(slot), Some(name)) = (names.get_mut(address / 16), name)
            && !refused.contains(&(address / 16))
        {
            *slot = Some(name.trim_end_matches(';').to_owned());
        }
    }
    Ok(names)
}
