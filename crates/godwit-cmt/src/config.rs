// SPDX-License-Identifier: Apache-2.0
//! How a pool is set up: `$GODWIT_CMT`, or the string given to `cmt_init`.

use godwit_core::range::Area;

use crate::CmtError;

/// Configuration of the pool. As text: `key=value` items separated by blanks or commas.
///
/// | key | value | default |
/// |---|---|---|
/// | `area` | `BASE:BYTES[:NODE]`, any number of times | one area, see `size` |
/// | `size` | one area of so many bytes at 4 GiB | 256MiB |
/// | `backing` | `private`, `memfd`, `hugetlb`, or `fd:N`: an open file, such as a device's memory, in which an area's address is its offset; or `device`: blocks of the driver's `/dev/godwit-cmt`, which says where they are | `private` |
/// | `granule` | power of two from 4KiB to 2MiB | 4KiB |
/// | `populate` | `need`: memory is taken from the system when it is first used; `all`: when the pool opens | `need` for `private`, `fd:N` and `device`, else `all` |
/// | `cache` | freed large blocks that a thread keeps, bytes | total / 8, at least 4MiB |
/// | `check` | what is seen of a pointer that is not a small block in use: `all`, or `some`, as other allocators do | `all`; in place of malloc `some` |
/// | `decay` | milliseconds that freed memory is kept before the system gets it; 0: at once, `never` | 1000 where memory is private and comes by need, else `never` |
/// | `first` | bytes that a program on the preload library gets before its pool opens, to 512KiB; 0: every block is of the pool | 256KiB |
///
/// Numbers are decimal or `0x` hexadecimal, with an optional `KiB`, `MiB` or `GiB`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where memory is; physical addresses.
    pub areas: Vec<Area>,
    /// What stands behind the areas.
    pub backing: BackingKind,
    /// Smallest unit of contiguous blocks, bytes.
    pub granule: u64,
    /// When memory is taken from the system; `None`: by the backing.
    pub populate: Option<Populate>,
    /// Bytes of freed large blocks that a thread keeps; `None`: by the total.
    pub cache: Option<u64>,
    /// What is seen of wrong pointers; `None`: by whether the pool stands in malloc's place.
    pub check: Option<Check>,
    /// Milliseconds after which freed memory goes back to the system; `None`: by the backing.
    pub decay: Option<u32>,
    /// Bytes that a library in malloc's place serves before it opens the pool.
    pub first: u64,
}

/// What stands behind the areas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackingKind {
    /// Private memory in huge pages where there are any; a child of fork has its own copy.
    Private,
    /// Memory of a memfd an area; shared with children.
    Memfd,
    /// The same, of the system's reserved huge pages.
    Hugetlb,
    /// An open file, by its descriptor: a device's memory, in which an area's address is its offset.
    File(i32),
    /// Memory of the driver's `/dev/godwit-cmt`, in as few pieces as it has: areas are where these are.
    Device,
}

/// When memory is taken from the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Populate {
    /// When it is first used.
    Need,
    /// When the pool opens: no later use waits for the system, or finds that it has none left.
    All,
}

/// What is seen of a pointer that is not a small block in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Each one, by bits beside the areas that every call changes.
    All,
    /// What costs nothing: that it is not of the pool, not aligned, or the block that was freed last.
    Some,
}

const DEFAULT_BASE: u64 = 4 << 30;
const DEFAULT_SIZE: u64 = 256 << 20;
const MIB: u64 = 1 << 20;
pub(crate) const FIRST_DEFAULT: u64 = 256 << 10;
const FIRST_MAX: u64 = 512 << 10;
/// `decay=never`; as in C.
pub const DECAY_NEVER: u32 = u32::MAX;
const DECAY_DEFAULT: u32 = 1000;
const DECAY_MAX: u32 = 1_000_000;

impl Default for Config {
    fn default() -> Self {
        Self {
            areas: vec![Area {
                base: DEFAULT_BASE,
                bytes: DEFAULT_SIZE,
                node: 0,
            }],
            backing: BackingKind::Private,
            granule: 4096,
            populate: None,
            cache: None,
            check: None,
            decay: None,
            first: FIRST_DEFAULT,
        }
    }
}

fn invalid(item: &str, expected: &str) -> CmtError {
    CmtError::Config(format!("'{item}': {expected}"))
}

/// A number with an optional unit.
fn number(text: &str) -> Option<u64> {
    let (digits, shift) = [("KiB", 10), ("MiB", 20), ("GiB", 30)]
        .into_iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)))
        .unwrap_or((text, 0));
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(&hex.replace('_', ""), 16),
        None => digits.replace('_', "").parse(),
    };
    value.ok()?.checked_mul(1 << shift)
}

fn area(text: &str) -> Option<Area> {
    let mut parts = text.split(':');
    let base = number(parts.next()?)?;
    let bytes = number(parts.next()?)?;
    let node = match parts.next() {
        Some(node) => node.parse().ok()?,
        None => 0,
    };
    parts.next().is_none().then_some(Area { base, bytes, node })
}

/// `fd:N`
fn file(text: &str) -> Option<BackingKind> {
    let descriptor: i32 = text.strip_prefix("fd:")?.parse().ok()?;
    (descriptor >= 0).then_some(BackingKind::File(descriptor))
}

/// Milliseconds or `never`.
fn decay(item: &str, value: &str) -> Result<u32, CmtError> {
    if value == "never" {
        return Ok(DECAY_NEVER);
    }
    match value.parse() {
        Ok(ms) if ms <= DECAY_MAX => Ok(ms),
        _ => Err(invalid(
            item,
            "expected milliseconds from 0 to 1000000, or never",
        )),
    }
}

impl Config {
    /// Reads the text form.
    pub fn parse(text: &str) -> Result<Self, CmtError> {
        let mut config = Self::default();
        let mut areas = Vec::new();
        let mut placed = false;
        for item in text
            .split([' ', ',', '\n', '\t'])
            .filter(|item| !item.is_empty())
        {
            let (key, value) = item
                .split_once('=')
                .ok_or_else(|| invalid(item, "expected key=value"))?;
            let bytes = || {
                number(value)
                    .ok_or_else(|| invalid(item, "expected a number of bytes, such as 64MiB"))
            };
            match key {
                "area" => {
                    placed = true;
                    areas.push(
                        area(value).ok_or_else(|| {
                            invalid(item, "expected BASE:BYTES or BASE:BYTES:NODE")
                        })?,
                    );
                }
                "size" => areas.push(Area {
                    base: DEFAULT_BASE,
                    bytes: bytes()?,
                    node: 0,
                }),
                "backing" => {
                    config.backing = match value {
                        "private" => BackingKind::Private,
                        "memfd" => BackingKind::Memfd,
                        "hugetlb" => BackingKind::Hugetlb,
                        "device" => BackingKind::Device,
                        _ => file(value).ok_or_else(|| {
                            invalid(
                                item,
                                "expected private, memfd, hugetlb, device or fd:NUMBER",
                            )
                        })?,
                    }
                }
                "granule" => config.granule = bytes()?,
                "populate" => {
                    config.populate = match value {
                        "need" => Some(Populate::Need),
                        "all" => Some(Populate::All),
                        _ => return Err(invalid(item, "expected need or all")),
                    }
                }
                "check" => {
                    config.check = match value {
                        "all" => Some(Check::All),
                        "some" => Some(Check::Some),
                        _ => return Err(invalid(item, "expected all or some")),
                    }
                }
                "decay" => config.decay = Some(decay(item, value)?),
                "cache" => config.cache = Some(bytes()?),
                "first" => config.first = bytes()?,
                _ => {
                    return Err(invalid(
                        item,
                        "keys are area, size, backing, populate, granule, cache, check, decay, first",
                    ));
                }
            }
        }
        if config.backing == BackingKind::Device && placed {
            return Err(invalid(
                "backing=device",
                "the driver says where its memory is; say how much with size",
            ));
        }
        if !areas.is_empty() {
            config.areas = areas;
        }
        config.validate()?;
        Ok(config)
    }

    fn validate(&self) -> Result<(), CmtError> {
        if !self.granule.is_power_of_two() || !(4096..=2 * MIB).contains(&self.granule) {
            return Err(invalid(
                "granule",
                "expected a power of two from 4KiB to 2MiB",
            ));
        }
        if self.first > FIRST_MAX {
            return Err(invalid("first", "expected at most 512KiB"));
        }
        if self.decay.is_some_and(|ms| ms != DECAY_NEVER) && !self.returns() {
            return Err(invalid(
                "decay",
                "only private memory that comes by need goes back to the system; leave decay out, or use backing=private populate=need",
            ));
        }
        // Memory is mapped in whole pages; a page that two areas share would belong to neither.
        let page = match self.backing {
            BackingKind::Hugetlb => 2 * MIB,
            _ => 4096,
        };
        for area in &self.areas {
            if area.base % page != 0 || area.bytes % page != 0 || area.bytes == 0 {
                return Err(CmtError::Config(format!(
                    "area {:#x}:{}: expected multiples of the page size, {page} bytes",
                    area.base, area.bytes
                )));
            }
        }
        Ok(())
    }

    /// Bytes of all areas.
    pub fn total(&self) -> u64 {
        self.areas.iter().map(|area| area.bytes).sum()
    }

    /// When memory is taken from the system.
    pub fn populate(&self) -> Populate {
        self.populate.unwrap_or(match self.backing {
            // A device has its memory already.
            BackingKind::Private | BackingKind::File(_) | BackingKind::Device => Populate::Need,
            _ => Populate::All,
        })
    }

    /// Whether memory may go back to the system, which has more when it is needed again.
    fn returns(&self) -> bool {
        self.backing == BackingKind::Private && self.populate() == Populate::Need
    }

    /// Milliseconds that freed memory is kept, or [`DECAY_NEVER`].
    pub fn decay_ms(&self) -> u32 {
        match self.returns() {
            true => self.decay.unwrap_or(DECAY_DEFAULT),
            false => DECAY_NEVER,
        }
    }

    /// What is seen of wrong pointers, also when the pool is not asked by name but stands in malloc's place.
    pub fn check(&self, is_malloc: bool) -> Check {
        self.check.unwrap_or(match is_malloc {
            true => Check::Some,
            false => Check::All,
        })
    }

    /// The most that small blocks take of it at a time, bytes.
    pub fn piece_bytes(&self) -> u64 {
        (self.total() / 64).clamp(MIB, 32 * MIB)
    }

    /// Bytes of freed large blocks that a thread keeps: none if nothing is to be kept.
    pub fn cache_bytes(&self) -> u64 {
        if self.decay_ms() == 0 {
            return 0;
        }
        self.cache.unwrap_or((self.total() / 8).max(4 * MIB))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_come_in_any_number_with_units_and_nodes() {
        let config =
            Config::parse("area=0x1_0000_0000:16MiB:1, area=8GiB:1GiB backing=memfd").unwrap();
        assert_eq!(config.areas[0].base, 1 << 32);
        assert_eq!(config.areas[0].node, 1);
        assert_eq!(config.total(), (16 << 20) + (1 << 30));
        assert_eq!(config.backing, BackingKind::Memfd);
    }

    #[test]
    fn a_wrong_item_is_named_with_what_was_expected() {
        for (text, words) in [
            ("size", "key=value"),
            ("size=12XB", "bytes"),
            ("speed=1", "keys are"),
            ("area=1:2:3:4", "BASE:BYTES"),
            ("area=1:4096", "page size"),
            ("granule=3KiB", "power of two"),
            ("backing=disk", "hugetlb"),
            ("backing=fd:-1", "fd:NUMBER"),
            ("backing=device area=1MiB:1MiB", "say how much with size"),
            ("populate=some", "need or all"),
            ("check=none", "all or some"),
            ("first=1MiB", "512KiB"),
            ("decay=soon", "milliseconds"),
            ("decay=-1", "milliseconds"),
            ("decay=10 populate=all", "by need"),
            ("backing=memfd decay=0", "by need"),
        ] {
            let error = Config::parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
