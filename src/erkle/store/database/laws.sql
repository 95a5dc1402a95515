-- The laws of a database. Each query finds the rows that break a law; the comment above it is the message for a row.

-- study {}: the answers are numbered {} to {}, but there are {} answers
SELECT s.public_id, min(a.sequence), max(a.sequence), count(*)
FROM answers a JOIN studies s ON s.id = a.study_id GROUP BY s.public_id
HAVING min(a.sequence) <> 1 OR max(a.sequence) <> count(*);

-- study {}: answer {} does not belong to a question of the study
SELECT s.public_id, a.sequence FROM answers a JOIN studies s ON s.id = a.study_id
LEFT JOIN questions q ON q.id = a.question_id AND q.study_id = a.study_id WHERE q.id IS NULL;

-- study {}: answer {} chooses object {}, but the choice was between {} and {}
SELECT s.public_id, a.sequence, a.choice, q.first, q.second FROM answers a JOIN studies s ON s.id = a.study_id
JOIN questions q ON q.id = a.question_id WHERE a.choice NOT IN (q.first, q.second);

-- study {}: question {} was both answered (answer {}) and skipped
SELECT s.public_id, a.question_id, a.sequence FROM answers a JOIN studies s ON s.id = a.study_id
JOIN skips k ON k.question_id = a.question_id;

-- study {}: question {} was not issued to a participant of the study
SELECT s.public_id, q.id FROM questions q JOIN studies s ON s.id = q.study_id
LEFT JOIN participants p ON p.id = q.participant_id AND p.study_id = q.study_id WHERE p.id IS NULL;

-- study {}: question {} is about objects {}, {} and {}, but must name three different ones of {} objects
SELECT s.public_id, q.id, q.anchor, q.first, q.second, s.n_objects
FROM questions q JOIN studies s ON s.id = q.study_id
WHERE NOT (q.anchor >= 0 AND q.first >= 0 AND q.second >= 0
AND q.anchor <> q.first AND q.anchor <> q.second AND q.first <> q.second
AND q.anchor < s.n_objects AND q.first < s.n_objects AND q.second < s.n_objects);

-- study {}: has {} objects, numbered up to {}, but should have {}
SELECT s.public_id, count(o.number), max(o.number), s.n_objects
FROM studies s LEFT JOIN objects o ON o.study_id = s.id GROUP BY s.id, s.public_id, s.n_objects
HAVING count(o.number) <> s.n_objects OR max(o.number) <> s.n_objects - 1;

-- study {}: {} objects are named {!r}
SELECT s.public_id, count(*), o.name FROM objects o JOIN studies s ON s.id = o.study_id
GROUP BY s.public_id, o.name HAVING count(*) > 1;

-- study {}: has no lease, so no server can learn its answers
SELECT s.public_id FROM studies s LEFT JOIN leases l ON l.study_id = s.id WHERE l.study_id IS NULL;

-- study {}: has no count of stored bytes, so nobody can join it
SELECT s.public_id FROM studies s LEFT JOIN usage u ON u.study_id = s.id WHERE u.study_id IS NULL;

-- study {}: a snapshot is of answer {} and roster {}, but the study has only {} answers and roster {}
SELECT s.public_id, n.sequence, n.roster, count(a.sequence), s.roster
FROM snapshots n JOIN studies s ON s.id = n.study_id LEFT JOIN answers a ON a.study_id = s.id
GROUP BY n.id, s.public_id, n.sequence, n.roster, s.roster
HAVING n.sequence > count(a.sequence) OR n.roster > s.roster;

-- study {}: the medium {!r} should have {} bytes, but has {}
SELECT s.public_id, m.name, m.size, coalesce(sum(length(p.data)), 0)
FROM media m JOIN studies s ON s.id = m.study_id
LEFT JOIN media_parts p ON p.study_id = m.study_id AND p.name = m.name
WHERE m.study_id NOT IN (SELECT study_id FROM unfinished_studies)
GROUP BY s.public_id, m.name, m.size HAVING coalesce(sum(length(p.data)), 0) <> m.size;

-- study {}: the features {!r} have {} vectors, but the study has {} objects
SELECT s.public_id, f.name, length(f.data) / (4 * f.n_columns), s.n_objects
FROM features f JOIN studies s ON s.id = f.study_id WHERE length(f.data) / (4 * f.n_columns) > s.n_objects;

-- study number {}: the study was only partly deleted
SELECT study_id FROM deletions;
