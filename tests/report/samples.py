"""A report with every kind of block, whose texts try to be more than text."""

from report.document import (
    Command,
    Document,
    Folded,
    Grid,
    Heading,
    ItemList,
    Prose,
    Section,
    Toned,
    fields,
    paragraph,
    toned,
)

EVIL = (
    "</title></script></style><script>alert(1)</script><!--<img src=x> [a](b) | *c* \x1b[2J\u202e"
)


def section(number: int, text: str = EVIL, forms: int = 1) -> Section:
    """Return a section with every kind of block."""
    return (
        Heading(f"{number}. {text}", "new"),
        toned(text, "strong"),
        fields(("seen", text), ("means", Prose(f"It *is* `{text}`\nand more")), ("empty", "")),
        Grid(("name", "count"), ((text, Toned("7", "bad")),), ("count",), caption="a caption"),
        Grid(("offset",), ((Toned("≠ ACQ", "ACQ differs"),),), kind="picture", most=0),
        ItemList((text, "second", "third"), most=2),
        Command(f"sharespec verify {text}"),
        *(Folded(f"form {form}", (paragraph(text),)) for form in range(forms)),
    )


def sample(sections: int = 1, text: str = EVIL, forms: int = 1, detailed: int = 20) -> Document:
    """Return a report with so many sections."""
    return Document(
        "sharespec verify",
        text,
        Toned("deviates", "deviates"),
        (paragraph("the totals"),),
        tuple(section(number, text, forms) for number in range(sections)),
        ((Heading("What was asked"), ItemList((text,))),),
        detailed=detailed,
    )
