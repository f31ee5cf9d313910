//! Keys of random streams: which numbers a draw gets is decided by where it stands, and by nothing else.
//!
//! The layout that is hashed is part of the language and never changes; a new one would get a new tag.

use sha2::{Digest, Sha256};

/// The bytes that begin every key's layout, so that no other use of SHA-256 can meet one.
const TAG: &[u8] = b"presk-rng-1\0";

/// The key of a ChaCha20 stream.
pub type Key = [u8; 32];

/// The key of the draw that stands at `path`, in the given round of each enclosing layer and loop (outermost first).
///
/// It is the SHA-256 of the tag, the seed, the stream's name and the path (each its length, then its bytes), and the
/// indices (their number, then each). All numbers are little endian, the seed in eight bytes, the others in four.
///
/// Returns `None` where a length does not fit into four bytes.
pub fn derive(seed: u64, stream: &[u8], path: &[u8], indices: &[u32]) -> Option<Key> {
    let mut hash = Sha256::new();
    hash.update(TAG);
    hash.update(seed.to_le_bytes());
    for text in [stream, path] {
        hash.update(u32::try_from(text.len()).ok()?.to_le_bytes());
        hash.update(text);
    }
    hash.update(u32::try_from(indices.len()).ok()?.to_le_bytes());
    for index in indices {
        hash.update(index.to_le_bytes());
    }
    Some(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(key: Key) -> String {
        key.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Expected digests computed with Python's hashlib over the layout written out by hand.
    #[test]
    fn the_layout_is_the_documented_one() {
        let key = derive(0, b"init", b"tok.w", &[]).unwrap();
        assert_eq!(hex(key), "fc58de3dde1fea98ced89463feb198857afddcffe1e9c40c1d1116c6e79737de");
        let key = derive(u64::MAX, b"normal", b"blocks.att#1", &[3, 0x0102_0304]).unwrap();
        assert_eq!(hex(key), "4e8366d6f2a04a0603863be2cb9aa8a6db337c81ee7a84f06b8244d329ff7d5b");
    }

    #[test]
    fn every_part_of_the_place_counts() {
        let base = derive(1, b"ab", b"c", &[1]).unwrap();
        for other in [
            derive(2, b"ab", b"c", &[1]),
            derive(1, b"a", b"bc", &[1]),
            derive(1, b"ab", b"c", &[2]),
            derive(1, b"ab", b"c", &[1, 0]),
            derive(1, b"ab", b"c", &[]),
        ] {
            assert_ne!(base, other.unwrap());
        }
    }
}
