"""What the database makes sure of across tables, by triggers.

Answers, questions, skips and refusals are only ever added to: no row of them is changed or deleted. Only a whole study
can go, while it is listed in ``deletions``. What is added must fit what is there: a question is about objects and a
participant of its study, an answer has the next number and one of the two objects of its question, and a question is
not both answered and skipped.
"""

from collections.abc import Iterator, Mapping

__all__ = ["create_statements"]

# The study of a row of each table that is only added to.
_STUDY: Mapping[str, str] = {
    "answers": "OLD.study_id",
    "questions": "OLD.study_id",
    "skips": "(SELECT study_id FROM questions WHERE id = OLD.question_id)",
    "refusals": "OLD.study_id",
}
_KEPT = "rows of {table} are never changed or deleted"

# When a new row does not fit, and what to say then.
_MISFITS: Mapping[str, tuple[str, str]] = {
    "questions": (
        """NOT EXISTS (SELECT 1 FROM participants WHERE id = NEW.participant_id AND study_id = NEW.study_id)
  OR NOT EXISTS (
    SELECT 1 FROM studies WHERE id = NEW.study_id
    AND NEW.head < n_objects AND NEW.o1 < n_objects AND NEW.o2 < n_objects)""",
        "a question is about objects and a participant of its study",
    ),
    "answers": (
        """NOT EXISTS (
    SELECT 1 FROM questions WHERE id = NEW.question_id
    AND study_id = NEW.study_id AND NEW.choice IN (o1, o2))
  OR EXISTS (SELECT 1 FROM skips WHERE question_id = NEW.question_id)
  OR NEW.sequence > 1 AND NOT EXISTS (
    SELECT 1 FROM answers WHERE study_id = NEW.study_id AND sequence = NEW.sequence - 1)""",
        "an answer has the next number and an object of its question, which was not skipped",
    ),
    "skips": (
        "EXISTS (SELECT 1 FROM answers WHERE question_id = NEW.question_id)",
        "a question that was answered is not skipped",
    ),
}

# INSERT OR REPLACE deletes the old row, and SQLite fires no trigger for that.
_NO_REPLACEMENT = """CREATE TRIGGER answers_replace BEFORE INSERT ON answers
WHEN EXISTS (SELECT 1 FROM answers WHERE question_id = NEW.question_id)
  OR EXISTS (SELECT 1 FROM answers WHERE study_id = NEW.study_id AND sequence = NEW.sequence)
BEGIN SELECT RAISE(ABORT, 'rows of answers are never changed or deleted'); END"""


def create_statements(dialect: str) -> list[str]:
    """The statements that create all triggers."""
    return list(_postgresql() if dialect == "postgresql" else _sqlite())


def _sqlite() -> Iterator[str]:
    for table, study in _STUDY.items():
        refuse = f"BEGIN SELECT RAISE(ABORT, '{_KEPT.format(table=table)}'); END"
        yield f"CREATE TRIGGER {table}_update BEFORE UPDATE ON {table}\n{refuse}"
        listed = f"EXISTS (SELECT 1 FROM deletions WHERE study_id = {study})"
        yield f"CREATE TRIGGER {table}_delete BEFORE DELETE ON {table}\nWHEN NOT {listed}\n{refuse}"
    yield _NO_REPLACEMENT
    # After the row is in, so that CHECK constraints come first.
    for table, (misfit, sentence) in _MISFITS.items():
        refuse = f"BEGIN SELECT RAISE(ABORT, '{sentence}'); END"
        yield f"CREATE TRIGGER {table}_insert AFTER INSERT ON {table}\nWHEN {misfit}\n{refuse}"


def _postgresql() -> Iterator[str]:
    for table, study in _STUDY.items():
        listed = f"EXISTS (SELECT 1 FROM deletions WHERE study_id = {study})"
        yield f"""CREATE FUNCTION erkle_keep_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF TG_OP = 'DELETE' THEN
  IF {listed} THEN RETURN OLD; END IF;
END IF;
RAISE EXCEPTION '{_KEPT.format(table=table)}';
END $$"""
        run = f"EXECUTE FUNCTION erkle_keep_{table}()"
        yield f"CREATE TRIGGER {table}_keep BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW {run}"
        yield f"CREATE TRIGGER {table}_whole BEFORE TRUNCATE ON {table} FOR EACH STATEMENT {run}"
    for table, (misfit, sentence) in _MISFITS.items():
        yield f"""CREATE FUNCTION erkle_fit_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF {misfit} THEN
  RAISE EXCEPTION '{sentence}' USING ERRCODE = 'check_violation';
END IF;
RETURN NULL;
END $$"""
        run = f"EXECUTE FUNCTION erkle_fit_{table}()"
        yield f"CREATE TRIGGER {table}_insert AFTER INSERT ON {table} FOR EACH ROW {run}"
