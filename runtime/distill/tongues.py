"""Telling English from other languages by their function words, which are no concepts in any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qmd.index.cjk import is_cjk
from qmd.search.terms import STOP

if TYPE_CHECKING:
    from collections.abc import Iterable

# German, French, Spanish, Portuguese, Italian, Dutch, Polish, Russian and Ukrainian, Swedish: what most sentences hold.
FUNCTION_WORDS = frozenset(
    """aber alle auch auf aus bei beim bitte damit dann das dass dem den der des die diese doch durch ein eine einem
    einen einer eines für hat haben habe hier ich ihr ist kann kein keine mehr mich mir mit muss nach nein nicht
    noch nur oder ohne schon sehr sein sich sie sind soll sollte über und uns unter vom vor warum wenn werden
    weil wie wieder wir wird wurde zum zur alors après aussi avec avoir bien cela cette comme dans déjà des deux
    donc dont elle encore est être fait faire font ici ils les leur leurs lors mais même mes moi nos notre nous
    oui par parce pas peut plus pour pourquoi puis quand que quel quelle qui quoi sans ses son sont sur tous
    tout très une vers voici votre vous était ahora algo antes aquí así aunque cada como con cual cuando del
    desde donde dos ella ellos entre era eres esa ese eso esta está estas este esto estos fue hace hacer hacia
    hasta hay las los más mientras muy nada nos nosotros otra otro para pero poco por porque pues puede qué
    quien según ser sido siempre sin sobre solo son soy también tan tanto tiene todas todo todos tras una unas
    uno unos usted agora ainda aquele aqui assim até bem cada com das depois dos ela ele eles em essa esse está
    estão eu foi isso isto já mais mas mesmo muito não nas nem nos nós num numa onde ou para pela pelo pode
    porque qual quando quem são se sem ser seu sua também tem tudo uma você vocês abbiamo alla allo anche ancora
    avere che chi ci come con cosa cosí così da dal dalla degli dei del della delle dello di dove ecco gli ha
    hanno il io loro ma mi molto nei nel nella non ogni però perché più può quale quando quello questa queste
    questo qui sono sta stato su sul sulla tra tutti tutto un una aan als bij daar dan dat deze dit door een
    geen goed haar heb heeft het hij hoe hun ik je jij kan maar meer met mijn moet naar niet nog nu ook omdat
    onze op over te tot uit van veel voor waar wat weer wel werd wij wordt zal zijn zo zonder zou ale bardzo być
    czy dla dlaczego gdy ich jak jako jest jeszcze już który która które lub może nie niż oraz przez przy się są
    tak tego tej ten tylko też tym więc żeby без был была были быть вам вас ведь вот все всё где да даже для его
    ее если есть еще же за из или их как когда который которые ли между меня мне мы на над надо нас не него нее
    нет ни но ну он она они от очень по под пока после потому почему при про раз с сейчас со так также там то
    тоже только тут ты у уже чем что чтобы эта эти это этот я він вона вони від для його це цей що щоб як але
    або att av blir bara den det detta dig du där efter eller en ett från för han har hon hur här inte jag kan
    med men mig mot måste när och också om på sig ska skulle som till under upp ut utan vad
    varför vi vid är""".split()
) - {
    "den",
    "die",
    "hat",
    "son",
    "sin",
    "plus",
    "pour",
    "over",
    "on",
    "per",
    "vid",
    "far",
    "men",
    "under",
    "var",
    "ten",
}
_OTHER_SCRIPTS = 0.2


def is_english(texts: Iterable[str]) -> bool:
    """Whether it is English, or too little to tell: function words of other languages are no more than its own."""
    english = foreign = letters = strange = 0
    for text in texts:
        letters += sum(map(str.isalpha, text))
        strange += 0 if text.isascii() else sum(each.isalpha() and ord(each) > 0x36F for each in text)
        for word in text.lower().split():
            word = word.strip(".,!?:;\"'()¿¡«»")
            english += word in STOP
            foreign += word in FUNCTION_WORDS and word not in STOP
    return foreign <= english and strange <= _OTHER_SCRIPTS * letters


def is_fragment(word: str) -> bool:
    """Whether a word of a script without spaces is a pair that need be no word: any but two ideographs."""
    return any(map(is_cjk, word)) and (len(word) != 2 or not all("\u4e00" <= each <= "\u9fff" for each in word))
