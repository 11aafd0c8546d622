"""Porter's stemmer on the examples of his paper, and on words of everyday banking."""

import pytest

from memlane_core.lexical.stem import stem

# Examples from the paper, step by step; what later steps then do to the word is part of the wanted form.
PAPER = """
caresses caress ponies poni ties ti cats cat feed feed agreed agre plastered plaster bled bled motoring motor sing sing
conflated conflat troubled troubl sized size hopping hop tanned tan falling fall hissing hiss fizzed fizz failing fail
filing file happy happi sky sky relational relat conditional condit rational ration valenci valenc hesitanci hesit
digitizer digit conformabli conform radicalli radic differentli differ vileli vile analogousli analog
vietnamization vietnam predication predic operator oper feudalism feudal decisiveness decis hopefulness hope
callousness callous formaliti formal sensitiviti sensit sensibiliti sensibl triplicate triplic formative form
formalize formal electriciti electr electrical electr hopeful hope goodness good revival reviv allowance allow
inference infer airliner airlin gyroscopic gyroscop adjustable adjust defensible defens irritant irrit replacement
replac adjustment adjust dependent depend adoption adopt homologou homolog communism commun activate activ
angulariti angular homologous homolog effective effect bowdlerize bowdler probate probat rate rate cease ceas
controll control roll roll
""".split()


@pytest.mark.parametrize(("word", "wanted"), list(zip(PAPER[::2], PAPER[1::2], strict=True)))
def test_examples_of_the_paper(word: str, wanted: str) -> None:
    assert stem(word) == wanted


@pytest.mark.parametrize(
    "family",
    [
        "insure insured insures insuring",
        "hedge hedged hedging hedges",
        "payment payments",
        "invoice invoices invoiced",
    ],
)
def test_forms_of_a_word_meet(family: str) -> None:
    assert len({stem(word) for word in family.split()}) == 1


@pytest.mark.parametrize("word", ["", "a", "is", "naïve", "café"])
def test_what_is_not_an_english_word_stays(word: str) -> None:
    assert stem(word) == word
