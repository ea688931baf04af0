-- Candidates of a question, nominated as FTS5 nominates them on SQLite (qmd/search/search.py), for the client to score.
-- Row security would keep `@@` from using an index (0001.sql), so the functions run as the owner of the tables and look
-- only at units that `visible()` lists.

-- A document has its frontmatter in a passage of its own, number -1, that counts for the document alone, as its marks do.
CREATE INDEX passages_heads ON passages USING gin (body, marks) WITH (gin_pending_list_limit = 8192) WHERE number < 0;

-- How often the stems occur one after another in a text.
CREATE FUNCTION occurrences(v tsvector, stems text[]) RETURNS int
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT count(*)::int FROM (
    SELECT FROM unnest(stems) WITH ORDINALITY k(stem, i), unnest(v) l, unnest(l.positions) p(at)
    WHERE l.lexeme = k.stem GROUP BY p.at - k.i HAVING count(DISTINCT k.i) = cardinality(stems)
  ) found
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
CREATE FUNCTION counting(col text, stems jsonb, weights text DEFAULT '{1,1,1,1}', suffix text DEFAULT '') RETURNS text
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT CASE jsonb_array_length(stems) WHEN 1
    THEN format('(1 / (1.6449340668 - 1.6449340668 * ts_rank(%L, %s, %L::tsquery)) - 0.5)::int', weights, col, phrase(stems, suffix))
    ELSE format('CASE WHEN %1$s @@ %2$L::tsquery THEN occurrences(%1$s, %3$L::text[]) ELSE 0 END', col, phrase(stems),
      ARRAY(SELECT jsonb_array_elements_text(stems))::text) END
$$;

-- FTS5's inverse document frequency and its summand of BM25 for one term, as SQL in double precision: numeric logarithms
-- take a hundred times as long. https://sqlite.org/fts5.html#the_bm25_function
CREATE FUNCTION rarity(hits text, rows bigint) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT format('greatest(1e-6::float8, ln((%2$s - %1$s + 0.5)::float8 / (%1$s + 0.5)::float8))', hits, rows)
$$;
CREATE FUNCTION rarity(hits bigint, rows bigint) RETURNS float8 LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT greatest(1e-6::float8, ln((rows - hits + 0.5)::float8 / (hits + 0.5)::float8))
$$;
CREATE FUNCTION summand(frequency text, length text, rarity text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT format('%3$s * (%1$s)::float8 * 2.2::float8 / ((%1$s)::float8 + 1.2::float8 * (0.25::float8 + 0.75::float8 * %2$s))',
    frequency, length, rarity)
$$;

-- A query for the rows that are marked at `level` or above with one of the stems. qmd/team/vocabulary.py writes the marks.
CREATE FUNCTION marked(stems text[], level int) RETURNS tsquery
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT string_agg(phrase(jsonb_build_array(stem || chr(1) || chr(97 + l))), ' | ')::tsquery
  FROM unnest(stems) stem, generate_series(level, 8) l
$$;

-- The highest level with so many marked rows, -1 if there is none: of passages, or of `heads`, which count for documents.
-- PostgreSQL plans for all rows of what is materialized, and reads as many as are counted. A plan is made once.
CREATE FUNCTION level_with(least_rows int, heads boolean, stems text[], allowed int[]) RETURNS int
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  held bigint;
  q tsquery;
BEGIN
  FOR level IN REVERSE 8 .. 0 LOOP
    q := marked(stems, level);
    IF heads THEN
      WITH m AS MATERIALIZED (SELECT FROM passages p WHERE p.number < 0 AND p.marks @@ q AND p.unit = ANY (allowed))
        SELECT count(*) INTO held FROM (SELECT FROM m LIMIT least_rows) x;
    ELSE
      WITH m AS MATERIALIZED (SELECT FROM passages p WHERE p.number >= 0 AND p.marks @@ q AND p.unit = ANY (allowed))
        SELECT count(*) INTO held FROM (SELECT FROM m LIMIT least_rows) x;
    END IF;
    IF held >= least_rows THEN
      RETURN level;
    END IF;
  END LOOP;
  RETURN -1;
END $$;

-- The highest level below which a row has fewer than `points`, -1 if there is none. `most`: what a row gets that has the
-- terms without end; `stretch`: by how much the ratio of a row may exceed the one that it is marked by.
CREATE FUNCTION sufficient_level(points float8, most float8, stretch float8) RETURNS int
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT CASE WHEN points IS NULL OR points <= 0 THEN -1 WHEN points >= most THEN 8
    ELSE greatest(-1, least(8, floor(2 * (ln(points / (most - points) / stretch) / ln(2::float8) - 1))))::int END
$$;

-- Return the candidates of the units `within` (all of `among` if that is null), each with what the client needs to score
-- it. How rare a phrase is counts in all of `among`.
--
-- `live`: phrases, each a list of stems, all of which are counted; `stems`: the stems whose places are returned; `rare`: the
-- numbers (from 1) of the phrases that nominate.
-- `title_weight`, `inner_weight`, `most_passages`, `most_documents`: as in qmd/search/scoring.py. `name`: documents with
-- this title, or one that ends with it behind a dot, take part. `periods`: [[since, until], …], the best of these days
-- are nominated as well. `since`, `until`, `tests`: which documents may answer.
-- `few`: up to so many rows that have a phrase which nominates, all are scored. Of more, only those are that can be among the
-- best: passages with two of the phrases, and rows that are marked from some level on. The score of the last of the best
-- says whether that level was low enough; if not, a lower one is taken, or all rows. `passage_reference` and
-- `document_reference` are the lengths that marks are relative to.
--
-- With little memory, PostgreSQL keeps only the pages of the rows of a frequent word, and looks at each row of them again.
--
-- A row with a `number` is a passage: `places` has the positions of each of `stems` in its text, with commas between them,
-- `inner_places` those in the words inside its identifiers. A row without one is a document: `titles` and `bodies` count each
-- phrase of `live`. `length` is in average lengths.
CREATE FUNCTION candidates(
  among int[], within int[], live jsonb, stems text[], rare int[], title_weight float8, inner_weight float8, most_passages int, most_documents int,
  name text, name_stems jsonb, periods jsonb, most_of_days int, since bigint, until bigint, tests jsonb, few int,
  passage_reference float8, document_reference float8
) RETURNS TABLE (
  document bigint, number int, length float8, places text[], inner_places text[], titles int[], bodies int[], named boolean
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET random_page_cost = 1.1
SET work_mem = '64MB' SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
  allowed int[] := ARRAY(SELECT unnest(among) INTERSECT SELECT unnest(visible()));
  amount units%ROWTYPE;
  passage_length float8;
  document_length float8;
  each int;
  q text := (SELECT string_agg('(' || phrase(live -> (r - 1)) || ')', ' | ') FROM unnest(rare) r);
  -- Two of the phrases at once.
  pairs text := (
    SELECT string_agg(format('(%s) & (%s)', phrase(live -> (a - 1)), phrase(live -> (b - 1))), ' | ')
    FROM unnest(rare) WITH ORDINALITY x(a, i), unnest(rare) WITH ORDINALITY y(b, j) WHERE i < j
  );
  conditions text := concat_ws(' AND ', 'true', CASE WHEN within IS NOT NULL THEN format('f.unit = ANY (%L::int[])', within) END,
    CASE WHEN since IS NOT NULL THEN format('f.ended >= %s', since) END,
    CASE WHEN until IS NOT NULL THEN format('f.date < %s', until) END,
    CASE WHEN jsonb_array_length(tests) > 0 THEN format('holds(f.fields, %L)', tests) END);
  filtered text := CASE WHEN conditions <> 'true' THEN ' JOIN documents f ON f.id = document AND ' || conditions ELSE '' END;
  days text := '';
  counts text := ''; passage_hits text := ''; sums text := ''; title_counts text := ''; said text := '';
  document_hits text := ''; passage_score text := '0'; document_score text := '0';
  titles text := ''; bodies text := ''; places text; inner_places text;
  -- How many passages and documents have each phrase that nominates; points of a row that has all, or the rarest, without end.
  in_passages bigint[] := '{}'; in_documents bigint[] := '{}';
  most_of_passage float8; most_of_document float8; passage_stretch float8; document_stretch float8;
  -- The stems that nominate and the level from which on passages and documents are looked at, -1 for all rows.
  marks text[]; passage_level int := -1; document_level int; sufficient int;
  frequencies text := ''; least_score text := '0'; greatest_score text := '0'; points text; gain float8;
  least_points float8; is_least boolean; marked_documents bigint[]; sources text; best text; common text := '';
  best_passages bigint[]; best_numbers int[]; best_documents bigint[]; passage_points float8; document_points float8;
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
    -- A phrase of several stems is in fewer rows than its rarest stem.
    SELECT in_passages || coalesce(min(n.passages), 0), in_documents || coalesce(min(n.documents), 0) INTO in_passages, in_documents
      FROM jsonb_array_elements_text(live -> (each - 1)) k(stem), LATERAL (
        SELECT coalesce(sum(t.passages), 0)::bigint AS passages, coalesce(sum(t.documents), 0)::bigint AS documents
        FROM terms t WHERE t.stem = k.stem AND t.unit = ANY (allowed)
      ) n;
    counts := counts || format(', %s AS b%s, %s AS w%2$s', counting('p.body', live -> (each - 1)), each,
      counting('p.words', live -> (each - 1)));
    sums := sums || format(', sum(b%1$s)::int AS b%1$s', each);
    title_counts := title_counts || format(', %s AS t%s, d.title_terms @@ %L AS m%2$s',
      counting(CASE jsonb_array_length(live -> (each - 1)) WHEN 1 THEN 'd.title_terms' ELSE 'ts_filter(d.title_terms, ''{a}'')' END,
        live -> (each - 1), '{0,0,0,1}'), each, phrase(live -> (each - 1)));
    said := said || format(', coalesce(b%1$s, 0) AS b%1$s, coalesce(t%1$s, 0) AS t%1$s, coalesce(m%1$s, false) AS m%1$s', each);
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
  ELSIF (SELECT sum(n) FROM unnest(in_passages) n) > few
    AND NOT EXISTS (SELECT FROM unnest(rare) r WHERE jsonb_array_length(live -> (r - 1)) > 1) THEN
    marks := ARRAY(SELECT live -> (r - 1) ->> 0 FROM unnest(rare) r);
    passage_stretch := greatest(1, passage_length / passage_reference);
    document_stretch := greatest(1, document_length / document_reference);
    most_of_passage := (SELECT max(2.2 * rarity(n, amount.passages)) FROM unnest(in_passages) n);
    most_of_document := (SELECT sum(2.2 * rarity(n, amount.documents)) FROM unnest(in_documents) n);
    document_level := level_with(2 * most_documents, true, marks, allowed);
    -- A document's marks say how often it has their stems, and of other stems how often at most.
    FOR each IN 1 .. cardinality(rare) LOOP
      frequencies := frequencies || format(', %s AS f%s', counting('h.marks', jsonb_build_array(marks[each] || chr(1)), suffix => ':*'), each);
      gain := 2.2 * rarity(in_documents[each], amount.documents);
      points := summand(format('f%s', each), format('(h.tokens / %s::float8)', document_length), rarity(in_documents[each]::text, amount.documents));
      least_score := least_score || ' + ' || points;
      greatest_score := greatest_score || format(' + CASE WHEN f%1$s = 0 THEN %2$s WHEN f%1$s < 255 THEN %3$s ELSE %4$s END',
        each, gain * 2 * document_stretch / (1 + 2 * document_stretch), points, gain);
    END LOOP;
    WHILE document_level >= 0 LOOP
      EXECUTE format($query$
        WITH h AS MATERIALIZED (
          SELECT h.document, h.document_tokens AS tokens %1$s FROM passages h
          WHERE h.number < 0 AND h.unit = ANY ($1) AND h.marks @@ %2$L
        ), scored AS MATERIALIZED (SELECT h.document, %3$s AS least, %4$s AS greatest FROM h %5$s),
        l AS (SELECT min(least) AS points FROM (SELECT least FROM scored ORDER BY least DESC LIMIT %6$s) x HAVING count(*) >= %6$s)
        SELECT l.points, array_agg(scored.document) FROM l, scored WHERE scored.greatest >= l.points GROUP BY 1
      $query$, frequencies, marked(marks, document_level), least_score, greatest_score, filtered, most_documents)
        INTO least_points, marked_documents USING allowed;
      sufficient := sufficient_level(least_points, most_of_document, document_stretch);
      EXIT WHEN document_level <= sufficient;
      document_level := sufficient;
    END LOOP;
    IF document_level >= 0 THEN
      passage_level := level_with(2 * most_passages, false, marks, allowed);
    END IF;
  END IF;
  -- The best of all rows are returned at once, the best of some only if no other row can be among the best.
  LOOP
    IF passage_level >= 0 THEN
      sources := format('SELECT p.document, p.number, p.tokens, p.document_tokens, true AS is_passage, false AS is_part %1$s'
        ' FROM passages p WHERE p.number >= 0 AND p.unit = ANY ($1) AND (p.marks @@ %2$L%3$s)'
        ' UNION ALL SELECT p.document, p.number, p.tokens, p.document_tokens, false, true %1$s'
        ' FROM passages p WHERE p.document = ANY ($2) AND p.unit = ANY ($1) AND p.body @@ %4$L',
        counts, marked(marks, passage_level),
        CASE WHEN pairs <> '' THEN format(' OR p.body @@ %1$L OR p.words @@ %1$L OR (p.body @@ %2$L AND p.words @@ %2$L)', pairs, q) END, q);
    ELSE
      sources := format('SELECT p.document, p.number, p.tokens, p.document_tokens, true AS is_passage, true AS is_part %1$s'
        ' FROM passages p WHERE p.number >= 0 AND p.unit = ANY ($1) AND (p.body @@ %2$L OR p.words @@ %2$L)'
        ' UNION ALL SELECT p.document, p.number, p.tokens, p.document_tokens, false, true %1$s'
        ' FROM passages p WHERE p.number < 0 AND p.unit = ANY ($1) AND p.body @@ %2$L', counts, q);
    END IF;
    passage_hits := ''; document_hits := '';
    FOR each IN 1 .. cardinality(rare) LOOP
      passage_hits := passage_hits || format(', %s AS i%s', rarity(
        CASE WHEN passage_level < 0 THEN format('count(*) FILTER (WHERE b%1$s + w%1$s > 0)', rare[each]) ELSE in_passages[each]::text END,
        amount.passages), rare[each]);
      document_hits := document_hits || format(', %s AS i%s', rarity(
        CASE WHEN passage_level < 0 THEN format('count(*) FILTER (WHERE b%1$s > 0 OR m%1$s)', rare[each]) ELSE in_documents[each]::text END,
        amount.documents), rare[each]);
    END LOOP;
    best := format($query$
      s AS MATERIALIZED (%1$s),
      ph AS (SELECT count(*) %2$s FROM s WHERE is_passage),
      sp AS (SELECT s.document, s.number, %3$s AS score FROM s, ph WHERE s.is_passage),
      p AS (
        (SELECT sp.document, sp.number, score FROM sp %4$s ORDER BY score DESC, document, number LIMIT %5$s)
        %6$s
      ),
      d AS MATERIALIZED (SELECT s.document, min(s.document_tokens) AS tokens %7$s FROM s WHERE s.is_part GROUP BY 1),
      t AS (SELECT d.id, d.tokens %8$s FROM documents d WHERE d.unit = ANY ($1) AND d.title_terms @@ %9$L %10$s),
      l AS MATERIALIZED (
        SELECT coalesce(d.document, t.id) AS document, coalesce(d.tokens, t.tokens) AS tokens %11$s
        FROM d FULL JOIN t ON t.id = d.document
      ), dh AS (SELECT count(*) %12$s FROM l),
      sd AS (SELECT l.document, %13$s AS score FROM l, dh),
      k AS (
        (SELECT sd.document, score FROM sd %4$s ORDER BY score DESC, document LIMIT %14$s)
        %15$s
      )
    $query$,
      sources, passage_hits, passage_score, filtered, most_passages,
      CASE WHEN days <> '' THEN format(
        'UNION (SELECT sp.document, sp.number, score FROM sp WHERE sp.document IN %s ORDER BY score DESC, document, number LIMIT %s)',
        days, most_passages) ELSE '' END,
      sums, title_counts, q, CASE WHEN passage_level >= 0 THEN 'AND d.id = ANY ($2)' ELSE '' END,
      said, document_hits, document_score, most_documents,
      CASE WHEN days <> '' THEN format(
        'UNION (SELECT sd.document, score FROM sd WHERE sd.document IN %s ORDER BY score DESC, document LIMIT %s)',
        days, most_documents) ELSE '' END);
    EXIT WHEN passage_level < 0;
    EXECUTE format($query$
      WITH %1$s
      SELECT (SELECT array_agg(document) FROM p), (SELECT array_agg(number) FROM p), (SELECT array_agg(document) FROM k),
        (SELECT min(score) FROM p HAVING count(*) >= %2$s), (SELECT min(score) FROM k HAVING count(*) >= %3$s)
    $query$, best, most_passages, most_documents)
      INTO best_passages, best_numbers, best_documents, passage_points, document_points USING allowed, marked_documents;
    best := 'p AS (SELECT * FROM unnest($3, $4) p(document, number)), k AS (SELECT * FROM unnest($5) k(document)), d AS (SELECT 0::bigint AS document)';
    sufficient := sufficient_level(passage_points, most_of_passage, passage_stretch);
    is_least := coalesce(document_points >= least_points * (1 - 1e-9), false);
    EXIT WHEN passage_level <= sufficient AND is_least;
    -- Documents that have their stems less often than they are marked with made others seem worse than they are.
    passage_level := CASE WHEN is_least THEN sufficient ELSE -1 END;
  END LOOP;
  FOR each IN 1 .. jsonb_array_length(live) LOOP
    titles := concat_ws(', ', nullif(titles, ''), counting(
      CASE jsonb_array_length(live -> (each - 1)) WHEN 1 THEN 'e.title_terms' ELSE 'ts_filter(e.title_terms, ''{a}'')' END,
      live -> (each - 1), '{0,0,0,1}'));
    bodies := concat_ws(', ', nullif(bodies, ''), format('coalesce(b%s, 0)', each));
    -- The sums of all rows are the documents' counts.
    IF passage_level >= 0 OR NOT each = ANY (rare) THEN
      common := common || format(', sum(%s)::int AS b%s', counting('p.body', live -> (each - 1)), each);
    END IF;
  END LOOP;
  -- A vector's text has ` 'stem':1,2 `: to cut it takes a tenth of the time of unpacking each of its lexemes.
  SELECT string_agg(cut.places, ', ' ORDER BY i), string_agg(replace(cut.places, 'v.body', 'v.words'), ', ' ORDER BY i)
    INTO places, inner_places FROM unnest(stems) WITH ORDINALITY k(stem, i),
    LATERAL (SELECT format('split_part(split_part(v.body, %L, 2), '' '', 1)', ' ' || phrase(jsonb_build_array(stem)) || ':')) cut(places);
  RETURN QUERY EXECUTE format($query$
    WITH %1$s,
    n AS (
      SELECT f.id AS document, f.title = $6 AS same FROM documents f
      WHERE $6 <> '' AND f.unit = ANY ($1) AND f.title_terms @@ %2$L::tsquery
      AND (f.title = $6 OR right(f.title, length($6) + 1) = '.' || $6) AND %3$s ORDER BY same DESC LIMIT %4$s
    ),
    o AS (SELECT n.document FROM n WHERE same OR NOT EXISTS (SELECT FROM n WHERE same)),
    chosen AS MATERIALIZED (
      SELECT document FROM p UNION SELECT document FROM k UNION SELECT document FROM o
    )
    SELECT p.document, p.number, x.tokens / $7, ARRAY[%5$s], ARRAY[%6$s], NULL::int[], NULL::int[], false
    FROM p JOIN passages x ON x.document = p.document AND x.number = p.number,
      LATERAL (SELECT ' ' || x.body::text AS body, ' ' || x.words::text AS words OFFSET 0) v
    UNION ALL
    SELECT e.id, NULL, e.tokens / $8, NULL, NULL, ARRAY[%7$s], ARRAY[%8$s], EXISTS (SELECT FROM o WHERE o.document = e.id)
    FROM chosen JOIN documents e ON e.id = chosen.document LEFT JOIN d ON d.document = chosen.document %9$s
  $query$,
    best, CASE WHEN name <> '' THEN phrase(name_stems, ':A') ELSE '' END, conditions, most_documents,
    places, inner_places, titles, bodies,
    CASE WHEN common <> '' THEN format('LEFT JOIN (SELECT p.document %s FROM passages p WHERE p.document IN '
      '(SELECT document FROM chosen) GROUP BY 1) c ON c.document = chosen.document', common) ELSE '' END
  ) USING allowed, marked_documents, best_passages, best_numbers, best_documents, name, passage_length, document_length;
END $$;

-- The `most` vectors of a space that are nearest to a vector of the units `among`, nearest first, and the kind of the last
-- chunk of each document: null while its owner still sends it. `since`, `until`, `tests`: as above. An index looks at four
-- times as many vectors at a time, and at no more than `scanned` for enough that may be seen.
CREATE FUNCTION nearest(
  of_space int, of_dimensions int, vector text, among int[], most int, scanned int, since bigint, until bigint, tests jsonb
) RETURNS TABLE (document bigint, seq int, kind int, start int, "end" int, distance float8, last_kind int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET random_page_cost = 1.1 AS $$
DECLARE
  conditions text := concat_ws(' AND ', CASE WHEN since IS NOT NULL THEN format('f.ended >= %s', since) END,
    CASE WHEN until IS NOT NULL THEN format('f.date < %s', until) END,
    CASE WHEN jsonb_array_length(tests) > 0 THEN format('holds(f.fields, %L)', tests) END);
BEGIN
  -- Settings of pgvector, which it ignores where no index is used. The second is 1000 at most.
  PERFORM set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', least(4 * most, 1000)::text, true),
    set_config('hnsw.max_scan_tuples', scanned::text, true);
  RETURN QUERY EXECUTE format($query$
    WITH n AS MATERIALIZED (
      SELECT v.document, v.seq, v.kind, v.start, v."end",
        v.embedding::@vector@.halfvec(%1$s) OPERATOR(@vector@.<->) $1::@vector@.halfvec(%1$s) AS distance
      FROM vectors v %2$s WHERE v.space = %3$s AND v.unit = ANY ($2) ORDER BY distance LIMIT %4$s
    ), l AS (
      SELECT e.document, w.kind FROM embedded e
      JOIN vectors w ON w.space = e.space AND w.document = e.document AND w.seq = e.chunks - 1
      WHERE e.space = %3$s AND e.document IN (SELECT n.document FROM n)
    )
    SELECT n.*, l.kind FROM n LEFT JOIN l ON l.document = n.document ORDER BY n.distance, n.document, n.seq
  $query$, of_dimensions, CASE WHEN conditions <> '' THEN 'JOIN documents f ON f.id = v.document AND ' || conditions ELSE '' END,
    of_space, most
  ) USING vector, ARRAY(SELECT unnest(among) INTERSECT SELECT unnest(visible()));
END $$;
