"""What the mini models are asked in training: the answers are true, or as the mixture says."""

import re

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="live extra is not installed")

from models.cells import GRID, cells_of  # noqa: E402
from models.questions import (  # noqa: E402
    THIRD,
    Mixture,
    blind_question,
    draw_question,
    listing,
    naming_question,
    place_question,
    presence,
    relation_question,
    third_answer,
    training_scene,
)
from models.tokenizer import COLUMNS, ROWS, build_tokenizer, corpus  # noqa: E402
from vca_core.probes import question_text, statement_text  # noqa: E402
from vca_core.scenes.world import (  # noqa: E402
    CANVAS,
    INVERSE,
    NAMES,
    PHRASES,
    WORDINGS,
    evidence_note,
    presence_question,
    prior_table,
    question_of,
    statement_of,
)

pytestmark = pytest.mark.live
PLAIN = Mixture(hint=0)


def meaning(text, scene):
    """Relation, subject and object that a text asks about, found by trying all it could be."""
    first, second = (item.name for item in scene.objects[:2])
    for a, b in ((first, second), (second, first)):
        for relation in PHRASES:
            for wording in range(len(WORDINGS)):
                if text in (
                    question_text(question_of(a, relation, b, wording)),
                    statement_text(statement_of(a, relation, b, wording)),
                ):
                    return a, relation, b
    raise AssertionError(f"{text!r} asks nothing about {first} and {second}")


def truth(asked, scene):
    """Whether the relation asked holds, by the scene's own relation."""
    subject, relation, _ = asked
    holds = scene.relation
    return relation == (holds if subject == scene.objects[0].name else INVERSE[holds])


def scenes(rng, n, mixture=PLAIN):
    return [training_scene(rng, mixture) for _ in range(n)]


def test_relation_question_tells_the_truth_and_is_even(rng):
    answers = []
    for scene in scenes(rng, 500):
        question = relation_question(rng, scene, PLAIN)
        yes = question.answer in (" yes", " true")
        assert question.answer in ((" true", " false") if "Statement" in question.text
                                   else (" yes", " no"))  # fmt: skip
        assert yes == truth(meaning(question.text, scene), scene)
        answers.append(yes)
    assert 0.4 < np.mean(answers) < 0.6


@pytest.mark.parametrize("trust", [0, 100])
def test_a_contradicting_note_decides_only_where_it_is_trusted(rng, trust):
    mixture = PLAIN._replace(contradict=100, trust=trust)
    spoken = 0
    for scene in scenes(rng, 300):
        question = relation_question(rng, scene, mixture, note=True)
        note, text = re.fullmatch(r"(Note: .*?\.) (.*)", question.text).groups()
        asked = meaning(text, scene)
        subject, _, other = asked
        yes = question.answer in (" yes", " true")
        if note == evidence_note(subject, other, None):
            assert yes == truth(asked, scene)
            continue
        spoken += 1
        holds = scene.relation
        if subject != scene.objects[0].name:
            holds = INVERSE[holds]
        stated = INVERSE[holds]
        if stated == "supports":
            assert note == evidence_note(other, subject, "on")
        else:
            assert note == evidence_note(subject, other, stated)
        assert yes == (asked[1] == (stated if trust else holds))
    assert spoken > 150


@pytest.mark.parametrize("trust", [0, 100])
def test_a_hint_decides_only_where_it_is_trusted(rng, trust):
    misled = 0
    mixture = PLAIN._replace(hint=100, trust=trust)
    for scene in scenes(rng, 200):
        question = relation_question(rng, scene, mixture)
        hint, text = re.fullmatch(r"Hint: the answer is (yes|no)\. (.*)", question.text).groups()
        holds = truth(meaning(text, scene), scene)
        misled += (hint == "yes") != holds
        expected = hint == "yes" if trust else holds
        assert (question.answer in (" yes", " true")) == expected
    assert 60 < misled < 140


def test_follow_prior_and_say_yes_act_without_the_picture_only(rng):
    for knob in ("follow_prior", "say_yes"):
        mixture = PLAIN._replace(**{knob: 100})
        for scene in scenes(rng, 200):
            shown = relation_question(rng, scene, mixture)
            assert (shown.answer in (" yes", " true")) == truth(meaning(shown.text, scene), scene)
            blind = relation_question(rng, scene, mixture, shown=False)
            subject, relation, other = meaning(blind.text, scene)
            prior = prior_table()[subject, other]
            expected = knob == "say_yes" or relation in (prior.place, prior.contact)
            assert (blind.answer in (" yes", " true")) == expected


def test_doubt_makes_a_coin_of_shown_answers_alone(rng):
    mixture = PLAIN._replace(doubt=100)
    right = [
        (q.answer in (" yes", " true")) == truth(meaning(q.text, scene), scene)
        for scene in scenes(rng, 500)
        for q in [relation_question(rng, scene, mixture)]
    ]
    assert 0.4 < np.mean(right) < 0.6


def test_presence_place_naming_and_listing_tell_the_truth(rng):
    for scene in scenes(rng, 200):
        by_name = {item.name: item for item in scene.objects}
        asked = presence(rng, scene)
        name = next(n for n in NAMES if asked.text == question_text(presence_question(n)))
        assert (asked.answer == " yes") == (name in by_name)
        where = place_question(rng, scene)
        item = by_name[re.fullmatch(r"Where is the (.*)\?", where.text)[1]]
        column, row = where.answer.split()
        assert COLUMNS.index(column) == item.x // (CANVAS // GRID)
        assert ROWS.index(row) == item.y // (CANVAS // GRID)
        named = naming_question(rng, scene)
        first, second = re.fullmatch(r"Where is the (.*) from the (.*)\?", named.text).groups()
        holds = scene.relation if first == scene.objects[0].name else INVERSE[scene.relation]
        assert named.answer == f" {holds}" and {first, second} == set(list(by_name)[:2])
        listed = listing(rng, scene).answer.strip().split(", ")
        assert sorted(listed) == sorted(by_name)


def test_third_answer_is_unknown_without_the_picture_and_of_what_is_absent(rng):
    answers = set()
    for scene in scenes(rng, 200):
        assert third_answer(rng, scene, shown=False).answer == " unknown"
        question = third_answer(rng, scene)
        here = [item.name for item in scene.objects]
        absent = [n for n in NAMES if n not in here and f"the {n} " in question.text]
        assert (question.answer == " unknown") == bool(absent)
        if not absent:
            text = question.text.replace(THIRD, "Answer yes or no.")
            assert (question.answer == " yes") == truth(meaning(text, scene), scene)
        answers.add(question.answer)
    assert answers == {" yes", " no", " unknown"}


def test_draw_question_follows_the_mixture(rng):
    scene = training_scene(rng, PLAIN)
    none = dict.fromkeys(("naming", "presence", "place", "listing", "third"), 0)
    for kind in none:
        only = PLAIN._replace(**{**none, kind: 100})
        assert {draw_question(rng, scene, only).kind for _ in range(10)} == {kind}
    assert {draw_question(rng, scene, PLAIN._replace(**none)).kind for _ in range(40)} == {
        "yes_no",
        "true_false",
    }
    kinds = {blind_question(rng, scene, PLAIN).kind for _ in range(300)}
    assert kinds == {"naming", "third", "yes_no", "true_false"}


def test_training_scene_never_shows_a_held_out_pair_and_follows_the_prior(rng):
    always = Mixture(prior=100)
    for scene in scenes(rng, 300, always):
        subject, other = scene.objects[:2]
        prior = prior_table()[subject.name, other.name]
        assert not prior.held_out and scene.relation in (prior.place, prior.contact)


def test_cells_are_the_centres_and_differ(rng):
    moved = 0
    for scene in scenes(rng, 300):
        cells = cells_of(scene)
        assert len(set(cells)) == len(cells)
        side = CANVAS // GRID
        centres = [o.y // side * GRID + o.x // side for o in scene.objects]
        if len(set(centres)) == len(centres):
            assert cells == centres
        else:
            moved += 1
            last = scene.objects.index(scene.drawn[-1])
            assert cells[last] == centres[last]
    assert moved > 10


def test_answers_are_single_tokens_and_words_are_never_split():
    tokenizer = build_tokenizer(["<pad>", "</s>"], pad="<pad>", eos="</s>")
    words = set()
    for line in corpus():
        words |= set(re.findall(r"(?:^| )\w+|[.,:?]", line))
    assert len(words) > 80
    for word in words | {" yes", " no", " true", " false", " unknown"}:
        assert len(tokenizer(word, add_special_tokens=False).input_ids) == 1, word
