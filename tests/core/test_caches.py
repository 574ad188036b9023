"""What threads remember: each its own, or one for all."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from dpexp.core.caches import kept_once, kept_per_thread


def test_what_all_threads_need_is_computed_once() -> None:
    """With `functools.lru_cache` alone each of the eight would compute it."""
    made: list[int] = []

    @kept_once(4)
    def slow(number: int) -> int:
        made.append(number)
        time.sleep(0.05)
        return slow(number - 1) + 1 if number else 0

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(slow, [1] * 8)) == [1] * 8
    assert sorted(made) == [0, 1]


def test_every_thread_has_a_memory_of_its_own() -> None:
    """Two threads that take turns compute each number once; with one memory for both it would be every time."""
    made: list[int] = []
    barrier = threading.Barrier(2)

    @kept_per_thread(1)
    def kept(number: int) -> int:
        made.append(number)
        return number

    def work(number: int) -> list[int]:
        return [kept(number) for _ in range(5) if barrier.wait() >= 0]

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(work, (1, 2))) == [[1] * 5, [2] * 5]
    assert sorted(made) == [1, 2]
    assert [kept(3), kept(4), kept(3)] == made[2:] == [3, 4, 3]
