"""Runs to figures: medians, ratios within a durability class, and the table of them. No I/O."""

from __future__ import annotations

import statistics

from rows import CLASSES, Run, Workload

OURS = "lycosa"


def row(load: Workload, runs: list[Run]) -> dict:
    """The figures of one row. `void` says why they may not be used, and is empty otherwise."""
    rates = [run.rate for run in runs]
    middle = sorted(runs, key=lambda run: run.rate)[len(runs) // 2]
    wrong = [run for run in runs if not run.exactly_once()]
    return {
        "peer": load.peer, "name": load.name, "durability": load.durability, "batch": load.batch,
        "shape": load.shape, "tasks": load.tasks, "runs": len(runs),
        "median": statistics.median(rates), "min": min(rates), "max": max(rates),
        "client_cores": middle.client_cpu / middle.seconds,
        "server_cores": None if middle.server_cpu is None else middle.server_cpu / middle.seconds,
        "others": max(run.others for run in runs),
        "void": "; ".join(f"{run.lost} lost, {run.twice} delivered twice" for run in wrong),
    }


def add_ratios(rows: list[dict]) -> None:
    """Sets `ratio`: Lycosa's median over the row's, both of one class and one batch size.

    None for Lycosa's own rows, where Lycosa has no such row, and where either is void.
    """
    ours = {(one["durability"], one["batch"]): one["median"] for one in rows
            if one["peer"] == OURS and not one["void"]}
    for one in rows:
        base = ours.get((one["durability"], one["batch"]))
        usable = base is not None and one["peer"] != OURS and not one["void"]
        one["ratio"] = base / one["median"] if usable else None


def build(results: list[tuple[Workload, list[Run]]]) -> list[dict]:
    """All rows, by class, then batch size (large first), Lycosa first, then by rate."""
    rows = [row(load, runs) for load, runs in results if runs]
    add_ratios(rows)
    rows.sort(key=lambda one: (CLASSES.index(one["durability"]), -one["batch"],
                               one["peer"] != OURS, -one["median"]))
    return rows


def ratio_text(value: float | None) -> str:
    if value is None:
        return ""
    if 0.95 <= value <= 1.05:
        return "about the same"
    return f"Lycosa {value:.1f}x" if value > 1 else f"peer {1 / value:.1f}x"


def rate_text(value: float) -> str:
    return f"{value / 1000:.1f}k" if value >= 1000 else f"{value:.0f}"


CLASS_TEXT = {
    "sync": "An acknowledged write survives a power cut",
    "last writes": "A power cut may take the last writes, of about a second",
    "none": "Nothing is kept: memory alone",
}


def markdown(machine: dict, versions: dict[str, str], rows: list[dict], command: str) -> str:
    """A section that can be pasted into RESULTS.md."""
    out = [f"`{command}`, {machine['date']} UTC: {machine['cores']} cores "
           f"({machine['processor']}), {machine['memory_gib']:g} GiB, Linux {machine['kernel']}; "
           f"load average before {machine['load_before'][0]:g}; data on {machine['filesystem']}, "
           f"{machine['syncs_per_second']:,} syncs/s, {machine['write_mb_per_second']} MB/s. "
           "Client and server share the cores.", ""]
    if rows:
        out[0] += (f" Other processes took at most {max(one['others'] for one in rows):.2f} cores "
                   "during any run.")
        fewest, most = min(one["runs"] for one in rows), max(one["runs"] for one in rows)
        out[0] += f" Runs a row: {most if fewest == most else f'{fewest} to {most}'}."
    out += [f"- {name}: {text}" for name, text in versions.items()] + [""]
    for durability in CLASSES:
        of = [one for one in rows if one["durability"] == durability]
        if not of:
            continue
        out += [f"**{CLASS_TEXT[durability]}** (`{durability}`)", "",
                "| what | connections x batch | tasks/s, median (min to max) "
                "| Lycosa to it, same batch | cores: client, server |",
                "|---|---|---|---|---|"]
        for one in of:
            server = "one process" if one["server_cores"] is None else f"{one['server_cores']:.2f}"
            rate = (f"{rate_text(one['median'])} ({rate_text(one['min'])} to "
                    f"{rate_text(one['max'])})")
            if one["void"]:
                rate = f"void: {one['void']}"
            out.append(f"| {one['name']} | {one['shape']} | {rate} | {ratio_text(one['ratio'])} "
                       f"| {one['client_cores']:.2f}, {server} |")
        out.append("")
    return "\n".join(out)
