"""The leader's lag over time as PNG, for a report that takes no SVG; drawn by Matplotlib."""

import io
import warnings

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from judge.words import printable
from operations.lag_plot import NAME, Points, Series, note_of

_INCHES, _PANEL, _TOP = 9.0, 1.3, 0.5
"""The width of a plot, the height of a share-partition, and that of the note (inches)."""

_DOTS = 150
"""Dots an inch: sharp on paper too."""

_LINE, _GRAY = "#1f6fd1", "#57606a"


def lag_image(series: dict[str, Series], total: int) -> bytes:
    """Return the plot of ``series`` as PNG, with what ``lag_picture`` has."""
    height = _TOP + _PANEL * len(series)
    figure = Figure((_INCHES, height), dpi=_DOTS)
    figure.text(0.01, 1 - 0.2 / height, note_of(series, total), color=_GRAY, size=8)
    for number, (name, each) in enumerate(series.items()):
        low = 1 - (_TOP + _PANEL * (number + 1) - 0.3) / height
        axes = figure.add_axes((0.1, low, 0.88, (_PANEL - 0.6) / height))
        _panel(axes, name, each.points)
    written = io.BytesIO()
    with warnings.catch_warnings():
        # The font has not the letters of every language; it draws boxes in their places.
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure.savefig(written, format="png", metadata={"Title": "The leader's lag over time"})
    return written.getvalue()


def _panel(axes: Axes, name: str, points: Points) -> None:
    times, lags = [points[0][0]], [points[0][2]]
    for time_ms, low, high in points:
        # The lag stays as it is until the next event.
        times += [time_ms, time_ms, time_ms]
        lags += [lags[-1], high, low]
    most, begin, end = max(1, *lags), times[0], times[-1]
    marker = "." if begin == end else ""
    axes.plot(times, lags, color=_LINE, linewidth=1, marker=marker, clip_on=False)
    axes.set_xlim(begin, max(end, begin + 1))
    axes.set_ylim(-0.05 * most, 1.05 * most)  # so that no frame covers a line
    axes.set_yticks([0, most], ["0", f"{most:,}"])
    axes.set_xticks([])
    axes.set_xlabel(f"{begin} to {end} ms", loc="left", size=8, color=_GRAY)
    # A name is text, whatever it has between dollar signs.
    axes.set_title(printable(name, NAME), loc="left", size=8, parse_math=False)
    axes.tick_params(labelsize=8, labelcolor=_GRAY)
    axes.spines[["bottom", "top", "right"]].set_visible(False)
