# SPDX-License-Identifier: Apache-2.0
"""Cards: kernel manifests and the builder that turns a configuration and kernels into a simulated card."""
