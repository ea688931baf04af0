"""A corpus of questions, each with the retrieval it needs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtime.asking.route import CONCEPTUAL, LITERAL, PROVENANCE, kind
from tests.tables import every

_LITERAL = """
getUserName
where is getUserName defined
src/auth/token.py
what changed in src/auth/token.py
~/notes/today
./run.sh
--no-verify
git commit --amend
git rebase -i HEAD
git stash pop
npm install
pip install
docker compose up
kubectl get pods
cargo test
systemctl restart
"database is locked"
why did "connection reset by peer" happen
what does “no such table” mean
ECONNREFUSED
TypeError
why did we get a ModuleNotFoundError
SIGKILL
ENOSPC
ENOENT
os.path.join
config.yaml
how do I configure pyproject.toml
max_retries
__init__
std::vector
a1b2c3d4
#a1b2c3
5f0c1a2b-1111-2222-3333-444455556666
127.0.0.1
https://example.org/page
FOO=bar
user@example.org
C:\\temp
open()
DATABASE_URL
`make lint`
CVE-2024-3094
v2.3.1 release
is anything on localhost:3000
0x7ffdeadbeef
error TS2304
libssl.so.3
$HOME of the runner
docker-compose up
what was BRAIN-1234 about
def parse(path):
which service listens on port 8443
HTTP 502 from nginx
Exit code 137
npm ERR! code ERESOLVE
panic: runtime error: index out of range
fatal: not a git repository
Traceback (most recent call last):
v1.2.3-rc1
SELECT name FROM users
X-Forwarded-For
the Content-Security-Policy header
HEAD detached at origin/main
@types/node
the AbortController signal
"""

_PROVENANCE = """
when did we drop the cache
When did Caroline go to the support group?
where did I put the invoice
who asked for dark mode
which session did we talk about retries in
which file has the token refresh
what day was the outage
which project uses the queue
in which conversation did we choose a name
what year did we move
Whose idea was the rewrite
when's the last time we touched the scheduler
where’s the doc about onboarding
who's responsible for the invoices
what was the date of the migration
what's the path of the config file
do you remember when we changed the schema
can you find where I noted the bread recipe
tell me when we renamed the worker
I want to know who asked for the export
remind me where the backup lives
find the session where we fixed the router
show me the note on telescopes
how long ago did we replace the queue
which meeting was the invoice discussed in
which commit introduced the cache
which of my notes mention yeast
let me see the commit that broke the build
which agent session touched the index
what website explained the tuning
"""

_CONCEPTUAL = """
the session where we argued about caching but never said cache
why did the permission hook fail
what did I decide about the auth flow?
how did we make startup faster
What does Melanie do to relax?
Would Caroline likely have Dr. Seuss books on her bookshelf?
read/write splitting
client and/or server rendering
he's happy with Node
iPhone battery drain
YouTube playlist for running
McDonald family dinner
24/7 support
10:30 meeting
U.S. taxes
e.g. a decision
the e-mail about money
state-of-the-art models
python check file is readonly
python3 encode decode bytes
make the tests faster
go home early
find a good plan
cat pictures
CAP theorem
NASA and EU grants
EVERYTHING
what went wrong, and what did we learn?
Exception to the rule
海象在哪里
was the café naïve
don't repeat "
a
?
…!?
🦜
-- -
remove the file(s)
COVID-19 rules
UTF-8 and GPT-4
MP3 and B12
it cost $500
the verse John 3:16
v2 of the plan
2023.5 or so
he whens and whos
what is the time complexity of the merge
what is the file size limit
find the file
do you know how the scheduler decides
show me the project structure
fix/replace the hinge
@home office
the GitHub and JavaScript people
Controller or handler
traceback when the server starts
select the right one from the list
the error 7 times
Wi-Fi and X-ray
how long does the build take
"""


@every(
    (line, expected)
    for block, expected in ((_LITERAL, LITERAL), (_PROVENANCE, PROVENANCE), (_CONCEPTUAL, CONCEPTUAL))
    for line in block.strip().splitlines()
)
def test_a_question_takes_its_route(question: str, expected: str) -> None:
    found, said = kind(question)
    assert found == expected
    assert bool(said) == (expected != CONCEPTUAL)


@given(st.text(max_size=60))
def test_any_text_takes_some_route(question: str) -> None:
    found, said = kind(question)
    assert found in (LITERAL, PROVENANCE, CONCEPTUAL)
    assert bool(said) == (found != CONCEPTUAL)
