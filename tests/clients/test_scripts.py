import json
import re
from collections import Counter
from itertools import permutations, product
from random import Random

import attrs
import pytest

from clients.drivers import ACQUIRE_MODES, ClientCapabilities
from clients.events import Settings
from clients.scripts import MOST_STEPS, Do, Script, ScriptError, as_object, drawn, from_object

ALL = ClientCapabilities(
    *(True, ACQUIRE_MODES),
    renews=True,
    resubscribes=True,
    deserializes=True,
    recycles=True,
    throws=True,
)


def draw(seed: int, client: ClientCapabilities = ALL) -> Script:
    return drawn(Random(seed), client)  # noqa: S311 - chance, no secret


def test_a_listener_renews_nothing_and_is_all_that_implicit_mode_has() -> None:
    listens = attrs.evolve(ALL, listens=True)
    scripts = [draw(seed, listens).settings for seed in range(100)]
    assert {(each.explicit, each.listens) for each in scripts} == {(1, 1), (1, 0), (0, 1)}
    renews = [s for s in (draw(seed, listens) for seed in range(100)) if Do.RENEW in dict(s.steps)]
    assert {script.settings.listens for script in renews} == {False}


def test_a_script_as_json_is_the_same_script() -> None:
    scripts = [draw(seed, attrs.evolve(ALL, listens=True)) for seed in range(300)]
    assert [from_object(json.loads(json.dumps(as_object(script)))) for script in scripts] == scripts


def test_every_step_and_every_setting_is_drawn() -> None:
    scripts = [draw(seed) for seed in range(300)]
    assert {do for script in scripts for do, _ in script.steps} == set(Do)
    assert {script.settings.explicit for script in scripts} == {False, True}
    assert {script.settings.record_limit for script in scripts} == {False, True}
    assert {script.settings.recycles for script in scripts} == {False, True}
    assert {script.partitions for script in scripts} == {1, 2, 3, 5}
    assert {script.brokers for script in scripts} == {1, 2, 3, 5}


def test_every_hundredth_script_has_each_step_and_each_number_of_brokers_with_each_limit() -> None:
    scripts = [draw(seed) for seed in range(1000)]
    seen: Counter[tuple[int | Do, bool]] = Counter()
    for script in scripts:
        has: set[int | Do] = {script.brokers, *(do for do, _ in script.steps)}
        seen.update((each, script.settings.record_limit) for each in has)
    for each in product((1, 2, 3, 5, *Do), (False, True)):
        assert seen[each] >= len(scripts) / 100, each


def test_records_of_several_leaders_are_committed_at_once_and_answered_in_every_order() -> None:
    orders = set()
    for script in map(draw, range(600)):
        named = [number for do, number in script.steps if do is Do.ANSWER_LAST]
        orders.add((script.brokers, *named[: script.brokers - 1]))
    assert {(2, 1), (2, 2), *((3, *two) for two in permutations((1, 2, 3), 2))} <= orders


def test_a_client_is_asked_only_for_what_it_has() -> None:
    chance = Random(0)  # noqa: S311 - chance, no secret
    few = ClientCapabilities(callbacks=False, acquire_modes=ACQUIRE_MODES[:1], modes=("explicit",))
    settings = [drawn(chance, few).settings for _ in range(50)]
    assert {(s.explicit, s.record_limit, s.callbacks) for s in settings} == {(True, False, False)}


def test_a_client_that_renews_by_itself_has_applications_as_slow_as_locks_last() -> None:
    able = ClientCapabilities()
    itself = attrs.evolve(able, renews_itself=True)
    for client, slow in ((able, 0), (itself, 3)):
        idles = (draw(seed, client).steps.count((Do.IDLE, 10_000)) for seed in range(50))
        assert max(idles) in (slow, 2 * slow)


def test_what_a_script_leaves_out_has_a_default() -> None:
    assert from_object({"steps": []}) == Script(Settings(max_poll_records=1), 1, ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "a JSON object"),
        ('{"mode":"fast"}', "mode is 'fast'; allowed: implicit, explicit"),
        ('{"acquire_mode":1}', "acquire_mode is 1; allowed: batch_optimized, record_limit"),
        ('{"max_poll_records":0}', "max_poll_records is 0; allowed: a whole number from 1"),
        ('{"partitions":9}', "partitions is 9; allowed: a whole number from 1 to 8"),
        ('{"partitions":true}', "partitions is True"),
        ('{"recycles":1}', "recycles is 1; allowed: true, false"),
        ("{}", f"steps: a list of at most {MOST_STEPS}"),
        ('{"brokers":6,"steps":[]}', "brokers is 6; allowed: a whole number from 1 to 5"),
        ('{"steps":[["move-leader"]]}', "brokers is 1; move-leader needs 2 or more, at most 5"),
        ('{"brokers":2,"steps":[["restart",3]]}', "restart is of broker 3; brokers is 2"),
        ('{"steps":[["answer-last",0]]}', "answer-last needs a number from 1"),
        ('{"steps":[["subscribe",4]]}', "subscribe needs a number from 1 to 3"),
        ('{"partitions":8,"steps":[["add-partition"]]}', "with those added there are at most 8"),
        ('{"steps":[["poll"],["dance"]]}', "step 1 is ['dance']; allowed: [NAME], of produce,"),
        ('{"steps":[["produce"]]}', "step 0 is ['produce']; produce needs a number from 1"),
        ('{"steps":[["produce",0]]}', "produce needs a number from 1 to 10000"),
        ('{"steps":[["poll",1]]}', "poll has no number"),
        ('{"steps":[[{}]]}', "step 0 is [{}]"),
    ],
    ids=lambda value: value[:40],
)
def test_a_text_that_is_no_script_is_refused(text: str, said: str) -> None:
    with pytest.raises(ScriptError, match=re.escape(said)):
        from_object(json.loads(text))
