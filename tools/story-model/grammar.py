"""The small template language and the word lists of the story corpus.

Template: `[a|b|c]` picks one alternative (nested, may be empty), `{key}` or `{key.attr}` looks up the story's
context; a looked-up string is a template itself. A group of whole sentences is left out with the story's
probability `drop`, unless it begins with `[!` or ends the story. `//` starts a new paragraph. A capital first letter of `attr`
capitalises. Sentence starts are capitalised and `a`/`an` is corrected afterwards.
"""
import re

_cache = {}
_sent = re.compile(r'[.!?]"?$')


class Alts(list):
    """The alternatives of a group; `drop`: the whole group may be left out."""

    drop = False


def _parse(s):
    """A template as a list of texts, groups (Alts) and slots (1-tuples)."""
    pos = 0

    def seq(end):
        nonlocal pos
        out, buf = [], []
        while pos < len(s):
            c = s[pos]
            if c == "[":
                if buf:
                    out.append("".join(buf)); buf = []
                start = pos
                pos += 1
                keep = s[pos] == "!"
                pos += keep
                alts = Alts()
                while True:
                    alts.append(seq("|]"))
                    c2 = s[pos]
                    pos += 1
                    if c2 == "]":
                        break
                raw = s[start + 1:pos - 1]
                alts.drop = not keep and "[" not in raw and all(_sent.search(a) for a in raw.split("|")) \
                    and _sent.search(s[:start].rstrip()) is not None and s[start - 1] == " " \
                    and s[pos:pos + 1] in ("", " ", "\n") and s[pos:].strip() not in ("", "{END}")
                out.append(alts)
            elif c == "{":
                if buf:
                    out.append("".join(buf)); buf = []
                j = s.index("}", pos)
                out.append((s[pos + 1:j],))
                pos = j + 1
            elif c in end:
                break
            else:
                buf.append(c)
                pos += 1
        if buf:
            out.append("".join(buf))
        return out

    t = seq("")
    if pos != len(s):
        raise ValueError("unbalanced template: " + s[:80])
    return t


def expand(s, ctx, rng):
    """The text of template s with the slots of ctx, alternatives drawn from rng."""
    tree = _cache.get(s)
    if tree is None:
        tree = _cache[s] = _parse(s)
    out = []
    _walk(tree, ctx, rng, out)
    return "".join(out)


def _walk(tree, ctx, rng, out):
    for n in tree:
        if isinstance(n, str):
            out.append(n)
        elif isinstance(n, list):
            if n.drop and rng.random() < ctx["drop"]:
                continue
            _walk(n[int(rng.random() * len(n))], ctx, rng, out)
        else:
            key, _, attr = n[0].partition(".")
            v = ctx[key]
            if isinstance(v, dict):
                if attr and attr[0].isupper():
                    w = v[attr[0].lower() + attr[1:]]
                    out.append(w[0].upper() + w[1:])
                else:
                    out.append(v[attr])
            elif "[" in v or "{" in v:
                out.append(expand(v, ctx, rng))
            else:
                out.append(v)


_an = re.compile(r"\b([Aa]) (?=[aeiouAEIOU])(?!(?:uni|use|usu|one|eu|Uni|Use|One))")
_cap = re.compile(r"(^|[.!?] +|\n)([a-z])")
_capq = re.compile(r"((?:^|[.!?] |\n)\")([a-z])")


def polish(t):
    """Mends spaces, paragraphs, `a` before a vowel, capitals at the starts of sentences."""
    t = re.sub(r"\s+", " ", t).strip()
    t = re.sub(r" *// *", "\n\n", t)
    t = re.sub(r" ([.,!?;:])", r"\1", t)
    t = _an.sub(r"\1n ", t)
    t = _cap.sub(lambda m: m.group(1) + m.group(2).upper(), t)
    t = _capq.sub(lambda m: m.group(1) + m.group(2).upper(), t)
    return t.strip()


GIRLS = """Mia Lily Anna Rosa Ella Nora Lucy Emma Clara Ruby Molly Daisy Hazel Ivy Maya Zoe Tilda Greta Nina Wendy
Poppy Sophie Alice Martha Olive Penny Stella Amy Flora Luna Juno Heidi Elsa Maggie Tess Rosie Bella Carla Dora Edith
Fern Gwen Holly Iris Jenny Kate Lena Marta Nelly Opal Pearl Sally Tina Vera Willa""".split()
BOYS = """Tom Ben Max Leo Sam Finn Oscar Jack Otto Hugo Theo Felix Noah Emil Peter Paul Toby Milo Henry Oliver Jonas
Rufus Barney Casper Walter Arthur Bruno Charlie Danny Eddie Freddy George Harry Ivan Jasper Kasper Luke Martin Nils
Ollie Percy Quinn Robin Simon Timmy Victor Willy Albert Basil Conrad Dexter Elliot Gus Ned""".split()

# kind: adjectives, what it has for hands, home, food
ANIMALS = {
    "fox": ("little young clever red", "paw", "den under the roots of an old tree", "blackberries"),
    "rabbit": ("little small white brown young", "paw", "burrow on the green hill", "carrots"),
    "bear": ("little young brown big gentle", "paw", "warm cave", "honey"),
    "mouse": ("little tiny gray brave", "paw", "hole behind the kitchen wall", "cheese"),
    "squirrel": ("little red quick young", "paw", "hollow oak", "nuts"),
    "hedgehog": ("little prickly shy small", "paw", "nest of dry leaves", "apples"),
    "badger": ("young gray gentle old", "paw", "tidy burrow", "mushrooms"),
    "otter": ("young playful little brown", "paw", "house by the river", "river plums"),
    "beaver": ("young busy little brown", "paw", "lodge on the stream", "birch bark"),
    "mole": ("little gentle small shy", "paw", "long tunnel", "radishes"),
    "cat": ("little black gray striped young", "paw", "basket by the stove", "cream"),
    "dog": ("little brown friendly young spotted", "paw", "red kennel", "biscuits"),
    "raccoon": ("young clever little striped", "paw", "hollow log", "corn"),
    "duck": ("little yellow young white", "wing", "nest beside the pond", "water cress"),
    "owl": ("young little brown wise", "wing", "hollow elm", "seed cakes"),
    "crow": ("young black clever", "wing", "nest in the tall pine", "cherries"),
    "goat": ("little white young stubborn", "hoof", "wooden barn", "clover"),
    "pony": ("young brown small gentle", "hoof", "stable with a green door", "oats"),
    "pig": ("little pink round cheerful", "hoof", "cozy sty", "turnips"),
    "lamb": ("little white woolly young", "hoof", "meadow with a low fence", "daisies"),
    "deer": ("young shy gentle brown", "hoof", "quiet thicket", "acorns"),
    "frog": ("little green cheerful small", "hand", "house under a lily pad", "mint leaves"),
    "turtle": ("small green patient young", "hand", "sandy bank", "lettuce"),
    "panda": ("young round gentle little", "paw", "bamboo grove", "bamboo"),
    "monkey": ("young funny little quick", "hand", "tree house", "bananas"),
    "elephant": ("young gray gentle big", "foot", "shady valley", "melons"),
    "lion": ("young golden proud", "paw", "rocky den", "sweet figs"),
    "tiger": ("young striped gentle", "paw", "den in the tall grass", "mangoes"),
}
FLYING = ["owl", "crow", "duck"]
SMALL = ["mouse", "squirrel", "hedgehog", "mole", "frog", "rabbit"]
BIG = ["bear", "elephant", "pony", "lion", "tiger", "badger", "deer"]
PLURAL = {"mouse": "mice", "fox": "foxes", "hand": "hands", "paw": "paws", "wing": "wings", "hoof": "hooves",
          "foot": "feet", "deer": "deer", "pony": "ponies"}
CHILD_ADJ = "little young cheerful quiet clever curious kind lively friendly".split()

TRAITS = ["curious", "kind", "cheerful", "patient", "brave", "gentle", "clever", "careful", "friendly", "helpful",
          "thoughtful", "quiet", "lively", "hopeful", "honest", "generous", "polite"]
COLORS = ["red", "blue", "yellow", "green", "orange", "purple", "white", "golden", "silver", "pink", "striped",
          "brown", "black"]
HOBBIES = ["flying kites", "drawing pictures", "climbing trees", "reading books", "singing songs",
           "collecting stones", "baking cookies", "watching the clouds", "telling jokes", "playing the flute",
           "building little boats", "picking flowers", "counting the stars", "making paper hats",
           "dancing in the rain", "looking for shells", "planting seeds", "solving riddles", "playing hide-and-seek",
           "listening to old stories", "jumping over puddles", "feeding the birds", "painting", "carving wood"]
SETTINGS = [
    "a small village by the sea", "a small village at the foot of a mountain", "a cottage at the edge of the forest",
    "a tiny house with a crooked chimney", "a quiet valley between two hills", "a little town with a tall clock tower",
    "a farm with a red barn", "a stone house beside the river", "a wooden house near the lake",
    "a green forest full of old oaks", "a sunny meadow behind the mill", "a village where everyone knew everyone",
    "a yellow house on top of a hill", "a fishing town with a long pier", "a windy place near the cliffs",
    "a warm little house under a big chestnut tree", "a narrow street full of flower pots",
    "a land of rolling green hills", "a snowy village high in the mountains", "a house with a round blue door",
]
# animals live outdoors more often
WILD = [
    "a green forest full of old oaks", "a quiet valley between two hills", "a sunny meadow behind the mill",
    "the forest beyond the river", "the woods behind the village", "a land of rolling green hills",
    "a clearing where bluebells grew", "a deep, mossy wood", "the reeds and rushes by a wide lake",
    "the orchard behind an old farm", "a hidden valley where a stream sang all day", "a hollow below the hill",
    "the shady side of a tall mountain", "a forest of birches", "the fields around a small farm",
]
WEATHER = {
    "sunny": ["the sun was shining", "the sky was clear and blue", "the morning was bright and warm",
              "warm light lay on the fields", "there was not a cloud in the sky"],
    "windy": ["the wind was blowing hard", "the wind danced in the trees", "a strong wind came over the hills",
              "the leaves were flying everywhere"],
    "cloudy": ["gray clouds hung over the hills", "the sky was soft and gray", "the clouds looked like sleepy sheep"],
    "cold": ["the air was cold and clear", "there was frost on the windows", "the grass was white with frost"],
    "misty": ["a soft mist lay over the fields", "the fog was thick as milk", "everything was wrapped in mist"],
}
FRUITS = ["apples", "pears", "plums", "cherries", "strawberries", "raspberries", "blueberries", "blackberries"]
ONE = {"apples": "apple", "pears": "pear", "plums": "plum", "cherries": "cherry", "strawberries": "strawberry",
       "raspberries": "raspberry", "blueberries": "blueberry", "blackberries": "blackberry"}
TREES = ["oak tree", "apple tree", "pine tree", "chestnut tree", "willow tree", "maple tree", "birch tree",
         "cherry tree", "elm tree"]
ADULTS_F = ["Grandma Rose", "Grandma Edna", "Aunt Polly", "Aunt May", "Grandma Lotte", "Aunt Bea", "Grandma Ida"]
ADULTS_M = ["Grandpa Tim", "Uncle Joe", "Grandpa Karl", "Uncle Ferdinand", "Grandpa Will", "Uncle Matt",
            "Grandpa Abe"]
ROLES_F = ["the baker", "the teacher", "the gardener", "the weaver", "the librarian", "the shopkeeper",
           "the shepherdess", "the seamstress"]
ROLES_M = ["the miller", "the farmer", "the fisherman", "the carpenter", "the blacksmith", "the postman",
           "the gardener", "the clockmaker"]
SMALL_THINGS = ["ring", "button", "marble", "feather", "shell", "ribbon", "coin", "whistle", "bell", "brooch",
                "key", "locket", "thimble", "pebble", "compass", "bracelet", "flute", "glass bead", "pocket mirror"]
CAKES = ["apple cake", "honey cake", "plum pie", "cherry pie", "carrot cake", "pear tart", "nut bread",
         "blueberry pie", "ginger cake", "lemon cake", "pumpkin pie", "cinnamon bread"]
FEEL_SAD = ["sad", "worried", "unhappy", "upset", "disappointed"]
NUMS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve"]
