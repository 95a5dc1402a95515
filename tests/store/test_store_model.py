"""Whatever is done in whatever order, the store is what a few dictionaries are."""

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from erkle.store import Acknowledged, Query, Reason, Refused, Skipped, Standing, State, Store
from erkle.store.studies import TRANSITIONS

START = 1_700_000_000_000_000


class StoreMachine(RuleBasedStateMachine):
    people, asked = Bundle("people"), Bundle("asked")

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.now = START
        self.store = self.opened()
        self.study = self.store.create_study("Letters", list("ABC")).id
        self.state = State.DRAFT
        self.standing, self.excluded = {}, set()
        self.questions, self.answers, self.skipped, self.n_refused = {}, {}, set(), 0

    def opened(self):
        return Store(Path(self.folder.name, "answers.db"), lambda: self.now)

    def teardown(self):
        self.store.close()
        self.folder.cleanup()

    @initialize(target=people)
    def begin(self):
        self.change_state(State.OPEN)
        return multiple(*(self.join() for _ in range(3)))

    @rule(state=st.sampled_from([State.OPEN, State.OPEN, State.PAUSED]))
    def change_state(self, state):
        if state in TRANSITIONS[self.state]:
            assert self.store.change_state(self.study, state).state == state
            self.state = state

    @rule(target=people)
    def join(self):
        if self.state != State.OPEN:
            return multiple()
        person = self.store.join(self.study).id
        self.standing[person] = Standing.ACTIVE
        return person

    @rule(target=asked, person=people, lifetime=st.sampled_from([10, 3600]))
    def ask(self, person, lifetime):
        if self.state != State.OPEN or self.of(person) != Standing.ACTIVE:
            return multiple()
        tokens = [issued.token for issued in self.store.issue(self.study, person, [Query(0, 1, 2)] * 2, lifetime)]
        self.questions |= dict.fromkeys(tokens, (person, self.now + lifetime * 1_000_000))
        return multiple(*tokens)

    @rule(token=asked, choice=st.sampled_from([1, 2, 7]))
    def answer(self, token, choice):
        wanted = self.expected(token, choice)
        assert self.store.answer(token, self.study, self.questions[token][0], choice) == wanted
        if isinstance(wanted, Refused):
            self.n_refused += 1
        elif not wanted.repeated:
            self.answers[token] = (wanted.sequence, choice)

    def expected(self, token, choice):
        if choice == 7:
            return Refused(Reason.OUT_OF_RANGE)
        if token in self.answers:
            sequence, counted = self.answers[token]
            return Acknowledged(sequence, True) if counted == choice else Refused(Reason.ANSWERED)
        if token in self.skipped:
            return Refused(Reason.SKIPPED)
        reason = self.closed(token)
        return Refused(reason) if reason else Acknowledged(len(self.answers) + 1, False)

    @rule(token=asked)
    def skip(self, token):
        reason = Reason.ANSWERED if token in self.answers else self.closed(token)
        wanted = Skipped(True) if token in self.skipped else Refused(reason) if reason else Skipped(False)
        assert self.store.skip(token, self.study, self.questions[token][0]) == wanted
        if isinstance(wanted, Refused):
            self.n_refused += 1
        else:
            self.skipped.add(token)

    @rule(person=people)
    def exclude_or_include(self, person):
        self.excluded ^= {person}
        change = self.store.exclude if person in self.excluded else self.store.include
        assert change(self.study, person).standing == self.of(person)

    @rule(person=people)
    def finish(self, person):
        self.store.finish(self.study, person, Standing.COMPLETED)
        self.standing[person] = Standing.COMPLETED

    @rule()
    def wait_and_open_again(self):
        self.now += 5_000_000
        self.store.close()
        self.store = self.opened()

    def of(self, person):
        return Standing.EXCLUDED if person in self.excluded else self.standing.get(person)

    def closed(self, token):
        person, until = self.questions[token]
        if self.state != State.OPEN:
            return Reason.NOT_OPEN
        if self.of(person) != Standing.ACTIVE:
            return Reason.EXCLUDED if person in self.excluded else Reason.ENDED
        return Reason.EXPIRED if self.now >= until else None

    @invariant()
    def the_store_is_the_model(self):
        log = [(a.token, (a.sequence, a.near)) for a in self.store.log(self.study)]
        assert log == [pair for pair in self.answers.items() if self.questions[pair[0]][0] not in self.excluded]
        pending = {issued.token for issued in self.store.pending(self.study)}
        left = self.questions.keys() - self.answers.keys() - self.skipped
        # A pause takes no answers, but questions that are out stay out.
        assert pending == {token for token in left if self.closed(token) in (None, Reason.NOT_OPEN)} - self.over()
        counts = self.store.counts(self.study)
        assert counts[:3] == (len(self.standing), len(self.questions), len(self.answers))
        assert counts[4:] == (len(self.skipped), self.n_refused)

    def over(self):
        """Questions whose time is over or whose participant is not active, whatever the study's state."""
        asked = self.questions.items()
        return {t for t, (person, until) in asked if self.now >= until or self.of(person) != Standing.ACTIVE}


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=20, stateful_step_count=20)
