# SPDX-License-Identifier: Apache-2.0
"""Commands of the queue, written down a second time from the RISC-V IOMMU specification: made, and understood."""

from __future__ import annotations

import random

ALL, CONTEXT, RANGE = 0, 1, 2
MAX_ORDER = 18
VPN_MASK = (1 << 45) - 1


def iotinval(ctx=None, vpn=None, order=None):
    """IOTINVAL.VMA: everything, a context, a page, or 2**order pages (order >= 1)."""
    low, high = 1, 0
    if ctx is not None:
        low |= 1 << 32 | ctx << 12
    if vpn is not None:
        low |= 1 << 10
        if order is not None:
            # The lowest zero bit stands below the range's size.
            vpn = vpn >> order << order | (1 << order - 1) - 1
            high |= 1 << 9
        high |= (vpn & (1 << 52) - 1) << 10
    return low | high << 64


def iofence(addr=None, data=0, *, wsi=False, pr=False, pw=False):
    """IOFENCE.C, with a write of `data` to `addr`, an interrupt, and waiting for everything under way."""
    low = 2 | wsi << 11 | pr << 12 | pw << 13 | data << 32
    if addr is not None:
        low |= 1 << 10
    return low | (addr or 0) >> 2 << 64


def prgr(ctx, group, code):
    """ATS.PRGR: the response to a group of a context."""
    return 4 | 1 << 7 | ctx << 12 | 1 << 32 | (group << 32 | code << 44) << 64


def cache_range(first=None, lines=1, *, clean=False, drop=False):
    """CACHE.RANGE, a custom command: `lines` lines of 64 bytes from line number `first` on, or all."""
    low = 64 | clean << 11 | drop << 12
    if first is None:
        return low
    return low | 1 << 10 | (lines - 1) << 32 | first << 6 << 64


LAST_LINE = (1 << 50) - 1


def understand_cache(low, high):
    """("cache", clean, drop, first line, last line) or None."""
    av, clean, drop, lines, first = low >> 10 & 1, low >> 11 & 1, low >> 12 & 1, low >> 32, high >> 6
    if low >> 13 & 0x7FFFF or high & 63 or high >> 56 or not (clean or drop) or first + lines > LAST_LINE:
        return None
    if not av:
        return None if lines or first else ("cache", clean, drop, 0, LAST_LINE)
    return ("cache", clean, drop, first, first + lines)


def understand(command, contexts, page_requests=False, page_cache=False):
    """("inval", scope, ctx, vpn, order), ("fence", addr or None, data, wsi, drains), ("respond", group, code),
    ("cache", clean, drop, first line, last line) or None for an illegal one.
    """
    low, high = command & (1 << 64) - 1, command >> 64
    opcode, func3 = low & 0x7F, low >> 7 & 7
    if page_requests and (opcode, func3) == (4, 1):
        if low >> 10 & 3 or low >> 32 != 1 or low >> 12 & 0xFFFFF >= contexts or high & ~(0xF1FF << 32):
            return None
        return ("respond", high >> 32 & 0x1FF, high >> 44 & 15)
    if page_cache and (opcode, func3) == (64, 0):
        return understand_cache(low, high)
    if func3 or high >> 62:
        return None
    av = low >> 10 & 1
    if opcode == 1:
        if low & (1 << 11 | 0x7FFFFFFF << 33) or high & 0x1FF:
            return None
        pscv, pscid = low >> 32 & 1, low >> 12 & 0xFFFFF
        if pscv and pscid >= contexts:
            return None
        if not pscv:
            return ("inval", ALL, 0, 0, 0)
        vpn, order = high >> 10, 0
        if high >> 9 & 1:
            order = next(i for i in range(53) if not vpn >> i & 1) + 1
        if not av or order > MAX_ORDER:
            return ("inval", CONTEXT, pscid, 0, 0)
        return ("inval", RANGE, pscid, vpn >> order << order & VPN_MASK, order)
    if opcode == 2:
        if low >> 14 & 0x3FFFF:
            return None
        return ("fence", high << 2 if av else None, low >> 32, low >> 11 & 1, low >> 12 & 3 != 0)
    return None


def random_inval(rng: random.Random, contexts):
    kind = rng.random()
    if kind < 0.1:
        return iotinval()
    if kind < 0.15:
        return iotinval(vpn=rng.getrandbits(52))
    ctx = rng.randrange(contexts)
    if kind < 0.3:
        return iotinval(ctx)
    order = rng.choice((None, None, 1, 2, 4, 9, 17, 18, 19, 36, 52))
    return iotinval(ctx, rng.getrandbits(52), order)


def random_response(rng: random.Random, contexts):
    return prgr(rng.randrange(contexts), rng.randrange(512), rng.randrange(16))


def random_cache(rng: random.Random):
    kind = rng.randrange(1, 4)
    lines = rng.choice((1, 64, rng.randrange(1, 1 << 32)))
    first = rng.choice((None, 1 << 49, rng.randrange(1 << 49), LAST_LINE + 1 - lines))
    return cache_range(first, lines, clean=kind & 1, drop=kind >> 1)


def random_illegal(rng: random.Random, contexts, page_requests=False, page_cache=False):
    """A legal command with one thing wrong."""
    while True:
        command = rng.choice(
            (
                random_inval(rng, contexts),
                iofence(wsi=True),
                random_response(rng, contexts),
                random_cache(rng),
            )
        )
        command ^= 1 << rng.randrange(128)
        if rng.random() < 0.2:
            command = iotinval(contexts + rng.randrange(100))
        if understand(command, contexts, page_requests, page_cache) is None:
            return command
