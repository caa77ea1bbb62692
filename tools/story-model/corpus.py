#!/usr/bin/env python3
"""Write the story corpus: one JSON line per document, {"kind": "story"|"chat"|"json", "text": ...}.

    corpus.py --out corpus.jsonl --docs 60000 --seed 1        # document i depends on (seed, i) only
    corpus.py --show 20                                        # print samples

A story document is plain text; in a chat document the roles stand as <|im_start|>user\n...<|im_end|>\n.
"""
import argparse
import collections
import hashlib
import json
import random
import re

from grammar import (ADULTS_F, ADULTS_M, ANIMALS, BOYS, CAKES, CHILD_ADJ, COLORS, FEEL_SAD, GIRLS, HOBBIES, NUMS, PLURAL, ROLES_F,
                     ROLES_M, SETTINGS, SMALL_THINGS, TRAITS, TREES, WEATHER, WILD, expand, polish)
from plots import END, HELLO_F, MINI, NIGHT, OFFER, PLOTS, THANKS

METAL = set("key ring coin bell whistle locket medal brooch thimble compass teaspoon bracelet necklace".split())
WRIST = {"hand": "wrist", "paw": "paw", "wing": "neck", "hoof": "leg", "foot": "leg"}
IN = {"a farm": "on ", "the shady side": "on ", "the reeds": "among "}
LIKES = """kites rain stories honey apples boats songs stars snow puddles music books cakes drums shells flowers clouds
riddles trees games berries soup maps bells picnics rivers butterflies jokes lanterns cheese nuts pancakes dancing swimming
painting singing running baking reading climbing""".split()

INTRO = [
    "Once upon a time, [there was {h.a} named {h}, who lived {inset}.|there was {h.a} named {h}.|{inset}, there lived {h.a} named {h}.|there lived {h.a} named {h} {inset}.|there was {h.a} whose name was {h}. {h.He} lived {inset}.]",
    "Once upon a time, [there was {h.a} named {h}.|{h.a} named {h} lived {inset}.|{inset}, there was {h.a} called {h}.]",
    "Long ago, [{h.a} named {h} lived {inset}.|there lived {h.a} named {h} {inset}.|there was {h.a} named {h}, who lived {inset}.]",
    "{inset} [there lived {h.a} named {h}.|lived {h.a} named {h}.|lived {h}, {h.a}.]",
    "{h} was {h.a} who lived {inset}.",
    "{h} lived {inset}. {h.He} was {h.a}.",
    "There was once {h.a} named {h}[|, who lived {inset}].",
    "[This is the story of|Let me tell you about|Have you ever heard of] {h}, {h.a} from {set}{q}",
    "[Not so long ago|A long time ago|Many years ago|Once], {h.a} named {h} lived {inset}.",
    "Far away, [behind the blue hills|on the other side of the river|where the road ends], lived {h.a} named {h}.",
]
INTRO_KID = ["{h} was {age} years old and lived {inset}."]
INTRO_ANIMAL = ["{h} the {h.kindname} lived {inset}.", "In the whole country, there was no other {h.kindname} like {h}, who lived {inset}."]
INTRO2 = [
    "{h.He} loved {hobby}[| more than anything| most of all].",
    "{h.He} was [very|always] {trait}, and {h.he} loved {hobby}.",
    "[Everyone|Everybody] [said|knew] that {h} was [very {trait}|{trait} and {trait2}].",
    "{h.He} was [{trait} and {trait2}|a {trait} {h.kindname}][|, and {h.he} loved {hobby}].",
    "",
    "",
]


class Story:
    """One story: draws a plot and fills its slots `c`; then has `title`, `text`, `short` (a summary) and `qa` (questions with
    answers). The order of the draws is part of the corpus: another order makes other documents."""

    def __init__(self, rng):
        self.rng, self.topic, self.F = rng, None, None
        c = self.c = {}
        c.update(oh="[Oh no!|Oh dear!|Dear me!|Goodness!|Oh my!]", yay="[Hooray!|Wonderful!|We did it!|How lovely!|At last!]",
                 sad=self.pick(FEEL_SAD), cake=self.pick(CAKES), num=self.pick(NUMS), tree=self.pick(TREES))
        c.update(HELLO_F=HELLO_F, OFFER=OFFER, THANKS=THANKS, NIGHT=NIGHT, END=END)
        self.weather(self.pick(list(WEATHER)))
        self.adult(rng.random() < 0.6)
        c["drop"] = self.pick([.5, .8, 1, 1])
        self.plot = self.pick(MINI if self.chance(.3) else PLOTS)
        title, text, short, self.qa = self.plot(self)
        tr = self.some(2, TRAITS)
        c.update(trait=tr[0], trait2=tr[1], hobby=self.pick(HOBBIES), age=self.pick(["five", "six", "seven", "eight", "nine"]))
        s = self.pick(SETTINGS if self.H["kid"] or rng.random() < 0.35 else WILD)
        c["set"] = s
        c["inset"] = next((v for k, v in IN.items() if s.startswith(k)), "in ") + s
        pool = INTRO + (INTRO_KID if self.H["kid"] else INTRO_ANIMAL)
        first = self.pick(pool)
        c["q"] = "."
        lead = expand(first, c, rng)
        if lead.startswith("Have you ever"):
            lead = lead[:-1] + "?"
        second = expand(self.pick(INTRO2), c, rng)
        self.uses_hobby = c["hobby"] in second
        c["INTRO"] = (lead + " " + second).replace("{", "").replace("[", "")
        self.title = title_case(polish(expand(title, c, rng)))
        self.text = polish(expand(text, c, rng))
        self.short = polish(expand(short, c, rng))
        self.qa = [(polish(expand(q, c, rng)), polish(expand(a, c, rng))) for q, a in self.qa]
        self.qa.append(("What is the name of the hero?", f"The hero is named {c['h']['']}."))
        self.qa.append((f"Who is {c['h']['']}?", f"{c['h']['']} is {c['h']['a']}."))

    def pick(self, x):
        """One of x. Not random.choice, whose draws are not the same in every version of Python."""
        return x[int(self.rng.random() * len(x))]

    def some(self, n, x):
        """n different ones of x."""
        return self.rng.sample(x, n)

    def chance(self, p):
        return self.rng.random() < p

    def set(self, **kw):
        """Fills slots of the template."""
        self.c.update(kw)
        for k, v in kw.items():
            if v and k in ("it",):
                self.c["It"] = v[0].upper() + v[1:]

    def weather(self, w):
        self.c["w"], self.c["wx"] = w, self.pick(WEATHER[w])

    def adult(self, family):
        f = self.chance(.5)
        name = self.pick((ADULTS_F if f else ADULTS_M) if family else (ROLES_F if f else ROLES_M))
        self.c["adult"] = name
        self.c["g"] = pronouns(f)

    def family(self):
        self.adult(True)

    def person(self, kind, name, female):
        """The slots of a child (kind None) or an animal."""
        d = pronouns(female)
        if kind is None:
            k = "girl" if female else "boy"
            adj, hand = self.pick(CHILD_ADJ), "hand"
        else:
            k = kind
            adj, hand = self.pick(ANIMALS[kind][0].split()), ANIMALS[kind][1]
        d.update({"": name, "kindname": k, "adj": adj, "a": fix_an(f"a {adj} {k}"), "the": f"the {adj} {k}",
                  "hand": hand, "hands": PLURAL[hand], "wrist": WRIST[hand], "kid": kind is None, "female": female})
        return d

    def hero(self, kind=None, kid=False):
        f = self.chance(.5)
        if kind is None and not kid and self.chance(.55):
            kind = self.pick(list(ANIMALS))
        self.H = self.c["h"] = self.person(kind, self.pick(GIRLS if f else BOYS), f)

    def friend(self, kind=None):
        h = self.H
        f = (not h["female"]) if self.chance(.85) else h["female"]
        if kind is None and self.chance(.4 if h["kid"] else .9):
            kind = self.pick([k for k in ANIMALS if k != h["kindname"]])
        name = self.pick([n for n in (GIRLS if f else BOYS) if n != h[""]])
        self.F = self.c["f"] = self.person(kind, name, f)

    def obj(self, noun):
        """The object that the story is about."""
        self.simple_obj(noun)
        self.topic = [noun]

    def simple_obj(self, noun, adj=None):
        if adj is None:
            adj = self.pick(["silver", "golden", "shiny", "brass", "copper"] if noun in METAL else COLORS)
        self.c["o"] = {"": noun, "adj": adj, "full": f"{adj} {noun}", "a": fix_an(f"a {adj} {noun}")}

    def json(self):
        """The hero as a JSON object."""
        age = {"five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}[self.c["age"]]
        likes = self.some(self.pick([1, 2, 2, 3]), LIKES)
        return json.dumps({"name": self.H[""], "animal": None if self.H["kid"] else self.H["kindname"],
                           "age": age, "likes": likes})


def pronouns(f):
    return dict(zip(("he", "him", "his", "self"), ("she", "her", "her", "herself") if f else ("he", "him", "his", "himself")))


def fix_an(s):
    return re.sub(r"^a (?=[aeiou])", "an ", s)


def title_case(s):
    small = {"the", "a", "an", "and", "in", "on", "of", "to", "for"}
    w = s.split()
    return " ".join(x if i and x in small else x[0].upper() + x[1:] for i, x in enumerate(w))


def turn(role, text):
    return f"<|im_start|>{role}\n{text}<|im_end|>\n"


def art(noun):
    """The noun as a topic: with the article that it takes, or none."""
    if noun in ("swimming", "skating", "whistling", "juggling", "rowing", "reading", "dancing", "baking", "bees", "moon") \
            or (noun.endswith("s") and noun != "compass"):
        return "the moon" if noun == "moon" else noun
    return "the fear of the dark" if noun.startswith("fear") else fix_an("a " + noun)


def request(s, rng):
    """What a user types to get the story s."""
    h = s.H
    who = fix_an("a " + h["kindname"])
    t = art(s.topic[0])
    p = s.pick(["Tell me a story", "Tell me a story", "Tell me a story", "Write a story", "Can you tell me a story", "Please tell me a story",
                "I would like a story", "Write a short story"])
    end = "?" if p.startswith("Can") else "."
    r = rng.random()
    if r < .45:
        return f"{p} about {who} and {t}{end}"
    if r < .6:
        return f"{p} about {who}{end}"
    if r < .7:
        return f"{p} about {t}{end}"
    if r < .8:
        return f"{p} about {who} named {h['']}{end}"
    if r < .87 and s.F:
        return f"{p} about {h['']} and {s.F['']}{end}"
    if r < .93:
        return f"Write a story with the title \"{s.title}\"."
    return p + end


def hero_json(s, rng):
    """A chat that asks for a hero as JSON."""
    h = s.H
    r = rng.random()
    if r < .35:
        q = s.pick(["Invent a hero as JSON.", "Describe a hero as JSON.", "Give me a hero for a story as JSON."])
    elif r < .7:
        q = f"Describe {fix_an('a ' + h['kindname'])} named {h['']} as JSON."
    else:
        q = f"Describe {fix_an('a ' + h['kindname'])} as JSON."
    return turn("user", q) + turn("assistant", s.json())


SMALL_TALK = [
    (["Hello!", "Hi!", "Good morning!", "Hello, how are you?", "Hi there!"],
     ["Hello! Shall I tell you a story?", "Hello! I know many stories. Would you like to hear one?", "Good day! What shall the story be about?"]),
    (["Who are you?", "What is your name?", "What are you?"],
     ["I am Inkstone Story, a very small storyteller.", "My name is Inkstone Story. I tell little stories."]),
    (["What can you do?", "How can you help me?"],
     ["I can tell little stories, answer questions about them, make them shorter and describe a hero as JSON."]),
    (["Thank you!", "Thanks!", "That was a nice story.", "I liked it."],
     ["You are welcome! Shall I tell you another one?", "I am glad that you liked it.", "You are very welcome!"]),
    (["Good night!", "Bye!", "Goodbye!", "See you tomorrow."],
     ["Good night, and sweet dreams!", "Goodbye! Come back soon for another story."]),
]


def answerable(qa, text):
    """Whether every longer word of the answer stands in the text or in the question."""
    words = lambda t: {w for w in re.findall(r"[a-z]+", t.lower()) if len(w) > 3}
    if any(w not in text for w in re.findall(r"[A-Z][a-z]+", qa[1][1:])):
        return False
    return words(qa[1]) - {"were", "with", "they", "their", "because", "found", "name", "named", "called", "hero", "together"} \
        <= words(text + " " + qa[0])


PLACES = ["under a stone", "behind the mill", "in the garden", "by the river", "under the bed", "on the beach", "in the barn",
          "on the bridge", "near the well", "in a hollow tree", "behind the door", "in the forest", "under the table"]
THINGS = [t for t in SMALL_THINGS if " " not in t] + ["kite", "ball", "drum", "hat", "lantern", "basket", "book", "boat", "scarf"]


def facts(s, rng):
    """Two or three facts about two or three people, and questions about them."""
    people, text, qa = [], [], []
    for _ in range(s.pick([2, 2, 3])):
        s.friend()
        if s.F[""] not in [p[""] for p in people]:
            people.append(s.F)
    things, places = s.some(3, THINGS), s.some(3, PLACES)
    for p, t, pl in zip(people, things, places):
        n = p[""]
        s.simple_obj(t)
        o = s.c["o"]
        k = s.pick(["found", "found", "lives", "likes", "gave", "has"])
        if k == "gave" and len(people) < 2:
            k = "has"
        intro = s.pick([f"{n} is {p['a']}. ", f"{n} is {p['a']}. ", ""])
        if intro:
            qa.append((f"Who is {n}?", f"{n} is {p['a']}."))
        if k == "found":
            text.append(intro + f"{n} found {o['a']} {pl}.")
            qa += [(f"Who found the {t}?", f"{n} found the {t}."), (f"What did {n} find?", f"{n} found {o['a']}."),
                   (f"Where was the {t}?", f"The {t} was {pl}.")]
        elif k == "lives":
            where = s.pick(SETTINGS)
            w = next((v for x, v in IN.items() if where.startswith(x)), "in ") + where
            text.append(intro + f"{n} lives {w}.")
            qa += [(f"Where does {n} live?", f"{n} lives {w}."), (f"Who lives {w}?", f"{n} lives there.")]
        elif k == "likes":
            hobby = s.pick(HOBBIES)
            text.append(intro + f"{n} likes {hobby}.")
            qa += [(f"What does {n} like?", f"{n} likes {hobby}."), (f"Who likes {hobby}?", f"{n} likes {hobby}.")]
        elif k == "gave":
            other = s.pick([x for x in people if x is not p])[""]
            text.append(intro + f"{n} gave {other} {o['a']}.")
            qa += [(f"What did {n} give to {other}?", f"{n} gave {other} {o['a']}."), (f"Who gave {other} the {t}?", f"{n} gave {other} the {t}."),
                   (f"Who got the {t}?", f"{other} got the {t}.")]
        else:
            text.append(intro + f"{n} has {o['a']}.")
            qa += [(f"Who has the {t}?", f"{n} has the {t}."), (f"What does {n} have?", f"{n} has {o['a']}."),
                   (f"What color is the {t}?", f"The {t} is {o['adj']}.")]
    q = s.some(min(len(qa), s.pick([1, 2, 3])), qa)
    out = turn("user", s.pick(["", "", "Read this: "]) + " ".join(text) + " " + q[0][0]) + turn("assistant", q[0][1])
    return out + "".join(turn("user", x[0]) + turn("assistant", x[1]) for x in q[1:])


def chat(s, rng):
    """A chat about the story s."""
    out = []
    if rng.random() < .12:
        out.append(turn("system", s.pick(["You are a friendly storyteller.", "You are a helpful assistant.", "You tell stories for children."])))
    r = rng.random()
    if r < .12:
        q, a = SMALL_TALK[int(rng.random() * len(SMALL_TALK))]
        out.append(turn("user", s.pick(q)) + turn("assistant", s.pick(a)))
        if rng.random() < .35:
            return "".join(out)
    elif r < .22:
        return "".join(out) + hero_json(s, rng)
    elif r < .32:
        return "".join(out) + facts(s, rng)
    elif r < .40:
        # questions about a short text
        known = [x for x in s.qa if answerable(x, s.short)]
        if not known:
            return "".join(out) + hero_json(s, rng)
        q = s.some(min(len(known), s.pick([1, 2])), known)
        lead = s.pick(["", "Read this: ", "Here is a story: "])
        out.append(turn("user", f"{lead}{s.short} {q[0][0]}") + turn("assistant", q[0][1]))
        for x in q[1:]:
            out.append(turn("user", x[0]) + turn("assistant", x[1]))
        return "".join(out)
    elif r < .46:
        return "".join(out) + turn("user", s.pick(["Make it shorter: ", "Make this shorter: ", "Tell it in one or two sentences: "]) + s.text.replace("\n\n", " ")) \
            + turn("assistant", s.short)
    elif r < .52:
        i = s.text.index(". ", 30) + 1
        return "".join(out) + turn("user", s.pick(["Continue: ", "Continue the story: ", "Go on: "]) + s.text[:i]) + turn("assistant", s.text[i:].strip())
    out.append(turn("user", request(s, rng)) + turn("assistant", s.text))
    for _ in range(s.pick([0, 1, 1, 2, 2, 3])):
        r = rng.random()
        if r < .6:
            q = s.pick(s.qa)
            out.append(turn("user", q[0]) + turn("assistant", q[1]))
        elif r < .8:
            out.append(turn("user", s.pick(["Make it shorter.", "Make it shorter, please.", "Tell it in one or two sentences.", "Shorter!"])) + turn("assistant", s.short))
        elif r < .95:
            out.append(turn("user", s.pick(["Describe the hero as JSON.", "Describe the hero as JSON, please.", "Give me the hero as JSON."])) + turn("assistant", s.json()))
        else:
            q, a = SMALL_TALK[3]
            out.append(turn("user", s.pick(q)) + turn("assistant", s.pick(a)))
            break
    return "".join(out)


def document(seed, i, share=.15):
    """(kind, text) of document i; share is that of the chat documents."""
    rng = random.Random(f"{seed}:{i}")
    s = Story(rng)
    while len(s.text.split()) > 300:
        s = Story(rng)
    r = rng.random()
    if r < share:
        return "chat", chat(s, rng)
    if r < share * 17 / 15:
        return "json", hero_json(s, rng)
    if r < share * 17 / 15 + .1:
        return "story", s.title + "\n\n" + s.text
    return "story", s.text


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--out")
    ap.add_argument("--docs", type=int, default=60000)
    ap.add_argument("--first", type=int, default=0)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--chat", type=float, default=.15, help="share of the chat documents")
    ap.add_argument("--show", type=int, default=0)
    a = ap.parse_args()
    if a.show:
        for i in range(a.first, a.first + a.show):
            k, t = document(a.seed, i, a.chat)
            print(f"=== {i} {k} {len(t.split())} words\n{t}\n")
        return
    seen, dup, chars, words, kinds = set(), 0, 0, collections.Counter(), collections.Counter()
    with open(a.out, "w", encoding="utf-8") as f:
        for i in range(a.first, a.first + a.docs):
            k, t = document(a.seed, i, a.chat)
            d = hashlib.blake2b(t.encode(), digest_size=12).digest()
            if d in seen and len(t) > 400:
                dup += 1
                continue
            seen.add(d)
            kinds[k] += 1
            chars += len(t)
            if i % 10 == 0:
                words.update(re.findall(r"[a-z]+", t.lower()))
            f.write(json.dumps({"kind": k, "text": t}) + "\n")
    print(f"{dict(kinds)} documents, {chars} characters, {dup} exact duplicates of long documents dropped, "
          f"{len(words)} different words in a tenth of it, {sum(1 for w in words.values() if w >= 10)} of them 10 times or more")


if __name__ == "__main__":
    main()
