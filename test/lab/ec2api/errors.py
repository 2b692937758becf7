# SPDX-License-Identifier: Apache-2.0
"""Refusals, with the codes and words of Amazon's own ("Error codes for the Amazon EC2 API")."""


class Refusal(Exception):
    """`status` is that of HTTP. `code` and `words` are what a client sees."""

    def __init__(self, code, words, status=400):
        super().__init__(f"{code}: {words}")
        self.code = code
        self.words = words
        self.status = status


def invalid(words):
    return Refusal("InvalidParameterValue", words)


def invalid_value(value, parameter, why=""):
    return invalid(f"Value ({value}) for parameter {parameter} is invalid. {why}".rstrip())


def combination(words):
    return Refusal("InvalidParameterCombination", words)


def missing(parameter):
    return Refusal("MissingParameter", f"The request must contain the parameter {parameter}")


def unknown_ids(kind, noun, ids):
    """Of InvalidInstanceID.NotFound and its like."""
    if len(ids) == 1:
        return Refusal(f"{kind}.NotFound", f"The {noun} ID '{ids[0]}' does not exist")
    listed = ", ".join(ids)
    return Refusal(f"{kind}.NotFound", f"The {noun} IDs '{listed}' do not exist")


def malformed_id(kind, value, prefix):
    return Refusal(f"{kind}.Malformed", f'Invalid id: "{value}" (expecting "{prefix}-...")')


THROTTLED = Refusal("RequestLimitExceeded", "Request limit exceeded.", 503)
DRY_RUN = Refusal("DryRunOperation", "Request would have succeeded, but DryRun flag is set.", 412)
