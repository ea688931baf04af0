"""Technologies that a session names: languages by the files it touched, tools and libraries by their names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runtime.distill.distillate import Statement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runtime.distill.transcript import Turn

_MOST = 16
_WORD = re.compile(r"[A-Za-z][\w+#.-]*[\w+#]|[A-Za-z]")

_BY_ENDING = {
    "py": "Python", "ts": "TypeScript", "tsx": "React", "jsx": "React", "js": "JavaScript", "mjs": "JavaScript",
    "go": "Go", "rs": "Rust", "java": "Java", "kt": "Kotlin", "swift": "Swift", "rb": "Ruby", "php": "PHP",
    "c": "C", "h": "C", "cc": "C++", "cpp": "C++", "hpp": "C++", "cs": "C#", "scala": "Scala", "ex": "Elixir",
    "exs": "Elixir", "hs": "Haskell", "lua": "Lua", "dart": "Dart", "vue": "Vue", "svelte": "Svelte", "sql": "SQL",
    "css": "CSS", "scss": "Sass", "html": "HTML", "tf": "Terraform", "sh": "shell", "ipynb": "Jupyter", "zig": "Zig",
}  # fmt: skip
# Names that are no other word of English where they stand alone.
_NAMES = """
    Python TypeScript JavaScript Rust Java Kotlin Swift Ruby PHP Elixir Haskell Scala Clojure Golang React Vue
    Svelte Angular Next.js Nuxt SvelteKit Astro Tailwind Vite webpack esbuild Rollup Node.js Deno Bun npm pnpm yarn
    Express NestJS Fastify Django Flask FastAPI Pydantic SQLAlchemy pytest mypy ruff uv Poetry pip NumPy pandas
    PyTorch TensorFlow Jupyter Rails RSpec Laravel Spring Gradle Maven JUnit Cargo Tokio clippy GraphQL gRPC
    protobuf REST OpenAPI SQLite PostgreSQL Postgres MySQL MariaDB MongoDB Redis Elasticsearch Kafka RabbitMQ
    DuckDB ClickHouse Supabase Firebase Prisma Drizzle FTS5 Docker Kubernetes Helm Terraform Ansible nginx Caddy
    Traefik Vercel Netlify Cloudflare Heroku AWS GCP Azure S3 DynamoDB Lambda GitHub GitLab Bitbucket Jenkins
    CircleCI Prometheus Grafana Sentry Datadog OpenTelemetry Playwright Cypress Selenium Puppeteer Jest Vitest
    Mocha ESLint Prettier Babel Storybook Electron Tauri Expo Flutter Xcode SwiftUI Android iOS macOS Linux Windows
    WSL systemd launchd bash zsh tmux Vim Neovim Emacs Homebrew OAuth OIDC SAML JWT TLS WebSocket WebRTC
    WebAssembly WASM MCP Claude OpenAI Gemini Codex Anthropic Ollama LangChain Hugging-Face ONNX llama.cpp Stripe
    Twilio Slack Discord Notion Jira Figma jq ripgrep ffmpeg ImageMagick Git golangci-lint goreleaser Makefile
    CMake Bazel Nix tree-sitter LSP YAML TOML JSON JSONL CSV Markdown Regex cron launchctl
"""
_KNOWN = {name.lower(): name for name in _NAMES.split()}
_ALIASES = {"postgres": "PostgreSQL", "golang": "Go", "wasm": "WebAssembly", "nextjs": "Next.js", "nodejs": "Node.js"}


def named(turns: Iterable[Turn]) -> list[Statement]:
    """The technologies of a session, those that most turns name first, each with the first turns that do."""
    found: dict[str, list[int]] = {}
    for turn in turns:
        names: set[str] = set()
        for call in turn.calls:
            if call.kind == "change":
                ending = call.argument.partition(" ")[0].rpartition(".")[2].lower()
                if ending in _BY_ENDING:
                    names.add(_BY_ENDING[ending])
        lines = [*turn.texts, *(call.command for call in turn.calls if call.kind == "shell")]
        for line in lines:
            for match in _WORD.finditer(line[:4000]):
                word = match[0].lower()
                if word in _ALIASES:
                    names.add(_ALIASES[word])
                elif word in _KNOWN:
                    names.add(_KNOWN[word])
        for name in sorted(names):
            found.setdefault(name, []).append(turn.number)
    best = sorted(found, key=lambda name: (-len(found[name]), name))[:_MOST]
    return [Statement(name, tuple(found[name][:2])) for name in best]
