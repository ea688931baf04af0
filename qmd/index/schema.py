"""Tables of the index: qmd 2.8's own, which the real ``qmd`` reads and writes, and ours, with names in ``brain_``.

docs/index-schema.md says why each exists. Everything here is derived from files on disk and may be deleted.
"""

from __future__ import annotations

import os

import apsw

from core import sqlite
from core.errors import EngineMissing
from core.version import INDEX, REDACTION

# The structure that qmd 2.8.3 creates, as read from an index it wrote.
_QMD = """
CREATE TABLE IF NOT EXISTS content (hash TEXT PRIMARY KEY, doc TEXT NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS documents (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  collection TEXT NOT NULL,
  path TEXT NOT NULL,
  title TEXT NOT NULL,
  hash TEXT NOT NULL,
  created_at TEXT NOT NULL,
  modified_at TEXT NOT NULL,
  active INTEGER NOT NULL DEFAULT 1,
  FOREIGN KEY (hash) REFERENCES content(hash) ON DELETE CASCADE,
  UNIQUE(collection, path)
);
CREATE INDEX IF NOT EXISTS idx_documents_collection ON documents(collection, active);
CREATE INDEX IF NOT EXISTS idx_documents_hash ON documents(hash);
CREATE INDEX IF NOT EXISTS idx_documents_path ON documents(path, active);
CREATE TABLE IF NOT EXISTS llm_cache (hash TEXT PRIMARY KEY, result TEXT NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS content_vectors (
  hash TEXT NOT NULL,
  seq INTEGER NOT NULL DEFAULT 0,
  pos INTEGER NOT NULL DEFAULT 0,
  model TEXT NOT NULL,
  embed_fingerprint TEXT NOT NULL DEFAULT '',
  total_chunks INTEGER NOT NULL DEFAULT 1,
  embedded_at TEXT NOT NULL,
  PRIMARY KEY (hash, seq)
);
CREATE INDEX IF NOT EXISTS idx_content_vectors_model_fingerprint
  ON content_vectors(model, embed_fingerprint, hash, total_chunks);
CREATE TABLE IF NOT EXISTS store_collections (
  name TEXT PRIMARY KEY,
  path TEXT NOT NULL,
  pattern TEXT NOT NULL DEFAULT '**/*.md',
  ignore_patterns TEXT,
  include_by_default INTEGER DEFAULT 1,
  update_command TEXT,
  context TEXT
);
CREATE TABLE IF NOT EXISTS store_config (key TEXT PRIMARY KEY, value TEXT);
CREATE VIRTUAL TABLE IF NOT EXISTS documents_fts USING fts5(filepath, title, body, tokenize='porter unicode61');
CREATE TRIGGER IF NOT EXISTS documents_ai AFTER INSERT ON documents WHEN new.active = 1
BEGIN
  INSERT INTO documents_fts(rowid, filepath, title, body)
  SELECT new.id, new.collection || '/' || new.path, new.title, (SELECT doc FROM content WHERE hash = new.hash)
  WHERE new.active = 1;
END;
CREATE TRIGGER IF NOT EXISTS documents_ad AFTER DELETE ON documents
BEGIN
  DELETE FROM documents_fts WHERE rowid = old.id;
END;
CREATE TRIGGER IF NOT EXISTS documents_au AFTER UPDATE ON documents
BEGIN
  DELETE FROM documents_fts WHERE rowid = old.id AND new.active = 0;
  INSERT OR REPLACE INTO documents_fts(rowid, filepath, title, body)
  SELECT new.id, new.collection || '/' || new.path, new.title, (SELECT doc FROM content WHERE hash = new.hash)
  WHERE new.active = 1;
END;
INSERT OR IGNORE INTO store_config VALUES('fts_cjk_normalized_version', '1');
PRAGMA user_version = 1;
"""

# The chunks of a cut have the rowids from the cut's id times SPAN on.
SPAN = 1 << 20

# Passages are numbered through, and a content's id is the rowid of its first one: no table of passages, the passages of
# one content are a range, and FTS5, which stores differences of rowids, stores small ones. A quarter of a range is left
# free behind it: sessions that grow in turns would else move to the end each time, and be written again as a whole.
NEXT_ID = "SELECT id + max(1, (length(starts) / 4 - 1) * 5 / 4) FROM brain_contents ORDER BY id DESC LIMIT 1"

_OURS = """
CREATE TABLE IF NOT EXISTS brain_state (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS brain_contents (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, starts BLOB NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS brain_passages USING fts5(
  body, words, content='', contentless_delete=1, tokenize='porter unicode61'
);
-- Terms that FTS5 sorts in memory before it writes a segment, in bytes: a quarter less time for a large update.
INSERT INTO brain_passages(brain_passages, rank) VALUES('hashsize', 16777216);
INSERT INTO documents_fts(documents_fts, rank) VALUES('hashsize', 16777216);
CREATE VIRTUAL TABLE IF NOT EXISTS brain_terms USING fts5vocab('brain_passages', 'row');
CREATE TABLE IF NOT EXISTS brain_facts (
  document_id INTEGER PRIMARY KEY REFERENCES documents(id) ON DELETE CASCADE,
  hash TEXT NOT NULL,
  date INTEGER NOT NULL,
  ended INTEGER NOT NULL,
  dated INTEGER NOT NULL,
  fields BLOB NOT NULL,
  -- The redaction policy under which the document was looked at: as it is if the policy hides nothing of the document,
  -- negative if it hides something.
  policy INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS brain_facts_ended ON brain_facts(ended);
CREATE TABLE IF NOT EXISTS brain_files (
  document_id INTEGER PRIMARY KEY REFERENCES documents(id) ON DELETE CASCADE,
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  checked_ns INTEGER NOT NULL
);
-- The rows of one document are side by side, in its order: what came between a failure and its fix is a range.
CREATE TABLE IF NOT EXISTS brain_actions (
  document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  line INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  subject TEXT NOT NULL,
  key INTEGER NOT NULL,
  plain INTEGER NOT NULL,
  folder TEXT NOT NULL,
  outcome TEXT NOT NULL,
  status INTEGER,
  error TEXT NOT NULL,
  note TEXT NOT NULL,
  fix INTEGER,
  PRIMARY KEY (document_id, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS brain_edits (
  document_id INTEGER PRIMARY KEY REFERENCES documents(id) ON DELETE CASCADE,
  hash TEXT NOT NULL,
  traces BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS brain_durations (
  document_id INTEGER PRIMARY KEY REFERENCES documents(id) ON DELETE CASCADE,
  hash TEXT NOT NULL,
  took BLOB NOT NULL
);
-- The last two columns spare a look at each row: a common program has tens of thousands of runs.
CREATE INDEX IF NOT EXISTS brain_actions_name ON brain_actions(name, kind, at, key, outcome);
CREATE INDEX IF NOT EXISTS brain_actions_key ON brain_actions(key, at);
CREATE INDEX IF NOT EXISTS brain_actions_error ON brain_actions(error, at) WHERE error <> '';
CREATE INDEX IF NOT EXISTS brain_actions_failed ON brain_actions(name, at) WHERE outcome = 'failed';
-- Holds the words as well: the guard looks through all statements before each call.
CREATE INDEX IF NOT EXISTS brain_actions_said ON brain_actions(at, document_id, number, kind, subject, note)
  WHERE kind IN ('decision', 'rejection');
"""
_OUR_TABLES = (
    "brain_state",
    "brain_contents",
    "brain_terms",
    "brain_passages",
    "brain_facts",
    "brain_files",
    "brain_actions",
    "brain_edits",
    "brain_durations",
)
# Two writes within one tick of the file system's clock leave one mtime. Ticks are a few ms; whole seconds betray a
# file system that stores no fractions (FAT: 2 s).
TICK_NS = 20_000_000
COARSE_TICK_NS = 2_000_000_000
# Columns that an index of qmd 2.8 has in tables that earlier versions made otherwise.
_COLUMNS = {
    "documents": {"id", "collection", "path", "title", "hash", "created_at", "modified_at", "active"},
    "documents_fts": {"filepath", "title", "body"},
    "content_vectors": {"hash", "seq", "pos", "model", "embed_fingerprint", "total_chunks", "embedded_at"},
}
# The tables that a rebuild makes from the files; others hold what it carries over.
MADE = ("documents", "content", "documents_fts", "store_collections", *_OUR_TABLES)


def ensure(connection: apsw.Connection) -> None:
    """Create the tables that are missing; create tables of ours from another version again, empty, for ``update`` to
    fill.
    """
    if _version(connection) == INDEX:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)
        if version != INDEX:
            require_current(connection)
            unspaced = _is_unspaced(connection)
            connection.execute(_QMD)
            if unspaced:
                from qmd.index.segments import refill

                refill(connection)
            if version is not None:
                for table in _OUR_TABLES:
                    connection.execute(f"DROP TABLE IF EXISTS {table}")
            connection.execute(_OURS)
            connection.execute("INSERT OR REPLACE INTO brain_state VALUES('index_version', ?)", (INDEX,))
            if version is None:
                # An empty index holds nothing that an older redaction let pass.
                connection.execute("INSERT OR REPLACE INTO brain_state VALUES('redaction', ?)", (REDACTION,))
        connection.execute("COMMIT")
    except BaseException:
        sqlite.roll_back(connection)
        raise


def has_vectors(connection: apsw.Connection) -> bool:
    """Return True if anything was ever embedded in this index."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'brain_embedded'").fetchone() is not None


def empty_full_text(connection: apsw.Connection) -> None:
    """Make both full-text tables empty, inside the caller's transaction, also where FTS5 cannot read them."""
    for table in ("documents_fts", "brain_passages", "brain_contents"):
        connection.execute(f"DROP TABLE IF EXISTS {table}")
    connection.execute(_QMD)
    connection.execute(_OURS)


def require_current(connection: apsw.Connection) -> None:
    """Raise EngineMissing if a qmd before 2.8 made the index: its tables lack columns that are read here."""
    for table, needed in _COLUMNS.items():
        there = _columns(connection, table)
        if there and not there >= needed:
            raise EngineMissing("a qmd before 2.8 made the index", "move the index away, then: qmd update")


def _is_unspaced(connection: apsw.Connection) -> bool:
    """Return True if no spaces are around the Chinese, Japanese and Korean characters of the full text."""
    if not _columns(connection, "documents"):
        return False
    query = "SELECT 1 FROM store_config WHERE key = 'fts_cjk_normalized_version' AND value = '1'"
    return not _columns(connection, "store_config") or connection.execute(query).fetchone() is None


def _columns(connection: apsw.Connection, table: str) -> set[str]:
    """Return the names of a table's columns; none if there is no such table."""
    return {str(name) for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}


def _version(connection: apsw.Connection) -> int | None:
    """Return the version of our tables, 0 if they are incomplete, None if there are none."""
    names = {
        name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'brain\\_%' ESCAPE '\\'")
    }
    if "brain_state" not in names:
        return None
    if not names.issuperset(_OUR_TABLES):
        return 0
    row = connection.execute("SELECT value FROM brain_state WHERE key = 'index_version'").fetchone()
    return row[0] if row and isinstance(row[0], int) else 0


def is_clean(status: os.stat_result, size: int, mtime_ns: int, inode: int, checked_ns: int) -> bool:
    """Return True if a file is surely the one of a row of ``brain_files``, read at ``checked_ns`` (ns since 1970)."""
    if (status.st_size, status.st_mtime_ns, status.st_ino) != (size, mtime_ns, inode):
        return False
    tick = COARSE_TICK_NS if mtime_ns % 1_000_000_000 == 0 else TICK_NS
    return checked_ns - mtime_ns > tick
