"""Sentences of several clauses: reasons, conditions, contrasts, reports, and lists.

Each rule joins clauses that make sense together. Of `CHAINS` training sees the short ones only: what is
longer than a training sentence may be tests whether a model goes on.
"""

from __future__ import annotations

from transduce.demo import lexicon as x
from transduce.demo.grammar import rule
from transduce.demo.topics import courses, food, nature, study, things, work
from transduce.demo.words import adjective, thing, verb

PRONOUNS = (x.I, x.YOU, x.HE, x.SHE, x.WE, x.THEY)
PEOPLE = x.STUDENTS
WELCOME = (x.EASY, x.INTERESTING, x.USEFUL, x.IMPORTANT)
UNWELCOME = (x.HARD, x.BORING)
CHOICES = courses.NEUTRAL
SHORT = tuple(course for course in courses.COURSES if len(course.zh) == 2)
FOND = (x.LOVE, x.LIKE)
HAPPY = adjective("高兴", "happy")

THINK = verb("觉得", "think")
KNOW = verb("知道", "know")
HEAR = verb("听说", "hear")

WEATHER = (thing("下雨", "it rains"), thing("下雪", "it snows"))
SHORTAGES = (
    thing("热水", "hot water"),
    thing("开水", "boiled water", sense="开水"),
    thing("水", "water", sense="喝水"),
)
PLANS = (study.READ, study.WATCH, study.DO_HOMEWORK, study.WRITE_PAPER, study.SLEEP, study.PAINT)
PLACES = (x.LIBRARY, x.DORM, x.HOME)
MORNING = thing("上午", "morning")
AFTERNOON = thing("下午", "afternoon")
EVENING = thing("晚上", "evening")
CHORES = (study.WRITE_PAPER, study.DO_HOMEWORK, study.REVISE_PAPER, study.COOK)
MOVING = (thing("小说", "novel"), thing("信", "letter"))
FRUIT_VIRTUES = (x.JUICY, food.SWEET)
BLOCKED = ((nature.SUBMERGE, nature.ROAD), (nature.DESTROY, nature.ROAD), (nature.DESTROY, nature.BRIDGE))

# One rule to a line or two, Chinese beside English, so that the tables read as a phrase book.
# fmt: off
FACTS = (
    rule("{e}{o.cl}{o}很{a}", "{e} {o.sg} is very {a}", "e|o|a",
         e=x.DEMONSTRATIVES, o=CHOICES, a=courses.JUDGEMENTS),
    rule("{e}{f.cl}{f}{a.before}很{a}", "{e} {f.sg} is very {a}", "e|f|a",
         e=x.DEMONSTRATIVES, f=food.FRUITS, a=food.FRUIT_QUALITIES),
    rule("{e}{n.cl}{n}很{a}", "{e} {n.sg} is very {a}", "e|n|a",
         e=x.DEMONSTRATIVES, n=study.WRITINGS, a=study.TEXT_QUALITIES),
    rule("{e}{o.cl}{o}是{g}", "{e} {o.sg} is {g.one}", "e|o|g",
         e=x.DEMONSTRATIVES, o=things.GADGETS, g=things.GRAY_IMPORT),
    rule("{p}的{o}很{a}", "{p.poss} {o} is very {a}", "p|o|a", p=x.FAMILY, o=work.SALARY, a=work.MORE_THAN),
    rule("{p}的{o}很{a}", "the {o} of {p} is very {a}", "p|很|a", p=work.PLACES[:4], o=work.FENG_SHUI, a=work.GOOD),
    rule("{p}的{w}很{a}", "the {w} in {p} is very {a}", "p|w|a",
         p=nature.SPOTS, w=nature.WATER, a=(x.CLEAN, x.DIRTY, nature.COLD)),
)

REPORTS = (
    rule("{s}{v}{c}", "{s} {v@s} {c}", "", 100, s=PEOPLE, v=(THINK, KNOW), c=FACTS),
    rule("{s}{v}{c}吗？", "{do@s} {s} {v.base} {c}?", "", 70, s=x.others(PEOPLE), v=THINK, c=FACTS),
    rule("{s}不知道{c}", "{s} {not_do@s} know {c}", "", 60, s=x.others(PEOPLE), c=FACTS),
    rule("{s}{v}{c}", "{s} {v@s} {c}", "", 60, s=x.I, v=HEAR, c=FACTS),
)

REASONS = (
    rule("因为{e}门{o}很{a}，所以{s}{v}了它", "because {e} {o.sg} is very {a}, {s} {v.past} it", "e|o|a s|v|o",
         55, e=x.DEMONSTRATIVES, o=CHOICES, a=WELCOME, s=PEOPLE, v=courses.CHOOSE),
    rule("因为{e}门{o}很{a}，所以{s}{v}了它", "because {e} {o.sg} is very {a}, {s} {v.past} it", "e|o|a s|v|o",
         50, e=x.DEMONSTRATIVES, o=CHOICES, a=UNWELCOME, s=PEOPLE, v=courses.DROP),
    rule("{s}{v}了{e}门{o}，因为它很{a}", "{s} {v.past} {e} {o.sg} because it is very {a}", "e|o|a s|v|o",
         55, e=x.DEMONSTRATIVES, o=CHOICES, a=WELCOME, s=PEOPLE, v=courses.CHOOSE),
    rule("虽然{e}门{o}很{a}，但是{s}没{v}它", "although {e} {o.sg} is very {a}, {s} didn't {v.base} it", "e|o|a s|v|o",
         55, e=x.DEMONSTRATIVES, o=CHOICES, a=WELCOME, s=PEOPLE, v=courses.CHOOSE),
    rule("虽然{e}门{o}很{a}，但是{s}{v}了它", "although {e} {o.sg} is very {a}, {s} {v.past} it", "e|o|a s|v|o",
         50, e=x.DEMONSTRATIVES, o=CHOICES, a=UNWELCOME, s=PEOPLE, v=courses.CHOOSE),
    rule("如果{e}门{o}不{a}，{s}就{v}它", "if {e} {o.sg} isn't {a}, {s} will {v.base} it", "e|o|a s|v|o",
         40, e=x.DEMONSTRATIVES, o=CHOICES, a=x.HARD, s=PEOPLE, v=courses.CHOOSE),
    rule("如果{e}门{o}不{a}，{s}就不{v}它", "if {e} {o.sg} isn't {a}, {s} won't {v.base} it", "e|o|a s|v|o",
         40, e=x.DEMONSTRATIVES, o=CHOICES, a=(x.EASY, x.IMPORTANT), s=PEOPLE, v=courses.CHOOSE),
    rule("因为{e}个{f}{a.before}很{a}，所以{s}又买了一个", "because {e} {f.sg} is very {a}, {s} bought another one",
         "e|f|a", 55, e=x.DEMONSTRATIVES, f=food.FRUITS, a=FRUIT_VIRTUES, s=PEOPLE),
    rule("因为{e}{o.cl}{o}是{g}，所以它很{a}", "because {e} {o.sg} is {g.one}, it is very {a}", "e|o|g", 10,
         e=x.DEMONSTRATIVES, o=things.GADGETS, g=things.GRAY_IMPORT, a=x.CHEAP),
    rule("虽然{e}{o.cl}{o}是{g}，但是{s}想买它", "although {e} {o.sg} is {g.one}, {s} {w@s} to buy it", "e|o|g", 40,
         e=x.DEMONSTRATIVES, o=things.GADGETS, g=things.GRAY_IMPORT, s=PEOPLE, w=x.WANT),
    rule("因为{s}的{o}很{a}，所以{s}{w}{v}", "because {s.poss} {o} is very {a}, {s} {w@s} to {v.base}", "s|o|a", 6,
         s=PRONOUNS[:4], o=work.SALARY, a=x.LOW, w=x.WANT, v=work.CHANGE_JOBS),
    rule("虽然{s}的{o}很{a}，但是{s}很{h}", "although {s.poss} {o} is very {a}, {s} {be@s} very {h}", "s|o|a", 6,
         s=PRONOUNS[:4], o=work.SALARY, a=x.LOW, h=HAPPY),
    rule("如果{s}不{v}{o}，宿舍里就没有{w}",
         "if {s} {not_do@s} {v.base} {o}, there will be no {w} in the dorm", "s|v|o", 24,
         s=(*PRONOUNS, x.ROOMMATE, x.XIAOMING), v=work.PAY, o=work.UTILITY_BILLS, w=SHORTAGES),
    rule("如果{s}每天{v}{o}，{s}的{o}{l}就会{i}",
         "if {s} {v@s} {o} every day, {s.poss} {l} of {o} will {i.base}", "s|v|o s|i|o", 25,
         s=PRONOUNS, v=work.STUDY, o=work.SKILLS, l=work.LEVEL, i=work.IMPROVE),
    rule("因为{s}的{o}{l}很高，所以老师{v}了{s}",
         "because {s.poss} {l} of {o} is very high, the teacher {v.past} {s.obj}", "s|o|高", 25,
         s=PRONOUNS, o=work.SKILLS, l=work.LEVEL, v=study.PRAISE),
    rule("因为{s}常常在{p}{v}，所以大家都讨厌{s}",
         "because {s} often {v@s} {p}, everyone hates {s.obj}", "s|v", 25,
         s=PRONOUNS[1:], p=things.SITES, v=(things.POST_SPAM, things.POSTS[2])),
    rule("因为{s}{v}了{o}，所以{s}没写完{n}",
         "because {s} {v.past} {s.own} {o.bare}, {s} didn't finish {s.own} {n}", "s|v|o", 18,
         s=PRONOUNS, v=things.USE_UP, o=things.INK, n=(thing("作业", "homework"), thing("信", "letter"))),
    rule("如果明天{r}，{s}就在{p}{v}", "if {r} tomorrow, {s} will {v.base@s} {p}", "s|v", 65,
         r=WEATHER, s=PEOPLE, p=PLACES, v=PLANS),
    rule("{s}看完{o}以后，脸上都是{w}", "after {s} finished reading the {o}, {s.own} face was covered with {w}",
         "s|o|w", 25,
         s=x.SOLO, o=MOVING, w=nature.TEARS),
    rule("{s}{v}以后，衣服上都是{w}", "after {s} {v.past}, {s.own} clothes were covered with {w}", "s|v|w", 10,
         s=PEOPLE, v=study.PLAY, w=nature.SWEAT),
)

ROADBLOCKS = tuple(
    rule("因为{o}被{f}{v}了，所以{s}没去看{n}",
         "because the {o.bare} was {v.done} by {f}, {s} didn't go to see the {n.bare}", "f|v|o", 18,
         o=o, f=nature.FLOOD, v=v, s=PEOPLE, n=(nature.WATERFALL, nature.LAKE))
    for v, o in BLOCKED
)

CONTRASTS = (
    rule("{s}{v}{e}门{o}很{a}，但是{p}{v}它很{b}",
         "{s} {v@s} {e} {o.sg} is very {a}, but {p} {v@p} it is very {b}", "e|o|a e|o|b", 150, "sp ab",
         s=PEOPLE, v=THINK, e=x.DEMONSTRATIVES, o=CHOICES, a=courses.JUDGEMENTS, p=PEOPLE, b=courses.JUDGEMENTS),
    rule("{s}{v}{o}，但是{p}{w}{q}", "{s} {v@s} {o}, but {p} {w@p} {q}", "s|v|o p|w|q", 80, "sp",
         s=PEOPLE, v=FOND, o=courses.COURSES, p=PEOPLE, w=x.HATE, q=courses.COURSES),
    rule("{s}{v}{o}，{p}也{v}{o}", "{s} {v@s} {o}, and {p} also {v@p} {o}", "s|v|o p|v|o", 65, "sp",
         s=PEOPLE, v=x.LIKING, o=courses.COURSES, p=PEOPLE),
    rule("{s}{v}{o}和{q}", "{s} {v@s} {o} and {q}", "s|v|o s|v|q", 70, "oq",
         s=PEOPLE, v=x.LIKING, o=courses.COURSES, q=courses.COURSES),
    rule("{s}喜欢{v}{o}，但是{p}喜欢{v}{q}", "{s} {l@s} to {v.base} {o}, but {p} {l@p} to {v.base} {q}",
         "s|v|o p|v|q", 55, "sp oq", l=x.LIKE, s=PEOPLE, p=PEOPLE, v=food.DRINK, o=food.DRINKS, q=food.DRINKS),
    rule("{s}喜欢{v}{o}，但是{p}喜欢{v}{q}", "{s} {l@s} to {v.base} {o}, but {p} {l@p} to {v.base} {q}",
         "s|v|o p|v|q", 55, "sp oq", l=x.LIKE, s=PEOPLE, p=PEOPLE, v=food.EAT, o=food.FOODS, q=food.FOODS),
    rule("{s}{v}{o}，{p}{w}{q}，{r}{u}{m}", "{s} {v@s} {o}, {p} {w@p} {q}, and {r} {u@r} {m}",
         "s|v|o p|w|q r|u|m", 100, "sp pr sr", s=PEOPLE, v=x.LIKING, o=courses.COURSES, p=PEOPLE, w=x.LIKING,
         q=courses.COURSES, r=PEOPLE, u=x.LIKING, m=courses.COURSES),
)

DAYS = (
    rule("{s}昨天{t}在{p}{v}，{u}在{q}{w}",
         "{s} {v.past@s} {p} yesterday {t} and {w.past@s} {q} in the {u}", "s|v s|w", 80, "vw pq",
         s=PEOPLE, t=MORNING, p=study.DESKS, v=study.DESK_WORK, u=(AFTERNOON, EVENING),
         q=study.LOUNGES, w=study.LEISURE),
    rule("{s}昨天{t}在{p}{v}，{u}在{q}{w}",
         "{s} {v.past@s} {p} yesterday {t} and {w.past@s} {q} in the {u}", "s|v s|w", 70, "vw pq",
         s=PEOPLE, t=AFTERNOON, p=study.DESKS, v=study.DESK_WORK, u=EVENING, q=study.TABLES, w=study.SNACKS),
    rule("{s}{d}{v}，再{w}", "{s} {d@s} to {v.base@s} first and then {w.base@s}", "s|v s|w", 60,
         s=PEOPLE, d=verb("想先", "want"), v=CHORES, w=(*study.LEISURE, study.DRINK_COFFEE, study.EAT_DUMPLINGS)),
)

CHAINS = (
    rule("{s}昨天{t}{v}，{u}{w}，{x}{z}",
         "{s} {v.past@s} yesterday {t}, {w.past@s} in the {u}, and {z.past@s} in the {x}",
         "s|v s|w s|z", 150, "vw vz wz", s=PEOPLE, t=MORNING, v=study.DESK_WORK, u=AFTERNOON, w=study.LEISURE,
         x=EVENING, z=study.SNACKS),
    rule("{s}昨天{t}在{p}{v}，{u}在{q}{w}，{x}在{y}{z}",
         "{s} {v.past@s} {p} yesterday {t}, {w.past@s} {q} in the {u}, and {z.past@s} {y} in the {x}",
         "s|v s|w s|z", 60, "vw pq vz wz", s=PEOPLE, t=MORNING, p=study.DESKS, v=study.DESK_WORK, u=AFTERNOON,
         q=study.LOUNGES, w=study.LEISURE, x=EVENING, y=study.TABLES, z=study.SNACKS),
    rule("{s}昨天{t}在{p}{v}，但是{r}昨天{x}在{y}{z}",
         "{s} {v.past@s} {p} yesterday {t}, but {r} {z.past@r} {y} yesterday {x}",
         "s|v r|z", 200, "vz sr", s=PRONOUNS, t=MORNING, p=study.DESKS, v=study.DESK_WORK, r=PRONOUNS, x=AFTERNOON,
         y=study.LOUNGES, z=study.LEISURE),
    rule("{s}昨天{t}在{p}{v}，{u}在{q}{w}，但是{r}昨天{x}在{y}{z}",
         "{s} {v.past@s} {p} yesterday {t} and {w.past@s} {q} in the {u}, but {r} {z.past@r} {y} yesterday {x}",
         "s|v s|w r|z", 60, "vw pq vz wz sr", s=PEOPLE, t=MORNING, p=study.DESKS, v=study.DESK_WORK, u=AFTERNOON,
         q=study.LOUNGES, w=study.LEISURE, r=PEOPLE, x=AFTERNOON, y=study.TABLES, z=study.SNACKS),
    *(
        rule("{s}{v}{o}，{p}{w}{q}，{r}{u}{m}，{a}{b}{c}",
             "{s} {v@s} {o}, {p} {w@p} {q}, {r} {u@r} {m}, and {a} {b@a} {c}",
             "s|v|o p|w|q r|u|m a|b|c", draws, "sp pr sr as ap ar", s=people, v=x.LIKING, o=taken, p=people,
             w=x.LIKING, q=taken, r=people, u=x.LIKING, m=taken, a=people, b=x.LIKING, c=taken)
        for people, taken, draws in ((PRONOUNS, SHORT, 300), (PEOPLE, courses.COURSES, 100))
    ),
    rule("因为{e}门{o}很{a}，所以{s}{v}了它，但是{p}没{v}它",
         "because {e} {o.sg} is very {a}, {s} {v.past} it, but {p} didn't {v.base} it",
         "e|o|a s|v|o p|v|o", 250, "sp", e=x.DEMONSTRATIVES, o=CHOICES, a=WELCOME, s=PEOPLE,
         v=courses.CHOOSE, p=PEOPLE),
    *(
        rule("{s}{v}{e}门{o}很{a}，{p}{v}它很{b}，{r}{v}它很{c}",
             "{s} {v@s} {e} {o.sg} is very {a}, {p} {v@p} it is very {b}, and {r} {v@r} it is very {c}",
             "e|o|a e|o|b e|o|c", draws, "sp pr sr ab bc ac", s=people, v=THINK, e=x.DEMONSTRATIVES, o=taken,
             a=courses.JUDGEMENTS, p=people, b=courses.JUDGEMENTS, r=people, c=courses.JUDGEMENTS)
        for people, taken, draws in ((PRONOUNS, (courses.COURSE,), 400), (PEOPLE, CHOICES, 100))
    ),
)
# fmt: on

RULES = (*REPORTS, *REASONS, *ROADBLOCKS, *CONTRASTS, *DAYS, *CHAINS)
