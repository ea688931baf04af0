"""Small files of each kind that ``brain add`` takes, made here."""

from __future__ import annotations

import io
import zipfile

SRT = """1
00:00:01,000 --> 00:00:03,000
We talk about <i>walruses</i>.

2
00:00:03,000 --> 00:00:05,000
We talk about walruses.

3
00:01:10,500 --> 00:01:12,000
And then about penguins.
"""
VTT = "WEBVTT\n\n00:01.000 --> 00:03.000\n<c>Rolling</c> captions\n\n00:03.000 --> 00:05.000\nRolling captions\nnext\n"
HTML = (
    "<!doctype html><html lang=en><head><title>The walrus paper | Site</title><meta name=author content='Ada Lovelace'>"
    "<meta property='article:published_time' content='2024-05-06'><link rel=canonical href='https://a.test/w?token=sekrit'>"
    "</head><body><nav>Home About Contact</nav><article><h1>The walrus paper</h1>"
    + "".join(
        f"<p>Paragraph {n}: walruses rest on ice and swim far, which the survey of {1900 + n} counted.</p>"
        for n in range(9)
    )
    + "<script>alert('never')</script></article><footer>Imprint</footer></body></html>"
)
_CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
)
_PACKAGE = """<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>
<dc:title>On Walruses</dc:title>
<dc:creator>Ada L.</dc:creator><dc:creator>Bo M.</dc:creator><dc:date>2020-01-02</dc:date>
</metadata><manifest><item id="b" href="two.xhtml"/><item id="a" href="one%20a.xhtml"/></manifest>
<spine><itemref idref="a"/><itemref idref="b"/></spine></package>"""
_DOCUMENT = (
    '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
    "<w:p><w:r><w:t>Minutes about walruses</w:t></w:r></w:p></w:body></w:document>"
)
_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Override PartName="/word/document.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" Type='
    '"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>'
    "</Relationships>"
)
_CORE = (
    '<c:coreProperties xmlns:c="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>Minutes</dc:title>'
    "<dc:creator>Bo M.</dc:creator><dcterms:created>2023-03-04T05:06:07Z</dcterms:created></c:coreProperties>"
)


def packed(members: dict[str, str | bytes]) -> bytes:
    """A ZIP file of these members."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return data.getvalue()


def epub(more: dict[str, str | bytes] | None = None) -> bytes:
    """A book of two chapters by two authors."""
    return packed(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": _CONTAINER,
            "OEBPS/book.opf": _PACKAGE,
            "OEBPS/two.xhtml": "<html><body><h2>Two</h2><p>They swim.</p></body></html>",
            "OEBPS/one a.xhtml": "<html><head><title>x</title></head><body><h2>One</h2><p>They rest.</p></body></html>",
            **(more or {}),
        }
    )


def docx(document: str = _DOCUMENT) -> bytes:
    """A Word file of one paragraph."""
    return packed(
        {
            "[Content_Types].xml": _TYPES,
            "_rels/.rels": _RELATIONS,
            "word/document.xml": document,
            "docProps/core.xml": _CORE,
        }
    )


def pdf(text: str = "Walruses in print", password: str = "") -> bytes:
    """A PDF of one page; without text where ``text`` is empty."""
    content = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET" if text else "0 0 10 10 re f"
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(content)}>>stream\n{content}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        "<</Title(A printed walrus)/Author(Ada L.)/CreationDate(D:20190203040506Z)>>",
    ]
    data = b"%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = len(data)
    data += b"xref\n0 7\n0000000000 65535 f \n" + b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    data += f"trailer<</Size 7/Root 1 0 R/Info 6 0 R>>\nstartxref\n{table}\n%%EOF\n".encode()
    if not password:
        return data
    import pypdf

    writer = pypdf.PdfWriter(clone_from=io.BytesIO(data))
    writer.encrypt(password, algorithm="RC4-128")
    locked = io.BytesIO()
    writer.write(locked)
    return locked.getvalue()
