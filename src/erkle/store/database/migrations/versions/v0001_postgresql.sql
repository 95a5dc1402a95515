-- The first version of the tables on PostgreSQL. Statements are separated by empty lines.
--
-- CHECK constraints refuse invalid values. Times are microseconds since 1970, up to the end of the year 9999.

CREATE TABLE accounts (
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  folded TEXT NOT NULL,
  password_hash TEXT NOT NULL,
  admin BOOLEAN NOT NULL,
  created_at BIGINT NOT NULL,
  CONSTRAINT pk_accounts PRIMARY KEY (id),
  CONSTRAINT ck_accounts_id CHECK (id ~ '^[A-Za-z0-9_-]{1,64}$'),
  CONSTRAINT ck_accounts_name CHECK (length(name) > 0),
  CONSTRAINT ck_accounts_password_hash CHECK (length(password_hash) > 0),
  CONSTRAINT ck_accounts_created_at CHECK (created_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT uq_accounts_folded UNIQUE (folded)
);

CREATE TABLE deletions (
  study_id BIGINT NOT NULL,
  smaller BIGINT NOT NULL,
  CONSTRAINT pk_deletions PRIMARY KEY (study_id),
  CONSTRAINT ck_deletions_smaller CHECK (smaller < study_id),
  CONSTRAINT fk_deletions_smaller FOREIGN KEY(smaller) REFERENCES deletions (study_id) DEFERRABLE INITIALLY DEFERRED
);

CREATE TABLE links (
  digest TEXT NOT NULL,
  purpose TEXT NOT NULL,
  account_id TEXT,
  expires_at BIGINT NOT NULL,
  CONSTRAINT pk_links PRIMARY KEY (digest),
  CONSTRAINT ck_links_purpose CHECK (purpose IN ('setup', 'invite', 'enter')),
  CONSTRAINT ck_links_account CHECK ((purpose = 'enter') = (account_id IS NOT NULL)),
  CONSTRAINT ck_links_digest CHECK (digest ~ '^[A-Za-z0-9_-]{1,64}$'),
  CONSTRAINT ck_links_expires_at CHECK (expires_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT fk_links_account_id FOREIGN KEY(account_id) REFERENCES accounts (id)
);

CREATE TABLE sessions (
  digest TEXT NOT NULL,
  account_id TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  CONSTRAINT pk_sessions PRIMARY KEY (digest),
  CONSTRAINT ck_sessions_digest CHECK (digest ~ '^[A-Za-z0-9_-]{1,64}$'),
  CONSTRAINT ck_sessions_expires_at CHECK (expires_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT fk_sessions_account_id FOREIGN KEY(account_id) REFERENCES accounts (id)
);

CREATE INDEX ix_sessions_account ON sessions (account_id);

CREATE TABLE studies (
  id BIGSERIAL NOT NULL,
  public_id TEXT NOT NULL,
  title TEXT NOT NULL,
  settings JSON NOT NULL,
  state TEXT NOT NULL,
  n_objects INTEGER NOT NULL,
  roster BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  owner TEXT,
  signing_key TEXT NOT NULL,
  CONSTRAINT pk_studies PRIMARY KEY (id),
  CONSTRAINT ck_studies_state CHECK (state IN ('draft', 'open', 'paused', 'closed')),
  CONSTRAINT ck_studies_public_id CHECK (public_id ~ '^[A-Za-z0-9_-]{1,64}$'),
  CONSTRAINT ck_studies_title CHECK (length(title) > 0),
  CONSTRAINT ck_studies_settings CHECK (json_typeof(settings) = 'object'),
  CONSTRAINT ck_studies_n_objects CHECK (n_objects BETWEEN 3 AND 2147483647),
  CONSTRAINT ck_studies_roster CHECK (roster BETWEEN 0 AND 9007199254740992),
  CONSTRAINT ck_studies_created_at CHECK (created_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT ck_studies_signing_key CHECK (signing_key ~ '^[A-Za-z0-9_-]{1,64}$'),
  CONSTRAINT uq_studies_public_id UNIQUE (public_id),
  CONSTRAINT fk_studies_owner FOREIGN KEY(owner) REFERENCES accounts (id)
);

CREATE TABLE leases (
  study_id BIGINT NOT NULL,
  owner TEXT NOT NULL,
  until BIGINT NOT NULL,
  fence BIGINT NOT NULL,
  CONSTRAINT pk_leases PRIMARY KEY (study_id),
  CONSTRAINT ck_leases_until CHECK (until BETWEEN 0 AND 253402300799999999),
  CONSTRAINT ck_leases_fence CHECK (fence BETWEEN 0 AND 9007199254740992),
  CONSTRAINT fk_leases_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);

CREATE TABLE media (
  study_id BIGINT NOT NULL,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  size BIGINT NOT NULL,
  CONSTRAINT pk_media PRIMARY KEY (study_id, name),
  CONSTRAINT ck_media_size CHECK (size BETWEEN 0 AND 9007199254740992),
  CONSTRAINT ck_media_name CHECK (length(name) > 0),
  CONSTRAINT ck_media_type CHECK (length(type) > 0),
  CONSTRAINT fk_media_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);

CREATE TABLE media_parts (
  study_id BIGINT NOT NULL,
  name TEXT NOT NULL,
  number INTEGER NOT NULL,
  data BYTEA NOT NULL,
  CONSTRAINT pk_media_parts PRIMARY KEY (study_id, name, number),
  CONSTRAINT ck_media_parts_number CHECK (number BETWEEN 0 AND 2147483647),
  CONSTRAINT fk_media_parts_study_id FOREIGN KEY(study_id, name) REFERENCES media (study_id, name)
);

CREATE TABLE features (
  study_id BIGINT NOT NULL,
  name TEXT NOT NULL,
  n_columns INTEGER NOT NULL,
  data BYTEA NOT NULL,
  CONSTRAINT pk_features PRIMARY KEY (study_id, name),
  CONSTRAINT ck_features_n_columns CHECK (n_columns BETWEEN 1 AND 2147483647),
  CONSTRAINT ck_features_name CHECK (length(name) > 0),
  CONSTRAINT ck_features_rows CHECK (length(data) > 0 AND mod(length(data), 4::bigint * n_columns) = 0),
  CONSTRAINT fk_features_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);

CREATE TABLE unfinished_studies (
  study_id BIGINT NOT NULL,
  written_at BIGINT NOT NULL,
  CONSTRAINT pk_unfinished_studies PRIMARY KEY (study_id),
  CONSTRAINT ck_unfinished_studies_written_at CHECK (written_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT fk_unfinished_studies_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);

CREATE TABLE import_batches (
  id BIGSERIAL NOT NULL,
  study_id BIGINT NOT NULL,
  import_id TEXT NOT NULL,
  ready BOOLEAN NOT NULL,
  content JSON NOT NULL,
  staged_at BIGINT NOT NULL,
  CONSTRAINT pk_import_batches PRIMARY KEY (id),
  CONSTRAINT ck_import_batches_import_id CHECK (import_id ~ '^[A-Za-z0-9_-]{1,64}$'),
  CONSTRAINT ck_import_batches_content CHECK (json_typeof(content) = 'object'),
  CONSTRAINT ck_import_batches_staged_at CHECK (staged_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT fk_import_batches_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);

CREATE INDEX ix_import_batches_study ON import_batches (study_id, id);

CREATE TABLE objects (
  study_id BIGINT NOT NULL,
  number INTEGER NOT NULL,
  name TEXT NOT NULL,
  payload JSON NOT NULL,
  CONSTRAINT pk_objects PRIMARY KEY (study_id, number),
  CONSTRAINT ck_objects_number CHECK (number BETWEEN 0 AND 2147483647),
  CONSTRAINT ck_objects_name CHECK (length(name) > 0),
  CONSTRAINT ck_objects_payload CHECK (json_typeof(payload) = 'object'),
  CONSTRAINT fk_objects_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);

CREATE TABLE participants (
  id BIGSERIAL NOT NULL,
  public_id TEXT NOT NULL,
  study_id BIGINT NOT NULL,
  parameters JSON NOT NULL,
  state TEXT NOT NULL,
  excluded BOOLEAN NOT NULL,
  joined_at BIGINT NOT NULL,
  identity TEXT,
  flagged BOOLEAN NOT NULL,
  CONSTRAINT pk_participants PRIMARY KEY (id),
  CONSTRAINT ck_participants_state CHECK (state IN ('active', 'completed', 'failed', 'screened', 'closed')),
  CONSTRAINT ck_participants_public_id CHECK (public_id ~ '^[A-Za-z0-9_-]{1,64}$'),
  CONSTRAINT ck_participants_parameters CHECK (json_typeof(parameters) = 'object'),
  CONSTRAINT ck_participants_joined_at CHECK (joined_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT uq_participants_public_id UNIQUE (public_id),
  CONSTRAINT fk_participants_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);

CREATE UNIQUE INDEX ix_participants_identity ON participants (study_id, identity);

CREATE INDEX ix_participants_study ON participants (study_id, id);

CREATE TABLE refusals (
  id BIGSERIAL NOT NULL,
  study_id BIGINT,
  reason TEXT NOT NULL,
  token TEXT NOT NULL,
  participant TEXT NOT NULL,
  payload JSON NOT NULL,
  refused_at BIGINT NOT NULL,
  CONSTRAINT pk_refusals PRIMARY KEY (id),
  CONSTRAINT ck_refusals_reason CHECK (reason IN ('unknown token', 'other study', 'other participant', 'out of range', 'answered already', 'skipped already', 'participant excluded', 'participation ended', 'expired')),
  CONSTRAINT ck_refusals_payload CHECK (json_typeof(payload) = 'object'),
  CONSTRAINT ck_refusals_refused_at CHECK (refused_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT fk_refusals_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);

CREATE INDEX ix_refusals_study ON refusals (study_id, id);

CREATE TABLE snapshots (
  id BIGSERIAL NOT NULL,
  study_id BIGINT NOT NULL,
  sequence BIGINT NOT NULL,
  roster BIGINT NOT NULL,
  data BYTEA NOT NULL,
  saved_at BIGINT NOT NULL,
  CONSTRAINT pk_snapshots PRIMARY KEY (id),
  CONSTRAINT ck_snapshots_sequence CHECK (sequence BETWEEN 0 AND 9007199254740992),
  CONSTRAINT ck_snapshots_roster CHECK (roster BETWEEN 0 AND 9007199254740992),
  CONSTRAINT ck_snapshots_saved_at CHECK (saved_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT fk_snapshots_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);

CREATE INDEX ix_snapshots_study ON snapshots (study_id, id);

CREATE TABLE usage (
  study_id BIGINT NOT NULL,
  stored_bytes BIGINT NOT NULL,
  CONSTRAINT pk_usage PRIMARY KEY (study_id),
  CONSTRAINT ck_usage_stored_bytes CHECK (stored_bytes BETWEEN 0 AND 9007199254740992),
  CONSTRAINT fk_usage_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);

CREATE TABLE questions (
  id BIGSERIAL NOT NULL,
  token TEXT NOT NULL,
  study_id BIGINT NOT NULL,
  participant_id BIGINT NOT NULL,
  anchor INTEGER NOT NULL,
  first INTEGER NOT NULL,
  second INTEGER NOT NULL,
  left_object INTEGER NOT NULL,
  kind TEXT NOT NULL,
  strategy TEXT NOT NULL,
  position INTEGER,
  issued_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  CONSTRAINT pk_questions PRIMARY KEY (id),
  CONSTRAINT ck_questions_kind CHECK (kind IN ('chosen', 'held out', 'catch', 'repeated', 'practice')),
  CONSTRAINT ck_questions_objects CHECK (anchor <> first AND anchor <> second AND first <> second),
  CONSTRAINT ck_questions_left CHECK (left_object IN (first, second)),
  CONSTRAINT ck_questions_token CHECK (token ~ '^[A-Za-z0-9_-]{1,64}$'),
  CONSTRAINT ck_questions_anchor CHECK (anchor BETWEEN 0 AND 2147483647),
  CONSTRAINT ck_questions_first CHECK (first BETWEEN 0 AND 2147483647),
  CONSTRAINT ck_questions_second CHECK (second BETWEEN 0 AND 2147483647),
  CONSTRAINT ck_questions_position CHECK (position BETWEEN 1 AND 2147483647),
  CONSTRAINT ck_questions_issued_at CHECK (issued_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT ck_questions_expires_at CHECK (expires_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT uq_questions_token UNIQUE (token),
  CONSTRAINT fk_questions_study_id FOREIGN KEY(study_id) REFERENCES studies (id),
  CONSTRAINT fk_questions_participant_id FOREIGN KEY(participant_id) REFERENCES participants (id)
);

CREATE INDEX ix_questions_participant ON questions (participant_id);

CREATE INDEX ix_questions_pending ON questions (study_id, expires_at);

CREATE INDEX ix_questions_strategy ON questions (strategy, kind);

CREATE TABLE answers (
  study_id BIGINT NOT NULL,
  sequence BIGINT NOT NULL,
  question_id BIGINT NOT NULL,
  choice INTEGER NOT NULL,
  response_ms INTEGER,
  client JSON NOT NULL,
  answered_at BIGINT NOT NULL,
  CONSTRAINT pk_answers PRIMARY KEY (study_id, sequence),
  CONSTRAINT uq_answers_question_id UNIQUE (question_id),
  CONSTRAINT ck_answers_sequence CHECK (sequence BETWEEN 1 AND 9007199254740992),
  CONSTRAINT ck_answers_choice CHECK (choice BETWEEN 0 AND 2147483647),
  CONSTRAINT ck_answers_response_ms CHECK (response_ms BETWEEN 0 AND 86400000),
  CONSTRAINT ck_answers_client CHECK (json_typeof(client) = 'object'),
  CONSTRAINT ck_answers_answered_at CHECK (answered_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT fk_answers_study_id FOREIGN KEY(study_id) REFERENCES studies (id),
  CONSTRAINT fk_answers_question_id FOREIGN KEY(question_id) REFERENCES questions (id)
);

CREATE TABLE skips (
  question_id BIGINT NOT NULL,
  reason TEXT NOT NULL,
  skipped_at BIGINT NOT NULL,
  CONSTRAINT pk_skips PRIMARY KEY (question_id),
  CONSTRAINT ck_skips_skipped_at CHECK (skipped_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT fk_skips_question_id FOREIGN KEY(question_id) REFERENCES questions (id)
);

-- Triggers enforce the rules that concern several tables.
--
-- Rows of answers, questions, skips and refusals are never changed, and are deleted only with their whole study, while
-- it is listed in the table deletions. New rows must match the rows that they refer to.

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
    AND NEW.anchor < n_objects AND NEW.first < n_objects AND NEW.second < n_objects) THEN
  RAISE EXCEPTION 'a question must refer to objects and a participant of its study' USING ERRCODE = 'check_violation';
END IF;
RETURN NULL;
END $$;

CREATE TRIGGER questions_insert AFTER INSERT ON questions FOR EACH ROW EXECUTE FUNCTION erkle_fit_questions();

CREATE FUNCTION erkle_fit_answers() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF NOT EXISTS (
    SELECT 1 FROM questions WHERE id = NEW.question_id
    AND study_id = NEW.study_id AND NEW.choice IN (first, second))
  OR EXISTS (SELECT 1 FROM skips WHERE question_id = NEW.question_id)
  OR NEW.sequence > 1 AND NOT EXISTS (
    SELECT 1 FROM answers WHERE study_id = NEW.study_id AND sequence = NEW.sequence - 1) THEN
  RAISE EXCEPTION 'an answer must have the next number and choose an object of its question, which must not be skipped' USING ERRCODE = 'check_violation';
END IF;
RETURN NULL;
END $$;

CREATE TRIGGER answers_insert AFTER INSERT ON answers FOR EACH ROW EXECUTE FUNCTION erkle_fit_answers();

CREATE FUNCTION erkle_fit_skips() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF EXISTS (SELECT 1 FROM answers WHERE question_id = NEW.question_id) THEN
  RAISE EXCEPTION 'an answered question cannot be skipped' USING ERRCODE = 'check_violation';
END IF;
RETURN NULL;
END $$;

CREATE TRIGGER skips_insert AFTER INSERT ON skips FOR EACH ROW EXECUTE FUNCTION erkle_fit_skips();
