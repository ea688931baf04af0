"""Documents as resources, and names that try to lead out of the index."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError

from qmd.mcp.library import Library
from qmd.mcp.server import BadAddress, decode, encode
from qmd.mcp.service import Service
from tests.qmd.mcp.world import World, talk

SECRET = "the combination of the safe is 7-31-4"
ESCAPES = [
    "../secret.md",
    "../../../../../../../../etc/passwd",
    "/etc/passwd",
    "notes/../secret.md",
    "notes/../../etc/passwd",
    "notes/./../secret.md",
    "notes//../secret.md",
    "..\\secret.md",
    "notes/..%2f..%2fetc%2fpasswd",
    "%2e%2e/secret.md",
    "notes/%2e%2e/secret.md",
    "%252e%252e/secret.md",
    "notes/tides.md\0.png",
    "\0",
    "/proc/self/environ",
    "~/secret.md",
    "{root}/secret.md",
    "{root}/notes/../secret.md",
    "notes/link.md",
    "notes/folder/secret.md",
    "file:///etc/passwd",
]


@pytest.fixture(scope="module")
def guarded(shared: World) -> World:
    """A world with a secret next to its collections, and symlinks to it inside them."""
    shared.write("secret.md", SECRET)
    os.symlink(shared.root / "secret.md", shared.root / "notes" / "link.md")
    os.symlink(shared.root, shared.root / "notes" / "folder")
    shared.index()
    return shared


def in_process(world: World, conversation: Any) -> Any:
    return talk(Service(Library(world.settings)).server, conversation)


def read(world: World, uri: str) -> Any:
    """The contents of a resource, by the SDK's client."""
    (contents,) = in_process(world, lambda client: client.read_resource(uri)).contents
    return contents


@pytest.mark.parametrize("name", ESCAPES)
def test_no_name_leads_out_of_the_index(guarded: World, name: str) -> None:
    wanted = name.format(root=guarded.root)

    async def conversation(client: Client) -> list[str]:
        seen = []
        for form in (wanted, f"qmd://{wanted}", f"{wanted}:1:5"):
            result = await client.call_tool("get", {"file": form})
            assert result.is_error, form
            seen.append(str(result))
            seen.append(str(await client.call_tool("multi_get", {"pattern": form})))
            seen.append(str(await client.call_tool("multi_get", {"pattern": f"{form},{form}"})))
            try:
                seen.append(str(await client.read_resource(f"qmd://{form.removeprefix('qmd://')}")))
            except MCPError as error:
                seen.append(str(error))
        return seen

    for answer in in_process(guarded, conversation):
        assert SECRET not in answer
        assert "root:x:" not in answer
        assert "HOME=" not in answer


def test_a_file_swapped_for_a_symlink_is_served_as_it_was_indexed(guarded: World) -> None:
    path = guarded.root / "notes" / "plain.md"
    path.unlink()
    os.symlink(guarded.root / "secret.md", path)
    answer = str(in_process(guarded, lambda client: client.call_tool("get", {"file": "notes/plain.md"})))
    assert SECRET not in answer
    assert "quay walls" in answer


def test_a_resource_is_its_document_numbered_after_its_context(shared: World) -> None:
    contents = read(shared, "qmd://plans/quay.md")
    assert (contents.uri, contents.mime_type) == ("qmd://plans/quay.md", "text/markdown")
    assert contents.text == (
        "<!-- Context: Everything about the harbour -->\n\n1: # Quay plan\n2: \n3: Rebuild the quay in spring.\n4: "
    )


def test_a_percent_encoded_address_is_decoded(shared: World) -> None:
    assert "A small boat" in read(shared, "qmd://notes/boats/skiff%20%C3%A9%231.md").text


def test_a_missing_resource_is_named_in_its_text(shared: World) -> None:
    assert read(shared, "qmd://notes/nope.md").text == "Document not found: notes/nope.md"


@pytest.mark.parametrize("uri", ["qmd://", "file:///etc/passwd", "notes/tides.md", "qmd://notes/%zz", "qmd://%ff"])
def test_a_foreign_address_is_an_error_of_the_protocol(shared: World, uri: str) -> None:
    with pytest.raises(MCPError) as caught:
        read(shared, uri)
    assert caught.value.code == -32602


def test_resources_are_not_listed_and_have_one_template(shared: World) -> None:
    assert in_process(shared, lambda client: client.list_resources()).resources == []
    (template,) = in_process(shared, lambda client: client.list_resource_templates()).resource_templates
    assert (template.uri_template, template.mime_type, template.name) == ("qmd://{+path}", "text/markdown", "document")


def test_there_are_no_prompts(shared: World) -> None:
    with pytest.raises(MCPError) as caught:
        in_process(shared, lambda client: client.list_prompts())
    assert caught.value.code == -32601


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1))
def test_every_path_comes_back_from_its_address(path: str) -> None:
    assert decode(encode(path)) == path


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_no_address_makes_decoding_fail_otherwise(uri: str) -> None:
    with contextlib.suppress(BadAddress):
        assert decode(f"qmd://{uri}")
