-- What PostgreSQL makes sure of across tables. Statements end with a semicolon before an empty line.
--
-- Answers, questions, skips and refusals are only ever added to: no row of them is changed or deleted. Only a whole
-- study can go, while it is listed in deletions. What is added must fit what is there.

CREATE FUNCTION erkle_keep_answers() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF TG_OP = 'DELETE' THEN
  IF EXISTS (SELECT 1 FROM deletions WHERE study_id = OLD.study_id) THEN RETURN OLD; END IF;
END IF;
RAISE EXCEPTION 'rows of answers are never changed or deleted';
END $$;

CREATE TRIGGER answers_keep BEFORE UPDATE OR DELETE ON answers FOR EACH ROW EXECUTE FUNCTION erkle_keep_answers();

CREATE TRIGGER answers_whole BEFORE TRUNCATE ON answers FOR EACH STATEMENT EXECUTE FUNCTION erkle_keep_answers();

CREATE FUNCTION erkle_keep_questions() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF TG_OP = 'DELETE' THEN
  IF EXISTS (SELECT 1 FROM deletions WHERE study_id = OLD.study_id) THEN RETURN OLD; END IF;
END IF;
RAISE EXCEPTION 'rows of questions are never changed or deleted';
END $$;

CREATE TRIGGER questions_keep BEFORE UPDATE OR DELETE ON questions FOR EACH ROW EXECUTE FUNCTION erkle_keep_questions();

CREATE TRIGGER questions_whole BEFORE TRUNCATE ON questions FOR EACH STATEMENT EXECUTE FUNCTION erkle_keep_questions();

CREATE FUNCTION erkle_keep_skips() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF TG_OP = 'DELETE' THEN
  IF EXISTS (SELECT 1 FROM deletions WHERE study_id = (SELECT study_id FROM questions WHERE id = OLD.question_id)) THEN RETURN OLD; END IF;
END IF;
RAISE EXCEPTION 'rows of skips are never changed or deleted';
END $$;

CREATE TRIGGER skips_keep BEFORE UPDATE OR DELETE ON skips FOR EACH ROW EXECUTE FUNCTION erkle_keep_skips();

CREATE TRIGGER skips_whole BEFORE TRUNCATE ON skips FOR EACH STATEMENT EXECUTE FUNCTION erkle_keep_skips();

CREATE FUNCTION erkle_keep_refusals() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF TG_OP = 'DELETE' THEN
  IF EXISTS (SELECT 1 FROM deletions WHERE study_id = OLD.study_id) THEN RETURN OLD; END IF;
END IF;
RAISE EXCEPTION 'rows of refusals are never changed or deleted';
END $$;

CREATE TRIGGER refusals_keep BEFORE UPDATE OR DELETE ON refusals FOR EACH ROW EXECUTE FUNCTION erkle_keep_refusals();

CREATE TRIGGER refusals_whole BEFORE TRUNCATE ON refusals FOR EACH STATEMENT EXECUTE FUNCTION erkle_keep_refusals();

CREATE FUNCTION erkle_fit_questions() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF NOT EXISTS (SELECT 1 FROM participants WHERE id = NEW.participant_id AND study_id = NEW.study_id)
  OR NOT EXISTS (
    SELECT 1 FROM studies WHERE id = NEW.study_id
    AND NEW.head < n_objects AND NEW.o1 < n_objects AND NEW.o2 < n_objects) THEN
  RAISE EXCEPTION 'a question is about objects and a participant of its study' USING ERRCODE = 'check_violation';
END IF;
RETURN NULL;
END $$;

CREATE TRIGGER questions_insert AFTER INSERT ON questions FOR EACH ROW EXECUTE FUNCTION erkle_fit_questions();

CREATE FUNCTION erkle_fit_answers() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF NOT EXISTS (
    SELECT 1 FROM questions WHERE id = NEW.question_id
    AND study_id = NEW.study_id AND NEW.choice IN (o1, o2))
  OR EXISTS (SELECT 1 FROM skips WHERE question_id = NEW.question_id)
  OR NEW.sequence > 1 AND NOT EXISTS (
    SELECT 1 FROM answers WHERE study_id = NEW.study_id AND sequence = NEW.sequence - 1) THEN
  RAISE EXCEPTION 'an answer has the next number and an object of its question, which was not skipped' USING ERRCODE = 'check_violation';
END IF;
RETURN NULL;
END $$;

CREATE TRIGGER answers_insert AFTER INSERT ON answers FOR EACH ROW EXECUTE FUNCTION erkle_fit_answers();

CREATE FUNCTION erkle_fit_skips() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF EXISTS (SELECT 1 FROM answers WHERE question_id = NEW.question_id) THEN
  RAISE EXCEPTION 'a question that was answered is not skipped' USING ERRCODE = 'check_violation';
END IF;
RETURN NULL;
END $$;

CREATE TRIGGER skips_insert AFTER INSERT ON skips FOR EACH ROW EXECUTE FUNCTION erkle_fit_skips();
