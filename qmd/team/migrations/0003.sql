-- A member writes a unit that others read. A row that no client can read, or that no query gets past, would end the
-- questions of all of them, so the server refuses it. Constraints are for new rows: an older space may have such a row,
-- which must not keep the space from this version.

ALTER TABLE units
  ADD CONSTRAINT code_is_a_share CHECK (code_share BETWEEN 0 AND 1) NOT VALID;
-- Dates that have a text, from year 1 to year 9999.
ALTER TABLE documents
  ADD CONSTRAINT dates_have_a_text CHECK (
    date BETWEEN -62135596800 AND 253402300799 AND ended BETWEEN -62135596800 AND 253402300799) NOT VALID,
  ADD CONSTRAINT fields_are_named CHECK (jsonb_typeof(fields) = 'object') NOT VALID,
  ADD CONSTRAINT starts_are_numbers CHECK (octet_length(starts) % 4 = 0) NOT VALID,
  ADD CONSTRAINT lengths_count CHECK (passages >= 0 AND tokens >= 0) NOT VALID;
-- -1 is the frontmatter; the client numbers passages and chunks of a document below 2^20.
ALTER TABLE passages
  ADD CONSTRAINT numbers_count CHECK (number BETWEEN -1 AND 1048575) NOT VALID,
  ADD CONSTRAINT lengths_count CHECK (tokens >= 0) NOT VALID;
ALTER TABLE embedded
  ADD CONSTRAINT chunks_count CHECK (chunks BETWEEN 0 AND 1048576) NOT VALID;
ALTER TABLE vectors
  ADD CONSTRAINT numbers_count CHECK (seq BETWEEN 0 AND 1048575) NOT VALID,
  ADD CONSTRAINT places_count CHECK (start BETWEEN 0 AND "end") NOT VALID;

-- Who first noted a model with wrong dimensions would have kept the model from all others.
ALTER TABLE spaces DROP CONSTRAINT spaces_fingerprint_layout_provider_model_key;
ALTER TABLE spaces ADD UNIQUE (fingerprint, layout, provider, model, dimensions);

-- One vector of other dimensions fails every comparison with the vectors of its space.
CREATE FUNCTION check_vectors() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF EXISTS (
    SELECT FROM added v JOIN spaces s ON s.id = v.space WHERE @vector@.vector_dims(v.embedding) <> s.dimensions
  ) THEN
    RAISE EXCEPTION 'a vector has other dimensions than its space' USING ERRCODE = 'BR004';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER checked AFTER INSERT ON vectors REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION check_vectors();

-- The server's clock says when a member pushed: an infinite date is none that a client can read.
CREATE FUNCTION date_push() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  NEW.pushed_at := now();
  RETURN NEW;
END $$;
CREATE TRIGGER dated BEFORE UPDATE OF pushed_at ON units FOR EACH ROW EXECUTE FUNCTION date_push();

-- An admin who is admitted again as a member would have left a space without one.
CREATE OR REPLACE FUNCTION admit(who text, as_role text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM require_admin();
  IF EXISTS (SELECT FROM groups WHERE name = who) THEN
    RAISE EXCEPTION 'a group is called %', who USING ERRCODE = 'BR004';
  END IF;
  IF as_role <> 'admin' AND NOT EXISTS (SELECT FROM members WHERE name <> who AND role = 'admin') THEN
    RAISE EXCEPTION 'the last admin stays' USING ERRCODE = 'BR004';
  END IF;
  EXECUTE format('GRANT %I TO %I', member_role(), who);
  INSERT INTO members (name, role) VALUES (who, as_role) ON CONFLICT (name) DO UPDATE SET role = excluded.role;
END $$;
