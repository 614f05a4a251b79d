"""A short run of nemesis.py; the long ones are made by hand."""

from __future__ import annotations

import os
import unittest

import nemesis


class NemesisTest(unittest.TestCase):
    def test_what_must_hold_holds_while_nodes_and_networks_fail(self) -> None:
        seed = int(os.environ.get("LYCOSA_NEMESIS_SEED", "1"))
        self.assertEqual(nemesis.check(15, seed), [], f"seed {seed}")


if __name__ == "__main__":
    unittest.main()
