"""The leader's lag over time as SVG, out of the files that ``sharespec replay --out`` writes.

Drawn by hand as the pictures of the documents are, which needs no plotting library, and follows the
reader's choice of dark or light. ``lag_image`` draws the same as PNG.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from judge.words import printable

MAX_PANELS = 24
"""How many share-partitions a plot has, those with the highest lag."""

MAX_BUCKETS = 400
"""In how many steps of time a line is drawn; each keeps its lowest and its highest value."""

_COLUMNS = ["partition", "time_ms", "lag"]
_WIDTH, _HIGH, _LEFT, _TOP = 900, 130, 90, 26

NAME = 90
"""How many characters of a name are shown."""

_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2328; } .note { fill: #57606a; }
path { fill: none; stroke: #1f6fd1; stroke-width: 1.4; } line { stroke: #d0d7de; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .note { fill: #9198a1; }
  path { stroke: #6ab0ff; } line { stroke: #3d444d; }
}
"""


class NoLagError(ValueError):
    """A folder has no lag to draw; one line that says why."""


Points = list[tuple[int, int, int]]
"""A time in ms, and the lowest and the highest lag from there to the next time."""


@attrs.define
class Series:
    """The lag of one share-partition over time, in a bounded number of points."""

    points: Points = attrs.field(factory=list)
    _step: int = 1
    _count: int = 0

    def add(self, times: npt.NDArray[np.int64], lags: npt.NDArray[np.int64]) -> None:
        """Add values in the order of time."""
        for time_ms, lag in zip(times.tolist(), lags.tolist(), strict=True):
            if self._count % self._step == 0:
                self.points.append((time_ms, lag, lag))
            else:
                begin, low, high = self.points[-1]
                self.points[-1] = begin, min(low, lag), max(high, lag)
            self._count += 1
            if len(self.points) >= 2 * MAX_BUCKETS:
                pairs = zip(self.points[::2], self.points[1::2], strict=True)
                self.points = [(a[0], min(a[1], b[1]), max(a[2], b[2])) for a, b in pairs]
                self._step *= 2


def lag_series(folder: Path, wanted: Collection[str] = ()) -> tuple[dict[str, Series], int]:
    """Return the series to draw, the highest lag first, and how many there are in all.

    ``wanted`` names share-partitions; none: all. Raises NoLagError.
    """
    highest: dict[str, int] = {}
    for name, rows in _rows(folder):
        if not wanted or name in wanted:
            highest[name] = max(highest.get(name, 0), int(_numbers(rows, "lag").max()))
    if not highest:
        named = f" of {', '.join(sorted(wanted))}" if wanted else ""
        raise NoLagError(f"{folder} has no lag{named}: sharespec replay --out writes it")
    names = sorted(highest, key=lambda name: (-highest[name], name))
    series = {name: Series() for name in names[:MAX_PANELS]}
    for name, rows in _rows(folder):
        if name in series:
            series[name].add(_numbers(rows, "time_ms"), _numbers(rows, "lag"))
    return series, len(names)


def lag_picture(series: dict[str, Series], total: int) -> str:
    """Return the plot of ``series``, a panel each; it says how many of ``total`` it leaves out."""
    height = _TOP + _HIGH * len(series)
    svg = ET.Element(
        "svg",
        {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {_WIDTH} {height}", "role": "img"},
    )
    ET.SubElement(svg, "title").text = "The leader's lag over time"
    ET.SubElement(svg, "style").text = _STYLE
    _text(svg, 8, 17, note_of(series, total), "note")
    for number, (name, each) in enumerate(series.items()):
        _panel(svg, _TOP + _HIGH * number, name, each.points)
    ET.indent(svg)
    return ET.tostring(svg, encoding="unicode") + "\n"


def note_of(series: dict[str, Series], total: int) -> str:
    """Return what a plot of ``series`` shows, and what it leaves out."""
    note = "The leader's lag in offsets (KIP-1226), over the trace's clock in ms"
    if total > len(series):
        note += f"; the {len(series)} with the highest of {total:,} share-partitions"
    return note


def _panel(svg: ET.Element, top: int, name: str, points: Points) -> None:
    most = max(1, *(high for _time, _low, high in points))
    begin, end = points[0][0], points[-1][0]
    low_y, high_y = top + _HIGH - 24, top + 22
    across, up = (_WIDTH - _LEFT - 10) / max(1, end - begin), (low_y - high_y) / most
    path = ""
    for time_ms, low, high in points:
        # The lag stays as it is until the next event.
        x = f"{_LEFT + (time_ms - begin) * across:.1f}"
        path += f"H{x} V{low_y - high * up:.1f}" if path else f"M{x} {low_y - high * up:.1f}"
        if low != high:
            path += f"V{low_y - low * up:.1f}"
    ends = {"x1": str(_LEFT), "x2": str(_WIDTH - 10), "y1": str(low_y), "y2": str(low_y)}
    ET.SubElement(svg, "line", ends)
    ET.SubElement(svg, "path", {"d": path})
    _text(svg, _LEFT, top + 14, printable(name, NAME), "")
    _text(svg, 8, high_y + 8, f"{most:,}", "note")
    _text(svg, 8, low_y, "0", "note")
    _text(svg, _LEFT, low_y + 14, f"{begin} to {end} ms", "note")


def _text(svg: ET.Element, x: int, y: int, text: str, kind: str) -> None:
    ET.SubElement(svg, "text", {"x": str(x), "y": str(y), "class": kind}).text = text


def _rows(folder: Path) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield rows of one share-partition after another, in bounded memory."""
    lag = folder / "lag" if (folder / "lag").is_dir() else folder
    for path in sorted(lag.glob("part-*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(columns=_COLUMNS):
            encoded = batch.column("partition").dictionary_encode()
            numbers = encoded.indices.to_numpy()
            for number, name in enumerate(encoded.dictionary.to_pylist()):
                yield name, batch.filter(pa.array(numbers == number))


def _numbers(rows: pa.RecordBatch, name: str) -> npt.NDArray[np.int64]:
    column: npt.NDArray[np.int64] = rows.column(name).to_numpy()
    return column
