-- The first version of the tables on SQLite. Statements are separated by empty lines.
--
-- CHECK constraints refuse invalid values. Times are microseconds since 1970, up to the end of the year 9999.
-- SQLite accepts text in an integer column, and any text as JSON. The constraints whose names end in _type refuse values
-- of another type. AUTOINCREMENT: the number of a deleted study is never used again.

CREATE TABLE accounts (
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  folded TEXT NOT NULL,
  password_hash TEXT NOT NULL,
  admin BOOLEAN NOT NULL,
  created_at BIGINT NOT NULL,
  CONSTRAINT pk_accounts PRIMARY KEY (id),
  CONSTRAINT ck_accounts_id CHECK (typeof(id) = 'text' AND id NOT GLOB '*[^A-Za-z0-9_-]*' AND length(id) BETWEEN 1 AND 64),
  CONSTRAINT ck_accounts_name CHECK (length(name) > 0),
  CONSTRAINT ck_accounts_name_type CHECK (typeof(name) IN ('text', 'null') AND NOT coalesce(instr(name, char(0)), 0)),
  CONSTRAINT ck_accounts_folded_type CHECK (typeof(folded) IN ('text', 'null') AND NOT coalesce(instr(folded, char(0)), 0)),
  CONSTRAINT ck_accounts_password_hash CHECK (length(password_hash) > 0),
  CONSTRAINT ck_accounts_password_hash_type CHECK (typeof(password_hash) IN ('text', 'null') AND NOT coalesce(instr(password_hash, char(0)), 0)),
  CONSTRAINT ck_accounts_created_at CHECK (created_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT ck_accounts_created_at_type CHECK (typeof(created_at) IN ('integer', 'null')),
  CONSTRAINT uq_accounts_folded UNIQUE (folded),
  CONSTRAINT ck_accounts_admin CHECK (admin IN (0, 1))
);

CREATE TABLE deletions (
  study_id INTEGER NOT NULL,
  smaller INTEGER NOT NULL,
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
  CONSTRAINT ck_links_digest CHECK (typeof(digest) = 'text' AND digest NOT GLOB '*[^A-Za-z0-9_-]*' AND length(digest) BETWEEN 1 AND 64),
  CONSTRAINT ck_links_expires_at CHECK (expires_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT ck_links_expires_at_type CHECK (typeof(expires_at) IN ('integer', 'null')),
  CONSTRAINT fk_links_account_id FOREIGN KEY(account_id) REFERENCES accounts (id)
);

CREATE TABLE sessions (
  digest TEXT NOT NULL,
  account_id TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  CONSTRAINT pk_sessions PRIMARY KEY (digest),
  CONSTRAINT ck_sessions_digest CHECK (typeof(digest) = 'text' AND digest NOT GLOB '*[^A-Za-z0-9_-]*' AND length(digest) BETWEEN 1 AND 64),
  CONSTRAINT ck_sessions_expires_at CHECK (expires_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT ck_sessions_expires_at_type CHECK (typeof(expires_at) IN ('integer', 'null')),
  CONSTRAINT fk_sessions_account_id FOREIGN KEY(account_id) REFERENCES accounts (id)
);

CREATE INDEX ix_sessions_account ON sessions (account_id);

CREATE TABLE studies (
  id INTEGER NOT NULL,
  public_id TEXT NOT NULL,
  title TEXT NOT NULL,
  settings JSON NOT NULL,
  state TEXT NOT NULL,
  n_objects INTEGER NOT NULL,
  roster BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  owner TEXT,
  signing_key TEXT NOT NULL,
  CONSTRAINT pk_studies PRIMARY KEY (id AUTOINCREMENT),
  CONSTRAINT ck_studies_state CHECK (state IN ('draft', 'open', 'paused', 'closed')),
  CONSTRAINT ck_studies_public_id CHECK (typeof(public_id) = 'text' AND public_id NOT GLOB '*[^A-Za-z0-9_-]*' AND length(public_id) BETWEEN 1 AND 64),
  CONSTRAINT ck_studies_title CHECK (length(title) > 0),
  CONSTRAINT ck_studies_title_type CHECK (typeof(title) IN ('text', 'null') AND NOT coalesce(instr(title, char(0)), 0)),
  CONSTRAINT ck_studies_settings CHECK (typeof(settings) = 'text' AND CASE WHEN json_valid(settings) THEN json_type(settings) = 'object' ELSE 0 END),
  CONSTRAINT ck_studies_n_objects CHECK (n_objects BETWEEN 3 AND 2147483647),
  CONSTRAINT ck_studies_n_objects_type CHECK (typeof(n_objects) IN ('integer', 'null')),
  CONSTRAINT ck_studies_roster CHECK (roster BETWEEN 0 AND 9007199254740992),
  CONSTRAINT ck_studies_roster_type CHECK (typeof(roster) IN ('integer', 'null')),
  CONSTRAINT ck_studies_created_at CHECK (created_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT ck_studies_created_at_type CHECK (typeof(created_at) IN ('integer', 'null')),
  CONSTRAINT ck_studies_signing_key CHECK (typeof(signing_key) = 'text' AND signing_key NOT GLOB '*[^A-Za-z0-9_-]*' AND length(signing_key) BETWEEN 1 AND 64),
  CONSTRAINT uq_studies_public_id UNIQUE (public_id),
  CONSTRAINT fk_studies_owner FOREIGN KEY(owner) REFERENCES accounts (id)
);

CREATE TABLE leases (
  study_id INTEGER NOT NULL,
  owner TEXT NOT NULL,
  until BIGINT NOT NULL,
  fence BIGINT NOT NULL,
  CONSTRAINT pk_leases PRIMARY KEY (study_id),
  CONSTRAINT ck_leases_owner_type CHECK (typeof(owner) IN ('text', 'null') AND NOT coalesce(instr(owner, char(0)), 0)),
  CONSTRAINT ck_leases_until CHECK (until BETWEEN 0 AND 253402300799999999),
  CONSTRAINT ck_leases_until_type CHECK (typeof(until) IN ('integer', 'null')),
  CONSTRAINT ck_leases_fence CHECK (fence BETWEEN 0 AND 9007199254740992),
  CONSTRAINT ck_leases_fence_type CHECK (typeof(fence) IN ('integer', 'null')),
  CONSTRAINT fk_leases_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);

CREATE TABLE media (
  study_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  size BIGINT NOT NULL,
  CONSTRAINT pk_media PRIMARY KEY (study_id, name),
  CONSTRAINT ck_media_size CHECK (size BETWEEN 0 AND 9007199254740992),
  CONSTRAINT ck_media_size_type CHECK (typeof(size) IN ('integer', 'null')),
  CONSTRAINT ck_media_name CHECK (length(name) > 0),
  CONSTRAINT ck_media_name_type CHECK (typeof(name) IN ('text', 'null') AND NOT coalesce(instr(name, char(0)), 0)),
  CONSTRAINT ck_media_type CHECK (length(type) > 0),
  CONSTRAINT ck_media_type_type CHECK (typeof(type) IN ('text', 'null') AND NOT coalesce(instr(type, char(0)), 0)),
  CONSTRAINT fk_media_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);

CREATE TABLE media_parts (
  study_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  number INTEGER NOT NULL,
  data BLOB NOT NULL,
  CONSTRAINT pk_media_parts PRIMARY KEY (study_id, name, number),
  CONSTRAINT ck_media_parts_number CHECK (number BETWEEN 0 AND 2147483647),
  CONSTRAINT ck_media_parts_number_type CHECK (typeof(number) IN ('integer', 'null')),
  CONSTRAINT ck_media_parts_data CHECK (typeof(data) = 'blob'),
  CONSTRAINT fk_media_parts_study_id FOREIGN KEY(study_id, name) REFERENCES media (study_id, name)
);

CREATE TABLE features (
  study_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  n_columns INTEGER NOT NULL,
  data BLOB NOT NULL,
  CONSTRAINT pk_features PRIMARY KEY (study_id, name),
  CONSTRAINT ck_features_n_columns CHECK (n_columns BETWEEN 1 AND 2147483647),
  CONSTRAINT ck_features_n_columns_type CHECK (typeof(n_columns) IN ('integer', 'null')),
  CONSTRAINT ck_features_name CHECK (length(name) > 0),
  CONSTRAINT ck_features_name_type CHECK (typeof(name) IN ('text', 'null') AND NOT coalesce(instr(name, char(0)), 0)),
  CONSTRAINT ck_features_data CHECK (typeof(data) = 'blob'),
  CONSTRAINT ck_features_rows CHECK (length(data) > 0 AND length(data) % (4 * n_columns) = 0),
  CONSTRAINT fk_features_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);

CREATE TABLE unfinished_studies (
  study_id INTEGER NOT NULL,
  written_at BIGINT NOT NULL,
  CONSTRAINT pk_unfinished_studies PRIMARY KEY (study_id),
  CONSTRAINT ck_unfinished_studies_written_at CHECK (written_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT ck_unfinished_studies_written_at_type CHECK (typeof(written_at) IN ('integer', 'null')),
  CONSTRAINT fk_unfinished_studies_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);

CREATE TABLE import_batches (
  id INTEGER NOT NULL,
  study_id INTEGER NOT NULL,
  import_id TEXT NOT NULL,
  ready BOOLEAN NOT NULL,
  content JSON NOT NULL,
  staged_at BIGINT NOT NULL,
  CONSTRAINT pk_import_batches PRIMARY KEY (id),
  CONSTRAINT ck_import_batches_import_id CHECK (typeof(import_id) = 'text' AND import_id NOT GLOB '*[^A-Za-z0-9_-]*' AND length(import_id) BETWEEN 1 AND 64),
  CONSTRAINT ck_import_batches_content CHECK (typeof(content) = 'text' AND CASE WHEN json_valid(content) THEN json_type(content) = 'object' ELSE 0 END),
  CONSTRAINT ck_import_batches_staged_at CHECK (staged_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT ck_import_batches_staged_at_type CHECK (typeof(staged_at) IN ('integer', 'null')),
  CONSTRAINT fk_import_batches_study_id FOREIGN KEY(study_id) REFERENCES studies (id),
  CONSTRAINT ck_import_batches_ready CHECK (ready IN (0, 1))
);

CREATE INDEX ix_import_batches_study ON import_batches (study_id, id);

CREATE TABLE objects (
  study_id INTEGER NOT NULL,
  number INTEGER NOT NULL,
  name TEXT NOT NULL,
  payload JSON NOT NULL,
  CONSTRAINT pk_objects PRIMARY KEY (study_id, number),
  CONSTRAINT ck_objects_number CHECK (number BETWEEN 0 AND 2147483647),
  CONSTRAINT ck_objects_number_type CHECK (typeof(number) IN ('integer', 'null')),
  CONSTRAINT ck_objects_name CHECK (length(name) > 0),
  CONSTRAINT ck_objects_name_type CHECK (typeof(name) IN ('text', 'null') AND NOT coalesce(instr(name, char(0)), 0)),
  CONSTRAINT ck_objects_payload CHECK (typeof(payload) = 'text' AND CASE WHEN json_valid(payload) THEN json_type(payload) = 'object' ELSE 0 END),
  CONSTRAINT fk_objects_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);

CREATE TABLE participants (
  id INTEGER NOT NULL,
  public_id TEXT NOT NULL,
  study_id INTEGER NOT NULL,
  parameters JSON NOT NULL,
  state TEXT NOT NULL,
  excluded BOOLEAN NOT NULL,
  joined_at BIGINT NOT NULL,
  identity TEXT,
  flagged BOOLEAN NOT NULL,
  CONSTRAINT pk_participants PRIMARY KEY (id),
  CONSTRAINT ck_participants_state CHECK (state IN ('active', 'completed', 'failed', 'screened', 'closed')),
  CONSTRAINT ck_participants_public_id CHECK (typeof(public_id) = 'text' AND public_id NOT GLOB '*[^A-Za-z0-9_-]*' AND length(public_id) BETWEEN 1 AND 64),
  CONSTRAINT ck_participants_parameters CHECK (typeof(parameters) = 'text' AND CASE WHEN json_valid(parameters) THEN json_type(parameters) = 'object' ELSE 0 END),
  CONSTRAINT ck_participants_joined_at CHECK (joined_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT ck_participants_joined_at_type CHECK (typeof(joined_at) IN ('integer', 'null')),
  CONSTRAINT ck_participants_identity_type CHECK (typeof(identity) IN ('text', 'null') AND NOT coalesce(instr(identity, char(0)), 0)),
  CONSTRAINT uq_participants_public_id UNIQUE (public_id),
  CONSTRAINT fk_participants_study_id FOREIGN KEY(study_id) REFERENCES studies (id),
  CONSTRAINT ck_participants_excluded CHECK (excluded IN (0, 1)),
  CONSTRAINT ck_participants_flagged CHECK (flagged IN (0, 1))
);

CREATE UNIQUE INDEX ix_participants_identity ON participants (study_id, identity);

CREATE INDEX ix_participants_study ON participants (study_id, id);

CREATE TABLE refusals (
  id INTEGER NOT NULL,
  study_id INTEGER,
  reason TEXT NOT NULL,
  token TEXT NOT NULL,
  participant TEXT NOT NULL,
  payload JSON NOT NULL,
  refused_at BIGINT NOT NULL,
  CONSTRAINT pk_refusals PRIMARY KEY (id),
  CONSTRAINT ck_refusals_reason CHECK (reason IN ('unknown token', 'other study', 'other participant', 'out of range', 'answered already', 'skipped already', 'participant excluded', 'participation ended', 'expired')),
  CONSTRAINT ck_refusals_token_type CHECK (typeof(token) IN ('text', 'null') AND NOT coalesce(instr(token, char(0)), 0)),
  CONSTRAINT ck_refusals_participant_type CHECK (typeof(participant) IN ('text', 'null') AND NOT coalesce(instr(participant, char(0)), 0)),
  CONSTRAINT ck_refusals_payload CHECK (typeof(payload) = 'text' AND CASE WHEN json_valid(payload) THEN json_type(payload) = 'object' ELSE 0 END),
  CONSTRAINT ck_refusals_refused_at CHECK (refused_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT ck_refusals_refused_at_type CHECK (typeof(refused_at) IN ('integer', 'null')),
  CONSTRAINT fk_refusals_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);

CREATE INDEX ix_refusals_study ON refusals (study_id, id);

CREATE TABLE snapshots (
  id INTEGER NOT NULL,
  study_id INTEGER NOT NULL,
  sequence BIGINT NOT NULL,
  roster BIGINT NOT NULL,
  data BLOB NOT NULL,
  saved_at BIGINT NOT NULL,
  CONSTRAINT pk_snapshots PRIMARY KEY (id),
  CONSTRAINT ck_snapshots_data CHECK (typeof(data) = 'blob'),
  CONSTRAINT ck_snapshots_sequence CHECK (sequence BETWEEN 0 AND 9007199254740992),
  CONSTRAINT ck_snapshots_sequence_type CHECK (typeof(sequence) IN ('integer', 'null')),
  CONSTRAINT ck_snapshots_roster CHECK (roster BETWEEN 0 AND 9007199254740992),
  CONSTRAINT ck_snapshots_roster_type CHECK (typeof(roster) IN ('integer', 'null')),
  CONSTRAINT ck_snapshots_saved_at CHECK (saved_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT ck_snapshots_saved_at_type CHECK (typeof(saved_at) IN ('integer', 'null')),
  CONSTRAINT fk_snapshots_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);

CREATE INDEX ix_snapshots_study ON snapshots (study_id, id);

CREATE TABLE usage (
  study_id INTEGER NOT NULL,
  stored_bytes BIGINT NOT NULL,
  CONSTRAINT pk_usage PRIMARY KEY (study_id),
  CONSTRAINT ck_usage_stored_bytes CHECK (stored_bytes BETWEEN 0 AND 9007199254740992),
  CONSTRAINT ck_usage_stored_bytes_type CHECK (typeof(stored_bytes) IN ('integer', 'null')),
  CONSTRAINT fk_usage_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);

CREATE TABLE questions (
  id INTEGER NOT NULL,
  token TEXT NOT NULL,
  study_id INTEGER NOT NULL,
  participant_id INTEGER NOT NULL,
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
  CONSTRAINT ck_questions_token CHECK (typeof(token) = 'text' AND token NOT GLOB '*[^A-Za-z0-9_-]*' AND length(token) BETWEEN 1 AND 64),
  CONSTRAINT ck_questions_anchor CHECK (anchor BETWEEN 0 AND 2147483647),
  CONSTRAINT ck_questions_anchor_type CHECK (typeof(anchor) IN ('integer', 'null')),
  CONSTRAINT ck_questions_first CHECK (first BETWEEN 0 AND 2147483647),
  CONSTRAINT ck_questions_first_type CHECK (typeof(first) IN ('integer', 'null')),
  CONSTRAINT ck_questions_second CHECK (second BETWEEN 0 AND 2147483647),
  CONSTRAINT ck_questions_second_type CHECK (typeof(second) IN ('integer', 'null')),
  CONSTRAINT ck_questions_position CHECK (position BETWEEN 1 AND 2147483647),
  CONSTRAINT ck_questions_position_type CHECK (typeof(position) IN ('integer', 'null')),
  CONSTRAINT ck_questions_strategy_type CHECK (typeof(strategy) IN ('text', 'null') AND NOT coalesce(instr(strategy, char(0)), 0)),
  CONSTRAINT ck_questions_issued_at CHECK (issued_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT ck_questions_issued_at_type CHECK (typeof(issued_at) IN ('integer', 'null')),
  CONSTRAINT ck_questions_expires_at CHECK (expires_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT ck_questions_expires_at_type CHECK (typeof(expires_at) IN ('integer', 'null')),
  CONSTRAINT uq_questions_token UNIQUE (token),
  CONSTRAINT fk_questions_study_id FOREIGN KEY(study_id) REFERENCES studies (id),
  CONSTRAINT fk_questions_participant_id FOREIGN KEY(participant_id) REFERENCES participants (id)
);

CREATE INDEX ix_questions_participant ON questions (participant_id);

CREATE INDEX ix_questions_pending ON questions (study_id, expires_at);

CREATE INDEX ix_questions_strategy ON questions (strategy, kind);

CREATE TABLE answers (
  study_id INTEGER NOT NULL,
  sequence BIGINT NOT NULL,
  question_id INTEGER NOT NULL,
  choice INTEGER NOT NULL,
  response_ms INTEGER,
  client JSON NOT NULL,
  answered_at BIGINT NOT NULL,
  CONSTRAINT pk_answers PRIMARY KEY (study_id, sequence),
  CONSTRAINT uq_answers_question_id UNIQUE (question_id),
  CONSTRAINT ck_answers_sequence CHECK (sequence BETWEEN 1 AND 9007199254740992),
  CONSTRAINT ck_answers_sequence_type CHECK (typeof(sequence) IN ('integer', 'null')),
  CONSTRAINT ck_answers_choice CHECK (choice BETWEEN 0 AND 2147483647),
  CONSTRAINT ck_answers_choice_type CHECK (typeof(choice) IN ('integer', 'null')),
  CONSTRAINT ck_answers_response_ms CHECK (response_ms BETWEEN 0 AND 86400000),
  CONSTRAINT ck_answers_response_ms_type CHECK (typeof(response_ms) IN ('integer', 'null')),
  CONSTRAINT ck_answers_client CHECK (typeof(client) = 'text' AND CASE WHEN json_valid(client) THEN json_type(client) = 'object' ELSE 0 END),
  CONSTRAINT ck_answers_answered_at CHECK (answered_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT ck_answers_answered_at_type CHECK (typeof(answered_at) IN ('integer', 'null')),
  CONSTRAINT fk_answers_study_id FOREIGN KEY(study_id) REFERENCES studies (id),
  CONSTRAINT fk_answers_question_id FOREIGN KEY(question_id) REFERENCES questions (id)
);

CREATE TABLE skips (
  question_id INTEGER NOT NULL,
  reason TEXT NOT NULL,
  skipped_at BIGINT NOT NULL,
  CONSTRAINT pk_skips PRIMARY KEY (question_id),
  CONSTRAINT ck_skips_reason_type CHECK (typeof(reason) IN ('text', 'null') AND NOT coalesce(instr(reason, char(0)), 0)),
  CONSTRAINT ck_skips_skipped_at CHECK (skipped_at BETWEEN 0 AND 253402300799999999),
  CONSTRAINT ck_skips_skipped_at_type CHECK (typeof(skipped_at) IN ('integer', 'null')),
  CONSTRAINT fk_skips_question_id FOREIGN KEY(question_id) REFERENCES questions (id)
);

-- Triggers enforce the rules that concern several tables.
--
-- Rows of answers, questions, skips and refusals are never changed, and are deleted only with their whole study, while
-- it is listed in the table deletions. New rows must match the rows that they refer to.

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

-- INSERT OR REPLACE deletes the old row, and fires the delete trigger only if recursive_triggers is on.
CREATE TRIGGER answers_replace BEFORE INSERT ON answers
WHEN EXISTS (SELECT 1 FROM answers WHERE question_id = NEW.question_id)
  OR EXISTS (SELECT 1 FROM answers WHERE study_id = NEW.study_id AND sequence = NEW.sequence)
BEGIN SELECT RAISE(ABORT, 'rows of answers are never changed or deleted'); END;

-- After the insert, so that CHECK constraints are checked first.
CREATE TRIGGER questions_insert AFTER INSERT ON questions
WHEN NOT EXISTS (SELECT 1 FROM participants WHERE id = NEW.participant_id AND study_id = NEW.study_id)
  OR NOT EXISTS (
    SELECT 1 FROM studies WHERE id = NEW.study_id
    AND NEW.anchor < n_objects AND NEW.first < n_objects AND NEW.second < n_objects)
BEGIN SELECT RAISE(ABORT, 'a question must refer to objects and a participant of its study'); END;

CREATE TRIGGER answers_insert AFTER INSERT ON answers
WHEN NOT EXISTS (
    SELECT 1 FROM questions WHERE id = NEW.question_id
    AND study_id = NEW.study_id AND NEW.choice IN (first, second))
  OR EXISTS (SELECT 1 FROM skips WHERE question_id = NEW.question_id)
  OR NEW.sequence > 1 AND NOT EXISTS (
    SELECT 1 FROM answers WHERE study_id = NEW.study_id AND sequence = NEW.sequence - 1)
BEGIN SELECT RAISE(ABORT, 'an answer must have the next number and choose an object of its question, which must not be skipped'); END;

CREATE TRIGGER skips_insert AFTER INSERT ON skips
WHEN EXISTS (SELECT 1 FROM answers WHERE question_id = NEW.question_id)
BEGIN SELECT RAISE(ABORT, 'an answered question cannot be skipped'); END;
