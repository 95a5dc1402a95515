"""Random operations in random order: the store always agrees with a simple model made of dictionaries."""

import random

from erkle.store import Acknowledged, Query, Reason, Refused, Skipped, Standing, State, Store
from erkle.store.studies import TRANSITIONS
from refusals import refusals

# The percentage of each operation. A seeded generator draws them, because hypothesis rarely gets past the first rules.
OPERATIONS = {
    "answer": 40,
    "ask": 15,
    "skip": 10,
    "exclude": 10,
    "pause": 10,
    "wait": 7,
    "join": 4,
    "finish": 2,
    "reopen": 2,
}


class Model:
    """A store, and its expected content."""

    def __init__(self, location, clock, seed):
        self.location, self.clock, self.rng = location, clock, random.Random(seed)
        self.store = Store(location, clock)
        self.study = self.store.studies.create("Letters", list("ABC")).id
        self.state = State.DRAFT
        self.standing, self.excluded = {}, set()
        self.questions, self.answers, self.skipped, self.reasons = {}, {}, set(), []

    def pause(self):
        state = self.rng.choice([State.OPEN, State.OPEN, State.PAUSED])
        if state in TRANSITIONS[self.state]:
            assert self.store.studies.change_state(self.study, state).state == state
            self.state = state

    def join(self):
        if self.state == State.OPEN:
            self.standing[self.store.participants.join(self.study).id] = Standing.ACTIVE

    def ask(self):
        active = [p for p, standing in self.standing.items() if standing == Standing.ACTIVE and p not in self.excluded]
        if active:
            participant, lifetime = self.rng.choice(active), self.rng.choice([10, 3600])
            for issued in self.store.questions.issue(self.study, participant, [Query(0, 1, 2)] * 2, lifetime):
                self.questions[issued.token] = (participant, self.clock() + lifetime * 1_000_000)

    def answer(self):
        if self.questions:
            token, choice = self.rng.choice(list(self.questions)[-12:]), self.rng.choice([1, 1, 2, 2, 7])
            wanted = self.expected(token, choice)
            assert self.store.answers.submit(self.study, self.questions[token][0], token, choice) == wanted
            if isinstance(wanted, Refused):
                self.reasons.append(wanted.reason)
            elif not wanted.repeated:
                self.answers[token] = (wanted.sequence, choice)

    def expected(self, token, choice):
        if choice == 7:
            return Refused(Reason.OUT_OF_RANGE)
        if token in self.answers:
            sequence, counted = self.answers[token]
            return Acknowledged(sequence, True) if counted == choice else Refused(Reason.ANSWERED)
        reason = Reason.SKIPPED if token in self.skipped else self.over(token)
        return Refused(reason) if reason else Acknowledged(len(self.answers) + 1, False)

    def skip(self):
        if self.questions:
            token = self.rng.choice(list(self.questions))
            reason = Reason.ANSWERED if token in self.answers else self.over(token)
            wanted = Skipped(True) if token in self.skipped else Refused(reason) if reason else Skipped(False)
            assert self.store.answers.skip(self.study, self.questions[token][0], token) == wanted
            if isinstance(wanted, Refused):
                self.reasons.append(wanted.reason)
            else:
                self.skipped.add(token)

    def exclude(self):
        if self.standing:
            participant = self.rng.choice(list(self.standing))
            self.excluded ^= {participant}
            [changed] = self.store.participants.exclude(self.study, [participant], participant in self.excluded)
            assert (changed.state, changed.excluded) == (self.standing[participant], participant in self.excluded)

    def finish(self):
        if self.standing:
            participant = self.rng.choice(list(self.standing))
            self.standing[participant] = Standing.COMPLETED
            finished = self.store.participants.finish(self.study, participant, Standing.COMPLETED)
            assert (finished.state, finished.excluded) == (Standing.COMPLETED, participant in self.excluded)

    def wait(self):
        self.clock.advance(5)

    def reopen(self):
        self.store.close()
        self.store = Store(self.location, self.clock)

    def over(self, token):
        participant, until = self.questions[token]
        if participant in self.excluded:
            return Reason.EXCLUDED
        if self.standing[participant] != Standing.ACTIVE:
            return Reason.ENDED
        return Reason.EXPIRED if self.clock() >= until else None

    def compare(self):
        log = [(a.token, (a.sequence, a.near)) for a in self.store.answers.log(self.study)]
        assert log == [pair for pair in self.answers.items() if self.questions[pair[0]][0] not in self.excluded]
        left = self.questions.keys() - self.answers.keys() - self.skipped
        pending = {issued.token for issued in self.store.questions.pending(self.study)}
        assert pending == {token for token in left if not self.over(token)}
        n_excluded = sum(self.questions[token][0] in self.excluded for token in self.answers)
        counts = (len(self.standing), len(self.questions), len(self.answers), n_excluded, len(self.skipped))
        assert self.store.studies.counts(self.study) == (*counts, len(self.reasons))
        assert [refusal.reason for refusal in refusals(self.store, self.study)] == self.reasons[::-1]


def test_the_store_agrees_with_the_model(location, clock):
    model = Model(location, clock, seed=1)
    for number, operation in enumerate(model.rng.choices(list(OPERATIONS), list(OPERATIONS.values()), k=300)):
        getattr(model, operation)()
        if number % 5 == 0 or operation in ("exclude", "pause", "reopen"):
            model.compare()
    model.compare()
    model.store.close()
    not_in_model = {Reason.UNKNOWN_TOKEN, Reason.OTHER_STUDY, Reason.OTHER_PARTICIPANT}
    assert len(model.answers) > 10
    assert {*model.reasons} == {*Reason} - not_in_model, "the walk is too short to cause every reason"
