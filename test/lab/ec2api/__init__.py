# SPDX-License-Identifier: Apache-2.0
"""EC2's query API, as far as machines need it, in front of moto: see ../README.md."""
