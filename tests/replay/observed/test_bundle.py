"""What only lines that a log has not explain is undetermined, and the rest is judged."""

from pathlib import Path

import pytest

from replay.observed.inputs import sorted_out
from replay.observed.observation import Lapse
from replay.observed.run import read_all
from replay.verdict import Verdict
from tests.replay.observed.real import altered, judged
from tests.replay.observed.test_run import _counted_twice


@pytest.mark.parametrize("alone", [True, False])
def test_lines_may_be_missing_at_one_time_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, alone: bool
) -> None:
    text = altered("SHARE_FETCH", 2, _counted_twice)
    [diverging] = judged(tmp_path, text).verdicts
    inputs, _ = sorted_out([tmp_path])
    _, seen = read_all(inputs)
    times = sorted(each.end for each in seen)
    [wrong] = diverging.divergences
    (time,) = {each.end for each in seen if each.line == wrong.place.line}
    missing = [Lapse("", time + 1, times[-1], "later"), Lapse("", times[0], time, "before")]
    monkeypatch.setattr("replay.observed.bundle.missing_of", lambda *_: missing)
    monkeypatch.setattr("replay.observed.bundle.MOST_ALONE", int(alone))
    [verdict] = judged(tmp_path, text).verdicts
    assert verdict.verdict is Verdict.UNDETERMINED
    assert verdict.reason == f"lines that the log lost: {'before' if alone else 'later'}"
    assert (verdict.checked > diverging.checked / 2) is alone
