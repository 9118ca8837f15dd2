"""The Ray engine: what it finds is what one process finds, whatever befalls its actors."""

import os
import signal
import sys
import time

import pandas as pd
import pytest
from conftest import FAMILIES

torch = pytest.importorskip("torch", reason="live extra is not installed")
ray = pytest.importorskip("ray", reason="ray extra is not installed")
psutil = pytest.importorskip("psutil", reason="comes with accelerate")

from vca_core import engine_ray, scorer  # noqa: E402
from vca_core.actor import check_facts, facts, load_arguments  # noqa: E402
from vca_core.backends import BackendError, load_backend  # noqa: E402
from vca_core.cache import read_scores, verify  # noqa: E402
from vca_core.cache.files import read_run_record  # noqa: E402
from vca_core.cache.journal import journal_path  # noqa: E402
from vca_core.plan import Chunk  # noqa: E402
from vca_core.probes import build_probes  # noqa: E402
from vca_core.records import SchemaError  # noqa: E402
from vca_core.run import Progress, score_manifest  # noqa: E402

pytestmark = [pytest.mark.live, pytest.mark.slow]
INTERFACES = ["yes_no", "true_false"]


@pytest.fixture(scope="module")
def cluster():
    """Ray on this machine, with two processors whatever it has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAY_ADDRESS", raising=False)
        patch.setattr(ray, "init", lambda init=ray.init, **given: init(num_cpus=2, **given))
        assert engine_ray.join()
        assert not engine_ray.join()
    yield
    ray.shutdown()


@pytest.fixture
def go(tmp_path, picture_dir, load_miniature, make_samples, monkeypatch):
    """Score six pairs in small chunks; the image of one statement is missing."""
    monkeypatch.setattr(scorer, "CHUNK", 14)
    samples = make_samples(6)
    samples[-1] = samples[-1].model_copy(update={"image": "missing.png"})
    # An actor of two on two processors has one thread; more may move the last bit.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)

    def run(place, score=lambda done, total: None, **options):
        return score_manifest(
            samples,
            load_miniature("qwen3_vl"),
            model="mini",
            contexts=["original", "text_only", "blank"],
            interface=INTERFACES,
            out_dir=tmp_path / place,
            image_dir=picture_dir,
            progress=Progress(score=score),
            **options,
        )

    yield run
    torch.set_num_threads(threads)


def check_same(outcomes, expected, root):
    assert verify(root).faults == []
    for one, other in zip(outcomes, expected, strict=True):
        assert one.path.read_bytes() == other.path.read_bytes()
        assert not journal_path(one.path).exists()
        assert one.errors == other.errors and one.errors.total() == 2
        records = [read_run_record(outcome.path) for outcome in (one, other)]
        assert records[0]["pixels_seen"] == records[1]["pixels_seen"] is not None


def actor_processes():
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if process.cmdline()[:1] and process.cmdline()[0].startswith("ray::Actor"):
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def test_score_manifest_with_two_actors_is_as_with_one_process(cluster, go, tmp_path):
    counts = []
    outcomes = go("ray", engine="ray", actors=2, score=lambda done, total: counts.append(done))
    assert len(counts) > 3 and counts == sorted(counts) and counts[-1] == 72
    check_same(outcomes, go("local"), tmp_path / "ray")


def test_score_manifest_goes_on_without_a_lost_actor_and_resumes_when_interrupted(
    cluster, go, tmp_path
):
    pids = []

    def kill_then_interrupt(done, total):
        running = actor_processes()
        pids.append({process.pid for process in running})
        if len(pids) > 1:
            raise KeyboardInterrupt
        for process in running:
            process.send_signal(signal.SIGKILL)

    with pytest.raises(KeyboardInterrupt):
        go("ray", engine="ray", actors=1, score=kill_then_interrupt)
    assert pids[0] and pids[1] and not pids[0] & pids[1]  # another process went on
    deadline = time.monotonic() + 20
    while actor_processes() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not actor_processes()
    resumed = go("ray")  # the other engine takes the same journal
    assert 0 < sum(outcome.scored for outcome in resumed) < 72
    assert verify(tmp_path / "ray").faults == []
    for one, other in zip(resumed, go("local"), strict=True):
        # What was left stands in other batches, which may move the last bits.
        frames = [read_scores(outcome.path) for outcome in (one, other)]
        pd.testing.assert_frame_equal(*frames, rtol=0, atol=1e-5)


def test_score_with_ray_ends_where_a_checkpoint_is_broken(
    cluster, tmp_path, miniatures, make_samples
):
    folder = tmp_path / "broken"
    folder.mkdir()
    for path in (miniatures / "internvl").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    backend = load_backend(str(folder))
    backend.fingerprint()
    (folder / "model.safetensors").unlink()
    probes = build_probes(make_samples(1), ["text_only"], "yes_no")
    with pytest.raises(BackendError, match="Weights load from safetensors only; 'broken' has"):
        list(engine_ray.score_with_ray(probes, backend, model="broken"))


def test_done_gives_up_on_a_chunk_that_kills_its_actors_after_the_others(
    cluster, make_samples, monkeypatch
):
    monkeypatch.setattr(engine_ray, "LOST", 2)

    class Weak:
        def prepare(self):
            pass

        def score(self, probes):
            if probes[0].sample.polarity == "false":
                os._exit(1)
            return [probes[0].text], []

    probes = build_probes(make_samples(2), ["text_only"], "yes_no")
    chunks = [Chunk([], [probe]) for probe in reversed(probes[:3])]
    start = ray.remote(Weak).options(num_cpus=1).remote
    found = []
    with pytest.raises(RuntimeError, match="lost an actor 3 times"):
        for rows, _ in engine_ray._done(start, 1, chunks):
            found += rows
    assert found == [probes[2].text, probes[0].text]


@pytest.mark.parametrize("family", FAMILIES)
def test_load_arguments_make_the_same_model(load_miniature, family):
    given = {"system": "Be brief."} | ({"pixels": (4096, 4096)} if family == "qwen3_vl" else {})
    backend = load_miniature(family)
    own = facts(backend)
    other = load_backend(backend.files.source, **given)
    for one in (backend, other):
        check_facts(facts(load_backend(**load_arguments(one))), facts(one))
    with pytest.raises(BackendError, match=r'has system "Be brief\.", the driver |has \w+ '):
        check_facts(facts(other), own)


def test_load_arguments_refuse_what_no_checkpoint_makes(toy):
    with pytest.raises(BackendError, match="'toy' has none"):
        load_arguments(toy)


def test_facts_leave_out_which_build_a_package_is_of(toy, monkeypatch):
    monkeypatch.setattr("vca_core.actor.package_versions", lambda: {"torch": "2.9.0+cu128"})
    assert facts(toy)["torch"] == '"2.9.0"'


def test_check_facts_names_both_sides():
    with pytest.raises(BackendError, match='has torch "2.9", the driver "2.10"'):
        check_facts({"dtype": "x", "torch": '"2.9"'}, {"dtype": "x", "torch": '"2.10"'})
    with pytest.raises(BackendError, match="has dtype None, the driver x"):
        check_facts({}, {"dtype": "x"})


@pytest.mark.parametrize(
    ("there", "device", "actors", "most", "expected"),
    [
        ({"CPU": 8.0}, "cpu", None, 99, (2, {"num_cpus": 4})),
        ({"CPU": 8.0}, "cpu", 3, 99, (3, {"num_cpus": 2})),
        ({"CPU": 8.0}, "cpu", 8, 2, (2, {"num_cpus": 4})),
        ({"CPU": 1.0}, "cpu", None, 99, (1, {"num_cpus": 1})),
        ({"CPU": 8.0, "GPU": 4.0}, "cuda", None, 99, (4, {"num_cpus": 1, "num_gpus": 1})),
        ({"CPU": 8.0, "GPU": 4.0}, "cuda", 3, 2, (2, {"num_cpus": 1, "num_gpus": 1})),
    ],
)
def test_divide_gives_each_actor_its_part(there, device, actors, most, expected):
    assert engine_ray.divide([there], device, actors, most) == expected


@pytest.mark.parametrize(
    ("device", "actors", "text"),
    [
        ("cuda", None, "Each of the actors needs a GPU; Ray has 0"),
        ("cuda", 1, "Each of 1 actors needs a GPU; Ray has 0"),
        ("cpu", 3, "Each of 3 actors needs a CPU; Ray has 2"),
        ("cuda:1", None, "name cpu or cuda, got 'cuda:1'"),
    ],
)
def test_divide_refuses_actors_that_would_wait_for_ever(device, actors, text):
    with pytest.raises(BackendError, match=text):
        engine_ray.divide([{"CPU": 2.0}], device, actors, 9)


def test_divide_asks_for_no_more_than_one_machine_has():
    four = [{"CPU": 4.0}] * 4
    assert engine_ray.divide(four, "cpu", 2, 9) == (2, {"num_cpus": 4})
    assert engine_ray.divide(four, "cpu", 8, 9) == (8, {"num_cpus": 2})
    assert engine_ray.divide([{"CPU": 8.0}, {"CPU": 1.0}], "cpu", 3, 9) == (3, {"num_cpus": 2})


def test_join_without_ray_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BackendError, match=r"pip install 'vca-core\[ray\]'"):
        engine_ray.join()


def test_score_manifest_refuses_engines_it_does_not_know(go):
    with pytest.raises(SchemaError, match="Unknown engine 'dask'"):
        go("x", engine="dask")
    with pytest.raises(SchemaError, match="`actors` is for the engine ray"):
        go("x", actors=2)
