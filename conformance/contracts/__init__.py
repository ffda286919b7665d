"""CrossHair contracts: an implementation, executed symbolically within a bound.

The bound is a *shape*: how many requests, how many tokens each, how many slots. Within it the tokens
are symbols, so one run stands for every value of them: prompts, replies and stop token are any
integers at all. What should be asked and returned is computed here, from the script alone.

CrossHair runs in a child process, since it patches the interpreter that it runs in. What it finds is
a claim: it counts as refuted only when the concrete workload, run as usual, violates an invariant.
"""

from conformance.contracts.child import contract
from conformance.contracts.parent import HOUSE, check_contracts, replay
from conformance.contracts.shapes import PATIENT, QUICK, SHAPES, ContractResult, Shape

__all__ = ["HOUSE", "PATIENT", "QUICK", "SHAPES", "ContractResult", "Shape", "check_contracts", "contract", "replay"]
