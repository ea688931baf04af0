"""Small sets, one of each form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DOCUMENTS = [
    {"id": "tea", "title": "Tea", "body": "Green tea is steeped at seventy degrees.", "date": "2024-03-01"},
    {"id": "../bread", "title": "Bread", "body": "Sourdough needs a starter and a night of patience."},
    {"id": "TEA", "title": "Iced", "body": "Cold brew of leaves, in summer."},
    {"id": "jam", "title": "Jam", "body": "Plums boil for an hour with half their weight of sugar."},
]
QUERIES = [
    ("q1", "how hot is green tea steeped", "fact"),
    ("q2", "sourdough starter", "keyword"),
    ("q3", "cold brew in summer", "keyword"),
    ("q4", "how long do plums boil", "fact"),
    ("q5", "nobody judged this", "fact"),
]
QRELS = [
    ("q1", "tea", 2),
    ("q2", "../bread", 1),
    ("q3", "TEA", 1),
    ("q3", "tea", 1),
    ("q4", "jam", 1),
    ("q4", "tea", 0),
]


def trec(folder: Path) -> Path:
    """A TREC-style set with ids that are no file names."""
    folder.mkdir(parents=True)
    (folder / "docs.jsonl").write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS))
    (folder / "queries.tsv").write_text("".join("\t".join(row) + "\n" for row in QUERIES))
    (folder / "qrels.tsv").write_text("".join(f"{q}\t{d}\t{g}\n" for q, d, g in QRELS))
    return folder


def dialogs() -> list[dict[str, Any]]:
    """Two LoCoMo dialogs of two sessions."""
    return [
        {
            "sample_id": "conv-1",
            "conversation": {
                "speaker_a": "Ida",
                "speaker_b": "Bo",
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": [
                    {"speaker": "Ida", "dia_id": "D1:1", "text": "I adopted a grey parrot from the shelter."},
                    {"speaker": "Bo", "dia_id": "D1:2", "text": "Lovely! What is it called?"},
                ],
                "session_2_date_time": "9:00 am on 2 June, 2023",
                "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "My marathon training starts on Monday."}],
                "session_3_date_time": "9:00 am on 3 June, 2023",
            },
            "qa": [
                {"question": "What did Ida adopt?", "evidence": ["D1:1"], "category": 4, "answer": "a parrot"},
                {"question": "Who trains for a marathon?", "evidence": ["D2:1; D1:2"], "category": 1, "answer": "Bo"},
                {"question": "Nobody knows?", "evidence": [], "category": 5},
            ],
        },
        {
            "sample_id": "conv-2",
            "conversation": {
                "session_1_date_time": "1:00 am on 1 January, 2022",
                "session_1": [{"speaker": "Mo", "dia_id": "D1:1", "text": "The violin lesson went badly."}],
                "session_2_date_time": "2:00 am on 1 February, 2022",
                "session_2": [{"speaker": "Al", "dia_id": "D2:1", "text": "Our boat leaks again."}],
            },
            "qa": [{"question": "Which lesson went badly?", "evidence": ["D1:1"], "category": 2, "answer": "violin"}],
        },
    ]


def locomo(file: Path) -> Path:
    """A LoCoMo file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(dialogs()))
    return file


def fixture(file: Path) -> Path:
    """A fixture of qmd's ``bench`` with a folder of documents."""
    folder = file.with_suffix("")
    folder.mkdir(parents=True)
    (folder / "Guide.md").write_text("# Guide\n\nHow to fold a paper crane.\n")
    (folder / "other.md").write_text("# Other\n\nA list of harbours.\n")
    query = {
        "id": "f1",
        "query": "paper crane",
        "type": "exact",
        "expected_files": ["guide.md"],
        "expected_in_top_k": 1,
    }
    gone = {"id": "f2", "query": "harbours", "type": "exact", "expected_files": ["gone.md"]}
    file.write_text(json.dumps({"description": "", "version": 1, "queries": [query, gone]}))
    return file
