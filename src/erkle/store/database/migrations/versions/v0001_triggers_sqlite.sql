-- What SQLite makes sure of across tables. Statements end with a semicolon before an empty line.
--
-- Answers, questions, skips and refusals are only ever added to: no row of them is changed or deleted. Only a whole
-- study can go, while it is listed in deletions. What is added must fit what is there.

CREATE TRIGGER answers_update BEFORE UPDATE ON answers
BEGIN SELECT RAISE(ABORT, 'rows of answers are never changed or deleted'); END;

CREATE TRIGGER answers_delete BEFORE DELETE ON answers
WHEN NOT EXISTS (SELECT 1 FROM deletions WHERE study_id = OLD.study_id)
BEGIN SELECT RAISE(ABORT, 'rows of answers are never changed or deleted'); END;

CREATE TRIGGER questions_update BEFORE UPDATE ON questions
BEGIN SELECT RAISE(ABORT, 'rows of questions are never changed or deleted'); END;

CREATE TRIGGER questions_delete BEFORE DELETE ON questions
WHEN NOT EXISTS (SELECT 1 FROM deletions WHERE study_id = OLD.study_id)
BEGIN SELECT RAISE(ABORT, 'rows of questions are never changed or deleted'); END;

CREATE TRIGGER skips_update BEFORE UPDATE ON skips
BEGIN SELECT RAISE(ABORT, 'rows of skips are never changed or deleted'); END;

CREATE TRIGGER skips_delete BEFORE DELETE ON skips
WHEN NOT EXISTS (SELECT 1 FROM deletions WHERE study_id = (SELECT study_id FROM questions WHERE id = OLD.question_id))
BEGIN SELECT RAISE(ABORT, 'rows of skips are never changed or deleted'); END;

CREATE TRIGGER refusals_update BEFORE UPDATE ON refusals
BEGIN SELECT RAISE(ABORT, 'rows of refusals are never changed or deleted'); END;

CREATE TRIGGER refusals_delete BEFORE DELETE ON refusals
WHEN NOT EXISTS (SELECT 1 FROM deletions WHERE study_id = OLD.study_id)
BEGIN SELECT RAISE(ABORT, 'rows of refusals are never changed or deleted'); END;

-- INSERT OR REPLACE deletes the old row, and SQLite fires no trigger for that.
CREATE TRIGGER answers_replace BEFORE INSERT ON answers
WHEN EXISTS (SELECT 1 FROM answers WHERE question_id = NEW.question_id)
  OR EXISTS (SELECT 1 FROM answers WHERE study_id = NEW.study_id AND sequence = NEW.sequence)
BEGIN SELECT RAISE(ABORT, 'rows of answers are never changed or deleted'); END;

-- After the row is in, so that CHECK constraints come first.
CREATE TRIGGER questions_insert AFTER INSERT ON questions
WHEN NOT EXISTS (SELECT 1 FROM participants WHERE id = NEW.participant_id AND study_id = NEW.study_id)
  OR NOT EXISTS (
    SELECT 1 FROM studies WHERE id = NEW.study_id
    AND NEW.head < n_objects AND NEW.o1 < n_objects AND NEW.o2 < n_objects)
BEGIN SELECT RAISE(ABORT, 'a question is about objects and a participant of its study'); END;

CREATE TRIGGER answers_insert AFTER INSERT ON answers
WHEN NOT EXISTS (
    SELECT 1 FROM questions WHERE id = NEW.question_id
    AND study_id = NEW.study_id AND NEW.choice IN (o1, o2))
  OR EXISTS (SELECT 1 FROM skips WHERE question_id = NEW.question_id)
  OR NEW.sequence > 1 AND NOT EXISTS (
    SELECT 1 FROM answers WHERE study_id = NEW.study_id AND sequence = NEW.sequence - 1)
BEGIN SELECT RAISE(ABORT, 'an answer has the next number and an object of its question, which was not skipped'); END;

CREATE TRIGGER skips_insert AFTER INSERT ON skips
WHEN EXISTS (SELECT 1 FROM answers WHERE question_id = NEW.question_id)
BEGIN SELECT RAISE(ABORT, 'a question that was answered is not skipped'); END;
