//! Words and numbers in files.

use std::io::{self, Read, Write};

/// Writes words one after the other.
pub(super) fn write_words(
    out: &mut dyn Write,
    words: impl IntoIterator<Item = u64>,
) -> io::Result<()> {
    words.into_iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))
}

/// Writes how many numbers there are, and the numbers.
pub(super) fn write_numbers(out: &mut dyn Write, numbers: &[u32]) -> io::Result<()> {
    write_words(out, [numbers.len() as u64])?;
    numbers.iter().try_for_each(|number| out.write_all(&number.to_le_bytes()))
}

/// Reads numbers of which it was written how many there are.
pub(super) fn read_numbers(file: &mut dyn Read) -> io::Result<Vec<u32>> {
    let [count] = read_words::<1>(file)?;
    (0..count).map(|_| read_number(file)).collect()
}

pub(super) fn read_number(file: &mut dyn Read) -> io::Result<u32> {
    let mut bytes = [0; size_of::<u32>()];
    file.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

pub(super) fn read_words<const W: usize>(file: &mut dyn Read) -> io::Result<[u64; W]> {
    let mut words = [0; W];
    for word in &mut words {
        let mut bytes = [0; size_of::<u64>()];
        file.read_exact(&mut bytes)?;
        *word = u64::from_le_bytes(bytes);
    }
    Ok(words)
}
