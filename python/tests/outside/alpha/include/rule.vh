// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
`define RULE(value) (value) * `FACTOR
