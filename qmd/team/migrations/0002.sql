-- Candidates of a question, nominated as FTS5 nominates them on SQLite (qmd/search/search.py), for the client to score.
-- Row security would keep `@@` from using an index (0001.sql), so the functions run as the owner of the tables and look
-- only at units that `visible()` lists.

-- Most documents have their frontmatter in a passage of its own, number -1, that counts for the document alone.
CREATE INDEX passages_heads ON passages USING gin (body) WITH (fastupdate = off) WHERE number < 0;

-- How often the stems occur one after another in a text.
CREATE FUNCTION occurrences(v tsvector, stems text[]) RETURNS int
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT count(*)::int FROM (
    SELECT FROM unnest(stems) WITH ORDINALITY k(stem, i), unnest(v) l, unnest(l.positions) p(at)
    WHERE l.lexeme = k.stem GROUP BY p.at - k.i HAVING count(DISTINCT k.i) = cardinality(stems)
  ) found
$$;

-- The positions of stems in a text, {stem: [position, …]}.
CREATE FUNCTION positions(v tsvector, stems text[]) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT coalesce(jsonb_object_agg(l.lexeme, l.positions), '{}') FROM unnest(v) l WHERE l.lexeme = ANY (stems)
$$;

-- True if a frontmatter passes each test: (name, "=" or "~", value), over any item of a list. A value that is tested by
-- a pattern for folders has a slash before it.
CREATE FUNCTION holds(fields jsonb, tests jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT NOT EXISTS (
    SELECT FROM jsonb_array_elements(tests) t WHERE NOT EXISTS (
      SELECT FROM jsonb_array_elements(
        CASE jsonb_typeof(fields -> (t ->> 0)) WHEN 'array' THEN fields -> (t ->> 0)
          ELSE jsonb_build_array(fields -> (t ->> 0)) END
      ) each(item)
      WHERE CASE t ->> 1 WHEN '=' THEN item #>> '{}' = t ->> 2 WHEN '~' THEN item #>> '{}' ~ (t ->> 2)
        ELSE '/' || (item #>> '{}') ~ (t ->> 2) END
    )
  )
$$;

-- A phrase as a query; its lexemes may be restricted to a weight.
CREATE FUNCTION phrase(stems jsonb, weight text DEFAULT '') RETURNS text
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT string_agg('''' || replace(replace(stem, '\', '\\'), '''', '''''') || '''' || weight, ' <-> ' ORDER BY i)
  FROM jsonb_array_elements_text(stems) WITH ORDINALITY k(stem, i)
$$;

-- How often a phrase occurs in a column, as SQL. The rank of a single lexeme is the sum of 1/n² over its n occurrences,
-- times 6/π²: what the sum lacks of π²/6 tells n, and costs a hundredth of unpacking the vector.
CREATE FUNCTION counting(col text, stems jsonb, weights text DEFAULT '{1,1,1,1}') RETURNS text
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT CASE jsonb_array_length(stems) WHEN 1
    THEN format('(1 / (1.6449340668 - 1.6449340668 * ts_rank(%L, %s, %L::tsquery)) - 0.5)::int', weights, col, phrase(stems))
    ELSE format('CASE WHEN %1$s @@ %2$L::tsquery THEN occurrences(%1$s, %3$L::text[]) ELSE 0 END', col, phrase(stems),
      ARRAY(SELECT jsonb_array_elements_text(stems))::text) END
$$;

-- FTS5's inverse document frequency and its summand of BM25 for one term, as SQL in double precision: numeric logarithms
-- take a hundred times as long. https://sqlite.org/fts5.html#the_bm25_function
CREATE FUNCTION rarity(hits text, rows bigint) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT format('greatest(1e-6::float8, ln((%2$s - %1$s + 0.5)::float8 / (%1$s + 0.5)::float8))', hits, rows)
$$;
CREATE FUNCTION summand(frequency text, length text, rarity text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT format('%3$s * (%1$s)::float8 * 2.2::float8 / ((%1$s)::float8 + 1.2::float8 * (0.25::float8 + 0.75::float8 * %2$s))',
    frequency, length, rarity)
$$;

-- Return the candidates of the units `within` (all of `among` if that is null), each with what the client needs to score
-- it. How rare a phrase is counts in all of `among`.
--
-- `live`: phrases, each a list of stems, all of which are counted; `rare`: the numbers (from 1) of those that nominate.
-- `title_weight`, `inner_weight`, `most_passages`, `most_documents`: as in qmd/search/scoring.py. `name`: documents with
-- this title, or one that ends with it behind a dot, take part. `periods`: [[since, until], …], the best of these days
-- are nominated as well. `since`, `until`, `tests`: which documents may answer.
--
-- A row with a `number` is a passage: `places` has the positions of the stems in its text, `inner_places` those in the
-- words inside its identifiers. A row without one is a document: `titles` and `bodies` count each phrase of `live`.
-- `length` is in average lengths.
CREATE FUNCTION candidates(
  among int[], within int[], live jsonb, rare int[], title_weight float8, inner_weight float8, most_passages int, most_documents int,
  name text, name_stems jsonb, periods jsonb, most_of_days int, since bigint, until bigint, tests jsonb
) RETURNS TABLE (
  document bigint, number int, length float8, places jsonb, inner_places jsonb, titles int[], bodies int[], named boolean
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET random_page_cost = 1.1 AS $$
DECLARE
  allowed int[] := ARRAY(SELECT unnest(among) INTERSECT SELECT unnest(visible()));
  amount units%ROWTYPE;
  passage_length float8;
  document_length float8;
  each int;
  q text := (SELECT string_agg('(' || phrase(live -> (r - 1)) || ')', ' | ') FROM unnest(rare) r);
  stems text[] := ARRAY(SELECT DISTINCT s FROM jsonb_array_elements(live) p, jsonb_array_elements_text(p) s);
  conditions text := concat_ws(' AND ', 'true', CASE WHEN within IS NOT NULL THEN format('f.unit = ANY (%L::int[])', within) END,
    CASE WHEN since IS NOT NULL THEN format('f.ended >= %s', since) END,
    CASE WHEN until IS NOT NULL THEN format('f.date < %s', until) END,
    CASE WHEN jsonb_array_length(tests) > 0 THEN format('holds(f.fields, %L)', tests) END);
  filtered text := CASE WHEN conditions <> 'true' THEN ' JOIN documents f ON f.id = document AND ' || conditions ELSE '' END;
  days text := '';
  counts text := ''; passage_hits text := ''; sums text := ''; title_counts text := ''; said text := '';
  document_hits text := ''; passage_score text := '0'; document_score text := '0'; whole text; titles text; bodies text;
BEGIN
  SELECT sum(u.passages) AS passages, sum(u.passage_tokens) AS passage_tokens, sum(u.documents) AS documents,
    sum(u.document_tokens) AS document_tokens INTO amount.passages, amount.passage_tokens, amount.documents,
    amount.document_tokens FROM units u WHERE u.id = ANY (allowed);
  IF q IS NULL OR coalesce(amount.documents, 0) = 0 THEN
    RETURN;
  END IF;
  passage_length := greatest(1, amount.passage_tokens::float8 / greatest(1, amount.passages));
  document_length := greatest(1, amount.document_tokens::float8 / amount.documents);
  FOREACH each IN ARRAY rare LOOP
    counts := counts || format(', %s AS b%s, %s AS w%2$s', counting('p.body', live -> (each - 1)), each,
      counting('p.words', live -> (each - 1)));
    passage_hits := passage_hits || format(', %s AS i%s',
      rarity(format('count(*) FILTER (WHERE b%1$s + w%1$s > 0)', each), amount.passages), each);
    sums := sums || format(', sum(b%1$s)::int AS b%1$s', each);
    title_counts := title_counts || format(', %s AS t%s, d.title_terms @@ %L AS m%2$s',
      counting(CASE jsonb_array_length(live -> (each - 1)) WHEN 1 THEN 'd.title_terms' ELSE 'ts_filter(d.title_terms, ''{a}'')' END,
        live -> (each - 1), '{0,0,0,1}'), each, phrase(live -> (each - 1)));
    said := said || format(', coalesce(b%1$s, 0) AS b%1$s, coalesce(t%1$s, 0) AS t%1$s, coalesce(m%1$s, false) AS m%1$s', each);
    document_hits := document_hits || format(', %s AS i%s',
      rarity(format('count(*) FILTER (WHERE b%1$s > 0 OR m%1$s)', each), amount.documents), each);
    passage_score := passage_score || ' + ' || summand(format('b%1$s + %2$s::float8 * w%1$s', each, inner_weight),
      format('(s.tokens / %s::float8)', passage_length), format('i%s', each));
    document_score := document_score || ' + ' || summand(format('%2$s::float8 * t%1$s + b%1$s', each, title_weight),
      format('(l.tokens / %s::float8)', document_length), format('i%s', each));
  END LOOP;
  IF jsonb_array_length(periods) > 0 THEN
    days := format(
      '(SELECT f.id FROM documents f WHERE f.unit = ANY ($1) AND f.dated AND %s AND (%s) ORDER BY f.ended DESC LIMIT %s)',
      conditions,
      (SELECT string_agg(format('f.ended >= %s AND f.date < %s', (p ->> 0)::bigint, (p ->> 1)::bigint), ' OR ')
       FROM jsonb_array_elements(periods) p), most_of_days);
  END IF;
  whole := (SELECT string_agg(counting('p.body', live -> (i - 1)), ', ' ORDER BY i)
    FROM generate_series(1, jsonb_array_length(live)) i);
  titles := (SELECT string_agg(counting(
      CASE jsonb_array_length(live -> (i - 1)) WHEN 1 THEN 'd.title_terms' ELSE 'ts_filter(d.title_terms, ''{a}'')' END,
      live -> (i - 1), '{0,0,0,1}'), ', ' ORDER BY i)
    FROM generate_series(1, jsonb_array_length(live)) i);
  -- If every phrase nominates, the nominated passages are all that has one, and their sums are the documents' counts.
  IF cardinality(rare) = jsonb_array_length(live) THEN
    bodies := format('SELECT d.document, ARRAY[%s] AS bodies FROM d WHERE d.document IN (SELECT document FROM chosen)',
      (SELECT string_agg(format('b%s', i), ', ' ORDER BY i) FROM generate_series(1, jsonb_array_length(live)) i));
  ELSE
    bodies := format('SELECT x.document, ARRAY[%s] AS bodies FROM (SELECT p.document, ARRAY[%s] AS n FROM passages p '
      || 'WHERE p.document IN (SELECT document FROM chosen)) x GROUP BY 1',
      (SELECT string_agg(format('sum(n[%s])::int', i), ', ' ORDER BY i)
       FROM generate_series(1, jsonb_array_length(live)) i), whole);
  END IF;
  RETURN QUERY EXECUTE format($query$
    WITH s AS MATERIALIZED (
      SELECT p.document, p.number, p.tokens %1$s FROM passages p
      WHERE p.number >= 0 AND p.unit = ANY ($1) AND (p.body @@ %2$L OR p.words @@ %2$L)
      UNION ALL
      SELECT p.document, p.number, p.tokens %1$s FROM passages p
      WHERE p.number < 0 AND p.unit = ANY ($1) AND p.body @@ %2$L
    ), ph AS (SELECT 0 %3$s FROM s WHERE number >= 0),
    sp AS MATERIALIZED (SELECT s.document, s.number, %4$s AS score FROM s, ph WHERE s.number >= 0),
    p AS (
      (SELECT sp.document, sp.number FROM sp %5$s ORDER BY score DESC, document, number LIMIT %6$s)
      %7$s
    ),
    d AS MATERIALIZED (SELECT s.document %8$s FROM s GROUP BY 1),
    t AS (SELECT d.id %9$s FROM documents d WHERE d.unit = ANY ($1) AND d.title_terms @@ %2$L),
    l AS MATERIALIZED (
      SELECT e.id AS document, e.tokens %10$s
      FROM d FULL JOIN t ON t.id = d.document JOIN documents e ON e.id = coalesce(d.document, t.id)
    ), dh AS (SELECT 0 %11$s FROM l),
    sd AS MATERIALIZED (SELECT l.document, %12$s AS score FROM l, dh),
    k AS (
      (SELECT sd.document FROM sd %5$s ORDER BY score DESC, document LIMIT %13$s)
      %14$s
    ),
    n AS (
      SELECT f.id AS document, f.title = $2 AS same FROM documents f
      WHERE $2 <> '' AND f.unit = ANY ($1) AND f.title_terms @@ %15$L::tsquery
      AND (f.title = $2 OR right(f.title, length($2) + 1) = '.' || $2) AND %16$s ORDER BY same DESC LIMIT %13$s
    ),
    o AS (SELECT n.document FROM n WHERE same OR NOT EXISTS (SELECT FROM n WHERE same)),
    chosen AS MATERIALIZED (
      SELECT document FROM p UNION SELECT document FROM k UNION SELECT document FROM o
    ),
    counted AS (%17$s)
    SELECT p.document, p.number, x.tokens / $4, positions(x.body, $3), positions(x.words, $3), NULL::int[], NULL::int[], false
    FROM p JOIN passages x ON x.document = p.document AND x.number = p.number
    UNION ALL
    SELECT d.id, NULL, d.tokens / $5, NULL, NULL, ARRAY[%18$s], coalesce(counted.bodies, array_fill(0, ARRAY[%19$s])),
      EXISTS (SELECT FROM o WHERE o.document = d.id)
    FROM chosen JOIN documents d ON d.id = chosen.document LEFT JOIN counted ON counted.document = chosen.document
  $query$,
    counts, q, passage_hits, passage_score, filtered, most_passages,
    CASE WHEN days <> '' THEN format(
      'UNION (SELECT sp.document, sp.number FROM sp WHERE sp.document IN %s ORDER BY score DESC, document, number LIMIT %s)',
      days, most_passages) ELSE '' END,
    sums, title_counts, said, document_hits, document_score, most_documents,
    CASE WHEN days <> '' THEN format(
      'UNION (SELECT sd.document FROM sd WHERE sd.document IN %s ORDER BY score DESC, document LIMIT %s)',
      days, most_documents) ELSE '' END,
    CASE WHEN name <> '' THEN phrase(name_stems, ':A') ELSE '' END, conditions, bodies, titles, jsonb_array_length(live)
  ) USING allowed, name, stems, passage_length, document_length;
END $$;
