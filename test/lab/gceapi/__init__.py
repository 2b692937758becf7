# SPDX-License-Identifier: Apache-2.0
"""Google's Compute Engine API v1, as far as machines need it: see ../README.md."""
