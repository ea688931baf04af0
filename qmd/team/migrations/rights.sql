-- What the role of the members may do. It runs after each migration, with the role in the setting `brain.group_role`.
-- Triggers and foreign keys run as the owner of the tables.
DO $$
DECLARE
  team text := quote_ident(current_setting('brain.group_role'));
  home text := quote_ident(current_schema());
  statistic text;
BEGIN
  EXECUTE format('REVOKE ALL ON SCHEMA %s FROM PUBLIC', home);
  EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %s FROM PUBLIC, %s', home, team);
  EXECUTE format('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA %s FROM PUBLIC, %s', home, team);
  EXECUTE format('GRANT USAGE ON SCHEMA %s TO %s', home, team);
  EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %s TO %s', home, team);
  EXECUTE format('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA %s TO %s', home, team);
  EXECUTE format('REVOKE EXECUTE ON FUNCTION visible_to(text), reaches(text, text, text) FROM %s', team);
  EXECUTE format('GRANT INSERT (owner, collection, trust, code_share, policy) ON units TO %s', team);
  EXECUTE format('GRANT UPDATE (trust, code_share, policy, pushed_at) ON units TO %s', team);
  EXECUTE format('GRANT DELETE ON units TO %s', team);
  EXECUTE format('GRANT INSERT, UPDATE, DELETE ON grants, machines TO %s', team);
  EXECUTE format('GRANT INSERT, DELETE ON passages, embedded, vectors TO %s', team);
  -- Not the id: who chooses one learns which there are, and takes those of later pushes.
  EXECUTE format('GRANT INSERT (unit, device, path, title, hash, date, ended, dated, fields, policy, text, starts, '
    'passages, tokens, title_terms), DELETE ON documents TO %s', team);
  EXECUTE format('GRANT UPDATE (policy, device, pushed_at) ON documents TO %s', team);
  EXECUTE format('GRANT INSERT (provider, model, dimensions, fingerprint, layout) ON spaces TO %s', team);
  EXECUTE format('GRANT INSERT (owner, digest), DELETE ON tombstones TO %s', team);
  -- EXPLAIN estimates from values of all rows, past row security: a member could read hidden names and words letter by letter.
  FOR statistic IN
    SELECT format('ALTER TABLE %I ALTER %I SET STATISTICS 0', c.relname, a.attname) FROM pg_attribute a
    JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
    AND a.atttypid IN ('text'::regtype, 'text[]'::regtype, 'bytea'::regtype)
  LOOP
    EXECUTE statistic;
  END LOOP;
  IF current_setting('server_version_num')::int >= 170000 THEN
    -- VACUUM frees the space of what was forgotten.
    EXECUTE format('GRANT MAINTAIN ON documents, passages, terms, embedded, vectors TO %s', team);
  END IF;
END $$;
