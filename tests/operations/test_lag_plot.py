from pathlib import Path
from xml.etree import ElementTree as ET

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from operations.lag_plot import MAX_BUCKETS, MAX_PANELS, NoLagError, lag_picture, lag_series
from replay.lag_file import LAG

NOTHING = {field.name: "" if field.type == pa.string() else 0 for field in LAG}
"""A row of lag without its values."""


def write(folder: Path, *named: tuple[str, list[int]]) -> Path:
    """Write lags of share-partitions, one each 10 ms, as a replay does."""
    rows = [
        NOTHING | {"partition": name, "lag": lag, "time_ms": 10 * n}
        for name, lags in named
        for n, lag in enumerate(lags)
    ]
    lag = folder / "lag"
    lag.mkdir()
    pq.write_table(pa.Table.from_pylist(rows, schema=LAG), lag / "part-00000.parquet")
    return folder


def texts(picture: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(picture).iter() if node.tag.endswith("}text")]  # noqa: S314 - our own


def test_each_share_partition_is_a_line_the_highest_first(tmp_path: Path) -> None:
    folder = write(tmp_path, ("g:t:0", [0, 3, 1]), ("g:t:1", [0, 70, 5]))
    series, total = lag_series(folder)
    assert (list(series), total) == (["g:t:1", "g:t:0"], 2)
    assert series["g:t:0"].points == [(0, 0, 0), (10, 3, 3), (20, 1, 1)]
    picture = lag_picture(series, total)
    paths = [node.get("d") for node in ET.fromstring(picture).iter() if node.tag.endswith("}path")]  # noqa: S314 - our own
    assert paths[0] == "M90.0 132.0H490.0 V48.0H890.0 V126.0"
    assert len(paths) == 2
    assert "g:t:1" in texts(picture)
    assert "0 to 20 ms" in texts(picture)
    assert list(lag_series(folder, {"g:t:0"})[0]) == ["g:t:0"]


def test_a_long_line_keeps_its_peaks(tmp_path: Path) -> None:
    lags = [5] * 10_000
    lags[7_777], lags[3_333] = 900, 0
    series, _ = lag_series(write(tmp_path, ("g:t:0", lags)))
    points = series["g:t:0"].points
    assert MAX_BUCKETS / 2 <= len(points) < 2 * MAX_BUCKETS
    assert max(high for _time, _low, high in points) == 900
    assert min(low for _time, low, _high in points) == 0
    assert points[0][0] == 0


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    folder = write(tmp_path, *((f"g:t:{n}", [n]) for n in range(MAX_PANELS + 6)))
    series, total = lag_series(folder)
    assert len(series) == MAX_PANELS
    assert "g:t:0" not in series
    assert f"of {MAX_PANELS + 6} share-partitions" in lag_picture(series, total)
    few = lag_picture(dict(list(series.items())[:2]), 2)
    assert "with the highest" not in few


def test_a_hostile_name_stays_text(tmp_path: Path) -> None:
    name = "</text><script>alert(1)</script>\x1b:t:0"
    picture = lag_picture(*lag_series(write(tmp_path, (name, [1, 2]))))
    assert "<script" not in picture
    assert "</text><script>alert(1)</script>\\x1b:t:0" in texts(picture)


def test_a_folder_without_lag_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(NoLagError, match="has no lag: sharespec replay --out writes it"):
        lag_series(tmp_path)
    write(tmp_path, ("g:t:0", [1]))
    with pytest.raises(NoLagError, match="has no lag of nobody"):
        lag_series(tmp_path, {"nobody"})
