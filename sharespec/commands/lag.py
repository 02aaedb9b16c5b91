"""``sharespec lag``: the lag that a replay wrote, as a plot."""

from pathlib import Path

import click
import pyarrow as pa

from operations.lag_plot import NoLagError, lag_picture, lag_series
from sharespec.exit import exits_on


def _drawable(_context: click.Context, _option: click.Parameter, file: Path | None) -> Path | None:
    if file and file.suffix.lower() not in (".svg", ".png"):
        raise click.BadParameter("allowed: a name that ends in .svg or .png")
    return file


@click.command("lag")
@click.argument("out", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--partition",
    "partitions",
    multiple=True,
    metavar="GROUP:TOPIC:PARTITION",
    help="Only this share-partition; may be given several times.",
)
@click.option(
    "--file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    callback=_drawable,
    help="Where to write the plot, as SVG or PNG by the name's ending; default: lag.svg in OUT.",
)
@exits_on(NoLagError, pa.ArrowException)
def lag_command(*, out: Path, partitions: tuple[str, ...], file: Path | None) -> None:
    """Draw the leader's lag over time, from what `sharespec replay --out OUT` wrote.

    PNG needs the extra plot: pip install 'sharespec[plot]'.

    Exits with 0, 2 if OUT has no lag or cannot be read.
    """
    series, total = lag_series(out, set(partitions))
    written = file or out / "lag.svg"
    if written.suffix.lower() == ".png":
        from operations.lag_image import lag_image  # noqa: PLC0415 - of an extra

        written.write_bytes(lag_image(series, total))
    else:
        written.write_text(lag_picture(series, total), encoding="utf-8")
    click.echo(f"{written}: {len(series)} of {total:,} share-partitions")
