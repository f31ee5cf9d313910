"""An entry stated in another array library (NumPy, PyTorch, JAX), for timing beside presk.

`state` turns a Core program into a function of the library's arrays: contractions become its `matmul` or `einsum`,
elementwise primitives, sums and softmax its own, loops loops of the host's language. What isn't in the tables can't be
stated, and says so (E9011): nothing is left out or put in another's place. The library chooses the order of its sums
and what it fuses, so its bits are its own. Called by `choose.bench`.
"""

from presk.choose.libraries.library import DTYPES, LIBRARIES, MAKERS, Library, find
from presk.choose.libraries.state import arguments, state

__all__ = ["DTYPES", "LIBRARIES", "MAKERS", "Library", "arguments", "find", "state"]
