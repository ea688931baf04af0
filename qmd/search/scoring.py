"""Scores: BM25 of a document, of its best passage and of the tightest span in it; the blend with meaning; evidence.

Every constant of the ranking is in the table below, with its unit and its source. docs/retrieval.md has the
measurements behind those that were fitted (R in the table).
"""

from __future__ import annotations

from math import log, log10

from qmd.index.terms import is_cjk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from qmd.vectors.knn import Nearest

# BM25. Source: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009.
K1 = 1.2  # how soon one more occurrence of a term stops to count
B = 0.75  # share (0-1) of the length normalisation
TITLE_WEIGHT = 2.0  # occurrences that one in the title counts for (R)
INNER_WEIGHT = 0.5  # and one inside a camel-case identifier, where FTS5 nominates passages (R)

# Nomination: how many rows are scored at three scales.
NOMINATED_DOCUMENTS = 30  # documents, at least (R)
NOMINATED_PASSAGES = 60  # passages, at least (R)
NOMINATED_BY_DATE = 500  # documents of the days that a question names, from which the best are nominated
ROW_BUDGET = 12_000  # rows that the nominating terms may match together, the rarest first; one term is always taken

# A span is a run of matches inside a passage (R).
SPAN_MAX = 90  # tokens: no span is wider
SPAN_PAD = 12  # tokens that are added to the width of each span
SPAN_AVERAGE = 40  # tokens: the average length for BM25
SPANS_IN_PASSAGE = 5  # spans of the average length in a passage of 200 words; the collection for their idf
SPAN_MATCHES = 64  # matches of one passage that are looked at; a passage may repeat one word without end

# The blend of words and meaning: the weight (0-1) of meaning (R).
PROSE = 0.3  # names of things are words
PROSE_BY_TABLE = 0.35  # the fitted table has seen the very texts that are asked, the model has not
CODE = 0.7  # code is asked for in other words than it is written in
CODE_SHARE = 0.5  # a collection with this share of code lines is one of code
PROVENANCE = 0.8  # factor for questions of where and when: words and dates tell those better than likeness
CHANCES = 0.08  # exponent: the best passage of a long document is the best of many, and so scores higher by chance
FULL = 0.3  # share of a perfect match by words below which words say less than meaning

# Evidence that there is an answer at all (0-1). Questions about another corpus mostly stay below 0.16 (R).
CHANCE = 0.05  # what ten times as many passages add to the share by chance
WORDS_ALONE = 0.02  # doubt that is allowed if no vector takes part
MOST_DOUBT = 0.08  # what a vector far from everything takes away at most: models do not know each name
FEW_PASSAGES = 20  # in fewer, every word is rare: words are weighed by how rare they are in general
COVERED = 0.73  # what the covered part of the question counts then

# How rare words are in general: counted in the paragraphs of the documentation strings of Python 3.11's standard
# library (``qmd/vectors/static_prior.py::paragraphs``).
PARAGRAPHS = 9_470
SELDOM = 2  # paragraphs that a word is taken to be in that the table below does not have
TELLING = 5  # letters from which on such a word is seldom in a document by chance
TELLING_CJK = 2  # and characters, for Chinese, Japanese and Korean
ENOUGH = 0.3  # what a document with such a word covers at least; ``evidence`` of it is just enough for an answer


class Scored:
    """A candidate's score, and where its evidence is: a ``passage``'s id (0 for none) and a ``token`` in it."""

    __slots__ = ("best", "date", "document", "name", "passage", "passage_score", "span", "token")

    def __init__(self) -> None:
        self.document = 0.0
        self.passage_score = 0.0
        self.span = 0.0
        self.date = 0.0
        self.name = 0.0
        self.best = 0.0
        self.passage = 0
        self.token = 0

    @property
    def lexical(self) -> float:
        """Return the score by words alone."""
        return self.document + self.passage_score + self.span

    @property
    def sum(self) -> float:
        """Return the sum of words, date, and whether the document has the name that is asked for."""
        return self.lexical + self.date + self.name

    def total(self, ceiling: float) -> float:
        """Return the score as a share (0-1) of that of a perfect match."""
        return min(1.0, self.sum / ceiling)

    def parts(self) -> dict[str, float]:
        """Return the summands, for people."""
        found = {
            "document": round(self.document, 3),
            "passage": round(self.passage_score, 3),
            "span": round(self.span, 3),
            "date": round(self.date, 3),
        }
        return {**found, "name": round(self.name, 3)} if self.name else found


def idf(rows: float, frequency: float) -> float:
    """Return the weight of a term that ``frequency`` of ``rows`` rows have; above 0 even where all have it."""
    frequency = min(frequency, rows)
    return log(1 + (rows - frequency + 0.5) / (frequency + 0.5))


def bm25(frequencies: Sequence[float], weights: Sequence[float], relative_length: float) -> float:
    """Return the score of a row in which term i occurs ``frequencies[i]`` times; its length is in average lengths."""
    norm = K1 * (1 - B + B * relative_length)
    score = 0.0
    for frequency, weight in zip(frequencies, weights, strict=True):
        if frequency:
            score += weight * frequency * (K1 + 1) / (frequency + norm)
    return score


def best_span(matches: Sequence[tuple[int, int]], weights: Sequence[float]) -> tuple[float, int, int]:
    """Return (score, first, last token) of the best run of ``matches``, which are (position, term) in order."""
    best = (0.0, 0, 0)
    base, slope = K1 * (1 - B), K1 * B / SPAN_AVERAGE
    matches = matches[:SPAN_MATCHES]
    for index, (first, _) in enumerate(matches):
        counts: dict[int, int] = {}
        bound = 0.0
        for position, term in matches[index:]:
            width = position - first
            if width > SPAN_MAX:
                break
            if term in counts:
                counts[term] += 1
            else:
                counts[term] = 1
                bound += weights[term] * (K1 + 1)
            if bound > best[0]:
                norm = base + slope * (width + SPAN_PAD)
                score = 0.0
                for each, count in counts.items():
                    score += weights[each] * count * (K1 + 1) / (count + norm)
                if score > best[0]:
                    best = (score, first, position)
    return best


def evidence(
    share: float,
    passages: int,
    cosine: float | None,
    level: float | None,
    *,
    whole: bool = True,
    covered: float | None = None,
) -> float:
    """Return how much speaks for there being an answer at all (0-1).

    Args:
        share: the best document's part of what endless matches of every term would give.
        passages: how many the index has; in more, more match by chance. 0 if no word matches.
        cosine: that of the nearest chunk; None if no vector took part.
        level: the cosine that questions reach without an answer; None if it is not known.
        whole: every document has its vectors. Otherwise vectors are not held against words.
        covered: the part of the question's words that one document has (``covered``); words are judged by it then.
    """
    found = share - CHANCE * log10(passages / 100) if passages else share
    words = found + WORDS_ALONE if covered is None else COVERED * covered
    if cosine is None or level is None:
        return min(1.0, max(0.0, words))
    meant = found + max(cosine - level, -MOST_DOUBT)
    return min(1.0, max(0.0, meant if whole else max(meant, words)))


def meaning_weight(code_share: float, kind: str) -> float:
    """Return the weight of meaning (0-1) in a collection of which ``code_share`` (0-1) is code.

    ``kind`` is what encoded the question: ``static`` (the fitted table) or ``model``.
    """
    if code_share >= CODE_SHARE:
        return CODE
    return PROSE_BY_TABLE if kind == "static" else PROSE


def blend(
    lexical: dict[int, float],
    top: float,
    nearest: Nearest,
    weights: dict[int, float],
    default: float,
    passages: dict[int, int],
) -> dict[int, tuple[float, float]]:
    """Return what words and what meaning add to each document's score; the score is their sum (0-1).

    Both scores are stretched over their own candidates. Ranks alone (reciprocal rank fusion) would lose how far ahead
    the best is; they measured worse than words alone on conversations.

    Args:
        lexical: the score by words and dates of each document.
        top: the score that counts as a full match by words (``full``).
        nearest: what is near by meaning.
        weights: the weight (0-1) of meaning for each document.
        default: the same for a document without one.
        passages: how many passages each document has.
    """
    width = nearest.top - nearest.floor
    parts: dict[int, tuple[float, float]] = {}
    for document in lexical.keys() | nearest.documents.keys():
        share = weights.get(document, default)
        words = lexical.get(document, 0.0) / top if top else 0.0
        near = nearest.documents.get(document)
        meaning = (near.cosine - nearest.floor) / width if near is not None and width else 0.0
        chances = max(1, passages.get(document, 1)) ** CHANCES
        parts[document] = ((1.0 - share) * words / chances, share * meaning / chances)
    return parts


def full(top: float, perfect: float) -> float:
    """Return what counts as a full match by words: the best score, unless that is too little of a perfect one."""
    return max(top, FULL * perfect)


def rarity(stem: str) -> float:
    """Return the inverse document frequency of a stem in general: 1 for the commonest to 8 for the rarest."""
    power = _powers().get(stem)
    return log(PARAGRAPHS / (SELDOM if power is None else 1.5 * 2**power))


def covered(
    stems: Sequence[Sequence[str]], term: Sequence[int], count: Sequence[float], held: Sequence[set[int]]
) -> float:
    """Return the greatest share (0-1) of a question's terms, by their rarity in general, that one document has.

    A document frequency says little in six documents, in which each word is rare. A document with a long word that is
    rare in general covers ``ENOUGH`` at least: names of things, and the words of all other languages, are seldom
    chance.

    Args:
        stems, term, count: as in ``qmd.index.terms.Terms``.
        held: the terms that each document has.
    """
    weights = [0.0] * len(count)
    telling: set[int] = set()
    powers = _powers()
    for words, index in zip(stems, term, strict=True):
        # The commonest of a term's forms counts, and the rarest word of a phrase.
        found = count[index] * max(map(rarity, words))
        weights[index] = min(weights[index], found) if weights[index] else found
        said = "".join(words)
        long = len(said) >= (TELLING_CJK if any(map(is_cjk, said)) else TELLING)
        if long and any(stem not in powers for stem in words):
            telling.add(index)
    whole = sum(weights)
    if not whole:
        return 0.0
    share = max((sum(weights[index] for index in terms) for terms in held), default=0.0) / whole
    return max(share, ENOUGH) if any(not telling.isdisjoint(terms) for terms in held) else share


def _powers() -> dict[str, int]:
    """Return the table below, by stem."""
    if not _POWERS:
        _POWERS.update((stem, power) for power, stems in _STEMS.items() for stem in stems.split())
    return _POWERS


_POWERS: dict[str, int] = {}
# Stems, as FTS5's porter tokenizer makes them, by the power of two that the number of paragraphs with them reaches.
_STEMS = {
    11: """
        return
    """,
    10: """
        us
    """,
    9: """
        argument call class file function list method name object set string valu
    """,
    8: """
        byte command contain creat current data default except gener get given implement instanc line messag
        modul new none number option path python rais read specifi text true tupl widget
    """,
    7: """
        add address allow also arg attribut base block case chang charact check close code content context
        convert defin differ directori document e either element empti encod end error event exampl execut
        exist fals first follow format handl handler header import includ inform instead integ interfac item
        iter kei map match mode must need non note open oper order otherwis output packag paramet pars pass
        posit process provid repres request result rfc run see select self sequenc server sourc start stream
        subclass support test thread time two user variabl version window write x
    """,
    6: """
        abstract accept access ad addit alreadi alwai anoth applic avail b binari buffer c callback cannot
        codec compil complet configur connect construct constructor copi coroutin correspond custom decod
        delet depend detail determin dict dictionari displai distribut done entri extens field filenam find
        flag form found frame futur g gencodec give help http identifi index indic initi input int intern
        invok keyword last level load local log loop make manag mean member multipl n next node normal occur
        origin os overrid pair parent parser part pattern point possibl print protocol py quot record refer
        regist remov replac represent requir resourc respons root script search second section send separ
        singl size socket special specif stack standard state stop store str sy system tag take tk tree turtl
        txt underli url valid wait want whether without work wrap xml y zero
    """,
    5: """
        abc absolut activ actual altern api appear append appli appropri arbitrari archiv ascii associ assum
        attempt automat avoid back basic begin behavior bind bit bodi boolean bound breakpoint browser build
        built builtin button cach calcul callabl cancel canva charset child children clear client color
        comment common compar compat compon compress comput condit config consid continu control convers cooki
        coordin count date debug decim decor deprec describ descriptor dialog digit dir direct directli
        distutil docstr doctest dot draw effect els email enabl ensur environ eof equal equival escap even
        everi exactli exit expect express extend extra extract f factori fail failur filter final finder fix
        fixer float font full func global grammar group head helper highlight host html id idl ignor imag
        immedi indent info insert instal instanti interact interpret invalid ip keep left length librari limit
        link liter loader locat lock logger long look made main mark master memori menu mime mock modifi move
        namespac necessari neg network newlin numer o obj omit operand pep per perform pickl place platform
        polici port prefix present previou produc program properti push queri queue r random rang raw receiv
        recurs regular rel releas report reset retriev right round rpc runtim safe sampl save screen setup
        sever share shell sign signal signatur similar simpl sinc space spec split statement stderr stdout
        structur style subprocess suppli symbol syntax tab tabl taken target task tcl termin theme timeout
        token top trace traceback transport try ttk turn unicod unix unless updat usual valueerror variou
        vendor via view wai warn well whitespac width within word wrapper written yield
    """,
    4: """
        acquir act action adapt adjust against algorithm alias angl annot around assert assign asynchron
        attach authent await background backward becom best blank box break caller canon caus certain cgi char
        checker choos chunk cl clean cleanup click collect column combin comparison concret consist constant
        consum conveni correct creation cursor dai databas datetim debugg declar definit delai deleg delta
        deriv descend descript design destin diff disabl dispatch divid doc domain dst dump duplic dynam edit
        editor effici embed emit endian enter entir enum etc exact expand explicitli expon featur feed fetch
        filesystem fill finish finit fit flush focu foo foreground formatt fraction fragment framework fullnam
        graphic greater grid guarante gui hash height high hold hook howev ident idleconf increment inherit
        init insid instruct intend io issu join json keybind keyerror know known kwarg label languag larg
        later lead least leav len less littl logic logrecord lookup low lower mac mailbox manipul maximum
        metadata micsft miss mix model modif month mous msg multi multipart nan never noth obtain occurr
        offset ok old opcod oserror outsid overridden p pack page paragraph partial particular password
        pathnam payload pipe pixel plain plu pointer polygon pop popul posix post pre preced precis prefer
        prepar press prevent printabl privat probabl prompt proxi purpos put pyc rather reach readabl reader
        readi readlin real reason recogn recommend refactor registri relat remain repr reserv resolv respect
        routin row rule runtimeerror sax schedul scheme scope scrollbar seek selector semant sent shape show
        shutdown side simpli site skip smtp speed src ssl stat static statu step still strict sub subel
        subsequ subset success suffix suit suitabl sure symlink tagorid tar tarinfo templat temporari thing
        though three tkinter togeth toggl total trail transfer transform translat travers treat tri truncat
        turtlescreen typeerror typic unchang uniqu unit unknown unlik unpickl unsign upon usag utf util var
        virtual visibl w week whenev whose year yet zip
    """,
    3: """
        ab abl across addition addr advanc affect aiff aix alia alloc along alphabet alter amount anchor anim
        appl approxim argv arrang ask asserttru ast async asyncio atom attr attributeerror audio augment
        author bar barrier basi bd behav behaviour belong bg big bitmap bool borderwidth bottom boundari
        bracket builder bytearrai bytecod bytesio calendar cancellederror capabl captur care caught ccompil
        cell certif cfg chain channel checkbutton clipboard clone closer closest cmd coeffici collaps colormap
        com come complex compliant concaten concurr configpars conform consol convent cook copyright core
        corner correctli counter cpython cycl daemon dataclass datagram dbm de deal decid deep def defect
        delimit desir destroi detect devic digest disassembl discard disk distanc divis dom doubl drag drawn
        drive driver drop dry dtd due dummi eg emul enclos encount engin enough entiti entrypoint enumer
        eoferror establish evalu ever exc exclud exec executor exp expir explicit export expos ext extern fall
        fallback famili fast faster fd fg fold forc formal forward four fp free frozen fs fulli fun geometri
        getattr getitem glob gnu go goe good grab graph guess gzip h hand happen hardwar heap helo hierarch
        hierarchi higher highlightbackground highlightcolor highlightthick hit home hostnam human iana icon
        idlelib ie iff impli importerror importlib increas independ individu inexact infin infinit inspect
        integr interest intermedi interpol interv introspect isinst iso k keyset kw l lang larger latter
        layout leaf legaci let lib linear lineno linker listbox listen longer longest lost lowercas machin
        magic mail mailcap mainloop maintain manual markobject max mayb measur mechan median memo meta
        metaclass middl minim minimum minu mixin monitor mostli movement nativ nearest necessarili neither
        nest netmask netscap newli nicer nonzero notat notebook notif notifi notimplementederror nowait octet
        often onto op optim optionmenu org orient overlap overload overview pad pane param paramspec parti
        patch paus pc pen permiss pgen phrase pid placehold pleas plist po popup portion power predic prepend
        preserv pretti previous primari prior prioriti problem profil propag proper properli public pure
        purepath pydoc quickli quit radiobutton ratio ration realli recent rectangl redirect reduc reformat
        regardless regex relev relief reload rememb remot renam render repeat repli resiz rest restor restrict
        resum retain returncod revers robot rotat runner scale scan scroll secur seen segment semaphor
        sequencematch serial serv servic session shall short shown signific silent singleton slash slice
        slider slow small smaller smallest snapshot soon spawn squar squeezer statist stdin streamread
        streamwrit strip stuff subdirectori subject submodul subnorm subpart substitut substr subtyp subwidget
        successfulli summari suppos suppress switch synchron tagnam takefocu tarfil targetpath tb tcp term
        testcas textiowrapp textual therefor third thu timer timestamp timezon tip tix tool toplevel topmost
        track transpar trap trigger tripl turtleshap typeddict uncompress undefin underscor union unittest
        unlink unlock unpack unquot upper uri usabl utc uuid v varianc verbos verifi vertic viewer visual wake
        walk watcher water weak web weekdai whatev whole wildcard wm writabl writer xmlreader xxx zipfil
    """,
}
