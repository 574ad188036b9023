"""What threads remember: each its own, or one for all."""

import threading
import time

from dpexp.core.caches import kept_once, kept_per_thread


def test_what_all_threads_need_is_computed_once() -> None:
    """With `functools.lru_cache` alone each of the eight would compute it."""
    made: list[int] = []

    @kept_once(4)
    def slow(number: int) -> int:
        made.append(number)
        time.sleep(0.05)
        return slow(number - 1) + 1 if number else 0

    found: list[int] = []
    barrier = threading.Barrier(8)

    def work() -> None:
        barrier.wait()
        found.append(slow(1))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sorted(made), found) == ([0, 1], [1] * 8)


def test_every_thread_has_a_memory_of_its_own() -> None:
    """Two threads that take turns compute each number once; with one memory for both it would be every time."""
    made: list[int] = []

    @kept_per_thread(1)
    def kept(number: int) -> int:
        made.append(number)
        return number

    barrier = threading.Barrier(2)

    def work(number: int) -> None:
        for _ in range(5):
            barrier.wait()
            assert kept(number) == number

    threads = [threading.Thread(target=work, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [1, 2]
    assert [kept(3), kept(4), kept(3)] == [3, 4, 3]
    assert made[2:] == [3, 4, 3]
