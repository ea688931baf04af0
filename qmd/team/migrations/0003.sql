-- What each machine of a member says of a collection, so that two machines with other settings take no turns: the
-- narrowest `share` and the least `trust` hold (qmd/team/writing.py).
CREATE TABLE machines (
  unit int NOT NULL REFERENCES units ON DELETE CASCADE,
  device text NOT NULL CHECK (octet_length(device) <= 64),
  share text[] NOT NULL CHECK (cardinality(share) <= 1000),
  trust text NOT NULL CHECK (octet_length(trust) <= 64),
  PRIMARY KEY (unit, device)
);
ALTER TABLE machines ENABLE ROW LEVEL SECURITY;
CREATE POLICY owned ON machines USING (unit = ANY ((SELECT own())::int[])) WITH CHECK (unit = ANY ((SELECT own())::int[]));

-- The server does not tokenize, so it cannot know which terms a text has: a row is bounded by its text instead. Whoever
-- wants to move the statistics of all has to store as much text as the terms would take. The client makes at most one
-- term for each byte; rows of before are not looked at.
ALTER TABLE documents ADD CONSTRAINT documents_bounded CHECK (
  octet_length(text) <= 33554432 AND octet_length(path) <= 2000 AND octet_length(title) <= 65536
  AND octet_length(hash) <= 128 AND octet_length(device) <= 64 AND octet_length(starts) <= 4194308
  AND pg_column_size(fields) <= 2097152
  AND passages <= octet_length(text) + 1
  AND tokens <= 2 * (octet_length(text)::bigint + octet_length(title) + octet_length(path)) + 1024
  AND length(title_terms) <= 2 * (octet_length(title) + octet_length(path)) + 1024
) NOT VALID;
ALTER TABLE units ADD CONSTRAINT units_bounded
  CHECK (octet_length(collection) <= 255 AND octet_length(trust) <= 64) NOT VALID;
ALTER TABLE tombstones ADD CONSTRAINT tombstones_bounded CHECK (octet_length(digest) = 64) NOT VALID;

CREATE FUNCTION check_passages() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF EXISTS (SELECT FROM added p JOIN documents d ON d.id = p.document WHERE p.number >= d.passages) THEN
    RAISE EXCEPTION 'a document has more passages than it says' USING ERRCODE = 'BR004';
  END IF;
  -- A passage of many terms that says it is short would come before all others.
  IF EXISTS (
    SELECT FROM added p WHERE p.tokens < (
      SELECT coalesce(sum(coalesce(cardinality(l.positions), 1)), 0)
      FROM (SELECT * FROM unnest(p.body) UNION ALL SELECT * FROM unnest(p.words)) l
    )
  ) THEN
    RAISE EXCEPTION 'a passage has more terms than its length' USING ERRCODE = 'BR004';
  END IF;
  IF EXISTS (
    SELECT FROM (SELECT document, sum(tokens) AS tokens FROM passages
                 WHERE document = ANY (ARRAY(SELECT DISTINCT document FROM added)) GROUP BY 1) s
    JOIN documents d ON d.id = s.document WHERE s.tokens > 2 * octet_length(d.text)::bigint + 1024
  ) THEN
    RAISE EXCEPTION 'a document has more terms than its text' USING ERRCODE = 'BR004';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER checked AFTER INSERT ON passages REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION check_passages();

-- Many vectors of a short text would crowd out all others'.
CREATE OR REPLACE FUNCTION check_vectors() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF EXISTS (
    SELECT FROM added v JOIN spaces s ON s.id = v.space WHERE @vector@.vector_dims(v.embedding) <> s.dimensions
  ) THEN
    RAISE EXCEPTION 'a vector has other dimensions than its space' USING ERRCODE = 'BR004';
  END IF;
  IF EXISTS (
    SELECT FROM (SELECT document, max(seq) AS seq FROM added GROUP BY 1) v JOIN documents d ON d.id = v.document
    WHERE v.seq > 16 + octet_length(d.text) / 8
  ) THEN
    RAISE EXCEPTION 'a document has more vectors than its text' USING ERRCODE = 'BR004';
  END IF;
  RETURN NULL;
END $$;
