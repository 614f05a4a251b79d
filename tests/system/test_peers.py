"""The report of the benchmark of peers, on canned figures: nothing is installed or measured."""

import sys
import unittest
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "peers"))

import chart  # noqa: E402
import report  # noqa: E402
from rows import NONE, LAST, SYNC, Run, Workload  # noqa: E402


def load(peer, durability, batch, name=None):
    return Workload(peer, name or peer, durability, batch, 4, 1000, lambda *_: None)


def runs(*rates, **more):
    return [Run(1000, 1000 / rate, client_cpu=0.5 * 1000 / rate, others=0.02, **more)
            for rate in rates]


class Report(unittest.TestCase):
    def setUp(self):
        self.rows = report.build([
            (load("peer", SYNC, 1), runs(500, 100, 400)),
            (load("lycosa", SYNC, 1), runs(2000, 1600, 2400)),
            (load("lycosa", SYNC, 100), runs(8000)),
            (load("peer", LAST, 1), runs(9000)),
            (load("lycosa", LAST, 1), runs(3000)),
            (load("peer", NONE, 1, "<memory> & nothing else"), runs(50000)),
            (load("lossy", SYNC, 100), runs(90000, lost=3, twice=1)),
        ])

    def find(self, peer, durability, batch=1):
        return next(row for row in self.rows
                    if (row["peer"], row["durability"], row["batch"]) == (peer, durability, batch))

    def test_a_row_has_the_median_and_the_extremes(self):
        row = self.find("peer", SYNC)
        self.assertAlmostEqual(row["median"], 400)
        self.assertAlmostEqual(row["min"], 100)
        self.assertAlmostEqual(row["max"], 500)
        self.assertAlmostEqual(row["client_cores"], 0.5)

    def test_a_ratio_is_taken_within_the_class_and_the_batch_size(self):
        self.assertAlmostEqual(self.find("peer", SYNC)["ratio"], 5)
        self.assertAlmostEqual(self.find("peer", LAST)["ratio"], 1 / 3)

    def test_no_ratio_without_a_row_of_lycosa_in_that_class(self):
        self.assertIsNone(self.find("peer", NONE)["ratio"])
        self.assertIsNone(self.find("lycosa", SYNC)["ratio"])

    def test_a_run_that_lost_tasks_is_void_however_fast(self):
        row = self.find("lossy", SYNC, 100)
        self.assertIsNone(row["ratio"])
        self.assertEqual(row["void"], "3 lost, 1 delivered twice")

    def test_a_void_run_of_lycosa_gives_no_ratios(self):
        rows = report.build([(load("lycosa", SYNC, 1), runs(9000, lost=1)),
                             (load("peer", SYNC, 1), runs(10))])
        self.assertEqual([row["ratio"] for row in rows], [None, None])

    def test_a_peer_that_is_faster_is_named_so(self):
        self.assertEqual(report.ratio_text(5.0), "Lycosa 5.0x")
        self.assertEqual(report.ratio_text(1 / 3), "peer 3.0x")
        self.assertEqual(report.ratio_text(1.02), "about the same")
        self.assertEqual(report.ratio_text(None), "")

    def test_rows_are_in_the_order_of_classes_with_ours_first(self):
        self.assertEqual([(row["durability"], row["peer"]) for row in self.rows],
                         [(SYNC, "lycosa"), (SYNC, "lossy"), (SYNC, "lycosa"), (SYNC, "peer"),
                          (LAST, "lycosa"), (LAST, "peer"), (NONE, "peer")])

    def test_the_table_says_classes_machine_and_versions(self):
        machine = {"date": "2026-12-02 12:00", "cores": 2, "processor": "P", "memory_gib": 24,
                   "kernel": "6", "load_before": [0.1, 0.2, 0.3], "filesystem": "ext4",
                   "syncs_per_second": 1100, "write_mb_per_second": 220}
        text = report.markdown(machine, {"peer": "peer 1.2"}, self.rows, "bench/peers/run.py")
        for part in ("load average before 0.1", "took at most 0.02 cores", "1,100 syncs/s",
                     "- peer: peer 1.2", "Runs a row: 1 to 3.",
                     "survives a power cut", "Nothing is kept", "| peer | 4 x 1 | 400 (100 to 500) "
                     "| Lycosa 5.0x | 0.50, one process |", "void: 3 lost, 1 delivered twice"):
            self.assertIn(part, text)

    def test_the_chart_is_well_formed_and_has_a_bar_a_valid_row(self):
        root = xml.etree.ElementTree.fromstring(chart.svg(self.rows))
        space = "{http://www.w3.org/2000/svg}"
        self.assertEqual(root.tag, space + "svg")
        self.assertEqual(len(root.findall(space + "rect")), 1 + 6)  # the ground, and the bars
        self.assertTrue(any("<memory> & nothing" in (text.text or "")
                            for text in root.findall(space + "text")))


if __name__ == "__main__":
    unittest.main()
