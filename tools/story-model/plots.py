"""The plots: a table of texts, therefore one long file. Each function fills the story S (slots with S.set, people with S.hero/S.friend/...) and returns
(title, text, summary, questions). Facts that are set early are used again later."""
import re

from grammar import BIG, FLYING, FRUITS, ONE, SMALL, SMALL_THINGS, TREES

PLOTS = []


def the(s):
    """`a kite` as `the kite`."""
    return re.sub("^an? ", "the ", s)


def plot(f):
    """Enters a plot in the table."""
    PLOTS.append(f)
    return f


# Sentences that several plots share. {h} hero, {f} friend, {o} object.
HELLO_F = ("Just then {f}, {f.a}, came [along the path|by|around the corner|walking by]. "
           "\"[What is the matter?|Why do you look so {sad}?|What happened?|Is something wrong?]\" asked {f}. "
           "[!{h} told {f.him} everything.|{h} explained what had happened.|{h} told {f.him} the whole story.]")
OFFER = ("\"[Don't worry|Don't be sad|Cheer up], I will help you,\" said {f}. "
         "\"[Two heads are better than one.|Together we can do it.|That is what friends are for.|We will think of something.]\"")
THANKS = ("\"[Thank you|Thank you so much|Oh, thank you], {f}!\" said {h}. [\"You are a true friend.\"|"
          "\"I could not have done it without you.\"|\"What would I do without you?\"|{h.He} gave {f.him} a big hug.|]")
NIGHT = ("[That night, {h} fell asleep with a smile.|That evening, {h} went to bed tired and happy.|"
         "When the stars came out, {h} was already fast asleep.|"
         "And when {h} closed {h.his} eyes that night, {h.he} was still smiling.|That night, {h} slept very well.]")
END = "[|||The end.]"


@plot
def kite_in_tree(S):
    S.hero(); S.friend(); S.obj(S.pick(["kite", "balloon", "paper plane", "ball", "hat", "kite", "kite"]))
    S.weather("windy")
    S.set(tree=S.pick(TREES))
    tries = S.some(2 if S.chance(.6) else 1, [
        "[{h} jumped as high as {h.he} could, but {h.he} could not reach it.|{h} jumped and jumped, but the branch was much too high.]",
        "[{h} threw a stick at it, but the stick got stuck in the tree too.|{h} threw a pine cone at it, but {h.he} missed every time.]",
        "[{h} shook the trunk with all {h.his} strength. A few leaves fell down, but the {o} did not move.|{h} pushed against the trunk, but the {tree} was thick and strong.]",
        "{h} tried to climb the trunk, but the bark was [smooth|wet and slippery], and {h.he} slid down again.",
        "{h} fetched a long [rake|broom|stick] from home, but it was still too short."])
    S.set(t1=tries[0], t2=tries[1] if len(tries) > 1 else "")
    fix = S.pick([
        "{f} climbed onto {h}'s shoulders, stretched out one {f.hand} and [pulled|tugged] gently until the {o} came free.",
        "They carried an old ladder from the [barn|shed|mill]. {f} held it tight, and {h} climbed up step by step and took down the {o}.",
        "{f} tied a hook to a long rope. {h} threw it over the branch, and together they pulled until the branch bent low and the {o} slid down."])
    if S.F["kindname"] in FLYING:
        fix = "{f} spread {f.his} wings, flew up to the top of the {tree} and brought the {o} down, safe and sound."
    elif S.F["kindname"] in ("squirrel", "monkey", "cat"):
        fix = "{f} was the best climber of all. {f.He} ran up the trunk, hopped from branch to branch and carefully brought the {o} down."
    S.set(fix=fix)
    return ("The {o.full} in the Tree", """
{INTRO} {h.He} had {o.a}, and {h.he} [took it everywhere|loved it very much|was very proud of it].
// One [morning|afternoon|day], {wx}, and {h} went to the [meadow|hill|park] to play with the {o}.
[Suddenly|All at once], [a strong gust of wind|the wind] tore the {o} out of {h.his} {h.hands} and carried it away. It landed [high up in|in the top of] a tall {tree}.
"{oh} My {o.full} is stuck!" cried {h}. {t1} {t2} [{h} sat down under the {tree} and felt {sad}.|At last {h.he} sat down in the grass, very {sad}.]
// {HELLO_F} {OFFER} [They looked up at the {tree} and made a plan.|They thought for a while. Then {f} had an idea.]
{fix} "{yay}" [they both shouted|cried {h}|laughed {h}].
// {THANKS} [For the rest of the day|Until the sun went down], {h} and {f} played with the {o} together.
[From then on, {h} always held the {o} with both {h.hands} when the wind was blowing.|{h} had learned that a problem is only half as big when a friend helps you.|And the {o.full} never flew away again.] {END}""",
        "The wind carried {h}'s {o.full} into a tall {tree}. {f} helped to get it down, and then they played together.",
        [("Where was the {o}?", "The {o} was stuck in a tall {tree}."),
         ("Who helped {h}?", "{f}, {f.a}, helped {h}."),
         ("What color was the {o}?", "The {o} was {o.adj}.")])


@plot
def lost_object(S):
    S.hero(); S.friend(); S.obj(S.pick(SMALL_THINGS))
    # the clue that is told at the start is the place where it is found
    place = S.pick([("stopped at the well to drink", "beside the well", "the well"),
                    ("sat down on the stone bridge to rest", "on the stone bridge", "the bridge"),
                    ("picked some flowers by the mill", "between the flowers by the mill", "the mill"),
                    ("crawled through a hole in the hedge", "under the hedge", "the hedge"),
                    ("helped the farmer to feed the hens", "in the hay of the hen house", "the hen house"),
                    ("rolled down the green hill just for fun", "in the soft grass at the bottom of the hill", "the green hill"),
                    ("looked at the boats in the harbor", "between the ropes in the harbor", "the harbor"),
                    ("threw pebbles into the pond", "in the sand at the edge of the pond", "the pond"),
                    ("played in the pile of autumn leaves", "under the pile of autumn leaves", "the pile of leaves"),
                    ("climbed the old apple tree", "in the grass below the old apple tree", "the old apple tree")])
    S.set(did=place[0], there=place[1], spot=place[2])
    wrong = S.some(2, [
        "{h.He} looked under the bed, but there was only [dust|an old sock].",
        "{h.He} looked in the kitchen, but {h.he} found only crumbs.",
        "{h.He} searched every drawer, but {h.he} found only [string and candles|spoons and buttons].",
        "{h.He} turned {h.his} bag upside down, but nothing fell out of it but an apple core.",
        "{h.He} looked behind the door, but there was only a sleepy spider.",
        "{h.He} looked in the garden, but {h.he} found nothing but [worms|weeds]."])
    S.set(w1=wrong[0], w2=wrong[1])
    return ("The Lost {o.full}", """
{INTRO} {h.His} [dearest treasure|favorite thing] was {o.a} that {adult} had given {h.him}. {h.He} carried it in {h.his} pocket [wherever {h.he} went|every day].
// One {w} [day|afternoon], {h} went for a long walk. On the way home, {h.he} {did}. When {h.he} came home, {h.he} put {h.his} {h.hand} into {h.his} pocket. It was empty! The {o.full} was gone.
"{oh} [Where is my {o}?|I have lost my {o}!]" cried {h}. {w1} {w2} {h} [felt very {sad}|was so {sad} that {h.he} could not eat {h.his} supper|almost began to cry].
// {HELLO_F} [{f} thought for a moment.|{f} sat down and scratched {f.his} head.] "[Let us think|Try to remember]," {f.he} said. "Where did you go today?"
"Well," said {h} slowly, "I went for a long walk, and then I {did}."
"[Then that is where we will look!|Then let us look there first!]" said {f}.
// They [ran|hurried|walked] back to {spot}. [They looked to the left and to the right.|They searched on their knees.|{f} looked on one side and {h} on the other.] [Suddenly|Then] something caught {h}'s eye. There, {there}, lay the {o.full}!
"{yay}" cried {h}. {THANKS}
// [From that day on, {h} kept the {o} on a string around {h.his} neck.|{h} sewed a button on {h.his} pocket, so that the {o} could never fall out again.|And whenever {h} lost something again, {h.he} remembered to sit down and think first.] {END}""",
        "{h} lost {o.a} on a walk. {f} asked where {h.he} had been, and they found it {there}.",
        [("Who found the {o}?", "{h} and {f} found the {o} together."),
         ("Where was the {o}?", "It was {there}."),
         ("What did {h} lose?", "{h} lost {o.a}.")])


@plot
def broken_thing(S):
    S.hero(); S.friend(); S.family(); S.weather(S.pick(["cold", "windy"]))
    S.obj(S.pick(["vase", "cup", "plate", "jug", "bowl", "teapot", "lamp", "flower pot", "mirror"]))
    S.set(toy=S.pick(["ball", "hoop", "wooden sword", "skipping rope", "toy horse"]),
          hid=S.pick(["under the carpet", "behind the sofa", "in the cupboard", "under the bed", "in a basket of wool"]))
    return ("The Broken {o}", """
{INTRO} {h.He} often visited {adult}, who had {o.a} on a shelf. "[Please be careful|Be careful] with it," {adult} always said. "It is very old."
// One {w} [day|afternoon], {h} was alone in the room with {h.his} {toy}. {h.He} [knew that {h.he} should play outside|was not supposed to play inside], but {wx}, and {h.he} [wanted to play just for a minute|thought that nothing would happen].
[Crash!|Bang!|Crack!] The {toy} hit the shelf, and the {o.full} fell to the floor and broke into {num} pieces.
"{oh}" whispered {h}. {h.He} [quickly hid|picked up the pieces and hid] them {hid}. Then {h.he} went outside and [pretended that nothing had happened|sat down on the steps].
// But {h} could not [play|laugh|enjoy the day]. {h.His} [tummy hurt|heart felt heavy], and {h.he} thought only of the {o}. {f}, {f.a}, [sat down beside {h.him}|saw {h.his} face]. "What is wrong?" asked {f}.
"I broke the {o}," said {h} in a small voice, "and I hid the pieces."
"[You should tell the truth|Tell the truth]," said {f}. "[I will come with you.|It will be hard for one minute, and then it will be over.|You will feel better, I promise.]"
// {h} took a deep breath and went to {adult}. "I am sorry," {h.he} said. "I played inside with my {toy}, and I broke your {o}. I hid the pieces {hid}."
{adult} was quiet for a moment. [Then {g.he} smiled.|Then {g.he} took {h}'s {h.hand}.] "[I am sad about the {o}|The {o} was dear to me], but I am glad that you told me the truth. [A {o} can be mended.|Let us see what we can do.]"
// They sat down at the table with a pot of glue. [Piece by piece|Slowly and carefully], they put the {o} together again. "Now it is [even more beautiful|more special than before]," said {adult}, "because [it has a story to tell|we mended it together]."
[{h}'s heart was light again.|{h} felt as light as a feather.] [And {h.he} never played with the {toy} inside the house again.] {END}""",
        "{h} broke {adult}'s {o} and hid the pieces. Then {h.he} told the truth, and they mended the {o} together.",
        [("What did {h} break?", "{h} broke {o.a} that belonged to {adult}."),
         ("Where did {h} hide the pieces?", "{h} hid the pieces {hid}."),
         ("Why was {adult} glad?", "{adult} was glad because {h} told the truth.")])


@plot
def birthday_gift(S):
    S.hero(); S.friend()
    S.obj(S.pick(["scarf", "basket", "boat", "flute", "lantern", "kite", "hat", "pillow", "blanket", "necklace", "drum"]))
    miss = S.pick([("glue", "pine resin"), ("string", "long blades of grass"), ("paint", "the juice of berries"),
                   ("ribbon", "a strip of an old shirt"), ("buttons", "acorn caps")])
    S.set(miss=miss[0], sub=miss[1])
    return ("A Gift for {f}", """
{INTRO} {h.His} best friend was {f}, {f.a}. Tomorrow was {f}'s birthday, and {h} had no gift!
// "I have no money," thought {h}. "[But I can make something with my own {h.hands}.|So I will make something myself.]" {h.He} knew that {f} [had always wanted|often dreamed of] {o.a}. So {h} [sat down at the table and began to work|went to work at once].
{h.He} [measured and cut|worked and worked] until [noon|the clock struck four]. But then {h.he} looked into the box and saw that there was no {miss} left. "{oh} Without {miss} I cannot finish the {o}!"
// [{h.He} asked the shopkeeper, but the shop was closed.|{h.He} knocked on the neighbor's door, but nobody was at home.] [{h.He} asked {adult}, but {g.he} had none either.|{h.He} looked in the shed, but there was none.] {h} [was close to tears|sat down on the doorstep and sighed].
Then {h.he} remembered something that {adult} had once told {h.him}: "If you do not have what you need, use what you have." {h} [looked around|thought hard]. "I could use {sub}!" {h.he} cried. [!It was not easy, but it worked.|It took a long time, but it worked.|It worked even better than {h.he} had hoped.]
// The next day, {f} [opened|unwrapped] the gift. {f.His} eyes grew wide. "[{o.A}!|Oh, {o.a}!] Did you make it yourself?"
"Yes," said {h}, "but [I had no {miss}, so I used {sub}|it is not perfect, because I had no {miss}]. [I hope you like it.|Do you like it?]"
"I love it," said {f}. "[It is the best gift of all, because you made it for me.|Nobody else in the world has one like it.|It is perfect, because it comes from you.]"
// Then they ate {cake} and [danced|sang|laughed] until the [stars|moon] came out. [And {f} kept the {o.full} for many, many years.|{h} was happy, because giving is even nicer than getting.] {END}""",
        "{h} wanted to make {o.a} for {f}'s birthday. There was no {miss}, so {h.he} used {sub}, and {f} loved the gift.",
        [("What did {h} make?", "{h} made {o.a}."), ("Whose birthday was it?", "It was {f}'s birthday."),
         ("What did {h} use instead of {miss}?", "{h} used {sub}.")])


@plot
def sharing(S):
    S.hero(); S.friend()
    fr = S.pick(FRUITS)
    S.set(fruit=fr, one=ONE[fr], place=S.pick(["the orchard", "the edge of the forest", "the sunny side of the hill", "the old garden"]))
    S.topic = [fr]; S.simple_obj("basket")
    return ("The Basket of {fruit}", """
{INTRO} One {w} [morning|day], {h} went to {place} and picked {fruit} until {h.his} {o.full} was full to the top.
"[All of these are mine|These {fruit} are all for me]," said {h}. "[I will not share them with anybody.|Nobody else will get a single one.]"
// On the way home, {h.he} met {f}, {f.a}. "[What lovely {fruit}!|Those {fruit} look delicious!]" said {f}. "[May I have one?|Could I taste one?] I have not eaten [since yesterday|since early this morning]."
"No," said {h}. "[Pick your own {fruit}.|I picked them, so they are mine.]" {f} [said nothing and walked away with {f.his} head down|looked {sad} and went away].
// {h} walked on. The {o} was so heavy that {h.his} {h.hands} began to hurt. [At the bridge|On the steep path], {h.he} stumbled over a root. {h.He} fell down, and the {fruit} rolled [down the hill|in all directions|into the bushes].
"{oh} My {fruit}!" cried {h}. {h.He} tried to catch them, but there were too many. [{h.He} sat on the ground, and a tear ran down {h.his} cheek.|{h.He} sat down on a stone and did not know what to do.]
// Then {h.he} heard a voice. "[I will help you|Wait, I will help you]," said {f}. [{f.He} had heard {h} cry and had come back.|{f.He} had come back, even though {h} had been so unkind.] Together they picked up the {fruit} one by one until the {o} was full again.
{h}'s cheeks turned red. "[Why did you help me?|You helped me, even though I was mean to you.]" asked {h}. "I did not even give you one {one}."
"[Because you needed help|Because that is what friends do]," said {f}.
// "[Please|Here], take half of the {fruit}," said {h}. "I am sorry that I was so [greedy|selfish]." They sat down in the [shade|grass] and ate {fruit} together until they were full.
"[How strange|Funny]," said {h}. "[They taste much better when I share them.|The {fruit} are sweeter now than before.]" {f} [laughed|nodded|smiled], and {h} laughed too. {END}""",
        "{h} did not want to share {h.his} {fruit}. Then {h.he} fell, and {f} helped to pick them up, so {h} shared them after all.",
        [("What was in the basket?", "The basket was full of {fruit}."),
         ("Who helped {h}?", "{f} helped {h}, even though {h} had not shared."),
         ("What did {h} learn?", "{h} learned that {fruit} taste better when you share them.")])


@plot
def afraid_dark(S):
    S.hero(); S.friend()
    what = S.pick([("a tapping sound at the window", "only a branch that tapped against the glass"),
                   ("a soft hoot", "only an owl that was calling to its friends"),
                   ("a creak on the stairs", "only the old wood that stretched itself in the cold"),
                   ("a rustle in the corner", "only a tiny mouse that was looking for crumbs"),
                   ("a low rumble", "only the cat that was purring in its sleep")])
    S.set(sound=what[0], only=what[1])
    S.simple_obj("lantern"); S.topic = ["fear of the dark"]
    return ("{h} and the Dark", """
{INTRO} {h} was [not afraid of anything|very brave] as long as the sun was in the sky. But there was one thing that {h.he} did not tell anybody: {h.he} was afraid of the dark.
// One evening, [the lamp went out|the candle burned down], and everything around {h.him} was black. Then {h} heard {sound}. {h.His} heart began to beat fast. [{h.He} pulled the blanket over {h.his} head.|{h.He} did not dare to move.] "Is somebody there?" {h.he} [whispered|asked in a small voice]. Nobody answered.
// The next day, {h} told {f}, {f.a}, about it. {h.He} was afraid that {f} would laugh, but {f} did not laugh. "[I was afraid of the dark too|I know how that feels]," said {f}. "[!{adult} taught me a trick.|But then I found a trick.] When you hear a sound, take a light and go to look what it is."
{f} gave {h} {o.a}. "[You can keep it as long as you need it|I will lend it to you]," {f.he} said.
// That night, {h} put the {o.full} beside the bed. [It was dark and quiet.|Soon it was very dark.] Then it came again: {sound}! {h} wanted to hide. But {h.he} remembered what {f} had said. {h.His} {h.hands} were shaking, but {h.he} lit the {o} and [got up|went to look], one step, two steps, three steps.
And what did {h.he} see? It was {only}! {h} began to laugh. "[So that is all|And I was so afraid of that]!" {h.he} said.
// {h} put out the light and looked through the window. [The sky was full of stars.|The moon was round and bright.] "[You can only see the stars when it is dark|The dark is not bad at all]," thought {h}. "[The dark is not my enemy.|It is only the day with its eyes closed.]"
[After a week, {h} gave the {o.full} back to {f}.|In the morning, {h} gave the {o.full} back to {f}.] "[I do not need it anymore,|Thank you, but now I can sleep without it,]" {h.he} said [proudly|with a smile]. {END}""",
        "{h} was afraid of the dark because of {sound}. With {f}'s {o} {h.he} went to look: it was {only}.",
        [("What was {h} afraid of?", "{h} was afraid of the dark."),
         ("What made the sound?", "It was {only}."), ("What did {f} give to {h}?", "{f} gave {h} {o.a}.")])


@plot
def learning(S):
    S.hero(); S.friend()
    k = S.pick([("swim", "the lake", "swam", "swimming", ["{h.He} jumped in, swallowed a lot of water and had to hold on to a root.", "{h.He} kicked with {h.his} legs, but {h.he} went in circles.", "{h.He} tried it with a log, but the log rolled over, and {h.he} fell into the water with a splash."], "breathe slowly and move calmly"),
                ("skate", "the frozen pond", "skated", "skating", ["{h.He} took one step and sat down on the ice.", "{h.He} slid straight into a pile of snow.", "{h.His} feet went in two directions, and {h.he} landed on {h.his} tummy."], "bend your knees and look ahead"),
                ("whistle", "the garden", "whistled", "whistling", ["{h.He} blew as hard as {h.he} could, but there was only air.", "{h.He} pressed {h.his} lips together, but it sounded like a leaking kettle.", "{h.He} puffed up {h.his} cheeks, but it only tickled."], "make your lips small and blow softly"),
                ("juggle", "the yard", "juggled", "juggling", ["The first ball fell on {h.his} nose.", "The second ball rolled under the fence.", "All three balls flew in different directions, and one landed in the soup."], "start with one ball, then two, then three"),
                ("row a boat", "the lake", "rowed a boat", "rowing", ["{h.He} pulled so hard that {h.he} fell backward.", "The boat turned around and around like a top.", "{h.He} lost one oar, and it took an hour to get it back."], "pull both oars at the same time"),
                ("read", "the library", "read", "reading", ["The letters danced before {h.his} eyes like ants.", "{h.He} mixed up the letters and read cat instead of cart.", "{h.He} knew the first word, but the second was as long as a snake."], "look at one letter after the other"),
                ("dance", "the village hall", "danced", "dancing", ["{h.He} stepped on everybody's toes.", "{h.He} turned left when all the others turned right.", "{h.He} got so dizzy that {h.he} had to sit down."], "listen to the drum and count to four"),
                ("bake bread", "the kitchen", "baked bread", "baking", ["The first loaf was as hard as a stone.", "The second loaf was black on the outside and soft inside.", "The third loaf did not rise at all, because {h.he} had forgotten the yeast."], "knead it well and give it time")])
    t = S.some(2, k[4])
    if k[0] in ("bake bread", "juggle"):
        t = k[4][:2]
    S.set(verb=k[0], where=k[1], past=k[2], ing=k[3], t1=t[0], t2=t[1], tip=k[5])
    S.topic = [k[3]]; S.simple_obj("medal")
    return ("{h} Learns to {verb}", """
{INTRO} There was one thing that {h} wanted more than anything: {h.he} wanted to learn to {verb}. [All the others could do it already.|{h.His} friends made it look so easy.]
// One {w} [morning|day], {h.he} went to {where} and tried. {t1} "[That was not so good|Never mind]," said {h}, and {h.he} tried again. {t2} [Somebody laughed, and {h.his} cheeks turned red.|{h.He} was tired and {sad}.] "I will never learn it!" {h.he} said, and {h.he} [stamped {h.his} foot|wanted to go home].
// "[Wait|Don't give up]!" called {f}, {f.a}, who had been watching. "[I tried it a hundred times before I could do it|It took me a whole summer to learn it]. [The secret is this|I will tell you the secret]: {tip}."
"[Really?|Is that all?]" asked {h}.
"That, and trying once more than you want to," said {f}. {f.He} showed {h} how to do it, very slowly.
// So {h} [practiced every day|came back the next day, and the day after that]. On Monday it was still [bad|terrible]. On Wednesday it was a little better. On Friday {h.he} could almost do it. {h.He} always remembered what {f} had said: {tip}.
And on Sunday, [it suddenly worked|it happened]! {h} {past}, [all alone|without any help], [and everybody clapped|and {f} cheered so loudly that the birds flew up].
"{yay} I can {verb}!" cried {h}.
"[I knew that you could do it|You see]," said {f}. "[You never gave up.|Nobody can do it the first time.]"
// [From that day on, {h} loved {ing}.|Now {h} loves {ing} more than anything.] And when {h.he} sees somebody who [tries and fails|wants to give up], {h.he} says, "[Try it once more than you want to!|Don't give up. I will show you the secret!]" {END}""",
        "{h} wanted to learn to {verb}, but it was hard. {f} gave {h.him} good advice, {h} practiced every day, and at last it worked.",
        [("What did {h} want to learn?", "{h} wanted to learn to {verb}."),
         ("What was the secret?", "The secret was this: {tip}."), ("Who helped {h}?", "{f}, {f.a}, helped {h}.")])


@plot
def rainy_picnic(S):
    S.hero(); S.friend()
    S.set(food1=S.pick(["sandwiches", "boiled eggs", "rolls with cheese", "pancakes"]),
          food2=S.pick(["lemonade", "apple juice", "cold tea", "raspberry juice"]),
          inn=S.pick(["the barn", "the old mill", "the attic", "the greenhouse", "the boat house"]),
          cloth=S.pick(["red and white", "blue", "green", "yellow", "striped"]))
    S.simple_obj("blanket", S.c["cloth"]); S.topic = ["picnic"]
    return ("The Picnic in the Rain", """
{INTRO} {h} and {h.his} friend {f}, {f.a}, had planned a picnic for [weeks|a whole week]. {h} made {food1} and {cake}, and {f} brought {food2} and {o.a}.
// But when the great day came, {h} looked out and saw [dark clouds|big gray clouds]. [Drip, drop.|Plip, plop.] Soon the rain was pouring down. "{oh} Our picnic is ruined," said {h}. {h.He} was so {sad} that {h.he} [wanted to go back to bed|sat down beside the basket and said nothing].
"[Maybe the rain will stop|Let us wait a little]," said {f}. They waited for an hour, but it only rained harder. They tried to sit under [a big umbrella|a tree], but the wind blew the rain into their faces and the {food1} got wet.
// "[I have an idea|Wait]!" said {f}. "Who says that a picnic must be outside? Let us go to {inn}!"
They ran through the puddles to {inn}. [It was warm and dry there.|It smelled of hay and old wood.] {f} spread the {o.full} on the floor, and {h} [cut flowers out of paper|painted a yellow sun on a piece of paper and put it on the wall]. "[Now the sun is shining|Now we have sunshine too]!" {h.he} said.
// They ate {food1} and {cake} and drank {food2}. [Then they told each other stories, and the rain drummed on the roof like music.|They sang every song that they knew, and the rain on the roof played the drum.] A [little mouse|wet sparrow] came in from the storm, and they gave it some crumbs.
When the rain stopped, there was a [bright|beautiful] rainbow over {inn}. "[That was the best picnic ever|I am almost glad that it rained]," said {h}.
"[Good weather is something you carry inside you|The weather does not matter when you are with a friend]," said {f}, and [they laughed|they shared the last piece of {cake}]. {END}""",
        "{h} and {f} had planned a picnic, but it rained. So they had their picnic in {inn}, and it was even better.",
        [("Where did they have their picnic?", "They had their picnic in {inn}."),
         ("Why was {h} {sad}?", "{h} was {sad} because it rained on the day of the picnic."),
         ("What did they eat?", "They ate {food1} and {cake}.")])


@plot
def lost_baby(S):
    S.hero(); S.friend()
    b = S.pick([("duckling", "duck", "swam in circles on the water", "the pond"),
                ("kitten", "cat", "sat on the roof and called", "the barn"),
                ("lamb", "sheep", "stood at the fence", "the meadow"),
                ("chick", "hen", "ran up and down in front of the door", "the hen house"),
                ("piglet", "pig", "looked over the gate", "the farm"),
                ("fawn", "deer", "waited between the ferns", "the clearing"),
                ("puppy", "dog", "was barking at the gate", "the mill"),
                ("foal", "horse", "was standing in the tall grass", "the green field")])
    clue = S.pick(["a white feather", "a trail of tiny footprints", "a tuft of soft hair", "a line of footprints in the mud"])
    if b[0] in ("duckling", "chick"):
        clue = "a white feather"
    elif clue == "a white feather":
        clue = "a trail of small footprints"
    S.set(baby=b[0], mother=b[1], mdid=b[2], mplace=b[3], clue=clue)
    S.topic = [b[0]]; S.simple_obj("scarf")
    return ("The Lost {baby}", """
{INTRO} One {w} [morning|evening], {h} was [walking along the path|on the way home] when {h.he} heard a tiny sound. [In the tall grass|Behind a bush|Under a fern] sat a little {baby}, all alone and shaking.
"[Hello, little one|Don't be afraid]," said {h} softly. "Where is your mother?"
"[I don't know|I followed a butterfly]," sobbed the {baby}. "[I followed a butterfly, and then I was lost.|And now I cannot find the way back.]"
// {h} wrapped the {baby} in {h.his} {o.full}. "I will help you find her," {h.he} promised. First they asked [the old crow|a snail], but [it|it only shook its head and] had not seen anyone. Then they asked [a beetle|the squirrel in the oak], but [the answer was no|nobody there had time to listen]. The {baby} began to cry again.
// Then they met {f}, {f.a}. "[Look at the ground|I have sharp eyes]," said {f}. "[There is|I can see] {clue} [here on the path|beside the road]. [I think it shows the way.|Let us see where it leads.]" So they followed the path, over the [bridge|stream] and past the [big rock|three pine trees], {h} in front, {f} behind, and the {baby} in the warm {o.full}.
// At last they came to {mplace}. There the mother {mdid}. [She looked very worried.|She had been looking for her child all day.] "Mama!" cried the {baby}.
"My little one!" cried the {mother}. She [kissed|hugged] the {baby} again and again. "Thank you, {h}, and thank you, {f}. [How can I ever thank you?|You have kind hearts.]"
"[You don't have to|We were glad to help]," said {h}. [The {baby} waved until they were out of sight.|"And next time, look at the way before you follow a butterfly!"]
// {h} and {f} walked home [side by side|under the first stars]. [It had been a long day|They were tired], but [their hearts were warm|they felt very happy]. {END}""",
        "{h} found a lost {baby}. {f} saw {clue}, and it led them to the mother at {mplace}.",
        [("What did {h} find?", "{h} found a little {baby} that was lost."),
         ("Where was the mother?", "The mother was at {mplace}."),
         ("Who saw {clue}?", "{f} saw it.")])


@plot
def planting(S):
    S.hero(); S.friend()
    v = S.pick([("pumpkin", "huge"), ("sunflower", "tall"), ("melon", "big"), ("rose", "beautiful"), ("apple tree", "strong"),
                ("bean", "very tall"), ("tulip", "lovely"), ("cabbage", "giant")])
    S.set(plant=v[0], how=v[1])
    S.topic = [v[0]]; S.simple_obj("watering can")
    use = {"pumpkin": "They cooked a big pot of pumpkin soup and invited all the neighbors.",
           "sunflower": "They gave the seeds to the birds, and kept one for the next spring.",
           "melon": "They cut it into slices, and there was enough for everyone.",
           "rose": "The whole garden smelled sweet, and the bees came to visit.",
           "apple tree": "Years later, it carried the sweetest apples in the whole country.",
           "bean": "They picked a whole basket of beans and made a fine stew.",
           "tulip": "Everyone who came by stopped to look at it.",
           "cabbage": "They made a stew that was enough for the whole street."}[v[0]]
    S.set(use=use)
    return ("The Little Seed", """
{INTRO} One [spring|April] day, {adult} gave {h} a tiny [brown|black] seed. "[Plant it and take good care of it|Give it water and take care of it]," {g.he} said, "and [you will see a wonder|something wonderful will grow]."
// {h} dug a hole in the garden, put the seed into it and covered it with soft earth. {h.He} poured water on it with {h.his} {o.full}. Then {h.he} sat down and waited. But nothing happened. [!{h.He} waited until the sun went down.|{h.He} waited the whole day.] Still nothing happened.
The next morning, {h} ran into the garden. There was only brown earth. "[Grow|Hurry up]!" said {h}. [{h.He} sang a song for the seed.|{h.He} read a story to the seed.] Nothing happened. ["Maybe the seed is broken," {h.he} thought.|{h.He} became impatient.] {h.He} wanted to dig it up to see what was wrong.
// "Stop!" called {f}, {f.a}, over the fence. "[If you dig it up, it cannot grow|You must not dig it up]. A seed works in secret. [It needs water, sun and time.|Give it water and sun, and most of all, give it time.]"
"But waiting is so hard," said {h}.
"Then let us wait together," said {f}.
// So every morning they came with the {o.full}. They pulled out the weeds and [chased away the snails|told the seed good morning]. [One week passed, and then another.|The days went by.] And one day, there was a tiny green tip! "{yay}" cried {h}. "[It is growing|It is alive]!"
The tip became a stem, and the stem grew leaves. [The rain fell and the sun shone.|Spring turned into summer.] And at last, a {how} {plant} stood in {h}'s garden. {use}
// "[You were right|Now I understand], {f}," said {h}. "[Good things take time.|The best things grow slowly.]" [And {h.he} put one new seed into {h.his} pocket for next year.|And {adult} was very proud of {h.him}.] {END}""",
        "{h} planted a seed and became impatient. {f} taught {h.him} to wait, and a {how} {plant} grew.",
        [("What grew from the seed?", "A {how} {plant} grew from the seed."),
         ("Who gave {h} the seed?", "{adult} gave {h} the seed."),
         ("What did {h} learn?", "{h} learned that good things take time.")])


@plot
def the_race(S):
    S.hero(); S.friend()
    S.set(prize=S.pick(["a golden cup", "a big cake", "a silver medal", "a basket of cherries", "a crown of flowers"]),
          way=S.pick(["around the lake", "up the hill and back", "from the mill to the bridge", "through the forest to the old oak"]),
          hurt=S.pick(["twisted {f.his} foot", "stepped on a thorn", "stumbled and hurt {f.his} foot", "hit {f.his} foot against a stone"]))
    S.set(thep=the(S.c["prize"]))
    S.topic = ["race"]; S.simple_obj("ribbon")
    return ("The Great Race", """
{INTRO} {h.He} was fast, and {h.he} loved to run. Every year there was a great race {way}, and the winner got {prize}. This year, {h} wanted to win. {h.He} tied {o.a} around {h.his} {h.wrist} for luck and practiced every morning.
// On the day of the race, {wx}. {f}, {f.a}, wanted to run too. "[I will be the first|Nobody is faster than I am]," said {f}. "You may have the second place."
"[We will see|May the best one win]," said {h}.
"[Ready, steady, go!|One, two, three, go!]" called {adult}. Off they ran! {f} was soon far ahead.
// [Halfway|Near the end of the way], {h} heard somebody cry. It was {f}! {f.He} had {hurt} and could not get up. "[Run on|Go on]," said {f} with tears in {f.his} eyes. "[Now you will win.|The prize is yours.]"
{h} saw the finish line [behind the trees|in the distance]. {h.He} thought of {thep}. [It was so close!|{h.He} only had to run a little farther.] Then {h.he} looked at {f}. "[A prize is only a prize|There will be another race next year]," said {h}, "but a friend in trouble cannot wait."
// {h} untied the {o.full} and wrapped it around {f}'s sore foot. Then {f} leaned on {h}'s shoulder, and they walked together, slowly, step by step. All the others ran past them. [They were the very last to cross the line.|When they came to the line, everybody else was already there.]
But [the people clapped and cheered louder than ever|nobody laughed. Everybody clapped]. {adult} came and said, "[The first one gets {thep}, but you get something better.|Somebody else has won {thep} today.] [You have won the hearts of everyone here.|You, {h}, have won a friend for life.]"
// "I am sorry that I boasted," said {f}. "You are the real winner."
{h} [smiled|laughed]. "[Next year we will run side by side|Next year we will run together]," {h.he} said. And that is what they did. {END}""",
        "{h} wanted to win the race. But {f} had {hurt}, so {h} stopped to help, and they crossed the line together.",
        [("Why did {h} stop?", "{h} stopped because {f} had {hurt}."),
         ("What was the prize?", "The prize was {prize}."),
         ("Where did the race go?", "The race went {way}.")])


@plot
def new_neighbor(S):
    S.hero(); S.friend()
    S.set(shared=S.pick(["drawing", "riddles", "chess", "old maps", "butterflies", "stones", "songs", "stars", "pirates", "trains"]),
          house=S.pick(["the empty house next door", "the old mill", "the house across the street", "the hut behind the hill", "the little house by the pond"]))
    S.simple_obj("notebook"); S.topic = ["new friend"]
    return ("The New Neighbor", """
{INTRO} One {w} day, somebody new moved into {house}. It was {f}, {f.a}. {f} was very shy. {f.He} looked at the ground and did not say a word.
// "Do you want to play ball with us?" asked the others. {f} shook {f.his} head. "Do you want to race to the bridge?" they asked. {f} shook {f.his} head again. "[How boring|What a strange one]," they said, and they ran away.
But {h} did not run away. [{h.He} remembered how it feels to be alone.|{h.He} thought, "Maybe it is hard to be new."] {h} knocked at the door with a plate of {cake}. {f} took the plate, whispered, "Thank you," and closed the door.
// The next day, {h} tried again. [!{h.He} put a flower in front of the door.|{h.He} waved over the fence.] {f} [waved back|smiled a little], but {f.he} did not come out.
On the third day, {h} saw {f} sitting on the steps with {o.a}. {h.He} sat down, not too close, and was quiet for a while. Then {h.he} asked, "What is in your notebook?"
{f} [turned red|waited a moment] and opened the {o.full}. It was all about {shared}! "[Oh! I love {shared} too!|{shared}! That is my favorite thing!]" cried {h}.
"[Really?|You too?]" asked {f}. And for the first time, {f.his} eyes were shining.
// Now they talked and talked until it got dark. {f} was not boring at all. {f.He} knew more about {shared} than anybody, and {f.he} was funny too. [Soon the others came to listen.|After a week, the others came to see what they were laughing about.] "[We did not know that|Why did you not tell us]!" they said.
"[You only asked me to run|Nobody asked me]," said {f}. "{h} asked me what I like."
// From then on, {house} was full of laughter. And {h} knew: [sometimes a friend is hidden behind a closed door, and you only have to knock three times.|a quiet heart only needs a little time.] {END}""",
        "{f} was new and very shy. {h} was patient and found out that they both loved {shared}, and they became friends.",
        [("Who was new?", "{f}, {f.a}, was new."), ("What did they both love?", "They both loved {shared}."),
         ("Where did {f} live?", "{f} lived in {house}.")])


@plot
def night_noise(S):
    S.hero(); S.friend()
    s = S.pick([("a knocking in the attic", "the attic", "a loose shutter that knocked in the wind", "{h} tied the shutter with a piece of string"),
                ("a scratching in the cellar", "the cellar", "a hedgehog that had fallen into an empty box", "{h} lifted it out and carried it to the garden"),
                ("a sad song from the barn", "the barn", "the wind that blew through an old bottle", "{h} took the bottle away and kept it as a flute"),
                ("a splashing in the well", "the well", "a frog that could not get out", "{h} let down the bucket, and the frog jumped in"),
                ("a rattle in the kitchen", "the kitchen", "a kitten with its head in the milk jug", "{h} pulled the jug off very gently"),
                ("a humming in the chimney", "the chimney", "a young bird that had fallen into its nest of soot", "{h} carried it back to the roof")])
    S.set(noise=s[0], at=s[1], was=s[2], fixed=s[3], guess1=S.pick(["a ghost", "a dragon", "a robber"]), guess2=S.pick(["a monster with long teeth", "a witch", "a giant", "a troll"]))
    S.simple_obj("lantern"); S.topic = ["strange noise"]
    return ("The Strange Noise", """
{INTRO} One night, when everyone was asleep, {h} woke up. There was a strange noise: {noise}. It stopped. Then it began again.
// In the morning, {h} told {f}, {f.a}, about it. "[Maybe it is|I think it is] {guess1}," said {f}.
"[Or|Or maybe] {guess2}," said {h}, and [they both shivered|{h.his} eyes grew round]. [All day long they could think of nothing else.|They talked about it the whole day.] "[There is only one way to find out|We must be brave]," said {h} at last. "Tonight we will look."
// When the moon was up, they took {o.a} and crept on the tips of their toes to {at}. There it was: {noise}! {f} [held on to {h}'s {h.hand}|hid behind {h}]. "[Let us go back|I want to go home]," whispered {f}.
"[Only five more steps|Stay close to me]," whispered {h}. {h.His} knees were shaking too, but {h.he} lifted the {o.full} high. [One, two, three, four, five.|Slowly, slowly, they came nearer.] Then the light fell on it.
It was not {guess1}. It was not {guess2}. It was {was}!
// {h} and {f} looked at each other, and then they laughed until their tummies hurt. "[And we were so afraid|What a fine monster that is]!" said {f}. Then {fixed}. [After that, it was quiet.|And the noise was gone.]
"[Fear makes everything bigger|In the dark, everything seems big]," said {h} on the way back. "[But a little light makes it small again.|But when you look closely, it is small.]"
[!They slept until the sun was high.|And they both slept very well that night.] {END}""",
        "{h} heard {noise}. At night {h.he} went to look with {f}: it was {was}.",
        [("What made the noise?", "It was {was}."), ("Where did the noise come from?", "It came from {at}."),
         ("What did they take with them?", "They took {o.a} with them.")])


@plot
def key_and_box(S):
    S.hero(); S.friend(); S.obj("key")
    S.set(found=S.pick(["under a loose stone in the garden", "in the pocket of an old coat", "between the roots of a tree", "inside an old boot", "at the bottom of a flower pot", "behind a picture on the wall"]),
          box=S.pick(["a wooden chest", "a small iron box", "a dusty trunk", "a tiny door in the wall", "an old leather case", "a carved box"]),
          inside=S.pick(["a letter that {adult} had written as a child", "a book of stories with golden letters", "a map of the village and a bag of marbles", "a music box that still played a song", "seeds of flowers that nobody had seen for years", "a pair of tiny dancing shoes"]))
    t = S.some(2, ["the front door, but it was much too small", "the cupboard, but it was too big", "the clock, but it did not turn", "the garden gate, but it did not fit", "the pantry, but it got stuck and {h.he} had to pull hard to get it out", "the jewelry box, but it only rattled"])
    S.set(t1=t[0], t2=t[1])
    return ("The {o.full}", """
{INTRO} One {w} [morning|afternoon], {h} found {o.a} {found}. It was old and had a handle in the shape of a [heart|star|leaf|moon]. "[I wonder what it opens|Every key has a lock]," {h.he} thought. "[I must find the lock!|Somewhere there must be a lock for this one.]"
// {h} tried the key in {t1}. Then {h.he} tried {t2}. [{h.He} asked {adult}, but {g.he} had never seen it before.|{h.He} went through the whole house, and nothing fitted.] {h} [sighed|sat down on the stairs]. "Maybe the lock is lost," {h.he} said.
// {f}, {f.a}, came to visit. "[Show me the key|Let me see]," said {f}. {f.He} [looked at it through a glass|turned it over]. "Look! There is a tiny word on it: below."
"Below?" said {h}. "[Below what?|What is below?]" They [looked below the table, below the beds and below the rug|crawled on the floor and looked below everything]. And behind a [broom|pile of old newspapers], where nobody ever looked, they found {box}. It had a keyhole.
// {h.His} {h.hands} shook as {h} put in the {o.full} and turned it. Click! It opened. [{f} held {f.his} breath.|A little cloud of dust came out.] Inside was {inside}!
"{yay}" whispered {h}. [!They took it to {adult}, whose eyes became wet with joy.|When {adult} saw it, {g.he} laughed and cried at the same time.] "[I thought that was lost forever|I had forgotten all about it]," said {adult}. "[Thank you|You are real treasure hunters], {h} and {f}."
// [That evening, they all sat together, and {adult} told them about the old days.|They spent the whole evening together, and {adult} told them stories of long ago.] [And {h} hung the key on a nail above {h.his} bed.|{h} kept the {o.full} on a string around {h.his} neck, because every key has a story.] {END}""",
        "{h} found {o.a} {found}. {f} saw a tiny word on it, and it opened {box}. Inside was {inside}.",
        [("Who found the key?", "{h} found the key {found}."), ("What did the key open?", "It opened {box}."),
         ("What was inside?", "Inside was {inside}.")])


@plot
def dry_stream(S):
    S.hero(); S.friend()
    b = S.pick([("a fallen tree", "roll it away"), ("a pile of branches and mud", "pull out the branches one by one"),
                ("a big round rock", "push it aside"), ("an old cart wheel with a heap of leaves", "drag it out")])
    S.set(block=b[0], fix=b[1])
    S.topic = ["stream"]; S.simple_obj("bucket")
    return ("The Silent Stream", """
{INTRO} Not far away, there was a little stream. It sang all day long, and everyone drank from it. {h} fetched water from it every morning with {o.a}.
// But one {w} morning, {h} came to the stream and heard nothing. There was only [mud|wet sand] and a few stones. "{oh} Where has the water gone?" said {h}.
The neighbors [complained|quarreled]. "[The flowers are dry|We have nothing to drink]," said one. "[Somebody has stolen our water|It must be bad luck]," said another.
// "[Complaining does not bring the water back|I will find out what happened]," said {h}, and {h.he} took {h.his} {o.full} and walked up along the dry bed. {f}, {f.a}, saw {h.him}. "Where are you going?" asked {f}.
"To the place where the water begins," said {h}.
"[Then I will come with you|You should not go alone]," said {f}.
// They climbed over [rocks|roots] and crawled under [thorns|bushes]. At last they heard a gurgle. Behind a bend, there was a [big pool|small lake], and in front of it lay {block}. That was what held back the water!
{h} pushed with all {h.his} strength, but nothing moved. {f} pulled, but nothing moved either. "[It is too heavy for one|Alone we are too weak]," said {h}, "[but we can do it together|so let us do it at the same time]. One, two, three!" [They had to try again and again|It took a long time], but at last they managed to {fix}.
// Whoosh! The water [leaped|rushed] down the hill. {h} and {f} ran beside it all the way home. [When they came back, the stream was singing again.|The stream was faster and got there first.] "{yay}" cried the neighbors. "Who did that?"
"We did," said {h}, [wet from head to toe|covered with mud], and {h.he} filled {h.his} {o.full} to the top.
[From then on, whenever something went wrong, they did not quarrel. They went to look.|That evening there was a feast, and the stream sang louder than all the guests.] {END}""",
        "The stream was dry. {h} and {f} followed it and found {block} in the way. Together they brought the water back.",
        [("Why was the stream dry?", "It was dry because {block} held back the water."),
         ("Who went with {h}?", "{f}, {f.a}, went with {h}."), ("What did {h} carry?", "{h} carried {o.a}.")])


@plot
def too_greedy(S):
    S.hero(); S.friend()
    fr = S.pick(["nuts", "mushrooms", "apples", "pears", "shells", "chestnuts", "plums"])
    S.set(many=fr, kindly=S.pick(["an old woman with a walking stick", "an old man with a long white beard", "a tiny fairy with a blue hat", "an old turtle with a wrinkled neck"]))
    S.topic = [fr]; S.simple_obj("bag")
    return ("The Heavy Bag", """
{INTRO} One day in [autumn|September|October], {h} and {f}, {f.a}, went out to gather {many}. {f} had a small basket. {h} had {o.a}, and it was the biggest one that {h.he} could find.
// On the way they met {kindly}. "[You can find the best {many} behind the hill|Go to the valley behind the hill]," said the stranger. "But take only as much as you can carry with a light heart."
Behind the hill, there really were {many} everywhere. {f} filled the small basket, ate a little and lay down in the sun. "[That is enough for me|I have enough]," said {f}.
"[Enough?|Are you joking?]" said {h}. "I want them all!" {h.He} stuffed and stuffed. [Soon the {o} was as round as a barrel.|{h.He} did not even stop to drink.]
// When the sun went down, they started for home. {f} was humming a song. But {h} groaned at every step. The {o.full} was so heavy that {h.he} [had to drag it over the ground|could hardly breathe]. "[Leave some of them here!|Shall I help you?]" said {f}.
"Never!" said {h}. Just then there was a terrible sound: rrrip! The {o} tore from top to bottom, and all the {many} rolled down the hill [and splashed into the river|and disappeared in the dark].
// "[Now I have nothing at all|All that work for nothing]," said {h}, and {h.he} began to cry. {f} did not [laugh at {h.him}|say that {f.he} had warned {h.him}]. {f.He} put {f.his} small basket between them. "[Here, half of them are yours|Let us share]," {f.he} said.
{h} wiped {h.his} eyes. "[The stranger was right|Now I know what the stranger meant]," {h.he} said. "[Enough is better than too much.|If you want too much, you end up with nothing.]"
They walked home under the stars, [and the basket was so light that they could sing|carrying the small basket together]. The next day, {h} mended the {o.full} and made it a little smaller. {END}""",
        "{h} wanted all the {many} and filled {h.his} {o.full} until it tore. {f} shared {f.his} small basket with {h.him}.",
        [("What did they gather?", "They gathered {many}."), ("Why did the bag tear?", "It tore because {h} put too much into it."),
         ("Who shared with {h}?", "{f} shared with {h}.")])


@plot
def cry_wolf(S):
    S.hero(); S.friend()
    d = S.pick(["a wolf", "a fire", "a flood", "a bear"])
    word = {"a wolf": "Wolf", "a fire": "Fire", "a flood": "Flood", "a bear": "Bear"}[d]
    real = {"a wolf": "a big gray wolf was standing at the fence", "a fire": "smoke came out of the roof of the barn",
            "a flood": "the brown water of the river came over the bank", "a bear": "a huge, hungry bear came out of the forest"}[d]
    if d == "a wolf" or d == "a bear":
        S.set(end="They drove it away with pots and pans just in time.")
    elif d == "a fire":
        S.set(end="They made a line and passed buckets of water until the last flame was out.")
    else:
        S.set(end="They piled up sacks of sand until the water stopped.")
    S.set(danger=d, word=word, real=real)
    S.topic = [d.split()[1]]; S.simple_obj("bell")
    return ("{h} and the Bell", """
{INTRO} {h} had an important job. {h.He} sat on the hill and watched over the valley, and beside {h.him} hung {o.a}. "[Ring it only when there is danger|Ring the bell if you see {danger}, but never for fun]," {adult} had said.
// But nothing ever happened, and {h} was bored. So one day {h.he} rang the {o} and shouted, "{word}! {word}!" Everyone dropped their work and came running up the hill, [out of breath|with red faces]. {h} laughed and laughed. "[It was only a joke|You should have seen your faces]!" {h.he} said. But {f}, {f.a}, did not laugh. "[A joke is only good when everybody laughs|That was not funny]," said {f}. "[One day you may really need us.|We believed you.]"
// But the next week {h} did it again. The {o.full} rang, "{word}! {word}!" and they all came running, and again there was nothing. [This time they said nothing at all.|"Never again," they said, and went home.]
// Then came a [gray|dark] evening. {h} looked up, and {h.his} heart stood still: {real}! {h.He} rang the {o} with all {h.his} strength. "{word}! {word}! [It is true this time!|Please come!]" But down in the valley, [they only shook their heads|nobody came].
Only {f} [stopped and listened|opened the window]. "[{h.His} voice sounds different|That does not sound like a joke]," thought {f}, and {f.he} ran up the hill. When {f} saw that {real}, {f.he} ran back and called the others. Everybody believed {f}, because {f} had never told a lie. {end}
// {h} stood there with tears in {h.his} eyes. "I am sorry," {h.he} said. "[I will never lie again.|I rang the bell when there was nothing, and so you did not come when there was something.]"
"[Trust is like a glass|Trust is easy to break]," said {adult}. "[It takes a long time to mend it.|You can mend it, but it takes time.]" {h} nodded. [And from that day on, the {o.full} only rang when it had to.|It took a whole year, but then they trusted {h.him} again.] {END}""",
        "{h} rang the {o} twice for fun. When there really was {danger}, only {f} believed {h.him} and called for help.",
        [("Why did nobody come?", "Nobody came because {h} had lied before."),
         ("Who believed {h}?", "Only {f} believed {h}."), ("What was the real danger?", "There was {danger}.")])


@plot
def snowman(S):
    S.hero(); S.friend()
    S.obj(S.pick(["scarf", "hat", "cap"]))
    S.set(nose=S.pick(["a carrot", "a pine cone", "a red pepper", "a long radish"]), eyes=S.pick(["two black stones", "two buttons", "two walnuts", "two pieces of coal"]),
          sname=S.pick(["Mister Frost", "Captain Cold", "Sir Snow", "Uncle Icicle", "King Winter"]))
    S.topic = ["snowman"]
    return ("The Snowman's {o}", """
{INTRO} One winter morning, everything was white. "[Snow!|It has snowed!]" cried {h}, and {h.he} ran to fetch {f}, {f.a}.
// They rolled a big ball for the body and a small ball for the head. {h} gave the snowman {eyes} for eyes and {nose} for a nose. Then {h.he} took off {h.his} own {o.full} and put it on the snowman. "[Now he will not be cold|Now he looks like a real gentleman]," said {h}. They named him {sname}.
Every day they visited {sname} and told him what had happened.
// But one day, the wind was warm, and [drops fell from the roof|the icicles began to drip]. {sname} looked thin, and his head leaned to one side. "He is melting!" cried {h}. {h.He} tried to [build a roof of branches over him|put more snow on him], but the snow was wet and slipped off.
The next morning, there was only a puddle with {eyes}, {nose} and the {o.full}. {h} sat down beside the puddle and cried. "[He is gone|My friend is gone]," {h.he} said.
// {f} put an arm around {h.him}. "He is not really gone," said {f}. "[The sun drinks the water and makes a cloud of it.|The water goes up into the sky and becomes a cloud.] And next winter, the cloud comes back as snow."
"[Do you mean that he is traveling?|So he is only on a journey?]" asked {h}.
"Yes," said {f}. "[He has gone to see the world.|And he will have a lot to tell us.]"
// {h} dried {h.his} tears and washed the {o.full}. {h.He} put it into a box and wrote {sname} on it. [Spring came, and summer, and autumn.|Then {h.he} waited, through spring and summer and autumn.] And when the first flakes fell, {h} and {f} were already standing outside with the box. "[Welcome back|Welcome home], {sname}!" they called, [and the snow danced around them|and they began to roll the first ball]. {END}""",
        "{h} and {f} built a snowman with {h}'s {o.full}. When it melted, {f} said that it would come back as snow.",
        [("What was the snowman's name?", "The snowman's name was {sname}."),
         ("What was the nose made of?", "The nose was {nose}."), ("Why was {h} sad?", "{h} was sad because the snowman melted.")])


@plot
def trade_chain(S):
    S.hero(); S.friend()
    S.obj(S.pick(["flute", "lantern", "kettle", "blanket", "umbrella", "chair", "pillow"]))
    # (thing, who needs it, why): the first thing comes from a stranger, each later one from who needed the one before
    chain = S.some(3, [("a jar of honey", "the baker", "I have no honey for my cakes"), ("a woolen scarf", "the miller", "The wind in the mill is so cold"),
                       ("a basket of eggs", "the cook", "I need eggs for a big omelet"), ("a bunch of roses", "the tailor", "Tomorrow is my wedding day"),
                       ("a wheel of cheese", "the fisherman", "I cannot eat fish every day"), ("a sack of flour", "the innkeeper", "My flour is all gone"),
                       ("a ball of string", "the gardener", "My beans have nothing to climb on"), ("a pot of green paint", "the sailor", "My boat has lost its color")])
    S.set(a0=S.pick(["a shiny button", "a smooth white stone", "a bird's feather", "a little bell"]),
          p0=S.pick(["a little girl", "an old soldier", "a boy with freckles", "a woman with a cart"]),
          p4=S.pick(["the peddler", "the shopkeeper", "the old man at the market"]))
    S.set(b0=the(S.c["a0"]))
    for i, (thing, who, why) in enumerate(chain, 1):
        S.set(**{f"b{i}": the(thing), f"a{i}": thing, f"q{i}": who, f"r{i}": why})
    return ("The Long Trade", """
{INTRO} {h} had a friend named {f}, {f.a}, who needed {o.a}. But {f} had no money, and {h} had none either. {h} had only {a0}.
// "[I will see what I can do|Maybe I can trade it]," said {h}, and {h.he} went to the market. [On the road|At the gate], {h.he} met {p0}. "[What a pretty thing you have there|I have been looking for something like that]! I will give you {a1} for it." So {h} gave away {b0} and got {a1}.
// A little later, {h.he} came to {q1}. "{r1}," said {q1}. "[But you have {a1}!|If only I had {a1}!] Will you take {a2} for it?"
"[Gladly|With pleasure]," said {h}. {h.He} gave {q1} {b1} and walked on with {a2}.
Soon {h.he} met {q2}, who looked [worried|unhappy]. "{r2}," said {q2}. {h} [held out|showed] {b2}. "[You are an angel!|That is just what I need!]" cried {q2}, and gave {h.him} {a3}.
// At last {h} came to the market. There it was: {o.a}! But it cost [five coins|seven coins|ten coins]. "[I only have|All I have is] {a3}," {h.he} said to {p4}.
{p4} shook his head at first. But just then {q3} came by. "{r3}!" said {q3}. "I will pay for the {o}, if I can have {b3}."
// When the sun went down, {h} knocked at {f}'s door with {o.a} under {h.his} arm. "[But you had only|You started with] {a0}!" said {f}. "How did you do it?"
"[I only looked for what people needed|I just asked everybody what they needed]," said {h}. [And {f} was so happy that {f.he} danced through the whole house.|"And what I needed was to see you smile."] {END}""",
        "{h} started with {a0} and traded it again and again, until {h.he} could bring {o.a} to {f}.",
        [("What did {h} have first?", "First, {h} had {a0}."), ("What did {f} need?", "{f} needed {o.a}."),
         ("What did {h} get for {b0}?", "{h} got {a1} for {b0}.")])


@plot
def hat_nest(S):
    S.hero(); S.friend(); S.obj(S.pick(["hat", "cap", "straw hat", "woolly hat", "bonnet"]))
    S.weather("windy")
    S.set(bird=S.pick(["robin", "sparrow", "blackbird", "swallow", "finch", "wren"]), neggs=S.pick(["three", "four", "five"]))
    r = S.some(2, ["over the roof of the bakery", "past the clock tower", "over the bridge", "through the market, where it knocked over a pile of oranges",
                   "across the field, where the cows looked up in surprise", "along the fence, where a goat tried to eat it"])
    S.set(r1=r[0], r2=r[1])
    return ("The Hat in the Wind", """
{INTRO} {h.He} had {o.a} with a [feather|flower|ribbon|button] on it. {adult} had made it for {h.him}, and {h.he} never went out without it.
// One day in [March|April|early spring], {wx}. Suddenly the wind [pulled|snatched] the {o} from {h}'s head. "[Stop!|Come back!]" cried {h}. But the {o.full} flew {r1}. {h} ran after it. Then it flew {r2}, and {h} ran as fast as {h.he} could. Then it was gone.
// {h} looked for it the whole week. {f}, {f.a}, helped {h.him}. "[I will never find it again|It must be far away by now]," said {h}.
"[Let us look up instead of down|We have never looked up]," said {f}. They looked up into the trees. And there, in the fork of an old {tree}, was the {o.full}!
"{yay}" cried {h}. {h.He} climbed up to get it. But then {h.he} stopped. Something was moving in the {o}. It was a little {bird}, and under her there were {neggs} tiny eggs.
// {h} looked at the {o}. {h.He} had missed it so much. The {bird} looked at {h.him} with her black eyes and did not move. "Somebody is living in it," said {h} softly, "[somebody who needs it more than I do|and I cannot take away a home]." And {h.he} climbed down with empty {h.hands}.
// In May, there were {neggs} young birds in the {o}. {h} and {f} came to listen to them every day. When summer was over, the birds flew away, and {h} fetched the {o.full}. It was [full of holes|faded by the sun] and had [moss|little feathers] in it. {h} put it on {h.his} head and [laughed|smiled]. "[Now it is the finest hat in the world|I would not change it for a new one]," {h.he} said. "[It has been a house.|It is full of songs.]" {END}""",
        "The wind took {h}'s {o.full}. {h} and {f} found it in a tree, but a {bird} had made a nest in it, so {h} let her keep it.",
        [("Who lived in the {o}?", "A little {bird} with {neggs} eggs lived in the {o}."),
         ("Where was the {o}?", "It was in the fork of an old {tree}."), ("Who made the {o}?", "{adult} made it for {h}.")])


@plot
def catch_moon(S):
    S.hero(); S.friend()
    S.set(star=S.pick(["the moon", "a star"]))
    S.set(it=S.c["star"].replace("a star", "the star"))
    S.simple_obj(S.pick(["net", "bucket", "basket", "jar"]))
    t = S.some(2, ["{h.He} climbed the highest hill and stretched out {h.his} arms, but {it} was still far away.",
                   "{h.He} climbed onto the roof and stood on {h.his} toes, but {it} did not come any closer.",
                   "{h.He} built a tower of boxes, but it fell over with a crash.",
                   "{h.He} threw a rope with a hook into the air, but it only caught a branch.",
                   "{h.He} called as loudly as {h.he} could, but only an echo answered."])
    S.set(t1=t[0], t2=t[1])
    S.topic = [S.c["star"].split()[1]]
    return ("{h} and {it}", """
{INTRO} Every night, {h} sat at the window and looked at {it}. It was so [bright|beautiful]! "[I want to have it|If only I had it]," thought {h}. "[I would put it beside my bed.|Then my room would never be dark.]"
// One clear night, {h} took {o.a} and went out to catch it. {t1} {t2} {h.He} was [tired|cold] and {sad}.
Then {h.he} came to the pond. And there, in the black water, was {it}! "[Hooray!|Wonderful!|Look!]" cried {h}. "[It has fallen down!|It has come down to drink!]" {h.He} [dipped|pushed] the {o.full} into the water, and {it} broke into a hundred pieces. {h} was frightened. "{oh} I have broken it!"
// {f}, {f.a}, was sitting on the other side of the pond. "[You have not broken anything|Don't worry]," said {f}. "Wait until the water is still." They sat and waited. Slowly the pieces came together, and {it} was whole again.
"[It is only a picture|That is only a mirror]," said {f} and pointed up. "{It} is still in the sky, [where it belongs|where everyone can see it]."
// {f} smiled. "[If it stood in your room|If you had it in your room], who would light the way for the [sailors|travelers]? [And what would the others look at?|It would be dark for all the others.] {It} is yours already. It is yours and mine and everyone's."
{h} thought about it for a long time. Then {h.he} put the {o} down and sat close to {f}. [Together they looked up, and it was enough.|They looked up together until their eyes became heavy.]
// [From that night on, {h} did not want to catch {it} anymore.|Now, when {h} looks at {it}, {h.he} thinks of {f}, who is looking at it too.] [And the {o.full}? {h} used it to collect shells.|{h.He} just says good night to it, and sometimes it seems to wink.] {END}""",
        "{h} wanted to catch {it}, but it was only a picture in the pond. {f} explained that {it} belongs to everyone.",
        [("What did {h} want to catch?", "{h} wanted to catch {it}."), ("What did {h} see in the pond?", "{h} saw the picture of {it} in the water."),
         ("Who was at the pond?", "{f}, {f.a}, was at the pond.")])


@plot
def hurt_bird(S):
    S.hero(); S.friend()
    S.set(bird=S.pick(["sparrow", "swallow", "robin", "finch", "dove", "starling"]), bname=S.pick(["Pip", "Chip", "Dot", "Piet", "Flick", "Kiki"]))
    S.simple_obj("box"); S.topic = [S.c["bird"]]
    return ("The Little {bird}", """
{INTRO} One {w} morning, {h} found a little {bird} [under the window|beside the path]. One of its wings was hurt, and it could not fly. {h} picked it up very gently. [Its heart was beating fast.|It was as light as a leaf.]
// {h} carried it home, put it into {o.a} with soft grass and named it {bname}. {h.He} gave it bread, but it did not eat. [{h} was worried.|"What shall I do?" thought {h}.]
So {h} asked {f}, {f.a}, who knew a lot about birds. "[It is frightened|It needs quiet]," said {f}. "Put a cloth over the {o}, and give it [seeds|small worms] instead of bread." They tied a thin strip of cloth around the wing. After a while, {bname} [pecked at|ate] the first [seed|bite]. "{yay}" whispered {h}.
// Every day, {h} [fed {bname} and cleaned the {o.full}|got up early to feed {bname}]. After two weeks, {bname} hopped around the room. After three weeks, it [sang in the morning|sat on {h}'s shoulder and sang]. {h} loved it so much that {h.he} wanted to keep it forever.
But {f} said, "[Its wing is healed|It is well again]. Look how it sits at the window and looks at the sky."
{h} swallowed. "[But it is my friend|If I open the window, it will fly away]," {h.he} said.
"[A friend is not something you can keep in a box|If you love it, you must let it choose]," said {f} quietly.
// {h} took a deep breath and opened the window. {bname} hopped onto the sill, looked back once and spread its wings. Up it flew, over the roof and over the trees, until it was only a dot. The winter was long. [The {o.full} stood empty on the shelf.|Often {h} looked at the empty {o}.] But on the first day of spring, {h} heard a song at the window. There sat a {bird}. "{bname}!" cried {h}. And {bname} was not alone: [it had brought a whole family|another {bird} was sitting beside it]. {END}""",
        "{h} found a hurt {bird} and took care of it with {f}'s help. When it was well, {h} let it fly, and in spring it came back.",
        [("What was the bird's name?", "The bird's name was {bname}."), ("What did {h} find?", "{h} found a little {bird} with a hurt wing."),
         ("When did the bird come back?", "It came back on the first day of spring.")])


@plot
def lonely_giant(S):
    S.hero(); S.friend()
    g = S.pick(["dragon", "giant", "troll", "ogre", "sea monster"])
    place = {"dragon": "the cave on the black mountain", "giant": "the castle in the clouds", "troll": "the hole under the old bridge",
             "ogre": "the swamp behind the forest", "sea monster": "the deep bay"}[g]
    S.set(beast=g, place=place, noise=S.pick(["roar", "howl", "groan", "rumble"]),
          why=S.pick(["a splinter in its foot", "a toothache", "a bad cold", "no one to talk to"]))
    S.set(mywhy=S.c["why"].replace("its", "my"))
    S.set(cure={"a splinter in its foot": "{h} pulled out the splinter with both {h.hands}. It was as long as a spoon",
                "a toothache": "{h} tied a string to the bad tooth and to a big rock and pushed the rock down the hill. Plop! The tooth was out",
                "a bad cold": "{h} cooked a huge pot of onion soup, and the {beast} drank it all",
                "no one to talk to": "So {h} sat down and talked with the {beast} until the sun went down"}[S.c["why"]])
    S.topic = [g]; S.simple_obj("basket")
    return ("{h} and the {beast}", """
{INTRO} But people there were afraid. In {place} lived a {beast}, and every night they heard a terrible {noise}. "[It wants to eat us|It is planning something bad]," they said, and they locked their doors.
// {h} lay awake and listened. "[That does not sound angry|It sounds more sad than angry]," {h.he} thought. In the morning, {h.he} packed {cake} into {o.a}. "[I am going to ask it what is wrong|I want to visit the {beast}]," {h.he} said. The others only shook their heads. But {f}, {f.a}, stood up. "[I am afraid|My knees are shaking]," said {f}, "but I will come with you."
// They walked for hours until they came to {place}. The {beast} was as big as a [house|barn], with [green eyes|yellow teeth|hairy ears]. "Who is there?" it [shouted|thundered], and the ground shook. {f} hid behind {h}.
{h}'s heart was beating like a drum, but {h.he} held out the {o.full}. "[Good day|Good morning]," {h.he} said. "We have brought you some {cake}. [Why do you {noise} every night?|Can you tell us why you {noise} at night?]"
The {beast} [blinked|opened its mouth and closed it again]. "Because I have {mywhy}," it said, "[and nobody comes to help me|and everybody runs away from me]."
// "Then we will help you," said {h}. {cure}. {f} [patted its big nose|told it a joke], and the {beast} began to laugh. Then they ate the {cake} together, down to the last crumb.
// In the evening, the {beast} came with them [to the village|down the road]. The people wanted to run away, but {h} called, "[Don't be afraid!|Wait!] It was never angry. It had {why}!"
At first they only looked out of their windows. Then [a small child|an old woman] came out and said hello, and then came all the others. [From then on, the {beast} helped them to carry heavy things, and nobody was afraid.|After that, there was no {noise} at night anymore. There was only a deep and happy snore.] {END}""",
        "Everyone was afraid of the {beast}. {h} and {f} visited it and found out that it had {why}, and it became a friend.",
        [("Why did the {beast} {noise}?", "It had {why}."), ("Where did the {beast} live?", "It lived in {place}."),
         ("Who went with {h}?", "{f}, {f.a}, went with {h}.")])


@plot
def lost_woods(S):
    S.hero(); S.friend()
    S.set(chase=S.pick(["a blue butterfly", "a white rabbit", "a golden beetle", "a strange song"]),
          sign=S.pick(["the stream", "the evening star", "the smoke of a chimney", "the bells of the village"]))
    S.set(how={"the stream": "\"Water always finds its way down to the valley,\" said {f}. \"If we follow the stream, we will come home.\"",
               "the evening star": "\"That is the evening star,\" said {f}. \"It always stands above our valley.\"",
               "the smoke of a chimney": "\"Where there is smoke, there is a fire,\" said {f}, \"and where there is a fire, there is somebody at home.\"",
               "the bells of the village": "\"Those are the bells of the village,\" said {f}. \"Let us walk to where they are loudest.\""}[S.c["sign"]])
    S.set(thec=the(S.c["chase"]))
    S.simple_obj("coat"); S.topic = ["forest"]
    t = S.some(2, ["They went to the left, but there was only a swamp.", "They went to the right, but they came to a wall of thorns.",
                   "They walked straight on, and after an hour they were back at the same broken tree.", "They called for help, but only an owl answered.",
                   "They climbed a rock, but they saw nothing except trees and more trees."])
    S.set(t1=t[0], t2=t[1])
    return ("Lost in the Woods", """
{INTRO} One {w} afternoon, {h} and {f}, {f.a}, went into the woods to gather [firewood|mushrooms|berries]. "[Stay on the path|Do not leave the path]," {adult} had told them. But {h} [saw|noticed] {chase} and ran after it, and {f} ran after {h}. [!When they stopped, the path was gone.|When they looked around, all the trees looked the same.]
// "[Where are we?|Which way did we come?]" asked {f}.
"[I don't know|I am not sure]," said {h}. {t1} {t2} [The sun sank lower and lower.|It was getting dark.] {f} was cold, so {h} put {h.his} {o.full} around both of them.
"This is my fault," said {h}. "I left the path."
"[Now we are here together|Being angry does not help us]," said {f}. "Let us be quiet and think."
// They sat very still. And because they were quiet, they noticed something that they had not noticed before: {sign}! {how}
[They held each other by the {h.hand} and walked|So they walked, close together], step by step. [Twigs cracked under their feet.|Sometimes they stumbled.]
// And then they saw a [lamp|lantern]. {adult} was standing at the edge of the woods and calling their names. [{g.He} hugged them both.|They ran into {g.his} arms.] "[I was so worried|I have been looking for you everywhere]!" {g.he} said.
"[I left the path|It was my fault], and I am sorry," said {h}. "But {f} [helped me to think|stayed calm], and we found the way."
// At home, there was hot [soup|cocoa|tea] for everyone. The {o.full} hung by the fire to dry. [And {h} knew two things now: stay on the path, and when you are lost, be still and look around.|{h} looked at {f} and said, "If I ever get lost again, I want to get lost with you."] {END}""",
        "{h} ran after {chase} and got lost in the woods with {f}. They became quiet, noticed {sign} and found the way home.",
        [("Why did they get lost?", "They got lost because {h} ran after {chase}."), ("How did they find the way home?", "They noticed {sign}."),
         ("Who was waiting for them?", "{adult} was waiting for them.")])


@plot
def lighthouse(S):
    S.hero(kid=True); S.friend(); S.family()
    S.set(ship=S.pick(["Seagull", "Dolphin", "Morning Star", "Swallow", "Silver Fish"]), trouble=S.pick(["had hurt {g.his} leg", "had a high fever", "had gone to the mainland to buy oil"]))
    S.simple_obj("lantern"); S.topic = ["lighthouse"]
    return ("The Light on the Cliff", """
{INTRO} On the cliff stood a tall lighthouse. {adult} was the keeper there, and {h} often helped {g.him} to clean the big lamp. "[The lamp must never go out in the night|A ship without a light is like a bird without eyes]," {adult} always said.
// One evening, a storm came up. The waves were as high as houses. And on this evening, {adult} {trouble}. {h} looked out and saw that the lighthouse was dark. Out on the sea, there was a tiny light. "[That is the {ship}!|The {ship} is coming home!]" cried {h}. "It will hit the rocks!"
// {h} took {o.a} and ran to fetch {f}, {f.a}. Together they fought their way up the cliff. The stairs of the lighthouse were long and dark: [ninety-nine|one hundred and twenty] steps. [{f} counted them aloud.|{h} held the {o.full} high.] At the top, {h} tried to light the big lamp, but the matches were wet.
"The {o}!" said {f}. "[It is still burning.|We can use its flame.]" Very carefully, {h} opened the {o.full}, held a strip of paper into the flame and touched the big lamp with it. [It smoked.|It hissed.] Then it [caught fire|began to burn], and a bright beam went out over the sea.
// The {ship} turned, slowly, slowly. It passed the rocks so closely that {h} could hear the sailors shout. Then it was safe in the harbor. "{yay}" cried {f}, and they danced around the lamp.
// In the morning, the captain of the {ship} came up the stairs. "[Who lit the lamp last night?|Who saved my ship?]" he asked.
"We did," said {h}, "with a little {o.full}."
"[A small light can save a big ship|It does not matter how small the light is]," he said, "[if somebody brave carries it|as long as somebody carries it to the right place]." And {adult} was so proud that {g.he} [gave them a piece of {cake} each|let them blow the foghorn]. {END}""",
        "In a storm, the lighthouse was dark. {h} and {f} lit the big lamp with {o.a} and saved the {ship}.",
        [("What was the name of the ship?", "The ship was called the {ship}."), ("How did they light the lamp?", "They lit it with the flame of {o.a}."),
         ("Why was the lighthouse dark?", "It was dark because {adult} {trouble}.")])


@plot
def quarrel(S):
    S.hero(); S.friend()
    S.obj(S.pick(["kite", "drum", "sled", "swing", "boat", "wagon", "ball", "tent", "rocking horse"]))
    return ("The Quarrel", """
{INTRO} {h} and {f}, {f.a}, [did everything together|were the best of friends]. One day, they found {o.a} [at the side of the road|behind the barn|on the beach]. "I saw it first!" said {h}. "No, I saw it first!" said {f}.
// {h} pulled at one side, and {f} pulled at the other. "[Let go!|It is mine!]" they shouted. [They pulled until they both fell down.|Their faces were red with anger.] "[I don't want to be your friend anymore|You are not my friend anymore]!" said {f}. {f.He} [stamped {f.his} foot|turned around] and went away.
"[Good!|I don't care!]" called {h}. "Then the {o.full} is all mine!"
// {h} played with the {o} the whole afternoon. But [something was missing|it was not as much fun as {h.he} had thought]. There was nobody to [laugh with|share it with]. [The house was quiet.|The {o} looked dull and gray.] {h} [looked out of the window|listened if somebody knocked], but nobody came.
// In the evening, {adult} saw {h} sitting on the steps. "You have such a fine {o}," {g.he} said. "[Why are you so {sad}?|Why do you not play?]"
"[I have the {o}, but I have no friend|I won the {o}, but I lost {f}]," said {h}.
"Hm," said {adult}. "[Which of the two is harder to find?|What would you rather have?]"
{h} jumped up. [{h.He} did not need to think about it.|{h.He} knew the answer.] {h.He} took the {o.full} and ran to {f}'s house. [Halfway|On the bridge], somebody came running from the other side. It was {f}!
// "I am sorry!" they both said at the same time. Then they had to laugh.
"[You can have it|Please take it]," said {h}.
"No, you can have it," said {f}. [And they almost began to quarrel again.|"Now we are quarreling again!" they said.] So they decided that the {o.full} should belong to both of them. [!{h} had it on Mondays, {f} had it on Tuesdays|{h} had it on the even days, {f} had it on the odd days], and on Sundays they played with it together. And Sunday was [always|by far] the best day of the week. {END}""",
        "{h} and {f} quarreled about {o.a}. But alone they were both sad, so they said sorry and shared it.",
        [("Why did they quarrel?", "They quarreled because both wanted {o.a}."), ("Who talked to {h}?", "{adult} talked to {h}."),
         ("What was the best day?", "Sunday was the best day, because then they played together.")])


@plot
def small_helps_big(S):
    small = S.pick(SMALL); big = S.pick(BIG)
    S.hero(kind=small); S.friend(kind=big)
    S.set(trap=S.pick(["a net", "a rope"]), laugh=S.pick(["You are so small that I can hardly see you", "How could somebody so tiny help me", "You are not even as big as my foot"]))
    S.topic = ["net"]; S.simple_obj("cap")
    return ("Small and Strong", """
{INTRO} {h} was so small that {h.he} could sleep in a [shoe|teacup], and {h.he} always wore {o.a}. Not far away lived {f}, {f.a}. {f} was big and strong.
// One day, {h} ran across the path and [bumped into|tripped over] {f}'s foot. "[Watch out|Be careful], little one!" said {f}. "[I almost stepped on you.|I could have crushed you.]"
"[Thank you for not stepping on me|I am sorry]," said {h}. "One day, I will help you too."
{f} laughed so hard that the leaves shook. "[You?|You want to help me?] {laugh}!"
// Some weeks later, {h} heard a loud cry. {h.He} ran [through the grass|as fast as {h.his} short legs could carry {h.him}] and found {f}. {f.He} was caught in {trap} that hunters had put there. "[It is no use|I am lost]," said {f}. "[Go away, before the hunters come.|Nobody is strong enough to break this.]"
"[Strong is not the only thing that counts|I do not need to be strong]," said {h}. "[I have sharp teeth.|I have good teeth and a lot of patience.]" And {h.he} began to [nibble|gnaw]. From far away, they could already hear the [dogs|voices of the hunters].
"[Hurry|Please hurry]!" whispered {f}.
// Snap! The last thread broke. {f} was free! {f.He} put {h} on {f.his} back and ran and ran, until they were safe.
When they stopped, {f} put {f.his} head down to the ground, so that {f.he} could look into {h}'s eyes. "[I laughed at you|I said that you could not help me]," said {f}. "[I was wrong.|Now I am ashamed.] You are the bravest one I know."
"[Big friends are good|It is good to have big friends]," said {h}, "[and small ones too|but small friends are good as well]."
// From then on, you could often see them together: the big {f.kindname}, and on top of {f.his} head, with {o.a}, the little {h.kindname}. {END}""",
        "{f} laughed at little {h}. But when {f} was caught in {trap}, {h} bit it through and set {f.him} free.",
        [("Who was caught?", "{f}, {f.a}, was caught in {trap}."), ("Who saved {f}?", "Little {h} saved {f}."),
         ("What did {h} wear?", "{h} wore {o.a}.")])


@plot
def stage_fright(S):
    S.hero(); S.friend()
    S.set(song=S.pick(["sing a song", "play the flute", "recite a poem", "play the violin", "play the drum", "dance alone"]),
          fest=S.pick(["the summer festival", "the harvest festival", "the school concert", "the spring fair", "the lantern festival"]))
    S.simple_obj("ribbon"); S.topic = ["stage"]
    return ("{h} on the Stage", """
{INTRO} {h} was going to {song} at {fest}. [At home it was easy.|{h.He} had practiced it a hundred times in {h.his} room.] But when {h.he} thought of all the people, {h.his} tummy felt funny.
// On the evening of {fest}, {h} looked through the curtain. {num} rows of chairs, and every chair was taken! [{h.His} knees became soft.|{h.His} mouth became dry.] "[I cannot do it|I want to go home]," {h.he} whispered. {h.He} [closed {h.his} eyes and counted to ten|told {h.self} to be brave], but that did not help either.
// {f}, {f.a}, came behind the curtain. {f} saw at once what was wrong. "Are you afraid of the people?" {f.he} asked.
{h} nodded. "[What if I make a mistake?|What if they laugh?]"
"Then I will tell you a secret," said {f}. "[Look only at me.|Do it for one person only.] I will sit in the first row, and I will wear {o.a}. [Look at the ribbon and forget all the others.|When you are afraid, look at my ribbon.]"
// The curtain opened. {h} stepped out. {h.His} heart was beating in {h.his} ears. Then {h.he} saw the {o.full} in the first row, and {f}, who smiled and nodded.
{h} looked at the ribbon and began. [First softly, then louder.|At first {h.he} was shaking, but then it went better and better.] In the middle, {h.he} made a small mistake, but {f} went on smiling, so {h} just went on too. [And suddenly it was fun!|And before {h.he} knew it, it was over.]
// There was a moment of silence. Then everybody [clapped and cheered|stood up and clapped]. "[Bravo!|More!]" they shouted. {h} [bowed|took a bow] with red cheeks.
"Were you still afraid?" asked {f} later.
"[A little bit|Yes, a little]," said {h}, "[but brave does not mean that you are not afraid|but I did it anyway]. [It means that you do it with your knees shaking.|And next time I will do it again.]" {f} took off the {o.full} and gave it to {h}. "[Keep it|It is yours now]," {f.he} said. "[It is for the next time.|You have earned it.]" {END}""",
        "{h} was afraid to {song} at {fest}. {f} sat in the first row with {o.a}, so {h} looked only at it and did well.",
        [("What did {h} want to do at {fest}?", "{h} wanted to {song}."), ("What did {f} wear?", "{f} wore {o.a}."),
         ("Did {h} make a mistake?", "Yes, {h} made a small mistake, but {h.he} went on.")])


@plot
def messy_room(S):
    S.hero(); S.friend()
    S.obj(S.pick(["ticket", "mask", "drum", "flute", "costume", "cap", "letter", "book"]))
    S.set(event=S.pick(["the circus", "the puppet show", "the parade", "the fair", "the costume party"]), time=S.pick(["two o'clock", "three o'clock", "four o'clock"]))
    return ("The Messy Room", """
{INTRO} {h} was [friendly and funny|a cheerful soul], but {h.he} did not like to tidy up. "[I will do it tomorrow|Tomorrow is early enough]," {h.he} always said.
// One day, {h} and {f}, {f.a}, were going to {event}. {h} needed {h.his} {o.full} for it. "We must leave at {time}," said {f}. {h} looked on the table. No {o}. {h.He} looked under the bed and found [an old sandwich|a sock from last year], but no {o}. {h.He} opened the wardrobe, and everything fell on {h.his} head.
"{oh} [I cannot find it|It must be here somewhere]!" cried {h}. {h.He} [threw things to the left and to the right|dug in the heap like a mole], and the mess grew bigger and bigger. Then {h.he} slipped on a [marble|toy car] and sat down hard.
// "[Now we will be late|We will never make it], and it is my fault," said {h}. [A tear ran down {h.his} nose.|{h.He} hung {h.his} head.]
{f} looked around. "We will not find it by throwing things," {f.he} said. "[Let us tidy up instead|Let us put things in their places]. The books go on the shelf, the toys go in the chest, the clothes go in the wardrobe. [You take that side, and I take this side.|I will help you.]"
They worked as fast as they could. One thing after another found its place. [Soon they could see the floor.|"Look, there is a carpet!" said {h}. "I had forgotten that."] And when {h} picked up the very last thing, a [pillow|towel], there was the {o.full}!
// "{yay}" cried {h}. They ran all the way and arrived at {event} just when [the music began|the clock struck]. It was wonderful, and they laughed a lot.
When {h} came home, {h.he} opened the door and [stopped|was surprised]. [The room was bright and friendly.|There was so much room to play!] {h.He} took the {o.full} and [hung it on a hook|put it in its place]. "Everything has its place," said {h}, "[and today is better than tomorrow|and now I know where it is]." {END}""",
        "{h} could not find {h.his} {o.full} in the mess. {f} helped to tidy up, and the {o} was under the very last thing.",
        [("Where did they want to go?", "They wanted to go to {event}."), ("What did {h} look for?", "{h} looked for {h.his} {o.full}."),
         ("What did {h} learn?", "{h} learned that everything has its place.")])


@plot
def swapped_bags(S):
    S.hero(); S.friend()
    S.obj(S.pick(["bag", "suitcase", "basket", "box", "backpack"]))
    t = S.some(2, ["a clarinet", "a pair of shiny boots", "a bunch of letters", "a jar of pickles", "a magnifying glass", "a wooden leg", "a bag of tea", "a ball of green wool"])
    S.set(c1=t[0], c2=t[1], mine=S.pick(["a rag doll and a sandwich", "a book and three apples", "crayons and a toy car", "a ball of wool and two needles"]),
          who=S.pick(["an old captain", "a traveling musician", "a tired doctor", "a lady with a big hat", "a clown"]), at=S.pick(["the train station", "the bus stop", "the harbor", "the market"]))
    S.set(thec1=the(S.c["c1"]), thewho=the(S.c["who"]))
    return ("The Wrong {o}", """
{INTRO} One {w} day, {h} came back from a visit to {adult}. {h.He} carried {o.a} with {mine} in it. At {at}, {h.he} put it down for a moment [to tie {h.his} scarf|to buy a drink]. Then {h.he} picked it up and went home.
// At home, {h} opened the {o.full}. "[What is this?|That is strange]!" {h.he} said. Inside were {c1} and {c2}. "[This is not mine|These are not my things]! Somebody has taken the wrong one."
{h} looked at the things. [They were very fine.|{h.He} would have liked to keep {thec1}.] "[I must bring it back|I have to find the owner]," said {h}.
// {f}, {f.a}, came to help. "Let us look at the things again," said {f}. "They can tell us who the owner is." They looked closely at {thec1}. There was a [small label|little card] on it. "Here is a name," said {f}, "and the name of a street!"
// They found the house at the end of the street and knocked. {who} opened the door and looked very {sad}. But then came a cry of joy. "My {o.full}! [I thought that it was lost forever|I have been looking for it all day]!"
"[We must have taken the wrong one|They look just the same]," said {h}. "Have you got mine, with {mine}?"
"[Here it is|Of course]!" said {thewho}.
// Then they all sat down and drank [cocoa|tea], and {h} heard a story about {thec1} that was so long that it got dark outside. "[You could have kept my things|Many people would have kept it]," said {thewho} at the end. "[You are honest, and that is worth more than gold.|I will not forget that you did not.]"
[Since that day, {h} and {f} have visited {thewho} every Sunday.|{h} tied a bright ribbon to {h.his} {o}, so that it would never be mixed up again. But {h.he} was glad that it had happened once.] {END}""",
        "{h} took the wrong {o} at {at}. With {f}'s help {h.he} found the owner, {who}, and gave it back.",
        [("Who was the owner of the other {o}?", "The owner was {who}."), ("What was in the wrong {o}?", "There were {c1} and {c2} in it."),
         ("Where was the {o} mixed up?", "It was mixed up at {at}.")])


@plot
def blue_paint(S):
    S.hero(); S.friend()
    m = S.pick([("green", "blue and yellow", "the meadow"), ("orange", "red and yellow", "the sunset"), ("purple", "blue and red", "the plums"),
                ("gray", "black and white", "the old donkey"), ("pink", "red and white", "the roses")])
    S.set(col=m[0], mix=m[1], part=m[2])
    S.simple_obj("paint box"); S.topic = ["painting"]
    return ("The Missing Color", """
{INTRO} {adult} was going to have a birthday, and {h} wanted to paint a picture for {g.him}. It should show {part}. {h} took {h.his} {o.full} and a big sheet of paper and began.
// But when {h.he} opened the box, the {col} was all gone! There was only a dry little crumb. "{oh} [I need {col}|How can I paint {part} without {col}]?" said {h}.
{h} [tried to use crayons, but they did not look right|rubbed the paper with leaves, but it only became dirty]. {h.He} went to the shop, but [the shopkeeper had sold the last {col} in the morning|it was closed until Monday]. {h} was so {sad} that {h.he} [threw the brush into the corner|wanted to tear up the paper].
// {f}, {f.a}, [picked up the brush|came in]. "What are you doing?" {f.he} asked. {h} told {f.him} about the {col}.
"[Let me see what you have|But you have other colors]," said {f}. "[Have you ever seen two colors dance?|Maybe you can make it yourself.]" {f.He} took a plate and put a drop of two colors on it: {mix}. "Now stir," said {f}.
{h} stirred with the brush. First there were [stripes|swirls]. Then [something wonderful happened|{h.his} eyes grew wide]. The two colors were gone, and on the plate there was {col}, [bright and fresh|as beautiful as could be]!
"[It is magic!|You are a magician!]" cried {h}.
"[It is only two friends who became something new|No, they only had to meet]," said {f} [and laughed|with a smile].
// Now {h} painted and painted. {f} painted too, and soon they both had color on their noses. [The picture became even better than {h} had dreamed.|They mixed every color with every other color, just to see what would happen.]
On the birthday, {adult} looked at the picture for a long time. "[I have never seen such a beautiful {col}|What a wonderful {col}]," {g.he} said. "Where did you buy it?"
"[We made it|You cannot buy it]," said {h}, and {h.he} looked at {f}. "You need {mix}, and you need a friend." {END}""",
        "{h} had no {col} to paint {part}. {f} showed {h.him} how to mix it from {mix}.",
        [("Which color was missing?", "The color {col} was missing."), ("How did they make {col}?", "They mixed {mix}."),
         ("Who got the picture?", "{adult} got the picture.")])


@plot
def salt_cake(S):
    S.hero(); S.friend()
    S.set(guest=S.pick(["the mayor", "the queen", "the new teacher", "{adult}"]))
    S.simple_obj("apron"); S.topic = ["cake"]
    return ("The Salty Cake", """
{INTRO} One day, {h} heard that {guest} was coming to tea. "[I will bake a cake|I will make the best {cake} in the world]!" said {h}. {h.He} put on {o.a} and [rolled up {h.his} sleeves|took the biggest bowl].
// {h} was in a hurry. {h.He} did not read the recipe. {h.He} put in flour and eggs and butter, and then {h.he} took a big white jar and poured in {num} spoons. "[Perfect|I don't need a recipe]!" said {h}.
{f}, {f.a}, came in. "[May I taste it?|Is there a little piece for me?]" {f.he} asked. {f} took a bite. {f.His} eyes watered, and {f.his} ears turned red. "[Water!|Salt!]" {f.he} cried. "[You took the salt instead of the sugar!|There is no sugar in it, only salt!]"
// {h} tasted it too. It was terrible! "{oh} [What shall I do now?|And {guest} will be here in an hour!]" {h.He} tried to cover it with [jam|cream], but it still tasted like the sea.
"[There is time for one more|We can still do it]," said {f}. "But this time we will read the recipe, line by line. I will read, and you will stir."
"Two cups of flour," read {f}. "Three spoons of sugar. Taste it first!" {h} put a [finger|tiny bit] in the jar. "Sweet," {h.he} said, and they both laughed. [They did not hurry, and they did not forget anything.|Step by step, they did everything that was written there.]
// Just when the clock struck four, there was a knock at the door. The cake was on the table, still warm. {guest} took a bite, and then another one. "[This is the best cake that I have eaten for years|Delicious]!" said {guest}. "What is your secret?"
{h} looked at {f}, and then at the {o.full}, which was [white with flour|covered with spots]. "[The secret is to taste the sugar first|The secret is to read slowly and to have a good friend]," {h.he} said. {END}""",
        "{h} baked a cake for {guest} but took salt instead of sugar. With {f}'s help {h.he} read the recipe and baked a new one.",
        [("What was wrong with the first cake?", "There was salt in it instead of sugar."), ("Who was coming to tea?", "It was {guest} who came to tea."),
         ("Who helped {h}?", "{f}, {f.a}, helped {h}.")])


@plot
def island_boat(S):
    S.hero(); S.friend()
    S.obj("boat"); S.simple_obj("boat", S.pick(["red", "blue", "yellow", "green", "white"]))
    S.set(sail=S.pick(["an old bed sheet", "a table cloth", "a curtain", "a big shirt"]), patch=S.pick(["the stump of a candle", "a lump of pine resin", "a piece of leather", "a lump of clay"]),
          isl=S.pick(["wild strawberries", "turtles in the sun", "huts made of driftwood", "hundreds of white birds", "trees with golden pears"]), bname=S.pick(["Brave Duck", "Sea Star", "Little Whale", "Wind Horse", "Happy Cork"]))
    S.set(thepatch=the(S.c["patch"]))
    return ("The Voyage of the {bname}", """
{INTRO} In the middle of the lake, there was an island. Nobody had ever been there. "[I wonder what is on it|One day I will go there]," {h} often said. {f}, {f.a}, wondered too.
// So one summer they built a boat. {h} found [old planks|some boards] behind the barn, and {f} brought [nails and a hammer|a bag of nails]. They painted the boat {o.adj}, took {sail} for a sail, and gave the boat a name: the {bname}.
On a {w} morning, they pushed it into the water. It floated! "[To the island|All aboard]!" cried {h}. But in the middle of the lake, {f} [looked down|said, "My feet are wet."]. There was a hole between two boards, and water was coming in!
// "{oh} We are sinking!" cried {f}. {f} scooped water out with {f.his} cap, but it came in faster. "[Stay calm|We must think]," said {h}. {h.He} looked into {h.his} pockets: a string, a cookie, and {patch}. "[That could work|This is our chance]!" {h.He} pressed {thepatch} into the hole, [and {f} held it tight with {f.his} foot|while {f} went on scooping]. The water came slower and slower. Then it stopped.
"{yay}" they shouted, and the wind filled the sail.
// At noon, the {bname} reached the island. It was full of wonders: there were {isl}! They [explored every corner|played and swam] until the sun was low.
// On the way home, the lake was as smooth as a mirror. "[Were you afraid?|Do you think we were brave?]" asked {f}.
"[Yes|A little], when the water came in," said {h}. "[But with you I would sail around the world.|But a good crew finds a way.]"
"[First we must mend the hole properly|Let us fix that hole first]," said {f}, and they laughed [until the boat shook|all the way to the shore]. {END}""",
        "{h} and {f} built a {o.full} to sail to the island. It had a hole, but {h} closed it with {patch}, and they got there.",
        [("What was the boat called?", "The boat was called the {bname}."), ("How did {h} stop the water?", "{h} pressed {thepatch} into the hole."),
         ("What was on the island?", "On the island there were {isl}.")])


@plot
def bee_hive(S):
    S.hero(); S.friend()
    S.set(mission=S.pick(["{adult} was ill and needed honey for tea", "{adult} wanted to bake honey cakes, but there was no honey left", "{adult} had a sore throat, and only honey could help"]))
    S.simple_obj("jar"); S.topic = ["bees"]
    return ("How {h} Got the Honey", """
{INTRO} One {w} day, {mission}. "I know where there is honey," said {h}. "There is a bees' nest in the hollow {tree}." {h.He} took {o.a} and went there at once.
// {h} put {h.his} {h.hand} into the hollow, just like that. Buzz! A hundred angry bees came out. {h} ran and ran and jumped into the pond, until only {h.his} nose looked out. "[Ouch|Ow]!" {h.he} said. "[That did not work|They are not very friendly]."
Then {h.he} rolled in the mud, so that {h.he} looked like a little cloud, and crept back. But the bees were not stupid. And again {h.he} had to run to the pond.
// {f}, {f.a}, was sitting there and had seen it all. {f.He} tried not to laugh. "[Did you ask them?|Why do you not ask them?]" said {f}. "[!It is their honey.|They have worked for it the whole summer.] Would you like it if somebody put a {h.hand} into your kitchen?"
{h} turned red. [{h.He} had not looked at it in that way.|No, {h.he} would not like that at all.]
// So {h} washed off the mud, picked a big bunch of [clover|flowers] and laid it in front of the {tree}. "Dear bees," {h.he} said, "I am sorry that I tried to steal your honey. {adult} [needs some very much|is a good friend of mine]. May I please have a little? I have brought you flowers."
The queen of the bees came out. "[Nobody has ever asked us before|That sounds better]," she hummed. "[Whoever asks politely shall have some|You may fill your jar], but only one jar."
// {h} filled the {o.full} with golden honey and said thank you three times. Soon {adult} had {g.his} honey and was very happy.
In spring, {h} and {f} planted a whole field of flowers near the {tree}. And every autumn, without being asked, the bees left {o.a} full of honey [at the foot of the {tree}|at {h}'s door]. {END}""",
        "{h} tried to take honey from the bees, and they chased {h.him} away. {f} told {h.him} to ask politely, and then the bees gave {h.him} a jar.",
        [("Where was the bees' nest?", "It was in the hollow {tree}."), ("What was {f}'s advice?", "{f} told {h} to ask the bees politely."),
         ("What did {h} bring to the bees?", "{h} brought them flowers.")])


# Short stories.

MINI = []


def mini(f):
    """Enters a short plot in the table."""
    MINI.append(f)
    return f


@mini
def puddle(S):
    S.hero(); S.friend()
    S.obj("boots" if S.chance(.0) else S.pick(["umbrella", "raincoat", "hat"]))
    return ("The Big Puddle", """
{INTRO} One day it rained, and {h} put on {h.his} {o.full} and went outside. In front of the house, there was [a huge puddle|the biggest puddle in the world]. {h} jumped into it with both feet. Splash!
// {f}, {f.a}, came by. {f} was wet from head to toe. "[You splashed me!|Now I am all wet!]" said {f}.
"I am sorry," said {h}. "[I did not see you|I only looked at the puddle]. [Take my {o.full}. It will keep you dry.|You can have my {o.full}, so that you do not get cold.]"
{f} put it on and looked at the puddle. "[It is a very good puddle|It does look like fun]," {f.he} said slowly. "[Since I am wet anyway, may I jump too?|May I try it?]"
// They jumped [one after the other|at the same time], once, twice, three times, until [the puddle was almost empty|there was more water on them than in the puddle]. Then they [drank hot tea|sat by the stove], and {h} hung the {o.full} up to dry. "[Tomorrow I hope it rains again|Rain is only sad when you stay inside]," said {f}. {END}""",
        "{h} jumped into a puddle and splashed {f}. {h} said sorry, and then they jumped together.",
        [("What did {h} jump into?", "{h} jumped into a big puddle."), ("Who got wet?", "{f} got wet when {h} jumped."),
         ("What did {h} give to {f}?", "{h} gave {f} {h.his} {o.full}.")])


@mini
def last_cookie(S):
    S.hero(); S.friend()
    S.set(sweet=S.pick(["cookie", "pancake", "plum", "slice of cake", "muffin", "pear"])); S.simple_obj("plate"); S.topic = [S.c["sweet"].replace("slice of ", "")]
    return ("The Last {sweet}", """
{INTRO} One {w} afternoon, {h} and {f}, {f.a}, were sitting at the table. On {o.a} lay the last {sweet}. {h} looked at it. {f} looked at it too.
// "[You take it|You can have it]," said {h}, but {h.his} tummy rumbled. "No, you take it," said {f}, but {f.his} mouth was watering. [They were silent for a while.|They looked at each other.] "[Let us break it in two|We could share it]," said {h}. But when {h.he} broke it, one part was big and the other part was small.
"[Now what?|That is not fair]," said {f}.
{h} thought hard. "[One of us divides it, and the other one chooses|I will cut, and you will choose]. [Then it will always be fair.|That is the best rule of all.]"
// {h} broke a bit off the big part, very carefully. Now both parts were the same, and a crumb was left over. {f} chose the left one, and {h} took the right one. The crumb lay on the {o.full}, and [a little ant carried it home|a sparrow came through the window and ate it]. [So everyone was content.|And that was the best bite of all.] {END}""",
        "{h} and {f} shared the last {sweet}. {h} divided it, and {f} could choose, so it was fair.",
        [("What lay on the plate?", "The last {sweet} lay on the plate."), ("Who divided it?", "{h} divided it."), ("Who chose first?", "{f} chose first.")])


@mini
def sleepy(S):
    S.hero(); S.family()
    S.set(a=S.pick(["a glass of water", "a cup of warm milk", "another pillow"]), song=S.pick(["the wind", "the sea", "a sheep on a cloud", "the moon"]))
    S.simple_obj("blanket"); S.topic = ["bed"]
    return ("{h} Cannot Sleep", """
{INTRO} One night, {h} could not sleep. {h.He} turned to the left and to the right. {h.He} counted sheep, but the sheep [ran away|began to dance]. {h.He} asked for {a}, but that did not help either.
// "[What is the matter?|Are you still awake?]" asked {adult}.
"[My head is full of thoughts|My thoughts are so loud]," said {h}.
"Then let us put them away," said {adult}. "[Tell me one thought after the other, and I will put them into this box.|Give them to me. I will keep them until tomorrow.]"
So {h} told {g.him} about [the big dog next door|the broken swing], about [tomorrow|the race on Sunday] and about a [star|cloud] that looked like a fish. {adult} nodded and put each thought away. When {h} had told the last one, {h.his} head was [light and quiet|as quiet as the snow].
// {adult} laid {o.a} over {h.him} and sang a song about {song}. [The wind hummed along.|Outside, an owl hummed along.] Before the song was over, {h} was asleep under the {o.full}. [And {adult}? {g.He} fell asleep in the chair.|{adult} smiled and put out the light.] {END}""",
        "{h} could not sleep. {adult} listened to all {h.his} thoughts and sang a song, and {h} fell asleep.",
        [("Who sang a song?", "{adult} sang a song about {song}."), ("Why could {h} not sleep?", "{h.His} head was full of thoughts."),
         ("What did {adult} lay over {h}?", "{adult} laid {o.a} over {h.him}.")])


@mini
def bridge(S):
    S.hero(); S.friend(); S.simple_obj("basket"); S.topic = ["bridge"]
    return ("The Narrow Bridge", """
{INTRO} One {w} morning, {h} was on the way to market with {o.a}. Over the river there was a bridge, so narrow that only one could cross it. In the middle of the bridge, {h} met {f}, {f.a}.
// "[Go back|Let me pass]!" said {h}. "I was here first."
"No, you go back," said {f}. "[I am in a hurry|I was here before you]." They pushed, and the bridge [shook|began to swing]. An [apple|egg|onion] fell out of {h}'s {o.full} and into the river. Plop!
[They both looked down.|They looked at the rings in the water.] "[If we go on like this, we will fall in too|Next it will be us]," said {f}.
"[Then nobody gets across|And the water looks cold]," said {h}. [{h.He} thought about it.|Then {h.he} had an idea.] "I will lie down flat, and you can climb over me."
// {h} lay down, {f} climbed carefully over {h.him}, and [nobody fell into the water|it took only a moment]. "[That was easy|It was quite simple]," said {f}. "[Why did we not do that at once?|Next time, I will lie down.]" {f} helped {h} to get up and gave {h.him} the {o.full}. Then each went on, and both of them were whistling. {END}""",
        "{h} and {f} met on a narrow bridge and quarreled. Then {h} lay down so that {f} could climb over.",
        [("Where did {h} meet {f}?", "{h} met {f} in the middle of a narrow bridge."), ("What did {h} carry?", "{h} carried {o.a}."), ("Who lay down?", "{h} lay down on the bridge.")])


@mini
def letter(S):
    S.hero(); S.friend()
    S.set(far=S.pick(["beyond the mountains", "on the other side of the sea", "in the big city", "at the end of the railway"]),
          gift=S.pick(["a dried flower", "a feather", "a drawing of the house", "a smooth stone", "a green leaf"])); S.simple_obj("envelope"); S.topic = ["letter"]
    return ("A Letter for {f}", """
{INTRO} {h.His} friend {f}, {f.a}, had moved away and now lived {far}. {h} missed {f.him} every day. "[I will write a letter|A letter can go where I cannot go]," said {h}.
// {h} sat down and wrote, "Dear {f}, [how are you?|I miss you.]" Then {h.he} did not know what to write. [{h.He} chewed on the pencil.|{h.He} looked out of the window.] So {h.he} put {gift} into {o.a} and sent it with the letter.
A week went by, and then another. No answer came. [Every morning, {h} ran to the gate.|{h} was {sad}.] "[Maybe {f.he} has forgotten me|Maybe {f} has new friends]," {h.he} thought.
// Then, one {w} morning, the postman came with a big parcel. Inside was the {o.full}, and in it lay {gift} and a letter. "Dear {h}," wrote {f}, "[I have read your letter a hundred times|I was so happy]. I send {it2} back to you, so that you can send it to me again. [Then it will always travel between us.|In this way we will always share it.]" {h} laughed. {h.He} [took the pencil at once|sat down], and this time {h.he} knew what to write. {END}""".replace("{it2}", "your gift"),
        "{f} had moved away. {h} sent {f.him} a letter with {gift}, and {f} sent it back so that they could always share it.",
        [("Where did {f} live?", "{f} lived {far}."), ("What did {h} send?", "{h} sent a letter with {gift}."), ("Who wrote back?", "{f} wrote back.")])


@mini
def sandcastle(S):
    S.hero(); S.friend(); S.simple_obj("flag"); S.topic = ["sandcastle"]
    S.set(deco=S.pick(["shells", "white stones", "feathers", "seaweed"]))
    return ("The Sandcastle", """
{INTRO} One {w} day, {h} built a sandcastle on the beach. It had [four towers|high walls and a gate], and {h} decorated it with {deco}. On the very top, {h.he} put {o.a}. "[It is the finest castle in the world|It will stand forever]!" said {h}.
// But then came the waves. The first wave [licked|touched] the gate. The second wave took away a tower. {h} ran to and fro and built a wall, but the third wave washed it all away. Only the {o.full} swam on the water. {h} [sat down and cried|threw the shovel into the sand].
// {f}, {f.a}, had seen it. {f.He} ran into the water and caught the flag. "[Here|Look, I saved it]," {f.he} said. "[It was a beautiful castle.|I liked your castle very much.]"
"[But it is gone|Now everything is gone]," said {h}.
"The castle is gone," said {f}, "but [you still know how to build one|your {h.hands} still know how to do it]. [Let us build the next one together.|Two can build it twice as big.] And this time we will build it farther away from the sea."
// So they did. [It became twice as big as the first one.|They worked until the evening.] {f} collected {deco}, {h} built the towers, and last of all they put the {o.full} on top. The waves came close, but they could not reach it. {END}""",
        "The waves washed away {h}'s sandcastle. {f} saved the flag, and together they built a bigger one.",
        [("What did {f} save?", "{f} saved the {o.full}."), ("What washed the castle away?", "The waves washed it away."), ("What did they use for decoration?", "They used {deco}.")])


@mini
def cold_friend(S):
    S.hero(); S.friend(kind=S.pick(SMALL)); S.simple_obj(S.pick(["mitten", "sock", "scarf", "cap"])); S.topic = ["winter"]
    return ("A Warm Place", """
{INTRO} One winter evening, {h} heard a tiny knock at the door. Outside in the snow stood {f}, {f.a}, and {f.his} teeth were chattering. "[!Please let me in.|May I come in?]" said {f}. "[The wind has blown my house away.|My house is full of snow.]"
// "[Come in, come in|Of course]!" said {h}. "But my house is very small, and I have only one bed." {h} thought for a moment. Then {h.he} took {o.a} and laid it near the stove. "[You can sleep in this|This will be your bed]," {h.he} said. {f} crept into the {o.full} until only {f.his} nose looked out. "[It is as warm as summer|I have never had such a soft bed]," {f.he} whispered.
// {h} made soup, and they shared it, spoon by spoon. The storm [howled around the house|rattled at the window], but inside it was [warm and bright|cozy]. {f} told stories, and {h} laughed so much that {h.he} forgot the storm.
In the morning, the sun was shining on the snow. "[Thank you|You were so kind to me]," said {f}. "Now I must build a new house."
"[I will help you|We will build it together]," said {h}, "[next to mine|right beside my own]." And so {h} had a neighbor, and the {o.full} hung over the new door as a sign. {END}""",
        "In winter, {f} had no house. {h} let {f.him} sleep in {o.a}, and then they built a new house together.",
        [("Who knocked at the door?", "{f}, {f.a}, knocked at the door."), ("Where did {f} sleep?", "{f} slept in {o.a}."), ("What did they build?", "They built a new house for {f}.")])


@mini
def echo(S):
    S.hero(); S.adult(True); S.simple_obj("hat"); S.topic = ["echo"]
    S.set(bad=S.pick(["You are mean", "You are silly", "Stop that", "Go away"]))
    return ("The Voice in the Valley", """
{INTRO} One day, {h} put on {o.a} and climbed a hill. "Hello!" {h.he} called. "Hello!" called a voice from the valley. {h} looked around, but there was nobody. "Who are you?" {h.he} called. "Who are you?" answered the voice.
// {h} thought that somebody was making fun of {h.him}. "{bad}!" {h.he} shouted. "{bad}!" the voice shouted back. {h} [became very angry|threw {h.his} {o.full} on the ground] and ran home.
"[There is a rude boy in the valley|Somebody in the valley is very rude]," {h.he} told {adult}. "[He says bad things to me.|He called me names!]"
{adult} smiled. "Go back," {g.he} said, "and say something kind to him. [Then listen well.|You will be surprised.]"
// {h} climbed the hill again. {h.He} took a deep breath. "You are my friend!" {h.he} called. "My friend!" answered the valley, [soft and clear|so softly that {h} had to smile]. "[Good night|Sleep well]!" called {h}, and the voice wished {h.him} the same.
"It was an echo," said {adult} that evening. "[The world often answers in the way you call.|What you call is what comes back.]" {h} hung the {o.full} on its hook and said, "[Then I will always call something nice|I will remember that]." {END}""",
        "{h} shouted at a voice in the valley, and it shouted back. When {h} said something kind, the echo was kind too.",
        [("Who answered {h}?", "It was an echo."), ("What did {adult} say?", "{adult} told {h} to say something kind."), ("What did {h} wear?", "{h} wore {o.a}.")])


@mini
def colors_of_leaf(S):
    S.hero(); S.friend(); S.simple_obj("leaf", S.pick(["red", "golden", "yellow", "orange"])); S.topic = ["leaf"]
    return ("The Last Leaf", """
{INTRO} In autumn, {h} sat under a {tree} and looked up. All the leaves had fallen but one: {o.a} at the end of a branch. "[It must be lonely|Poor leaf]," said {h}. "[All its friends are gone.|All the others have left it.]"
// Every day {h} came to visit the leaf. The wind pulled at it, but it did not fall. The rain beat on it, but it did not fall. {f}, {f.a}, came along. "What are you looking at?" {f.he} asked.
"[At the last leaf|At the bravest leaf in the world]," said {h}. "I am afraid that it will fall."
{f} sat down beside {h.him}. "[Maybe it wants to fall|Have you ever asked it]?" said {f}. "[From up there it can see all the others, and they are lying close together, soft and warm.|Maybe it is only waiting for somebody who catches it.]"
// Just then, the {o.full} let go. It danced to the left and to the right, and it landed [in {h}'s lap|right on {h}'s nose]. {h} [laughed|held it very gently]. {h.He} took it home and put it into a book. [In the middle of the winter|When the snow fell], {h} and {f} opened the book and looked at the {o.full}. "[It kept a little bit of autumn for us|Look, it has kept its color]," said {f}. {END}""",
        "{h} watched the last leaf of a {tree}. When it fell, {h} caught it and kept it in a book.",
        [("What color was the leaf?", "The leaf was {o.adj}."), ("Where did {h} keep the leaf?", "{h} kept it in a book."), ("Which tree was it?", "It was a {tree}.")])


@mini
def wrong_guess(S):
    S.hero(); S.friend(); S.family(); S.simple_obj("box"); S.set(gift=S.pick(["a kitten", "a ladder for the tree house", "a pair of skates", "a tiny tree", "a drum", "a telescope"])); S.topic = ["surprise"]
    S.set(thegift=the(S.c["gift"]))
    return ("The Secret in the Box", """
{INTRO} One {w} morning, {adult} came in with {o.a}. "[Do not open it before tomorrow|It is a surprise for tomorrow]," {g.he} said and put it on the table. {h} [looked at it from all sides|could not think of anything else].
// "[Maybe it is a hat|Perhaps it is a book]," said {h}. {f}, {f.a}, [put an ear to the box|shook {f.his} head]. "[Maybe it is a cake|Perhaps it is a clock]," said {f}. They guessed [the whole day|until supper]. Once {h} had already put a {h.hand} on the lid. [Just one little look!|Nobody would see it!] But then {h.he} pulled it back. "[I promised to wait|A surprise is only a surprise once]," {h.he} said, and {h.he} went out to play with {f}.
// The next morning, {h} was awake before the birds. {h} and {f} opened the {o.full} together. Inside was {gift}! "[Hooray!|Wonderful!|How lovely!]" they cried.
"[You waited, and I know that it was hard|I saw how hard it was to wait]," said {adult}. "[So you may share it with {f}.|It is for both of you.]" {h} hugged {g.him}. "[It is even better than I guessed|Waiting was the hardest part]," {h.he} said, "[but it made the joy twice as big|and the best part is now]." {END}""",
        "{adult} brought {o.a}, and {h} had to wait until the next day. Inside was {gift}.",
        [("What was in the box?", "In the box was {gift}."), ("Who brought the box?", "{adult} brought it."), ("Did {h} open the box too early?", "No, {h} waited.")])
