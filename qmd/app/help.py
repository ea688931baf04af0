"""``qmd --help``: qmd's own page, then what this program has besides."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from qmd.app.session import Session

TEXT = r"""qmd — Quick Markdown Search

Usage:
  qmd <command> [options]

Primary commands:
  qmd query <query>             - Hybrid search with auto expansion + reranking (recommended)
  qmd query 'lex:..\nvec:...'   - Structured query document (you provide lex/vec/hyde lines)
  qmd search <query>            - Full-text BM25 keywords (no LLM)
  qmd vsearch <query>           - Vector similarity only
  qmd get <file>[:from[:count]] - Show a document (line-numbered; #docid in header)
  qmd multi-get <pattern>       - Batch fetch via glob or comma-separated list
  qmd skills list/get/path      - List and retrieve bundled runtime skills
  qmd skill show/install        - Show or install the QMD skill
  qmd mcp                       - Start the MCP server (stdio transport for AI agents)
  qmd bench <fixture.json>      - Run search quality benchmarks against a fixture file

Collections & context:
  qmd collection add/list/remove/rename/show   - Manage indexed folders
  qmd context add/list/rm                      - Attach human-written summaries
  qmd ls [collection[/path]]                   - Inspect indexed files

Maintenance:
  qmd init                      - Create a project-local .qmd index
  qmd status                    - View index + collection health
  qmd update [--pull]           - Re-index collections (optionally git pull first)
  qmd trust [list|revoke]       - Approve a checked-in .qmd config's hooks/paths/models
  qmd embed [-f] [-c <name>]    - Generate/refresh vector embeddings
    --max-docs-per-batch <n>    - Cap docs loaded into memory per embedding batch
    --max-batch-mb <n>          - Cap UTF-8 MB loaded into memory per embedding batch
    --timeout <minutes>         - Embed session cap in minutes (0 = no limit; default 30)
  qmd pull [--refresh] [--progress] - Download embedding/generation/rerank models
  qmd cleanup [--dry-run]       - Drop inactive docs/orphans, compact FTS, vacuum

Query syntax (qmd query):
  A query is plain text on one line, or a document in which every line is typed:
  lex: keywords, vec: a question, hyde: a made-up answer; intent: steers excerpts.

  Grammar:
    query          = expand_query | query_document ;
    expand_query   = text | explicit_expand ;
    explicit_expand= "expand:" text ;
    query_document = [ intent_line ] { typed_line } ;
    intent_line    = "intent:" text newline ;
    typed_line     = type ":" text newline ;
    type           = "lex" | "vec" | "hyde" ;
    text           = quoted_phrase | plain_text ;
    quoted_phrase  = '"' { character } '"' ;
    plain_text     = { character } ;
    newline        = "\n" ;

  Examples:
    qmd query "how does auth work"                # single-line → implicit expand
    qmd query $'lex: CAP theorem\nvec: consistency'  # typed query document
    qmd query $'lex: "exact matches" sports -baseball'  # phrase + negation lex search
    qmd query $'hyde: Hypothetical answer text'       # hyde-only document

  Constraints:
    - Standalone expand queries cannot mix with typed lines.
    - Query documents allow only lex:, vec:, or hyde: prefixes.
    - Each typed line must be single-line text with balanced quotes.

AI agents & integrations:
  - Run `qmd mcp` to expose the MCP server (stdio) to agents/IDEs.
  - Run `qmd skills get qmd --full` for version-matched agent instructions.
  - `qmd skill install` installs the QMD skill into ./.agents/skills/qmd.
  - Use `qmd skill install --global` for ~/.agents/skills/qmd.
  - `qmd --skill` is kept as an alias for `qmd skill show`.
  - Advanced: `qmd mcp --http ...` and `qmd mcp --http --daemon` are optional for custom transports.

Global options:
  --index <name>             - Use a named index (default: index)
  QMD_EDITOR_URI             - Editor link template for clickable TTY search output

Search options:
  -n <num>                   - Max results (default 5, or 20 for --format files|json)
  --all                      - Return all matches (pair with --min-score)
  --min-score <num>          - Minimum similarity score
  --full                     - Output full document instead of snippet
  -C, --candidate-limit <n>  - Max candidates to rerank (default 40, lower = faster)
  --no-rerank                - Skip LLM reranking (use RRF scores only, much faster on CPU)
  --no-gpu                   - Force CPU mode for llama.cpp operations (same as QMD_FORCE_CPU=1)
  --line-numbers             - Include line numbers (search; get/multi-get are on by default)
  --no-line-numbers          - Disable line numbers for get/multi-get
  --full-path                - Show on-disk paths instead of qmd:// + docid (get/multi-get/search/query)
                                Paths are ./-prefixed when under $PWD, absolute otherwise
                                Results whose file is gone keep qmd:// + docid and warn on stderr
  --explain                  - Include retrieval score traces (query, CLI/--format json)
  --format <kind>            - Output format: cli (default) | json | csv | md | xml | files
  -c, --collection <name>    - Filter by one or more collections

Embed/query options:
  --chunk-strategy <auto|regex> - Chunking mode (default: regex; auto uses AST for code files)
  --timeout <minutes>          - Embed session cap in minutes (0 = no limit; default 30)

Multi-get options:
  -l <num>                   - Maximum lines per file
  --max-bytes <num>          - Skip files larger than N bytes (default 65536)
  --format <kind>            - Same formats as search

Beyond qmd 2.8.3:
  qmd doctor                 - Check configuration, index and environment
  qmd provider [<name>] [--model <name>] - Show or set whose vectors are used: local, openai, gemini, llm
  qmd embed --provider <name> - Embed by that provider
  qmd update --verify        - Read every file, whatever its size and time say
  qmd mcp --with-aliases     - Serve the tools under the names of qmd's fork, too (mcp_aliases: true in index.yml)
  --filter <key=value>       - Only documents whose frontmatter says so (repeatable; * ? [ ] match) (search)
  --since <date>             - Only documents of that day or later (search)
  --until <date>             - Only documents of that day or earlier (search)
  A reranker is used only if one is configured (rerank: in index.yml); query says if there is none.
"""


def show(session: Session) -> None:
    """Print the page, and which index is in use."""
    session.out.line(f"{TEXT}\nIndex: {session.settings.database}")
