from serve.apis import APIS
from tools.documents.served import table


def test_the_table_has_every_api_by_its_name_in_kafka() -> None:
    _head, _rule, *lines = table().splitlines()
    assert len(lines) == len(APIS)
    assert "| ShareFetch | 78 | 1–2 |" in lines
    assert "| AlterShareGroupOffsets | 91 | 0 |" in lines
