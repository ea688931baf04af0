"""How rare words are in general: stems by how many paragraphs of Python 3.11's documentation strings have them.

A search reads this table only in an index of fewer than ``qmd.search.scoring.FEW_PASSAGES`` passages.
Source: ``qmd/vectors/static_prior.py::paragraphs``.
"""

from __future__ import annotations

from math import log

PARAGRAPHS = 9_470  # paragraphs that were counted
SELDOM = 2  # the count of paragraphs for a word that the table does not have

# Stems, as FTS5's porter tokenizer makes them, by the power of two that the number of paragraphs with them reaches.
_TABLE = {
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
# The inverse document frequency of a stem in general: 1 for the commonest to 8 for the rarest.
RARITY: dict[str, float] = {}
for _power, _stems in _TABLE.items():
    RARITY.update(dict.fromkeys(_stems.split(), log(PARAGRAPHS / (1.5 * 2**_power))))
# Rarity of a stem that the table does not have.
UNKNOWN = log(PARAGRAPHS / SELDOM)
