"""``python -m tools.documents``: write the generated parts of the documents, or check them."""

import sys

import click

from tools.documents.generated import DOCUMENTS, ROOT, SEARCHED, changed


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; list what is not current.")
@click.option("--all", "every", is_flag=True, help="Also the review of the draft KIP (a search).")
def main(*, check: bool, every: bool) -> None:
    """Write every generated part of the documents, and list the documents that changed.

    Exit status 1 with --check if a document is not current.
    """
    stale = list(changed({**DOCUMENTS, **(SEARCHED if every else {})}))
    for path, text in stale:
        click.echo(path.relative_to(ROOT))
        if not check:
            path.write_text(text, encoding="utf-8")
    if check and stale:
        sys.exit(1)


if __name__ == "__main__":
    main(prog_name="python -m tools.documents")
