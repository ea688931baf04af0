"""Make the default model's prior and write it into the package: ``python -m qmd.embedding.make_prior``, two minutes."""

from __future__ import annotations

import os
import tempfile

from qmd.embedding.local import Local
from qmd.index.semantic.spaces import Space
from qmd.vectors import static_prior


def main() -> None:
    """Compute the prior from nothing; then replace the file of the package."""
    provider = Local()
    space = Space(0, provider.name, provider.model, provider.dimensions, provider.fingerprint, "", "")
    path = static_prior.package_path(space)
    if os.path.isfile(path):
        os.unlink(path)
    with tempfile.TemporaryDirectory() as folder:
        matrix = static_prior.prior(provider, provider.tokenizer.get_vocab_size(), space, folder, None, None)
    assert matrix is not None, "there is no deadline"
    with open(path, "wb") as file:
        file.write(static_prior.pack(matrix))


if __name__ == "__main__":
    main()
