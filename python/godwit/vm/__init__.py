# SPDX-License-Identifier: Apache-2.0
"""A virtual machine with a card in it: a Linux kernel in QEMU, without root or KVM, and the simulated card as its PCIe device.

| module | is |
|---|---|
| `debian` | packages from Debian's archive, unpacked into the cache, installed nowhere |
| `kernel` | a kernel image and what modules for it are built with: Debian's own, or one built with device-private memory |
| `module` | godwit.ko for a kernel, and programs of the guest |
| `checkers` | the kernel's own checkers of style and usual mistakes |
| `dkms` | the module as a DKMS package |
| `initramfs` | the guest's files |
| `machine` | the card's server and QEMU, and what the guest says |
| `resident` | a guest that stays, for one program after the other |
"""
