# SPDX-License-Identifier: Apache-2.0
"""The package of what tests share. Its root is the repository's; a script that is started by its
path says so in one line (docs/decisions/0050)."""
