r"""The words of the tokeniser: which commands are functions, which only set type, which stand for something else."""

from __future__ import annotations

_FUNCTION_NAMES = """
sin cos tan cot sec csc sinh cosh tanh coth sech csch arcsin arccos arctan arccot arcsec arccsc asin acos atan
arsinh arcosh artanh asinh acosh atanh ln log lg exp gcd lcm max min det abs floor ceil sgn sign sqrt cbrt Re Im
arg deg dim ker rank tr inf sup Gamma re im factorial mod
"""
_TYPESETTING = """
left right displaystyle textstyle scriptstyle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr bigm
quad qquad limits nolimits thinspace mathstrut strut tiny small normalsize large Large rm bf it sf tt hfill
hline thickspace medspace enspace nobreakspace middle allowbreak nonumber notag vphantom
"""
_STYLE_NAMES = """
text textbf textit textrm textsf texttt textnormal mbox hbox mathrm mathbf mathit mathsf mathtt mathnormal
operatorname boldsymbol bm pmb emph underline mathop mathord mathcal mathscr mathfrak vec overrightarrow boxed
fbox ensuremath mathstrut textup rmfamily textsc uline
"""
_GREEK_NAMES = """
alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron rho sigma tau upsilon phi chi
psi omega Delta Theta Lambda Xi Sigma Upsilon Phi Psi Omega Pi hbar ell nabla aleph
"""
_LOGIC_WORDS = """
not if else unless neither nor maybe perhaps possibly approximately about wrong incorrect never cannot otherwise
"""

FUNCTIONS = frozenset(_FUNCTION_NAMES.split())
"""Names that are functions, in LaTeX with a backslash and in ASCII without."""

COMMANDS_ONLY = frozenset(
    {"deg", "dim", "ker", "tr", "Re", "Im", "re", "im", "arg", "mod", "inf", "sup", "lg", "sgn", "rank"}
)
"""Functions only with a backslash: as plain letters they may be a product or something else."""

DROPPED = frozenset(_TYPESETTING.split())
"""Commands without a meaning of their own."""

STYLES = frozenset(_STYLE_NAMES.split())
"""Commands whose argument stands for itself; words in it become one token."""

GREEK = frozenset(_GREEK_NAMES.split())
LOGIC = frozenset(_LOGIC_WORDS.split())
"""Words that turn an answer into something else: nothing that holds one is read as a number."""

ALIASES = {
    "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "dbinom": "binom", "tbinom": "binom", "leq": "<=", "le": "<=",
    "leqslant": "<=", "leqq": "<=", "geq": ">=", "ge": ">=", "geqslant": ">=", "geqq": ">=", "lt": "<", "gt": ">",
    "ne": "!=", "neq": "!=", "times": "*", "cdot": "*", "ast": "*", "star": "*", "bullet": "*", "div": "/",
    "colon": ":", "mid": "mid", "vert": "|", "lvert": "|", "rvert": "|", "Vert": "|", "lbrack": "[", "rbrack": "]",
    "lparen": "(", "rparen": ")", "degree": "deg", "prime": "'", "dots": "...", "ldots": "...", "cdots": "...",
    "dotsc": "...", "dotsb": "...", "vdots": "...", "ddots": "...", "varnothing": "emptyset", "pm": "pm", "mp": "mp",
    "cup": "cup", "bigcup": "cup", "cap": "cap", "bigcap": "cap", "setminus": "minus", "backslash": "minus",
    "smallsetminus": "minus", "to": "to", "rightarrow": "to", "longrightarrow": "to", "lor": "or", "vee": "or",
    "land": "and", "wedge": "and", "in": "in", "approx": "approx", "simeq": "approx", "sim": "approx",
    "cong": "approx", "equiv": "equiv", "infty": "infty", "bmod": "mod", "mod": "mod", "pmod": "pmod",
    "lbrace": "{{", "rbrace": "}}", "surd": "sqrt", "langle": "<<", "rangle": ">>", "varepsilon": "epsilon",
    "varphi": "phi", "vartheta": "theta", "varrho": "rho", "varsigma": "sigma", "iff": "iff",
    "implies": "implies", "Rightarrow": "implies", "Leftrightarrow": "iff", "perp": "perp", "parallel": "parallel",
    "mapsto": "mapsto", "propto": "propto", "notin": "notin", "subset": "subset", "subseteq": "subseteq",
    "imath": "i", "jmath": "j", "emptyset": "emptyset", "R": "reals", "Reals": "reals", "reals": "reals",
}  # fmt: skip
