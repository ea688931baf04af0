-- The first version of a space. It runs with the space's schema alone as the search path, so that no function finds what
-- somebody else put into another schema; @vector@ is the schema of pgvector. docs/team.md explains the tables.
-- A unit is a collection of one owner, and what members are granted. Every table with content has its unit, and a policy
-- of row security on it. A member is the role that logged in, `session_user`, whatever SET ROLE says.
-- A member writes a unit that others read. A row that no client can read, or that no query gets past, would end the
-- questions of all of them, so the server refuses it.

CREATE TABLE meta (key text PRIMARY KEY, value text NOT NULL);

CREATE TABLE members (
  name text PRIMARY KEY,
  role text NOT NULL CHECK (role IN ('admin', 'member')),
  admitted_at timestamptz NOT NULL DEFAULT now(),
  joined_at timestamptz,
  seen_at timestamptz,
  policy int,
  client text
);
CREATE TABLE groups (
  name text NOT NULL,
  member text NOT NULL REFERENCES members ON DELETE CASCADE,
  PRIMARY KEY (name, member)
);

CREATE TABLE units (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner text NOT NULL REFERENCES members ON DELETE CASCADE,
  collection text NOT NULL,
  trust text NOT NULL,
  code_share real NOT NULL DEFAULT 0 CHECK (code_share BETWEEN 0 AND 1),
  policy int NOT NULL,
  pushed_at timestamptz,
  -- Kept by the triggers below.
  documents bigint NOT NULL DEFAULT 0,
  document_tokens bigint NOT NULL DEFAULT 0,
  passages bigint NOT NULL DEFAULT 0,
  passage_tokens bigint NOT NULL DEFAULT 0,
  UNIQUE (owner, collection)
);
-- A row that does not allow outranks all that do. `origin` is what made the row: the setting `share`, or a command.
CREATE TABLE grants (
  unit int NOT NULL REFERENCES units ON DELETE CASCADE,
  kind text NOT NULL CHECK (kind IN ('team', 'member', 'group')),
  grantee text NOT NULL,
  allowed boolean NOT NULL DEFAULT true,
  origin text NOT NULL CHECK (origin IN ('share', 'verb')),
  granted_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (unit, kind, grantee)
);

CREATE TABLE documents (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  unit int NOT NULL REFERENCES units ON DELETE CASCADE,
  device text NOT NULL,
  path text NOT NULL,
  title text NOT NULL,
  hash text NOT NULL,
  -- Dates that have a text, from year 1 to year 9999.
  date bigint NOT NULL CHECK (date BETWEEN -62135596800 AND 253402300799),
  ended bigint NOT NULL CHECK (ended BETWEEN -62135596800 AND 253402300799),
  dated boolean NOT NULL,
  fields jsonb NOT NULL CHECK (jsonb_typeof(fields) = 'object'),
  policy int NOT NULL,
  text text NOT NULL,
  starts bytea NOT NULL CHECK (octet_length(starts) % 4 = 0),
  passages int NOT NULL CHECK (passages >= 0),
  tokens int NOT NULL CHECK (tokens >= 0),
  title_terms tsvector NOT NULL,
  pushed_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (unit, path),
  UNIQUE (id, unit)
);
CREATE INDEX documents_ended ON documents (ended DESC);
CREATE INDEX documents_hash ON documents (hash);
CREATE INDEX documents_title ON documents USING gin (title_terms) WITH (fastupdate = off);

-- The keys below have the unit, though a document has only one: a key without it is unique over the rows of all members,
-- and the error of an insert would say whether a hidden document has a passage of this number, or vectors.
CREATE TABLE passages (
  document bigint NOT NULL,
  -- -1 is the frontmatter; the client numbers passages and chunks of a document below 2^20.
  number int NOT NULL CHECK (number BETWEEN -1 AND 1048575),
  unit int NOT NULL,
  tokens int NOT NULL CHECK (tokens >= 0),
  body tsvector NOT NULL,
  words tsvector NOT NULL,
  -- The document's: scoring needs those of thousands of documents. A trigger fills it in.
  document_tokens int,
  -- Stems that occur often for the length of the passage; in number -1, for that of the document (qmd/team/vocabulary.py).
  marks tsvector NOT NULL DEFAULT '' CHECK (length(marks) <= tokens + document_tokens),
  PRIMARY KEY (document, number, unit),
  FOREIGN KEY (document, unit) REFERENCES documents (id, unit) ON DELETE CASCADE
);
-- A tsvector of a passage has about 2 kB: in the row it is read with it, without a look into another table.
ALTER TABLE passages ALTER COLUMN body SET STORAGE MAIN, ALTER COLUMN words SET STORAGE MAIN;
ALTER TABLE passages SET (toast_tuple_target = 8160);
-- Rows wait in a list (8 MB) and enter the tree together: one by one they take three times as long. A question reads the
-- list as well, so `tend` empties it at the end of a push.
CREATE INDEX passages_terms ON passages USING gin (body, words, marks) WITH (gin_pending_list_limit = 8192) WHERE number >= 0;
CREATE INDEX passages_unit ON passages (unit);

CREATE TABLE terms (
  unit int NOT NULL REFERENCES units ON DELETE CASCADE,
  stem text COLLATE "C" NOT NULL,
  passages bigint NOT NULL,
  -- Those that have it in a passage or in their frontmatter.
  documents bigint NOT NULL,
  PRIMARY KEY (stem, unit)
) WITH (fillfactor = 80);
CREATE INDEX terms_unit ON terms (unit);

CREATE TABLE spaces (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  provider text NOT NULL,
  model text NOT NULL,
  dimensions int NOT NULL CHECK (dimensions BETWEEN 1 AND 4000),
  fingerprint text NOT NULL,
  layout text NOT NULL,
  -- With the dimensions: who first noted a model with wrong ones would keep the model from all others.
  UNIQUE (fingerprint, layout, provider, model, dimensions)
);
CREATE TABLE embedded (
  document bigint NOT NULL,
  space int NOT NULL REFERENCES spaces ON DELETE CASCADE,
  unit int NOT NULL,
  chunks int NOT NULL CHECK (chunks BETWEEN 0 AND 1048576),
  PRIMARY KEY (document, space, unit),
  FOREIGN KEY (document, unit) REFERENCES documents (id, unit) ON DELETE CASCADE
);
CREATE TABLE vectors (
  space int NOT NULL REFERENCES spaces ON DELETE CASCADE,
  document bigint NOT NULL,
  seq int NOT NULL CHECK (seq BETWEEN 0 AND 1048575),
  unit int NOT NULL,
  kind int NOT NULL,
  start int NOT NULL,
  "end" int NOT NULL,
  embedding @vector@.halfvec NOT NULL,
  CHECK (start BETWEEN 0 AND "end"),
  -- A question reads the kinds of last chunks from the index alone.
  PRIMARY KEY (space, document, seq, unit) INCLUDE (kind),
  FOREIGN KEY (document, unit) REFERENCES documents (id, unit) ON DELETE CASCADE
);
CREATE INDEX vectors_document ON vectors (document);
-- How many vectors a unit has in a space, kept by a trigger: a question that counts them reads each.
CREATE TABLE vector_counts (
  space int NOT NULL REFERENCES spaces ON DELETE CASCADE,
  unit int NOT NULL REFERENCES units ON DELETE CASCADE,
  vectors bigint NOT NULL,
  PRIMARY KEY (space, unit)
);

-- What was forgotten, without its name: the SHA-256 of `tombstone(…)`.
CREATE TABLE tombstones (
  owner text NOT NULL REFERENCES members ON DELETE CASCADE,
  digest text NOT NULL,
  forgotten_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (owner, digest)
);

-- Who may see and change what.

CREATE FUNCTION is_member() RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT EXISTS (SELECT FROM members WHERE name = session_user)
$$;
CREATE FUNCTION is_admin() RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT EXISTS (SELECT FROM members WHERE name = session_user AND role = 'admin')
$$;
CREATE FUNCTION own() RETURNS int[] LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT coalesce(array_agg(id), '{}') FROM units WHERE owner = session_user
$$;
CREATE FUNCTION reaches(who text, kind text, grantee text) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT AS $$
  SELECT CASE kind
    WHEN 'team' THEN true
    WHEN 'member' THEN grantee = who
    ELSE EXISTS (SELECT FROM groups g WHERE g.name = grantee AND g.member = who)
  END
$$;
CREATE FUNCTION visible_to(who text) RETURNS int[] LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT coalesce(array_agg(u.id), '{}') FROM units u
  WHERE EXISTS (SELECT FROM members m WHERE m.name = who) AND (
    u.owner = who
    OR (SELECT bool_and(g.allowed) FROM grants g WHERE g.unit = u.id AND reaches(who, g.kind, g.grantee))
  )
$$;
CREATE FUNCTION visible() RETURNS int[] LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT visible_to(session_user)
$$;
CREATE FUNCTION tombstone(owner text, collection text, path text) RETURNS text LANGUAGE sql IMMUTABLE
SET search_path FROM CURRENT AS $$
  SELECT encode(sha256(convert_to(owner || E'\n' || collection || E'\n' || path, 'UTF8')), 'hex')
$$;

ALTER TABLE meta ENABLE ROW LEVEL SECURITY;
ALTER TABLE members ENABLE ROW LEVEL SECURITY;
ALTER TABLE groups ENABLE ROW LEVEL SECURITY;
ALTER TABLE units ENABLE ROW LEVEL SECURITY;
ALTER TABLE grants ENABLE ROW LEVEL SECURITY;
ALTER TABLE documents ENABLE ROW LEVEL SECURITY;
ALTER TABLE passages ENABLE ROW LEVEL SECURITY;
ALTER TABLE terms ENABLE ROW LEVEL SECURITY;
ALTER TABLE spaces ENABLE ROW LEVEL SECURITY;
ALTER TABLE embedded ENABLE ROW LEVEL SECURITY;
ALTER TABLE vectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE vector_counts ENABLE ROW LEVEL SECURITY;
ALTER TABLE tombstones ENABLE ROW LEVEL SECURITY;

CREATE POLICY seen ON meta FOR SELECT USING ((SELECT is_member()));
CREATE POLICY seen ON members FOR SELECT USING ((SELECT is_member()));
CREATE POLICY seen ON groups FOR SELECT USING ((SELECT is_member()));
CREATE POLICY seen ON spaces FOR SELECT USING ((SELECT is_member()));
CREATE POLICY made ON spaces FOR INSERT WITH CHECK ((SELECT is_member()));

CREATE POLICY seen ON units FOR SELECT USING (id = ANY ((SELECT visible())::int[]) OR owner = session_user);
CREATE POLICY made ON units FOR INSERT WITH CHECK (owner = session_user AND (SELECT is_member()));
CREATE POLICY changed ON units FOR UPDATE USING (owner = session_user) WITH CHECK (owner = session_user);
CREATE POLICY removed ON units FOR DELETE USING (owner = session_user);

CREATE POLICY owned ON grants USING (unit = ANY ((SELECT own())::int[])) WITH CHECK (unit = ANY ((SELECT own())::int[]));

CREATE POLICY seen ON documents FOR SELECT USING (unit = ANY ((SELECT visible())::int[]));
CREATE POLICY made ON documents FOR INSERT WITH CHECK (unit = ANY ((SELECT own())::int[]));
CREATE POLICY changed ON documents FOR UPDATE USING (unit = ANY ((SELECT own())::int[]))
  WITH CHECK (unit = ANY ((SELECT own())::int[]));
CREATE POLICY removed ON documents FOR DELETE USING (unit = ANY ((SELECT own())::int[]));

CREATE POLICY seen ON passages FOR SELECT USING (unit = ANY ((SELECT visible())::int[]));
CREATE POLICY made ON passages FOR INSERT WITH CHECK (unit = ANY ((SELECT own())::int[]));
CREATE POLICY removed ON passages FOR DELETE USING (unit = ANY ((SELECT own())::int[]));

CREATE POLICY seen ON terms FOR SELECT USING (unit = ANY ((SELECT visible())::int[]));

CREATE POLICY seen ON embedded FOR SELECT USING (unit = ANY ((SELECT visible())::int[]));
CREATE POLICY made ON embedded FOR INSERT WITH CHECK (unit = ANY ((SELECT own())::int[]));
CREATE POLICY removed ON embedded FOR DELETE USING (unit = ANY ((SELECT own())::int[]));

CREATE POLICY seen ON vectors FOR SELECT USING (unit = ANY ((SELECT visible())::int[]));
CREATE POLICY made ON vectors FOR INSERT WITH CHECK (unit = ANY ((SELECT own())::int[]));
CREATE POLICY removed ON vectors FOR DELETE USING (unit = ANY ((SELECT own())::int[]));

CREATE POLICY seen ON vector_counts FOR SELECT USING (unit = ANY ((SELECT visible())::int[]));

CREATE POLICY owned ON tombstones FOR SELECT USING (owner = session_user);
CREATE POLICY made ON tombstones FOR INSERT WITH CHECK (owner = session_user AND (SELECT is_member()));
CREATE POLICY lifted ON tombstones FOR DELETE USING (owner = session_user);

-- Rules that hold whatever a client sends.

CREATE FUNCTION check_unit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE minimum int := (SELECT value::int FROM meta WHERE key = 'policy');
BEGIN
  IF TG_OP = 'UPDATE' THEN
    minimum := greatest(minimum, OLD.policy);
  END IF;
  IF NEW.policy < minimum THEN
    RAISE EXCEPTION 'redaction policy % is older than %', NEW.policy, minimum USING ERRCODE = 'BR001';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER checked BEFORE INSERT OR UPDATE OF policy ON units FOR EACH ROW EXECUTE FUNCTION check_unit();

CREATE FUNCTION check_document() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  home units%ROWTYPE;
  minimum int := (SELECT value::int FROM meta WHERE key = 'policy');
BEGIN
  -- Of an own unit: this runs before the policy refuses another's, and an error would say what its owner forgot.
  SELECT * INTO home FROM units WHERE id = NEW.unit AND owner = session_user;
  minimum := greatest(minimum, home.policy);
  IF NEW.policy < minimum THEN
    RAISE EXCEPTION 'redaction policy % is older than %', NEW.policy, minimum USING ERRCODE = 'BR001';
  END IF;
  IF TG_OP = 'INSERT' AND EXISTS (
    SELECT FROM tombstones t WHERE t.owner = home.owner AND t.digest = tombstone(home.owner, home.collection, NEW.path)
  ) THEN
    RAISE EXCEPTION 'the document was forgotten' USING ERRCODE = 'BR002';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER checked BEFORE INSERT OR UPDATE ON documents FOR EACH ROW EXECUTE FUNCTION check_document();

-- One vector of other dimensions fails every comparison with the vectors of its space.
-- Many vectors of a short text would crowd out all others'.
CREATE FUNCTION check_vectors() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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
CREATE TRIGGER checked AFTER INSERT ON vectors REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION check_vectors();

-- A document that is not there, or of another unit, has no tokens: its foreign key refuses the passage.
CREATE FUNCTION measure_passage() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  NEW.document_tokens := (SELECT d.tokens FROM documents d WHERE d.id = NEW.document AND d.unit = NEW.unit);
  RETURN NEW;
END $$;
CREATE TRIGGER measured BEFORE INSERT ON passages FOR EACH ROW EXECUTE FUNCTION measure_passage();

-- The server's clock says when a member pushed: an infinite date is none that a client can read.
CREATE FUNCTION date_push() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  NEW.pushed_at := now();
  RETURN NEW;
END $$;
CREATE TRIGGER dated BEFORE UPDATE OF pushed_at ON units FOR EACH ROW EXECUTE FUNCTION date_push();

-- Statistics. Two writers of one unit take turns, so that neither waits for the other's rows in another order.

CREATE FUNCTION lock_units(units int[]) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE each int;
BEGIN
  FOR each IN SELECT DISTINCT u FROM unnest(units) u ORDER BY 1 LOOP
    PERFORM pg_advisory_xact_lock(hashtext(current_schema()), each);
  END LOOP;
END $$;

CREATE FUNCTION count_passages() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE sign int := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  PERFORM lock_units((SELECT array_agg(DISTINCT unit) FROM changed));
  IF TG_OP = 'INSERT' THEN
    INSERT INTO terms AS t (unit, stem, passages, documents)
      SELECT c.unit, c.stem, sum(c.passages), count(*) FROM (
        SELECT p.unit, p.document, l.stem, count(*) FILTER (WHERE p.number >= 0) AS passages
        FROM changed p, LATERAL unnest(tsvector_to_array(p.body || p.words)) AS l(stem) GROUP BY 1, 2, 3
      ) c GROUP BY 1, 2
      ON CONFLICT (stem, unit) DO UPDATE SET passages = t.passages + excluded.passages, documents = t.documents + excluded.documents;
  ELSE
    WITH gone AS (
      SELECT c.unit, c.stem, sum(c.passages)::bigint AS passages, count(*) AS documents FROM (
        SELECT p.unit, p.document, l.stem, count(*) FILTER (WHERE p.number >= 0) AS passages
        FROM changed p, LATERAL unnest(tsvector_to_array(p.body || p.words)) AS l(stem) GROUP BY 1, 2, 3
      ) c GROUP BY 1, 2
    ), emptied AS (
      DELETE FROM terms t USING gone g WHERE t.stem = g.stem AND t.unit = g.unit AND t.documents <= g.documents
    )
    UPDATE terms t SET passages = t.passages - g.passages, documents = t.documents - g.documents FROM gone g
      WHERE t.stem = g.stem AND t.unit = g.unit AND t.documents > g.documents;
  END IF;
  UPDATE units u SET passages = u.passages + sign * c.rows, passage_tokens = u.passage_tokens + sign * c.tokens
    FROM (SELECT unit, count(*) AS rows, sum(tokens) AS tokens FROM changed WHERE number >= 0 GROUP BY 1) c
    WHERE u.id = c.unit;
  RETURN NULL;
END $$;
CREATE TRIGGER counted_in AFTER INSERT ON passages REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_passages();
CREATE TRIGGER counted_out AFTER DELETE ON passages REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_passages();

CREATE FUNCTION count_documents() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE sign int := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  PERFORM lock_units((SELECT array_agg(DISTINCT unit) FROM changed));
  UPDATE units u SET documents = u.documents + sign * c.rows, document_tokens = u.document_tokens + sign * c.tokens
    FROM (SELECT unit, count(*) AS rows, sum(tokens) AS tokens FROM changed GROUP BY 1) c WHERE u.id = c.unit;
  RETURN NULL;
END $$;
CREATE TRIGGER counted_in AFTER INSERT ON documents REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_documents();
CREATE TRIGGER counted_out AFTER DELETE ON documents REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_documents();

-- A unit that goes takes its counts along, and its vectors only then.
CREATE FUNCTION count_vectors() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE sign int := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  PERFORM lock_units((SELECT array_agg(DISTINCT unit) FROM changed));
  IF TG_OP = 'INSERT' THEN
    INSERT INTO vector_counts AS v (space, unit, vectors) SELECT space, unit, count(*) FROM changed GROUP BY 1, 2
      ON CONFLICT (space, unit) DO UPDATE SET vectors = v.vectors + excluded.vectors;
  ELSE
    UPDATE vector_counts v SET vectors = v.vectors - c.vectors
      FROM (SELECT space, unit, count(*) AS vectors FROM changed GROUP BY 1, 2) c
      WHERE v.space = c.space AND v.unit = c.unit;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER counted_in AFTER INSERT ON vectors REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_vectors();
CREATE TRIGGER counted_out AFTER DELETE ON vectors REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_vectors();

-- Searching. Row security comes before every condition that is not leakproof, and `@@` is not: no index would be used.
-- So these run as the owner of the tables, and apply the same condition themselves.

CREATE FUNCTION matching_passages(q tsquery, among int[] DEFAULT NULL)
RETURNS TABLE (document bigint, number int, unit int, tokens int, body tsvector, words tsvector)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE allowed int[] := visible();
BEGIN
  RETURN QUERY SELECT p.document, p.number, p.unit, p.tokens, p.body, p.words FROM passages p
    WHERE p.number >= 0 AND (p.body @@ q OR p.words @@ q) AND p.unit = ANY (allowed)
    AND (among IS NULL OR p.unit = ANY (among));
END $$;
CREATE FUNCTION matching_titles(q tsquery) RETURNS TABLE (document bigint, unit int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE allowed int[] := visible();
BEGIN
  RETURN QUERY SELECT d.id, d.unit FROM documents d WHERE d.title_terms @@ q AND d.unit = ANY (allowed);
END $$;

-- Members and what they do. Only these functions change members and groups.

CREATE FUNCTION require_admin() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF NOT is_admin() THEN
    RAISE EXCEPTION '% is no admin of this space', session_user USING ERRCODE = 'BR003';
  END IF;
END $$;
CREATE FUNCTION member_role() RETURNS text LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT value FROM meta WHERE key = 'group_role'
$$;
CREATE FUNCTION admit(who text, as_role text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM require_admin();
  IF EXISTS (SELECT FROM groups WHERE name = who) THEN
    RAISE EXCEPTION 'a group is called %', who USING ERRCODE = 'BR004';
  END IF;
  EXECUTE format('GRANT %I TO %I', member_role(), who);
  -- Who is an admin stays one: to admit takes no right away.
  INSERT INTO members AS m (name, role) VALUES (who, as_role)
    ON CONFLICT (name) DO UPDATE SET role = excluded.role WHERE m.role <> 'admin';
END $$;
CREATE FUNCTION expel(who text) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  gone bigint;
  mine int[] := (SELECT coalesce(array_agg(id), '{}') FROM units WHERE owner = who);
BEGIN
  IF who <> session_user THEN
    PERFORM require_admin();
  END IF;
  IF NOT EXISTS (SELECT FROM members WHERE name <> who AND role = 'admin')
     AND EXISTS (SELECT FROM members WHERE name = who AND role = 'admin') THEN
    RAISE EXCEPTION 'the last admin stays' USING ERRCODE = 'BR004';
  END IF;
  DELETE FROM passages WHERE unit = ANY (mine);
  DELETE FROM documents WHERE unit = ANY (mine);
  GET DIAGNOSTICS gone = ROW_COUNT;
  DELETE FROM units WHERE owner = who;
  DELETE FROM grants WHERE kind = 'member' AND grantee = who;
  DELETE FROM members WHERE name = who;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = who) THEN
    EXECUTE format('REVOKE %I FROM %I', member_role(), who);
  END IF;
  RETURN gone;
END $$;
CREATE FUNCTION group_add(team text, who text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM require_admin();
  IF team = 'team' OR EXISTS (SELECT FROM members WHERE name = team) THEN
    RAISE EXCEPTION 'a member is called %', team USING ERRCODE = 'BR004';
  END IF;
  INSERT INTO groups VALUES (team, who) ON CONFLICT DO NOTHING;
END $$;
CREATE FUNCTION group_remove(team text, who text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM require_admin();
  DELETE FROM groups WHERE name = team AND member = who;
END $$;
CREATE FUNCTION require_policy(minimum int) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM require_admin();
  UPDATE meta SET value = greatest(value::int, minimum)::text WHERE key = 'policy';
END $$;
CREATE FUNCTION seen(version text, at_policy int) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  UPDATE members SET joined_at = coalesce(joined_at, now()), seen_at = now(), client = version, policy = at_policy
  WHERE name = session_user
$$;

-- For a proof of forgetting: what the tables hold of paths of an own unit, whoever may see it, and how many members could.
CREATE FUNCTION proof(of_unit int, paths text[])
RETURNS TABLE (documents bigint, passages bigint, vectors bigint, readers bigint, miscounted bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF NOT of_unit = ANY (own()) THEN
    RAISE EXCEPTION 'unit % is of another member', of_unit USING ERRCODE = 'BR003';
  END IF;
  RETURN QUERY
    WITH held AS (SELECT d.id FROM documents d WHERE d.unit = of_unit AND d.path = ANY (paths))
    SELECT (SELECT count(*) FROM held),
      (SELECT count(*) FROM passages p WHERE p.document IN (SELECT id FROM held)),
      (SELECT count(*) FROM vectors v WHERE v.document IN (SELECT id FROM held)),
      (SELECT count(*) FROM members m WHERE EXISTS (SELECT FROM held) AND of_unit = ANY (visible_to(m.name))),
      (SELECT abs(u.documents - (SELECT count(*) FROM documents d WHERE d.unit = of_unit))
        + abs(u.passages - (SELECT count(*) FROM passages p WHERE p.unit = of_unit AND p.number >= 0))
       FROM units u WHERE u.id = of_unit);
END $$;

-- Terms whose count is not that of the passages: 0 rows. It reads all of an own unit.
CREATE FUNCTION miscounted_terms(of_unit int) RETURNS TABLE (stem text, held bigint, counted bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF NOT of_unit = ANY (own()) THEN
    RAISE EXCEPTION 'unit % is of another member', of_unit USING ERRCODE = 'BR003';
  END IF;
  RETURN QUERY
    WITH real AS (
      SELECT c.stem COLLATE "C" AS stem, sum(c.passages)::bigint AS passages, count(*) AS documents FROM (
        SELECT p.document, l.stem, count(*) FILTER (WHERE p.number >= 0) AS passages
        FROM passages p, LATERAL unnest(tsvector_to_array(p.body || p.words)) AS l(stem) WHERE p.unit = of_unit GROUP BY 1, 2
      ) c GROUP BY 1
    ), kept AS (SELECT t.stem, t.passages, t.documents FROM terms t WHERE t.unit = of_unit)
    SELECT coalesce(r.stem, k.stem), coalesce(k.passages, 0), coalesce(r.passages, 0)
    FROM real r FULL JOIN kept k ON k.stem = r.stem
    WHERE (k.passages, k.documents) IS DISTINCT FROM (r.passages, r.documents);
END $$;

-- An approximate index over the vectors of a space, once an exact look at all of them takes too long. The graph is made in
-- memory, as far as that suffices: on disk it takes ten times as long. A vector takes its halves and 1,200 bytes of links.
CREATE FUNCTION tend(minimum bigint) RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  each spaces%ROWTYPE;
  home text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
                WHERE e.extname = 'vector');
  given bigint := (SELECT setting FROM pg_settings WHERE name = 'maintenance_work_mem')::bigint; -- KiB
  most CONSTANT bigint := 1024 * 1024;
  held bigint;
  made int := 0;
  making text;
BEGIN
  IF NOT is_member() OR NOT pg_try_advisory_xact_lock(hashtext(current_schema()), 0) THEN
    RETURN 0;
  END IF;
  PERFORM gin_clean_pending_list('passages_terms'), gin_clean_pending_list('passages_heads');
  FOR each IN SELECT * FROM spaces LOOP
    CONTINUE WHEN to_regclass(format('vectors_space_%s', each.id)) IS NOT NULL;
    held := (SELECT coalesce(sum(v.vectors), 0) FROM vector_counts v WHERE v.space = each.id);
    CONTINUE WHEN held < minimum;
    making := format(
      'CREATE INDEX vectors_space_%s ON vectors USING hnsw ((embedding::%s.halfvec(%s)) %s.halfvec_l2_ops) WHERE space = %s',
      each.id, home, each.dimensions, home, each.id);
    PERFORM set_config(
      'maintenance_work_mem', greatest(given, least(most, held * (2 * each.dimensions + 1200) / 1024))::text, true);
    BEGIN
      EXECUTE making;
    EXCEPTION WHEN disk_full OR insufficient_resources OR out_of_memory THEN
      -- A container's shared memory is small, and only workers beside this process need it.
      PERFORM set_config('max_parallel_maintenance_workers', '0', true);
      EXECUTE making;
    END;
    made := made + 1;
  END LOOP;
  RETURN made;
END $$;

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
-- term for each byte.
ALTER TABLE documents ADD CONSTRAINT documents_bounded CHECK (
  octet_length(text) <= 33554432 AND octet_length(path) <= 2000 AND octet_length(title) <= 65536
  AND octet_length(hash) <= 128 AND octet_length(device) <= 64 AND octet_length(starts) <= 4194308
  AND pg_column_size(fields) <= 2097152
  AND passages <= octet_length(text) + 1
  AND tokens <= 2 * (octet_length(text)::bigint + octet_length(title) + octet_length(path)) + 1024
  AND length(title_terms) <= 2 * (octet_length(title) + octet_length(path)) + 1024
);
ALTER TABLE units ADD CONSTRAINT units_bounded
  CHECK (octet_length(collection) <= 255 AND octet_length(trust) <= 64);
-- A name that others are shown is one line, and drives no terminal.
ALTER TABLE members ADD CONSTRAINT members_named CHECK (name !~ '[\u0001-\u001f\u007f-\u009f\u2028\u2029]');
ALTER TABLE groups ADD CONSTRAINT groups_named CHECK (name !~ '[\u0001-\u001f\u007f-\u009f\u2028\u2029]');
ALTER TABLE units ADD CONSTRAINT units_named CHECK (collection !~ '[\u0001-\u001f\u007f-\u009f\u2028\u2029]');
ALTER TABLE tombstones ADD CONSTRAINT tombstones_bounded CHECK (octet_length(digest) = 64);

-- How many rows of a document the statistics count. A statement may call a function that adds or removes rows before the
-- triggers of the statement run, so the rows of a document do not say what was counted. Only the triggers read this.
CREATE TABLE counted (document bigint PRIMARY KEY, rows bigint NOT NULL);
ALTER TABLE counted ENABLE ROW LEVEL SECURITY;

CREATE FUNCTION check_passages() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE noted bigint;
BEGIN
  -- Else two connections could each add a part of one document, and neither would see the other's.
  PERFORM lock_units((SELECT array_agg(DISTINCT unit) FROM added));
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
    SELECT FROM (SELECT document, sum(tokens) AS tokens FROM added GROUP BY 1) s
    JOIN documents d ON d.id = s.document WHERE s.tokens > 2 * octet_length(d.text)::bigint + 1024
  ) THEN
    RAISE EXCEPTION 'a document has more terms than its text' USING ERRCODE = 'BR004';
  END IF;
  -- Documents that have a term are counted as they come.
  INSERT INTO counted SELECT document, count(*) FROM added GROUP BY 1 ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS noted = ROW_COUNT;
  IF noted < (SELECT count(DISTINCT document) FROM added) THEN
    RAISE EXCEPTION 'the passages of a document do not come at once' USING ERRCODE = 'BR004';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER checked AFTER INSERT ON passages REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION check_passages();

-- Documents that have a term are counted as they go: by a part of one, counts would fall below zero.
CREATE FUNCTION check_removal() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE noted bigint;
BEGIN
  PERFORM lock_units((SELECT array_agg(DISTINCT unit) FROM removed));
  DELETE FROM counted c USING (SELECT document, count(*) AS rows FROM removed GROUP BY 1) r
    WHERE c.document = r.document AND c.rows = r.rows;
  GET DIAGNOSTICS noted = ROW_COUNT;
  IF noted < (SELECT count(DISTINCT document) FROM removed) THEN
    RAISE EXCEPTION 'the passages of a document do not go at once' USING ERRCODE = 'BR004';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER checked_removal AFTER DELETE ON passages REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION check_removal();
