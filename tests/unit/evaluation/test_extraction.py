"""Extraction cases to predictions."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from memlane_core.builtin.extraction import RulesExtractor
from memlane_core.domain.errors import InvalidArgument
from memlane_core.evaluation.extraction import evaluate, load_cases, write_predictions

CASE = {
    "id": "c1",
    "messages": [
        {"role": "user", "content": "这周我在出差", "timestamp": "2025-08-11T09:00:00+08:00"},
        {"role": "assistant", "content": "好的。", "timestamp": "2025-08-11T09:00:10+08:00"},
        {"role": "user", "content": "公司在南通", "timestamp": "2025-08-13T09:00:00+08:00"},
    ],
}


async def test_ttl_counts_from_the_message_that_said_it() -> None:
    progress: list[tuple[int, int]] = []
    [row] = await evaluate([CASE], RulesExtractor(), lambda done, total: progress.append((done, total)))
    assert row["id"] == "c1"
    away, place = row["memories"]
    midnight = datetime.fromisoformat("2025-08-18T00:00:00+08:00")
    said = datetime.fromisoformat("2025-08-11T09:00:00+08:00")
    assert away["ttl_days"] == pytest.approx((midnight - said).total_seconds() / 86_400)
    assert place == {"content": "用户的公司在南通", "ttl_days": None}
    assert progress == [(1, 1)]


def test_cases_are_read_and_predictions_written_as_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(CASE, ensure_ascii=False) + "\n\n", encoding="utf-8")
    assert load_cases(path) == [CASE]
    write_predictions([{"id": "c1", "memories": []}], tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == '{"id": "c1", "memories": []}\n'


def test_line_that_is_no_case_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(CASE) + "\n{}\n", encoding="utf-8")
    with pytest.raises(InvalidArgument, match="line 2"):
        load_cases(path)
