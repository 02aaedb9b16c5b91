"""The picture is read again: where its line is says what was drawn."""

import io
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from operations.lag_plot import MAX_PANELS, Series, lag_series
from tests.operations.test_lag_plot import write

REASON = "the extra plot is not installed"
Image: Any = pytest.importorskip("PIL.Image", reason=REASON)
lag_image: Any = pytest.importorskip("operations.lag_image", reason=REASON).lag_image

MARGIN = 80
"""How much bluer than red the line is, also where it is one with its white surroundings."""


def drawn(series: dict[str, Series], total: int) -> tuple[tuple[int, int], dict[int, list[int]]]:
    """Return the size of the picture, and in which rows each column has the colour of the line."""
    image = Image.open(io.BytesIO(lag_image(series, total))).convert("RGB")
    pixels = image.load()
    columns: dict[int, list[int]] = {}
    for x in range(image.width):
        rows = [y for y in range(image.height) if pixels[x, y][2] - pixels[x, y][0] > MARGIN]
        if rows:
            columns[x] = rows
    return image.size, columns


def test_the_line_is_where_the_lag_is(tmp_path: Path) -> None:
    size, columns = drawn(*lag_series(write(tmp_path, ("g:t:0", [0, 0, 100, 100, 50]))))
    assert size == (1350, 270)
    first, last = min(columns), max(columns)
    assert last - first == pytest.approx(0.88 * 1350, abs=5)
    heights = [columns[first + (last - first) * part // 8][0] for part in (1, 3, 5, 7)]
    bottom, top = heights[0], heights[2]
    assert heights == [bottom, bottom, top, top]
    half = columns[last][-1]
    assert half == pytest.approx((bottom + top) / 2, abs=4)
    assert bottom - top > 60


def test_each_share_partition_has_its_own_panel(tmp_path: Path) -> None:
    lags = [[n % 3, n] for n in range(MAX_PANELS + 1)]
    named = [(f"g:t:{n}", lag) for n, lag in enumerate(lags)]
    size, columns = drawn(*lag_series(write(tmp_path, *named)))
    assert size == (1350, 75 + 195 * MAX_PANELS)
    rows = sorted({y for ys in columns.values() for y in ys})
    assert sum(after - before > 50 for before, after in pairwise(rows)) == MAX_PANELS - 1


def test_a_peak_between_two_points_is_seen() -> None:
    low, high = [(0, 5, 5), (10, 5, 5), (20, 5, 5)], [(0, 5, 5), (10, 0, 900), (20, 5, 5)]
    _, plain = drawn({"g:t:0": Series(low)}, 1)
    _, peaked = drawn({"g:t:0": Series(high)}, 1)
    assert max(len(rows) for rows in plain.values()) < 10
    assert max(len(rows) for rows in peaked.values()) > 90


@pytest.mark.parametrize("name", ["$\\frac{$:t:0", "日本:t:0", "\x1b[31m:t:0", "a\nb" * 80, "$a$"])
def test_a_name_is_text_whatever_it_says(name: str) -> None:
    size, columns = drawn({name: Series([(0, 1, 1), (5, 2, 2)])}, 1)
    assert size == (1350, 270)
    assert columns


def test_one_event_is_a_dot() -> None:
    size, columns = drawn({"g:t:0": Series([(7, 3, 3)])}, 1)
    assert size == (1350, 270)
    assert len(columns) > 4
