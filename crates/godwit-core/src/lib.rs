// SPDX-License-Identifier: Apache-2.0
//! Page tables shared by Godwit's runtime and driver.
