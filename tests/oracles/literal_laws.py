"""The law of the output of every mechanism, by enumeration from the algorithm as it is written.

Nothing here comes from an analysis: batches are listed with their probabilities, sums are added up, noise is Gaussian.
`draw(name, rng)` gives a random small setting: at most four records with gradients of -1, 0 or 1, one step or two, in
few cases up to four. A record that is removed is None, and leaves all others where they are.

One mechanism cannot be enumerated. `reduced-momentum` releases estimates from changes of gradients between iterates,
which gradients of -1, 0 and 1 do not have: `literal_momentum` has its pairs by dense algebra. Of the projected
mechanisms losses are linear, with a common quadratic: other losses have no finite list.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, permutations, product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from dpexp.privacy.cap import cap
from dpexp.privacy.mechanisms import MECHANISMS
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.mechanisms.momentum import recursion_stds
from tests.oracles.literal_law import Data, Part, largest, masses, neighbours, normal_cells

Pairs = list[tuple[Data, Data]]
Batches = Iterator[tuple[float, tuple[tuple[int, ...], ...]]]
"""probabilities of what the batches of all steps are"""


class Small(NamedTuple):
    """A small setting: what states epsilon, and the probabilities of cells for every data set that is given."""

    mechanism: Mechanism
    masses: Callable[[Sequence[Data]], np.ndarray]
    pairs: Pairs
    released: str = "all-iterates"
    planted: Mechanism | None = None
    """the same with an error: what it states must be exceeded"""

    def largest(self, deltas: Sequence[float]) -> list[float]:
        """The largest epsilon at each delta of all pairs."""
        every = list(dict.fromkeys(data for pair in self.pairs for data in pair))
        place = {data: k for k, data in enumerate(every)}
        return largest(self.masses(every), [(place[a], place[b]) for a, b in self.pairs], deltas)


def _parts(law: Callable[[Data], Sequence[Part]]) -> Callable[[Sequence[Data]], np.ndarray]:
    return lambda every: masses([law(data) for data in every])


def _noise(rng: np.random.Generator, low: float = 0.5, high: float = 4.0) -> float:
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))


def subsets(present: Sequence[int], q: float) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Every record independently."""
    for size in range(len(present) + 1):
        for chosen in combinations(present, size):
            yield q**size * (1 - q) ** (len(present) - size), chosen


def several(one: Callable[[], Iterator[tuple[float, Any]]], times: int) -> Iterator[tuple[float, tuple[Any, ...]]]:
    """Independent draws."""
    for draws in product(list(one()), repeat=times):
        yield math.prod(weight for weight, _ in draws), tuple(what for _, what in draws)


def cut(order: Sequence[int], size: int) -> tuple[tuple[int, ...], ...]:
    """Batches of one size from an order of all places, of records and of the one that is removed."""
    return tuple(tuple(order[k : k + size]) for k in range(0, len(order), size))


def orders(places: int, size: int) -> Iterator[tuple[float, tuple[tuple[int, ...], ...]]]:
    every = list(permutations(range(places)))
    return ((1 / len(every), cut(order, size)) for order in every)


def sampled(sampling: str, places: int, present: Sequence[int], q: float, steps: int) -> Batches:
    """The schemes of `sampled-gaussian`."""
    size = round(q * places)
    if sampling == "poisson":
        yield from several(lambda: subsets(present, q), steps)
    elif sampling == "fixed-size":
        fixed = list(combinations(present, size))
        yield from several(lambda: ((1 / len(fixed), batch) for batch in fixed), steps)
    elif sampling == "full-batch":
        yield 1.0, (tuple(present),) * steps
    else:
        batches = places // size
        epochs = math.ceil(steps / batches)
        if sampling == "cyclic":
            yield 1.0, (cut(range(places), size) * epochs)[:steps]
        elif sampling == "shuffled":
            yield from ((weight, (once * epochs)[:steps]) for weight, once in orders(places, size))
        else:
            for weight, every in several(lambda: orders(places, size), epochs):
                yield weight, sum(every, ())[:steps]


def sums(data: Data, batches: Sequence[Sequence[int]], noise: float) -> tuple[float, ...]:
    """The sum of each step over the noise; who is not there adds nothing."""
    found = []
    for step, batch in enumerate(batches):
        found.append(math.fsum(record[step] for record in (data[i] for i in batch) if record is not None) / noise)
    return tuple(found)


def there(data: Data) -> list[int]:
    return [i for i, record in enumerate(data) if record is not None]


def local_gaussian(rng: np.random.Generator) -> Small:
    mu, noise = _noise(rng), float(rng.choice([1.0, 2.0, 3.0]))
    kind = MECHANISMS["local-gaussian"]
    mechanism = kind(mu=mu, noise_sensitivity=noise, exact_sensitivity=2.0)  # messages of -1 and 1
    return Small(
        mechanism, _parts(lambda data: [Part(1.0, (data[0][0] * mu / noise,))]), neighbours(1, 1, "replace-one", rng, 9)
    )


def sampled_gaussian(rng: np.random.Generator) -> Small:
    sampling = str(rng.choice(["poisson", "poisson", "fixed-size", "cyclic", "shuffled", "reshuffled", "full-batch"]))
    places, steps, q = int(rng.integers(1, 5)), int(rng.integers(1, 3)), float(rng.uniform(0.05, 0.95))
    relation = "replace-one" if sampling == "fixed-size" else str(rng.choice(["add-remove", "replace-one"]))
    if sampling == "full-batch":
        q = 1.0
    elif sampling == "fixed-size":
        q = int(rng.integers(1, places + 1)) / places
    elif sampling != "poisson":
        q = 1 / int(rng.choice([k for k in range(1, places + 1) if places % k == 0]))
    z = _noise(rng)
    given = {"noise_multiplier": z, "sampling_probability": q, "steps": steps}
    given |= {"sampling": sampling, "neighboring_relation": relation}
    kind = MECHANISMS["sampled-gaussian"]

    def law(data: Data) -> list[Part]:
        return [Part(w, sums(data, b, z)) for w, b in sampled(sampling, places, there(data), q, steps)]

    # planted: one step fewer, q for 1 - q, one norm in place of two
    planted = None
    if steps == 2 and sampling in ("poisson", "full-batch"):
        planted = kind.model_validate(given | {"steps": 1})
    elif sampling == "poisson" and q > 0.7:
        planted = kind.model_validate(given | {"sampling_probability": 1 - q})
    elif relation == "replace-one" and sampling in ("full-batch", "fixed-size"):
        planted = kind.model_validate(given | {"noise_multiplier": 2 * z})
    return Small(kind.model_validate(given), _parts(law), neighbours(places, steps, relation, rng, 40), planted=planted)


def epoch_gaussian(rng: np.random.Generator) -> Small:
    sampling = str(rng.choice(["balls-in-bins", "cyclic-poisson", "shuffled", "reshuffled"]))
    batches, epochs = [(1, 1), (2, 1), (1, 2), (3, 1), (2, 2)][rng.integers(5)]
    relation, z = str(rng.choice(["add-remove", "replace-one"])), _noise(rng)
    ordered = sampling in ("shuffled", "reshuffled")
    q = float(rng.uniform(0.1, 1)) if sampling == "cyclic-poisson" else 1.0
    places = batches if ordered else int(rng.integers(1, 3))
    steps = batches * epochs

    def epoch(present: Sequence[int]) -> Iterator[tuple[float, tuple[tuple[int, ...], ...]]]:
        """Every record in one batch, independently."""
        for bins in product(range(batches), repeat=len(present)):
            chosen = tuple(tuple(i for i, b in zip(present, bins, strict=True) if b == k) for k in range(batches))
            yield batches ** -float(len(present)), chosen

    def drawn(present: Sequence[int]) -> Batches:
        if sampling == "balls-in-bins":
            yield from ((w, sum(e, ())) for w, e in several(lambda: epoch(present), epochs))
        elif sampling == "cyclic-poisson":  # the records of a group, which follows from their places
            turns = [[i for i in present if i % batches == k] for k in range(batches)] * epochs
            for choice in product(*(list(subsets(turn, q)) for turn in turns)):
                yield math.prod(w for w, _ in choice), tuple(batch for _, batch in choice)
        else:
            yield from sampled(sampling, places, present, 1 / batches, steps)

    mechanism = MECHANISMS["epoch-gaussian"](
        noise_multiplier=z, batches=batches, epochs=epochs, sampling=sampling, sampling_probability=q,
        neighboring_relation=relation,
    )  # fmt: skip
    return Small(
        mechanism,
        _parts(lambda data: [Part(w, sums(data, b, z)) for w, b in drawn(there(data))]),
        neighbours(places, steps, relation, rng, 20),
    )


def truncated_poisson(rng: np.random.Generator) -> Small:
    n, steps, q, z = int(rng.integers(1, 5)), int(rng.integers(1, 3)), float(rng.uniform(0.05, 0.95)), _noise(rng)
    limit = int(rng.integers(1, n + 1))

    def kept(present: Sequence[int]) -> Iterator[tuple[float, tuple[int, ...]]]:
        for weight, batch in subsets(present, q):
            every = list(combinations(batch, min(limit, len(batch))))
            yield from ((weight / len(every), chosen) for chosen in every)

    def law(data: Data) -> list[Part]:
        return [Part(w, sums(data, b, z)) for w, b in several(lambda: kept(there(data)), steps)]

    kind, given = MECHANISMS["truncated-poisson"], {"n": n, "sampling_probability": q, "cap": limit, "steps": steps}
    planted = kind(noise_multiplier=2 * z, **given)  # one norm where a record displaces another
    return Small(
        kind(noise_multiplier=z, **given), _parts(law), neighbours(n, steps, "add-remove", rng, 40), planted=planted
    )


def shown_sizes(rng: np.random.Generator) -> Small:
    places, steps, q, z = int(rng.integers(2, 5)), int(rng.integers(1, 3)), float(rng.uniform(0.05, 0.95)), _noise(rng)
    relation = str(rng.choice(["add-remove", "replace-one"]))

    def law(data: Data) -> list[Part]:
        every = several(lambda: subsets(there(data), q), steps)
        return [Part(w, sums(data, b, z), tuple(map(len, b))) for w, b in every]

    kind = MECHANISMS["shown-sizes"]
    given = {"n": places, "sampling_probability": q, "steps": steps, "neighboring_relation": relation}
    planted = kind.model_validate(given | {"noise_multiplier": 2 * z})
    return Small(
        kind.model_validate(given | {"noise_multiplier": z}), _parts(law), neighbours(places, steps, relation, rng, 30), planted=planted
    )  # fmt: skip


def k_of_t(rng: np.random.Generator) -> Small:
    t, k, epochs = [(1, 1, 1), (2, 1, 1), (2, 2, 1), (3, 1, 1), (3, 2, 1), (2, 1, 2), (1, 1, 2)][rng.integers(7)]
    relation, z, n = str(rng.choice(["add-remove", "replace-one"])), _noise(rng), int(rng.integers(1, 3))
    steps = t * epochs

    def law(data: Data) -> list[Part]:
        # a record's steps in all epochs
        choices = [list(combinations(range(e * t, e * t + t), k)) for e in range(epochs)]
        own = [sum(uses, ()) for uses in product(*choices)]
        present, found = there(data), []
        for drawn in product(own, repeat=len(present)):
            batches = [[i for i, uses in zip(present, drawn, strict=True) if s in uses] for s in range(steps)]
            found.append(Part(float(len(own)) ** -len(present), sums(data, batches, z)))
        return found

    kind = MECHANISMS["k-of-t"]
    given = {"steps_per_epoch": t, "selected": k, "epochs": epochs}
    given |= {"neighboring_relation": relation, "noise_multiplier": z}
    planted = kind.model_validate(given | {"selected": k - 1}) if k > 1 else None
    return Small(kind.model_validate(given), _parts(law), neighbours(n, steps, relation, rng, 20), planted=planted)


def cap_sampling(rng: np.random.Generator) -> Small:
    """In the plane: arcs of the circle, cut at the ends of the caps of the directions 0 and pi; 0 is uniform."""
    eps = float(rng.uniform(0.1, 6))
    found = cap(eps, 2)
    half = math.acos(found.gamma)
    ends = [half, 2 * math.pi - half, math.pi - half, math.pi + half]
    edges = np.unique([*np.linspace(0, 2 * math.pi, 361), *ends])
    middle, share = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / (2 * math.pi)

    def law(every: Sequence[Data]) -> np.ndarray:
        laws = []
        for ((g,),) in every:
            inside = np.cos(middle - (0 if g > 0 else math.pi)) >= found.gamma
            density = np.where(inside, found.inside / (half / math.pi), (1 - found.inside) / (1 - half / math.pi))
            laws.append(share * (density if g else 1.0))
        return np.array(laws)

    return Small(MECHANISMS["cap-sampling"](pure_eps=eps, dimension=2), law, neighbours(1, 1, "replace-one", rng, 9))


def private_selection(rng: np.random.Generator) -> Small:
    """The largest or the smallest of K noisy sums of one step, the release being its own score."""
    n, q, z, mean = int(rng.integers(1, 4)), float(rng.uniform(0.05, 1)), _noise(rng, 0.7), float(rng.uniform(1, 20))
    shape = float(rng.choice([math.inf, math.inf, 0.0, 1.0, 2.5]))
    sampling = str(rng.choice(["poisson", "full-batch"]))
    q = 1.0 if sampling == "full-batch" else q
    sign = float(rng.choice([-1.0, 1.0]))
    edges = np.array([-np.inf, *np.linspace(-7 - n / z, 7 + n / z, 3000), np.inf])

    def of_number(x: np.ndarray) -> np.ndarray:
        """E[x^K] (Papernot and Steinke, Definition 1), by the sum over K."""
        if math.isinf(shape):
            return np.exp(mean * (x - 1))
        low, high = 1e-12, 1.0  # gamma, from the mean of the sum
        for _ in range(200):
            gamma = (low + high) / 2
            low, high = (gamma, high) if _mean_of(shape, gamma) > mean else (low, gamma)
        if shape == 0:
            return np.log1p(-(1 - low) * x) / math.log(low)
        return ((1 - (1 - low) * x) ** -shape - 1) / (low**-shape - 1)

    def law(every: Sequence[Data]) -> np.ndarray:
        rows = []
        for data in every:
            one = [(w, sums(data, b, z)[0]) for w, b in sampled(sampling, n, there(data), q, 1)]
            below = sum(w * ndtr(edges - sign * mean) for w, mean in one)
            best = of_number(np.clip(below, 0, 1))
            rows.append(np.append(np.diff(best), best[0]))  # and nothing, where K = 0
        return np.array(rows)

    mechanism = MECHANISMS["private-selection"](
        noise_multiplier=z, sampling_probability=q, steps=1, sampling=sampling, runs=mean, shape=shape
    )
    return Small(mechanism, law, neighbours(n, 1, "add-remove", rng, 20))


def _mean_of(shape: float, gamma: float) -> float:
    """E[K] by the derivative of E[x^K] at 1, in differences of a millionth."""
    if shape == 0:
        return -(1 - gamma) / (gamma * math.log(gamma)) if gamma < 1 else 1.0
    return shape * (1 - gamma) * gamma ** (-shape - 1) / (gamma**-shape - 1) if gamma < 1 else 1.0


def last_iterate(
    rng: np.random.Generator, sampling: str, n: int, size: int, steps: int, half: float, move: float, bend: float
) -> Callable[[Sequence[Data]], np.ndarray]:
    """The last iterate on [-half, half] of w - move (sum g) / size - bend w (batch) / size + N(0, 1), from a public start.

    In units of the noise on the parameter. The density between the ends is smooth, and is integrated by Gauss and
    Legendre; the ends have masses.
    """
    start = float(rng.choice([-half, 0.0, half]))
    nodes, weights = np.polynomial.legendre.leggauss(80)
    at = np.append(half * nodes, [-half, half])  # places of the iterate, the ends with masses of their own
    edges = np.linspace(-half, half, 600)

    def law(every: Sequence[Data]) -> np.ndarray:
        rows = []
        for data in every:
            total, runs = np.zeros(len(edges) + 1), dict[Any, float]()
            for weight, batches in sampled(sampling, n, there(data), size / n, steps):
                used = [[r for r in (data[i] for i in batch) if r is not None] for batch in batches]
                run = tuple((len(batch) * bend, math.fsum(r[step] for r in batch)) for step, batch in enumerate(used))
                runs[run] = runs.get(run, 0.0) + weight
            for run, weight in runs.items():
                places, shares = np.array([start]), np.array([1.0])
                for step, (pull, push) in enumerate(run, start=1):
                    moved = places * (1 - pull / size) - move * push / size
                    if step < len(run):
                        normal = np.exp(-(((half * nodes)[:, None] - moved) ** 2) / 2) / math.sqrt(2 * math.pi)
                        density = normal @ shares
                        ends = [ndtr(-half - moved) @ shares, ndtr(moved - half) @ shares]
                        places, shares = at, np.append(half * weights * density, ends)
                    else:
                        total += weight * (shares @ normal_cells(edges - moved[:, None]))
            rows.append(total)
        return np.array(rows)

    return law


def noisy_sgd(rng: np.random.Generator) -> Small:
    n, steps, eta = int(rng.integers(1, 5)), int(rng.integers(1, 3)), _noise(rng, 0.1, 1)
    sampling = str(rng.choice(["fixed-size", "poisson", "full-batch", "cyclic", "shuffled"]))
    size = n if sampling == "full-batch" else int(rng.choice([b for b in range(1, n + 1) if n % b == 0]))
    relation = "replace-one" if sampling == "fixed-size" else str(rng.choice(["add-remove", "replace-one"]))
    noise = _noise(rng, 0.3, 3) / size
    sd = eta * noise
    half = sd * _noise(rng, 0.5, 10)
    bend = float(rng.choice([0.0, 0.3])) / max(half, 1.0)
    mechanism = MECHANISMS["noisy-sgd"].model_validate(
        {
            "n": n, "batch_size": size, "step_size": eta, "noise_std": noise, "lipschitz": 1.0, "diameter": 2 * half,
            "smoothness": 1.0, "strong_convexity": bend, "steps": steps, "sampling": sampling, "neighboring_relation": relation,
        }
    )  # fmt: skip
    linear = 1 - bend * half  # what a gradient of norm 1 has beside the common quadratic
    law = last_iterate(rng, sampling, n, size, steps, half / sd, eta * linear / sd, eta * bend)
    return Small(mechanism, law, neighbours(n, steps, relation, rng, 8), "last-iterate")


def clipped_noisy_sgd(rng: np.random.Generator) -> Small:
    n, steps, eta = int(rng.integers(1, 5)), int(rng.integers(1, 3)), _noise(rng, 0.1, 1)
    sampling = str(rng.choice(["fixed-size", "poisson", "full-batch"]))
    size = n if sampling == "full-batch" else int(rng.integers(1, n + 1))
    relation = "replace-one" if sampling == "fixed-size" else str(rng.choice(["add-remove", "replace-one"]))
    clip, sd = _noise(rng, 0.5, 2), eta * _noise(rng, 0.3, 3) / size
    half = sd * _noise(rng, 0.5, 10)
    mechanism = MECHANISMS["clipped-noisy-sgd"].model_validate(
        {
            "n": n, "batch_size": size, "step_size": eta, "clip": clip, "noise_std": sd, "diameter": 2 * half,
            "steps": steps, "sampling": sampling, "neighboring_relation": relation,
        }
    )  # fmt: skip
    law = last_iterate(rng, sampling, n, size, steps, half / sd, eta * clip / sd, 0.0)
    return Small(mechanism, law, neighbours(n, steps, relation, rng, 8), "last-iterate")


def langevin(rng: np.random.Generator) -> Small:
    n, steps = int(rng.integers(1, 5)), int(rng.integers(1, 3))
    eta, curvature = _noise(rng, 0.1, 0.9), float(rng.uniform(0.1, 1))
    sampling = str(rng.choice(["fixed-size", "full-batch"]))
    size, sigma = n if sampling == "full-batch" else int(rng.integers(1, n + 1)), _noise(rng, 0.3, 3)
    sd = math.sqrt(2 * eta) * sigma
    half = min(0.8 / curvature, sd * _noise(rng, 0.5, 10))
    mechanism = MECHANISMS["langevin"](
        n=n, batch_size=size, step_size=eta, sigma=sigma, lipschitz=1.0, strong_convexity=curvature, smoothness=1.0,
        diameter=2 * half, steps=steps, sampling=sampling,
    )  # fmt: skip
    linear = 1 - curvature * half
    law = last_iterate(rng, sampling, n, size, steps, half / sd, eta * linear / sd, eta * curvature)
    return Small(mechanism, law, neighbours(n, steps, "replace-one", rng, 8), "last-iterate")


def directed(law: Callable[[Data], np.ndarray], pairs: Pairs) -> tuple[Callable[[Sequence[Data]], np.ndarray], Pairs]:
    """Gaussian laws of unit noise about `law`: of two of them only their distance tells, and the farthest decides."""
    far = max(pairs, key=lambda pair: float(np.linalg.norm(law(pair[0]) - law(pair[1]))))

    def about(every: Sequence[Data]) -> np.ndarray:
        start = law(every[0])
        return masses([[Part(1.0, (float(np.linalg.norm(law(data) - start)),))] for data in every])

    return about, [far]


def tree_momentum(rng: np.random.Generator) -> Small:
    """Every left node of the tree holds sum alpha (1 - alpha)^(end - t) g_t, and noise 4 alpha G sigma sqrt(V)."""
    n, steps = int(rng.integers(1, 5)), int(rng.integers(1, 9))
    alpha, sigma = float(rng.uniform(0.05, 1)), _noise(rng)
    r, f = int(math.log2(steps)), int(math.log2(n))
    count = (min(r, f) + 1) * steps / n + sum(steps // 2**j for j in range(f + 1, r + 1))
    noise = 4 * alpha * sigma * math.sqrt(count)

    def move(data: Data) -> np.ndarray:
        found, length = [], 1
        while length <= steps:
            for start in range(0, steps - length + 1, 2 * length):  # left children, and what has no sibling
                end = start + length - 1
                total = sum(alpha * (1 - alpha) ** (end - t) * data[t % n][t // n] for t in range(start, end + 1))
                found.append(total / noise)
            length *= 2
        return np.array(found)

    mechanism = MECHANISMS["tree-momentum"](n=n, steps=steps, momentum=alpha, lipschitz=1.0, sigma=sigma)
    epochs = math.ceil(steps / n)
    others = ((1.0,) * epochs,) * (n - 1)
    pairs = []
    for place in range(min(n, steps)):
        for a in product((-1.0, 0.0, 1.0), repeat=epochs) if epochs < 4 else [(1.0,) * epochs, (1.0, -1.0) * 4]:
            two = a[:epochs], tuple(-g for g in a[:epochs])
            pairs.append(tuple((*others[:place], own, *others[place:]) for own in two))
    return Small(mechanism, *directed(move, pairs))


def gradient_recursion(rng: np.random.Generator) -> Small:
    """e_1 = mean g_1 + noise, then e_2 = (1 - gamma) (e_1 + mean (g_2 - g_1)) + gamma mean g_2 + noise."""
    n, steps, gamma, sigma = int(rng.integers(1, 5)), int(rng.integers(1, 3)), float(rng.uniform(0.05, 1)), _noise(rng)
    eta = float(rng.choice([0.5, 1.0, 2.0]))  # with 1-smooth losses a gradient changes by at most eta
    first, later = recursion_stds(n, 1.0, 1.0, steps, eta, gamma)

    def move(data: Data) -> np.ndarray:
        one = sum(g[0] for g in data) / n
        found = [one / (first * sigma)]
        if steps == 2:
            two = sum(g[1] for g in data) / n
            # beyond (1 - gamma) e_1, which is known
            found.append(((1 - gamma) * (two - one) + gamma * two) / (later * sigma))
        return np.array(found)

    mechanism = MECHANISMS["gradient-recursion"](
        n=n, steps=steps, step_size=eta, weight=gamma, lipschitz=1.0, smoothness=1.0, sigma=sigma
    )
    records = [g for g in product((-1.0, 0.0, 1.0), repeat=steps) if steps == 1 or abs(g[1] - g[0]) <= eta]
    others = ((0.0,) * steps,) * (n - 1)
    return Small(mechanism, *directed(move, [((a, *others), (b, *others)) for a, b in combinations(records, 2)]))


DRAWS: dict[str, Callable[[np.random.Generator], Small]] = {
    draw.__name__.replace("_", "-"): draw
    for draw in (
        local_gaussian, sampled_gaussian, epoch_gaussian, truncated_poisson, shown_sizes, k_of_t, cap_sampling,
        private_selection, noisy_sgd, clipped_noisy_sgd, langevin, tree_momentum, gradient_recursion,
    )
}  # fmt: skip
