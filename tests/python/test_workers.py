"""Where runs are computed: on threads, processes, any executor and a Dask cluster, with equal results."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forebay as fb
from conftest import Command
from forebay.disciplines.custom import plans_of
from forebay.runs.execute import execute, execute_all
from forebay.runs.job import Job
from forebay.runs.outcome import Failure, Outcome
from forebay.runs.simulate import simulate
from forebay.runs.store import Store
from forebay.runs.workers import Where
from test_sweep import SCENARIO

# A copy of this process may wait forever for a lock that another thread of it held.
SPAWN = multiprocessing.get_context("spawn")

COUNTS = {"flows.tcp.count": [1, 2, 3, 4]}


@pytest.fixture(scope="module")
def scenario() -> fb.Scenario:
    return fb.Scenario.from_toml(SCENARIO, "office.toml")


@pytest.fixture(scope="module")
def expected(scenario: fb.Scenario) -> pl.DataFrame:
    return fb.sweep(scenario, COUNTS, seeds=50, jobs=1).runs


class Inline(Executor):
    """Runs at once, in the caller's thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_any_executor_has_the_results_of_one_thread(scenario: fb.Scenario, expected: pl.DataFrame) -> None:
    first = expected.filter(pl.col("seed") <= 5)
    assert fb.sweep(scenario, COUNTS, seeds=5, executor=Inline()).runs.equals(first)
    with ThreadPoolExecutor(3) as threads, ProcessPoolExecutor(2, SPAWN) as processes:
        for executor in (threads, processes):
            assert fb.sweep(scenario, COUNTS, seeds=5, executor=executor).runs.equals(first)
        # They are the caller's, and stay open.
        assert threads.submit(int, "3").result() == 3
    compared = fb.compare(scenario, "red,drop_tail", seeds=2, executor=Inline())
    assert compared.runs.equals(fb.compare(scenario, "red,drop_tail", seeds=2).runs)


def collected(store: Store, jobs: list[Job[int]], where: Where) -> dict[int, Outcome | Failure]:
    with where.hire() as workers:
        runs = execute_all(jobs, lambda _: store, simulate, workers=workers, on_done=lambda _job, _kept: None)
        return {job.seed: outcome for job, outcome in runs}


LAW = """
import os
import forebay as fb
from pathlib import Path

class Slow(fb.AdmissionLaw):
    def __init__(self):
        (Path(__file__).parent / f"{os.getpid()}.pid").touch()

    def admit(self, queue_packets):
        return queue_packets < 30
"""


def _law_beside(folder: Path) -> Path:
    (folder / "laws.py").write_text(LAW)
    return folder


def test_disciplines_in_python_run_in_processes_of_the_command(tmp_path: Path, expected: pl.DataFrame) -> None:
    _law_beside(tmp_path)
    office = tmp_path / "office.toml"
    office.write_text(SCENARIO.replace('queue.drop_tail = { limit = "30 packets" }', 'queue.python = "laws:Slow"'))
    command = [sys.executable, "-m", "forebay", "sweep", str(office), "--vary", "flows.tcp.count=1,2", "--json"]
    command += ["--allow-python", "--jobs", "2", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said, complaint = process.communicate(timeout=120)
    assert process.returncode == 0, complaint
    pids = {int(path.stem) for path in tmp_path.glob("*.pid")}
    assert pids
    assert process.pid not in pids
    goodput = [run["goodput_bps"] for run in json.loads(said)["runs"]]
    built_in = expected.filter((pl.col("point") < 2) & (pl.col("seed") <= 3)).get_column("goodput_bps")
    assert goodput == built_in.to_list()


def test_processes_stop_when_the_call_ends_and_keep_what_has_finished(tmp_path: Path, scenario: fb.Scenario) -> None:
    long = scenario.override({"duration": "100000 s"}).to_toml()
    jobs = [Job(0, "short", 1, scenario.to_toml()), *(Job(0, "long", seed, long) for seed in range(2, 6))]
    custom = plans_of(["laws:Slow"], {}, _law_beside(tmp_path))
    assert custom.can_move
    with Where(2, may_start_processes=True).hire(None, custom) as workers:
        assert isinstance(workers.executor, ProcessPoolExecutor)
        runs = execute_all(jobs, lambda _: Store(tmp_path), simulate, workers=workers, on_done=lambda _job, _kept: None)
        job, outcome = next(runs)
        assert job.name == "short"
        assert isinstance(outcome, Outcome)
        begun = time.monotonic()
        runs.close()
    # Each of the others would run for minutes.
    assert time.monotonic() - begun < 30
    assert len(list(tmp_path.glob("*.parquet"))) == 1


def fails_in_its_second(text: str, name: str, seed: int, go_on: Callable[[], bool]) -> Outcome:
    if seed == 2:
        os._exit(9)
    return simulate(text, name, seed, go_on)


def test_a_process_that_dies_is_told_as_what_it_is(tmp_path: Path, scenario: fb.Scenario) -> None:
    jobs = [Job(0, "office", seed, scenario.to_toml()) for seed in range(1, 5)]
    with ProcessPoolExecutor(1, SPAWN) as pool, Where(1, pool).hire() as workers:
        runs = execute(
            jobs, lambda _: Store(tmp_path), fails_in_its_second, workers=workers, on_done=lambda _job, _kept: None
        )
        with pytest.raises(fb.InputError, match="the workers are gone"):
            list(runs)
    assert len(list(tmp_path.glob("*.parquet"))) == 1
    assert len(collected(Store(tmp_path), jobs, Where())) == 4


def test_jobs_may_be_added_while_others_run(tmp_path: Path) -> None:
    waiting = deque([Job(0, "first", 1, "")])
    seen: list[int] = []

    def counted(text: str, name: str, seed: int, go_on: Callable[[], bool]) -> Outcome:
        return Outcome({}, digest=str(seed))

    with Where(2).hire() as workers:
        for job, _ in execute(waiting, lambda _: Store(tmp_path), counted, workers=workers, on_done=lambda *_: None):
            seen.append(job.seed)
            if job.seed < 5:
                waiting.append(Job(0, "more", job.seed + 1, ""))
    assert seen == [1, 2, 3, 4, 5]


class Cluster:
    """A Dask scheduler and two workers, processes on this machine."""

    def __init__(self, folder: Path, stack: ExitStack, *, without_forebay: bool = False) -> None:
        self.file = folder / "scheduler.json"
        self.logs = folder
        self._stack = stack
        self._without_forebay = without_forebay
        self._start("scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard")
        self.workers = [self._start("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard") for _ in range(2)]
        for _ in range(3000):
            if self.file.exists() and self.file.stat().st_size:
                break
            time.sleep(0.01)
        self.address: str = json.loads(self.file.read_text())["address"]

    def _start(self, what: str, *arguments: str) -> subprocess.Popen[bytes]:
        log = self._stack.enter_context((self.logs / f"{what}.log").open("ab"))
        module = f"distributed.cli.dask_{what}"
        program = ["-m", module]
        if self._without_forebay and what == "worker":
            program = ["-c", f"import sys; sys.modules['forebay'] = None; from {module} import main; main()"]
        command = [sys.executable, *program, "--scheduler-file", str(self.file), *arguments]
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.logs)
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with ExitStack() as stack:
        yield Cluster(tmp_path, stack)


def test_a_cluster_that_loses_a_worker_has_the_results_of_one_thread(
    cluster: Cluster, tmp_path: Path, expected: pl.DataFrame
) -> None:
    office, out = tmp_path / "office.toml", tmp_path / "out"
    office.write_text(SCENARIO)
    command = [sys.executable, "-m", "forebay", "sweep", str(office), "--vary", "flows.tcp.count=1,2,3,4"]
    command += ["--seeds", "50", "--dask", cluster.address, "--json", "--out", str(out)]
    victim = threading.Thread(target=_kill_in_the_middle, args=(cluster.workers[0], out))
    victim.start()
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    victim.join()
    assert result.returncode == 0, result.stderr
    runs = json.loads(result.stdout)["runs"]
    assert [(run["point"], run["seed"], run["digest"]) for run in runs] == expected.select(
        "point", "seed", "digest"
    ).rows()
    kept = pl.concat([pl.read_parquet(path, columns=["run", "digest"]) for path in (out / "runs").iterdir()])
    assert kept.height == kept.get_column("run").n_unique() == 200
    assert sorted(kept.get_column("digest")) == sorted(expected.get_column("digest"))
    assert cluster.workers[0].poll() is not None
    assert cluster.workers[1].poll() is None


def _kill_in_the_middle(worker: subprocess.Popen[bytes], out: Path) -> None:
    while len(list(out.glob("runs/*.parquet"))) < 60 and worker.poll() is None:
        time.sleep(0.005)
    worker.send_signal(signal.SIGKILL)


def test_reproduce_and_compare_run_on_a_cluster(cluster: Cluster, tmp_path: Path, forebay: Command) -> None:
    office = tmp_path / "office.toml"
    office.write_text(SCENARIO)
    arguments = ["compare", str(office), "--queue", "red,drop_tail", "--seeds", "2", "--json"]
    there = forebay(*arguments, "--dask", cluster.address, "--out", str(tmp_path / "there"))
    here = forebay(*arguments, "--out", str(tmp_path / "here"))
    assert json.loads(there.stdout)["runs"] == json.loads(here.stdout)["runs"]


def test_a_cluster_without_forebay_is_one_clear_error(tmp_path: Path, forebay: Command) -> None:
    office = tmp_path / "office.toml"
    office.write_text(SCENARIO)
    with ExitStack() as stack:
        cluster = Cluster(tmp_path, stack, without_forebay=True)
        words = ["sweep", str(office), "--vary", "flows.tcp.count=1", "--dask", cluster.address, "--out", "out"]
        # The workers may not have reached the scheduler yet.
        for _ in range(100):
            result = forebay(*words)
            if "has no workers" not in result.stderr:
                break
    assert result.returncode == 2
    said = result.stderr.splitlines()
    assert said[-2].startswith(f"error: the workers of {cluster.address} cannot import Forebay")
    assert said[-1].startswith("hint: install Forebay")
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "out").exists()


def fails_to_import(text: str, name: str, seed: int, go_on: Callable[[], bool]) -> Outcome:
    message = "No module named 'forebay.runs'"
    raise ModuleNotFoundError(message, name="forebay.runs")


def test_an_executor_without_forebay_is_one_clear_error_and_no_failed_run(
    tmp_path: Path, scenario: fb.Scenario
) -> None:
    jobs = [Job(0, "office", 1, scenario.to_toml())]
    with Where(1).hire() as workers:
        runs = execute_all(jobs, lambda _: Store(tmp_path), fails_to_import, workers=workers, on_done=lambda *_: None)
        with pytest.raises(fb.InputError, match="cannot import Forebay"):
            list(runs)
    assert list(tmp_path.glob("*.parquet")) == []


def runs_out_of_memory(text: str, name: str, seed: int, go_on: Callable[[], bool]) -> Outcome:
    if seed == 1:
        raise MemoryError
    if seed == 2:
        message = "cannot start a thread: Resource temporarily unavailable (os error 11)"
        raise RuntimeError(message)
    return simulate(text, name, seed, go_on)


def test_a_run_without_memory_fails_in_this_call_only(tmp_path: Path, scenario: fb.Scenario) -> None:
    jobs = [Job(0, "office", seed, scenario.to_toml()) for seed in (1, 2, 3)]
    with Where(1).hire() as workers:
        runs = execute_all(
            jobs, lambda _: Store(tmp_path), runs_out_of_memory, workers=workers, on_done=lambda *_: None
        )
        found = {job.seed: outcome for job, outcome in runs}
    for seed in (1, 2):
        failed = found[seed]
        assert isinstance(failed, Failure)
        assert failed.to_text() == "MemoryError: there is not enough memory"
    # The others are not lost, and the next call runs these again.
    assert len(list(tmp_path.glob("*.parquet"))) == 1
    assert all(isinstance(outcome, Outcome) for outcome in collected(Store(tmp_path), jobs, Where()).values())


def test_a_dead_scheduler_is_one_clear_error(forebay: Command, tmp_path: Path) -> None:
    office = tmp_path / "office.toml"
    office.write_text(SCENARIO)
    arguments = ["sweep", str(office), "--vary", "flows.tcp.count=1", "--out", str(tmp_path / "out")]
    said = {
        "tcp://127.0.0.1:1": "there is no Dask scheduler at tcp://127.0.0.1:1",
        "nowhere": "--dask nowhere: this is no",
    }
    for address, message in said.items():
        result = forebay(*arguments, "--dask", address)
        assert result.returncode == 2, result.stderr
        assert result.stderr.startswith(f"error: {message}")
        assert len(result.stderr.splitlines()) == 2
        assert not (tmp_path / "out").exists()


def test_where_says_what_it_cannot_do() -> None:
    with pytest.raises(fb.InputError, match="at least 1, and is 0"):
        Where(0)
    with pytest.raises(fb.InputError, match="were both given"):
        Where(None, Inline(), "tcp://127.0.0.1:8786")
