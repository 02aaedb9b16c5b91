from proofs.hazards.questions import QUESTIONS


def test_each_question_has_a_place_and_an_answer() -> None:
    assert all(text for question in QUESTIONS for text in question)
    assert not [text for question in QUESTIONS for text in question if "|" in text]
