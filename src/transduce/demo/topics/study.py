"""What one does where and when: papers, homework, painting, diving. Time and place change sides here."""

from __future__ import annotations

from transduce.demo import lexicon as x
from transduce.demo.grammar import rule
from transduce.demo.words import noun, thing, verb

WRITE_PAPER = verb("写论文", "write ~ paper", generic="write papers", key="写|论文")
REVISE_PAPER = verb("改论文", "revise ~ paper", generic="revise papers", key="改|论文")
DO_HOMEWORK = verb("做作业", "do ~ homework", generic="do homework", key="做|作业")
READ = verb("看书", "read a book", generic="read books", key="看|书")
WATCH = verb("看电影", "watch a movie", generic="watch movies", key="看|电影")
MUSIC = verb("听音乐", "listen to music", key="听|音乐")
SLEEP = verb("睡觉", "sleep")
CHAT = verb("聊天", "chat")
STUDY_ENGLISH = verb("学英语", "study English", key="学|英语")
STUDY_GERMAN = verb("学德语", "study German", key="学|德语")
PREPARE = verb("准备考试", "prepare for an exam", generic="prepare for exams", key="准备|考试")
PAINT = verb("画水彩画", "paint a watercolor", generic="paint watercolors", key="画|水彩画", sense="水彩画")
EAT_DUMPLINGS = verb("吃水饺", "eat dumplings", key="吃|水饺", sense="水饺")
EAT_FRUIT = verb("吃水果", "eat fruit", key="吃|水果", sense="水果")
DRINK_WATER = verb("喝水", "drink water", key="喝|水", sense="喝水")
DRINK_COFFEE = verb("喝咖啡", "drink coffee", key="喝|咖啡")
MAKE_DUMPLINGS = verb("包水饺", "make dumplings", key="包|水饺", sense="水饺")
SWIM = verb("游泳", "swim")
DIVE = verb("潜水", "dive", sense="潜水")
PLAY = verb("打篮球", "play basketball", key="打|篮球")
COOK = verb("做饭", "cook")
SING = verb("唱歌", "sing")
DRAW_LANDSCAPES = verb("画山水画", "paint landscapes", key="画|山水画", sense="山水")

DESK_WORK = (WRITE_PAPER, REVISE_PAPER, DO_HOMEWORK, READ, STUDY_ENGLISH, STUDY_GERMAN, PREPARE, SLEEP)
LEISURE = (WATCH, MUSIC, CHAT, SLEEP, READ, PAINT)
SNACKS = (EAT_DUMPLINGS, EAT_FRUIT, DRINK_COFFEE, CHAT)
ALONGSIDE = (MUSIC, *SNACKS, DRINK_WATER)
PASTIMES = (WATCH, MUSIC, CHAT, READ, PAINT, DRAW_LANDSCAPES, SWIM, DIVE, PLAY, COOK, SING, MAKE_DUMPLINGS)
SKILLS = (SWIM, DIVE, COOK, SING, MAKE_DUMPLINGS, PAINT, DRAW_LANDSCAPES, PLAY)
DESKS = (x.LIBRARY, x.DORM, x.CLASSROOM, x.CAFE, x.HOME)
LOUNGES = (x.DORM, x.CAFE, x.HOME, x.PARK)
TABLES = (x.CAFETERIA, x.DORM, x.HOME, x.CAFE)
WHERE_DONE = ((DESK_WORK, DESKS), (LEISURE, LOUNGES), (SNACKS, TABLES))
WET = ((SWIM, DIVE), (thing("海里", "in the sea"), thing("湖里", "in the lake")))

PEOPLE = (*x.STUDENTS, x.SISTER, x.BROTHER)
OTHERS = x.others(x.STUDENTS)
WHAT = thing("什么", "what")
FINISH = verb("写完", "finish")
LETTERS = (
    noun("论文", "paper", cl="篇"),
    noun("文章", "article", cl="篇"),
    noun("小说", "novel", cl="本"),
    noun("信", "letter", cl="封"),
)
WRITE = verb("写", "write")
WRITINGS = LETTERS[:3]
PRAISE = verb("表扬", "praise")
CRITICIZE = verb("批评", "criticize")
REVISE = verb("修改", "revise")
REVIEWERS = (*x.PROFESSORS, x.TEACHER, *x.NAMED)
TEXT_QUALITIES = (x.WEAK, x.LONG, x.INTERESTING, x.BORING)

# One rule to a line or two, Chinese beside English, so that the tables read as a phrase book.
# fmt: off
ACTIVITIES = tuple(
    activity
    for v, p in WHERE_DONE
    for activity in (
        rule("{s}{t}在{p}{v}", "{s} {v.past@s} {p} {t}", "s|v", 80, s=PEOPLE, t=x.PAST_DAYS, p=p, v=v),
        rule("{s}正在{p}{v}", "{s} {be@s} {v.ing@s} {p}", "s|v", 90, s=PEOPLE, p=p, v=v),
        rule("{s}{t}在{p}{v}", "{s} {v.usual@s} {p} {t}", "s|v", 75, s=PEOPLE, t=x.EVERY_DAY, p=p, v=v),
        rule("{s}{t}[1要]在{p}{v}", "{s} {be@s} [1going to] {v.base@s} {p} {t}", "s|v", 50,
             s=PEOPLE, t=x.FUTURE_DAYS, p=p, v=v),
        rule("{s}{w}在{p}{v}", "{s} {w@s} to {v.base@s} {p}", "s|v", 45, s=PEOPLE, w=x.WANT, p=p, v=v),
        rule("{s}{t}[1没]在{p}{v}", "{s} [1didn't] {v.base@s} {p} {t}", "s|v", 40,
             s=PEOPLE, t=x.PAST_DAYS, p=p, v=v),
        rule("{s}{t}在{p}{v}吗？", "did {s} {v.base@s} {p} {t}?", "s|v", 40, s=OTHERS, t=x.PAST_DAYS, p=p, v=v),
        rule("{s}{t}在[1哪里]{v}？", "[1where] did {s} {v.base@s} {t}?", "s|v", 40,
             s=OTHERS, t=x.PAST_DAYS, v=v),
        rule("{s}{t}在{p}{v}？", "{s} {v.past@s} {p} {t}?", "s|v", 25, s=x.WHO, t=x.PAST_DAYS, p=p, v=v),
        rule("{s}{t}在{p}做{o}？", "{o} did {s} do {p} {t}?", "s|做|o", 25,
             s=OTHERS, t=x.PAST_DAYS, p=p, o=WHAT),
    )
)

HOBBIES = (
    rule("{s}[1会]{v}", "{s} [1can] {v.generic}", "s|v", 45, s=PEOPLE, v=SKILLS),
    rule("{s}[1不会]{v}", "{s} [1can't] {v.generic}", "s|v", 40, s=PEOPLE, v=SKILLS),
    rule("{s}[1会]{v}吗？", "[1can] {s} {v.generic}?", "s|v", 35, s=OTHERS, v=SKILLS),
    rule("{s}{w}{v}", "{s} {w@s} to {v.generic}", "s|v", 55, s=PEOPLE, w=(x.LIKE, x.LOVE), v=PASTIMES),
    rule("{s}不{w}{v}", "{s} {not_do@s} {w.base} to {v.generic}", "s|v", 45, s=PEOPLE, w=x.LIKE, v=PASTIMES),
    rule("{s}{w}[1学]{v}", "{s} {w@s} to [1learn to] {v.generic}", "s|v", 40,
         s=PEOPLE, w=x.WANT, v=(SWIM, DIVE, COOK, SING, PAINT)),
    rule("{s}{t}在{p}{v}", "{s} {v.past} {p} {t}", "s|v", 50,
         s=PEOPLE, t=(*x.PAST_DAYS, x.LAST_YEAR), v=WET[0], p=WET[1]),
    rule("{s}{w}在{p}{v}", "{s} {w@s} to {v.base} {p}", "s|v", 35,
         s=PEOPLE, w=(x.LIKE, x.WANT), v=WET[0], p=WET[1]),
    rule("{s}{v}的[1时候]{w}{q}", "{s} {w@s} to {q.generic} [1when] {s.pronoun} {v.usual@s}", "s|v s|q", 65,
         s=PEOPLE, v=(WRITE_PAPER, DO_HOMEWORK, PAINT, READ), w=x.LIKE, q=ALONGSIDE),
    rule("{s}{w}[1一边]{v}一边{q}", "{s} {w@s} to {q.generic} [1while] {v.ing@s}", "s|v s|q", 55,
         s=PEOPLE, w=x.LIKE, v=(WRITE_PAPER, DO_HOMEWORK, PAINT), q=ALONGSIDE),
)

TEXTS = (
    rule("{s}{t}{v}的{n}{d}{a}{d.post}", "the {n.sg} {s} {v.past} {t} is {d} {a}", "s|n|a", 85,
         s=x.STUDENTS, t=(*x.PAST, x.LAST_SEMESTER), v=WRITE, n=WRITINGS, d=x.DEGREES, a=TEXT_QUALITIES),
    rule("{s}的{n}{d}{a}{d.post}", "{s.poss} {n.sg} is {d} {a}", "s|n|a", 80,
         s=x.STUDENTS, n=WRITINGS, d=x.DEGREES, a=TEXT_QUALITIES),
    rule("{e}{n.cl}{n}{d}{a}{d.post}", "{e} {n.sg} is {d} {a}", "e|n|a", 80,
         e=x.DEMONSTRATIVES, n=WRITINGS, d=x.DEGREES, a=TEXT_QUALITIES),
    rule("{e}{n.cl}{n}比{f}{n.cl}{a}", "{e} {n.sg} is {a.more} than {f} one", "e|n|a", 48, "ef",
         e=x.DEMONSTRATIVES, f=x.DEMONSTRATIVES, n=WRITINGS, a=TEXT_QUALITIES),
    rule("{e}{n.cl}{n}更{a}", "{e} {n.sg} is {a.more}", "e|n|a", 24,
         e=x.DEMONSTRATIVES, n=WRITINGS, a=TEXT_QUALITIES),
    rule("[1哪]{n.cl}{n}更{a}？", "[1which] {n.sg} is {a.more}?", "哪|n|a", 12, n=WRITINGS, a=TEXT_QUALITIES),
    rule("{s}{t}{v}了{m}{n.cl}{n}", "{s} {v.past} {m} {n.many} {t}", "s|v|n", 50,
         s=x.STUDENTS, t=(*x.PAST, x.LAST_SEMESTER), v=WRITE, m=(x.TWO, x.THREE), n=LETTERS),
    rule("{s}把{n}{v}了", "{s} {v.past} writing {s.own} {n.sg}", "s|v|n", 30, s=PEOPLE, v=FINISH, n=LETTERS),
    rule("{p}{t}{v}了{s}的{n}", "{p} {v.past} {s.poss} {n.sg} {t}", "p|v|n", 55, "sp",
         p=REVIEWERS, v=(PRAISE, CRITICIZE, REVISE), s=x.STUDENTS, n=WRITINGS, t=x.PAST),
    rule("{s}的{n}{t}被{p}{v}了", "{s.poss} {n.sg} was {v.done} by {p} {t}", "p|v|n", 55, "sp",
         p=REVIEWERS, v=(PRAISE, CRITICIZE, REVISE), s=x.STUDENTS, n=WRITINGS, t=x.PAST),
    rule("{s}{t}给{p}{v}了一{n.cl}{n}", "{s} {v.past} {n.one} to {p.obj} {t}", "s|v|n", 50, "sp",
         s=x.STUDENTS, t=x.PAST, p=(*x.STUDENTS, *x.FAMILY, x.LI, x.WANG), v=WRITE, n=LETTERS[3]),
)
# fmt: on

RULES = (*ACTIVITIES, *HOBBIES, *TEXTS)
