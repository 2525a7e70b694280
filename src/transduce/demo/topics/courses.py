"""Loving, choosing, skipping and judging courses: where 水 is “easy”."""

from __future__ import annotations

from dataclasses import replace

from transduce.demo import lexicon as x
from transduce.demo.grammar import Word, rule
from transduce.demo.words import noun, thing, verb


def course(zh: str, en: str, sense: str = "") -> Word:
    """A course; what one skips is a `session` of it."""
    word = noun(zh, en, cl="门", sense=sense)
    session = en.replace("course", "class")
    return replace(word, forms={**word.forms, "session": session, "sessions": f"{session}es"})


EASY_COURSE = course("水课", "easy course", "水课")
COURSE = course("课", "course")
SUBJECTS = (
    course("数学课", "math course"),
    course("英语课", "English course"),
    course("历史课", "history course"),
    course("音乐课", "music course"),
    course("法律课", "law course"),
)
KINDS = (
    course("网课", "online course"),
    course("选修课", "elective course"),
    course("必修课", "required course"),
)
COURSES = (EASY_COURSE, course("难课", "hard course"), *SUBJECTS, *KINDS)
NEUTRAL = (COURSE, *SUBJECTS, *KINDS)
NAMED = (*SUBJECTS, *KINDS)

TAKE = verb("上", "take")
CHOOSE = verb("选", "choose")
SKIP = verb("逃", "skip")
DROP = verb("退", "drop")
TEACH = verb("教", "teach")
PREFER = verb("更喜欢", "prefer")
JUDGEMENTS = (x.EASY, x.HARD, x.INTERESTING, x.BORING, x.IMPORTANT, x.USEFUL)
COMPARABLE = (x.EASY, x.HARD, x.INTERESTING, x.IMPORTANT, x.USEFUL)
SEMESTERS = (x.LAST_SEMESTER, x.LAST_YEAR)
PEOPLE = (*x.STUDENTS, x.EVERYONE)
FANS = (*PEOPLE, x.STUDENTS_AT_LARGE)
OTHERS = x.others(x.STUDENTS)
WHAT_COURSES = thing("什么课", "what courses")
OUR_SCHOOL = thing("我们学校", "our school")
AMOUNTS = (
    thing("很多", "has a lot of"),
    thing("太多了", "has too many"),
    thing("不多", "doesn't have many"),
)

# One rule to a line or two, Chinese beside English, so that the tables read as a phrase book.
# fmt: off
LIKES = (
    rule("{s}{v}{o}", "{s} {v@s} {o}", "s|v|o", 360, s=FANS, v=x.LIKING, o=COURSES),
    rule("{s}不{v}{o}", "{s} {not_do@s} {v.base} {o}", "s|v|o", 125,
         s=(*x.STUDENTS, x.STUDENTS_AT_LARGE), v=(x.LOVE, x.LIKE), o=COURSES),
    rule("{s}也{v}{o}", "{s} also {v@s} {o}", "s|v|o", 70, s=x.STUDENTS, v=x.LIKING, o=COURSES),
    rule("{s}很{v}{o}", "{s} really {v@s} {o}", "s|v|o", 65, s=FANS, v=(x.LIKE, x.HATE), o=COURSES),
    rule("{s}以前{v}{o}", "{s} used to {v.base} {o}", "s|v|o", 65, s=x.STUDENTS, v=x.LIKING, o=COURSES),
    rule("{s}[1最]{v}{o}", "{s} {v@s} {o} [1best]", "s|v|o", 55, s=x.STUDENTS, v=x.LIKE, o=COURSES),
    rule("{s}{v}{o}吗？", "{do@s} {s} {v.base} {o}?", "s|v|o", 70,
         s=(*OTHERS, x.EVERYONE), v=x.LIKING, o=COURSES),
    rule("{s}{v}{o}？", "{s} {v@s} {o}?", "s|v|o", 24, s=x.WHO, v=x.LIKING, o=COURSES),
    rule("{s}{v}{o}？", "{o} {do@s} {s} {v.base}?", "s|v|o", 27, s=OTHERS, v=x.LIKING, o=WHAT_COURSES),
    rule("比起{q}，{s}{v}{o}", "{s} {v@s} {o} to {q}", "s|v|o", 60, "oq",
         s=x.STUDENTS, v=PREFER, o=COURSES, q=COURSES),
    rule("{v}{o}的{s}很多", "there are a lot of {s} who {v.base} {o}", "s|v|o", 24,
         s=x.STUDENTS_AT_LARGE, v=x.LIKING, o=COURSES),
)

ENROLMENT = (
    rule("{s}{w}{v}{o}", "{s} {w@s} to {v.base} {o}", "s|v|o", 70,
         s=PEOPLE, w=x.WANT, v=(TAKE, CHOOSE), o=COURSES),
    rule("{s}不{w}{v}{o}", "{s} {not_do@s} {w.base} to {v.base} {o}", "s|v|o", 70,
         s=x.STUDENTS, w=x.WANT, v=(TAKE, CHOOSE), o=COURSES),
    rule("{s}{w}{v}{o}吗？", "{do@s} {s} {w.base} to {v.base} {o}?", "s|v|o", 60,
         s=OTHERS, w=x.WANT, v=(TAKE, CHOOSE), o=COURSES),
    rule("{s}{t}[1要]{v}{o}", "{s} {be@s} [1going to] {v.base} {o} {t}", "s|v|o", 60,
         s=x.STUDENTS, t=(x.NEXT_SEMESTER, x.NEXT_YEAR), v=(TAKE, CHOOSE), o=COURSES),
    rule("{s}[1应该]{v}{o}", "{s} [1should] {v.base} {o}", "s|v|o", 65,
         s=(*OTHERS, x.STUDENTS_AT_LARGE), v=(TAKE, CHOOSE), o=COURSES),
    rule("{s}{t}{v}了{n}{o.cl}{o}", "{s} {v.past} {n} {o.many} {t}", "s|v|o", 80,
         s=x.STUDENTS, t=SEMESTERS, v=(CHOOSE, TAKE, DROP), n=x.NUMBERS, o=COURSES),
    rule("{s}{t}{v}了一{o.cl}{o}", "{s} {v.past} {o.one} {t}", "s|v|o", 80,
         s=x.STUDENTS, t=(x.YESTERDAY, x.LAST_WEEK), v=(CHOOSE, DROP), o=COURSES),
    rule("{s}没{v}{d}{o.cl}{o}", "{s} didn't {v.base} {d} {o.sg}", "s|v|o", 60,
         s=x.STUDENTS, v=(CHOOSE, TAKE, DROP), d=x.DEMONSTRATIVES, o=COURSES),
    rule("{s}[1为什么]{v}{d}{o.cl}{o}？", "[1why] did {s} {v.base} {d} {o.sg}?", "s|v|o", 65,
         s=OTHERS, v=(CHOOSE, DROP), d=x.DEMONSTRATIVES, o=COURSES),
    rule("{s}{t}{v}了[1哪]{o.cl}{o}？", "[1which] {o.sg} did {s} {v.base} {t}?", "s|v|o", 65,
         s=OTHERS, t=SEMESTERS, v=(CHOOSE, DROP), o=NEUTRAL),
    rule("{s}{t}{v}了[1几]{o.cl}{o}？", "[1how many] {o.many} did {s} {v.base} {t}?", "s|v|o", 65,
         s=OTHERS, t=SEMESTERS, v=(CHOOSE, TAKE), o=COURSES),
    rule("{s}把{d}{o.cl}{o}{v}了", "{s} {v.past} {d} {o.sg}", "s|v|o", 60,
         s=x.STUDENTS, d=x.DEMONSTRATIVES, v=DROP, o=COURSES),
    rule("{s}{t}{v}了{o}", "{s} {v.past} {o.session} {t}", "s|v|o", 65,
         s=x.STUDENTS, t=x.PAST_DAYS, v=SKIP, o=SUBJECTS),
    rule("{s}[1常常]{v}{o}", "{s} [1often] {v@s} {o.sessions}", "s|v|o", 55, s=x.STUDENTS, v=SKIP, o=COURSES),
)

OPINIONS = (
    rule("{e}{o.cl}{o}{d}{a}{d.post}", "{e} {o.sg} is {d} {a}", "e|o|a", 80,
         e=x.DEMONSTRATIVES, o=NEUTRAL, d=x.DEGREES, a=JUDGEMENTS),
    rule("{e}{o.cl}{o}不{a}", "{e} {o.sg} isn't {a}", "e|o|a", 50,
         e=x.DEMONSTRATIVES, o=NEUTRAL, a=(x.EASY, x.HARD, x.BORING, x.IMPORTANT)),
    rule("{e}{o.cl}{o}{a}吗？", "is {e} {o.sg} {a}?", "e|o|a", 50, e=x.DEMONSTRATIVES, o=NEUTRAL, a=JUDGEMENTS),
    rule("{e}{o.cl}{o}比{f}{o.cl}{a}", "{e} {o.sg} is {a.more} than {f} one", "e|o|a", 65, "ef",
         e=x.DEMONSTRATIVES, f=x.DEMONSTRATIVES, o=NEUTRAL, a=COMPARABLE),
    rule("{e}{o.cl}{o}没有{f}{o.cl}{a}", "{e} {o.sg} isn't as {a} as {f} one", "e|o|a", 55, "ef",
         e=x.DEMONSTRATIVES, f=x.DEMONSTRATIVES, o=NEUTRAL, a=COMPARABLE),
    rule("{o}比{q}{a}", "{o} {be@o} {a.more} than {q}", "o|a|q", 80, "oq", o=NAMED, q=NAMED, a=COMPARABLE),
    rule("{o}和{q}[1一样]{a}", "{o} {be@o} [1just as] {a} as {q}", "o|a|q", 60, "oq",
         o=NAMED, q=NAMED, a=COMPARABLE),
    rule("{s}{t}{v}的{o}{d}{a}{d.post}", "the {o.sg} {s} {v.past} {t} was {d} {a}", "s|v|o", 90,
         s=x.STUDENTS, t=SEMESTERS, v=(CHOOSE, TAKE), o=NEUTRAL, d=x.DEGREES, a=JUDGEMENTS),
    rule("{s}{t}{v}的{o}{d}{a}{d.post}", "the {o.sg} {s} {v.past} {t} is {d} {a}", "s|v|o", 70,
         s=x.STUDENTS, t=(x.YESTERDAY, x.LAST_WEEK), v=CHOOSE, o=NEUTRAL, d=x.DEGREES, a=JUDGEMENTS),
    rule("{s}{v}的{o}{d}{a}{d.post}", "the {o.sg} {s} {v@s} is {d} {a}", "s|v|o", 70,
         s=(*x.PROFESSORS, x.TEACHER), v=TEACH, o=(COURSE, *SUBJECTS), d=x.DEGREES, a=JUDGEMENTS),
    rule("{s}{v}{o}", "{s} {v@s} {o}", "s|v|o", 30, s=(*x.PROFESSORS, x.TEACHER), v=TEACH, o=NAMED),
    rule("{s}[1不]{v}{o}", "{s} [1doesn't] {v.base} {o}", "s|v|o", 20, s=x.PROFESSORS, v=TEACH, o=COURSES),
    rule("{e}{o.cl}{o}是{s}{v}的吗？", "does {s} {v.base} {e} {o.sg}?", "s|v|o", 30,
         e=x.DEMONSTRATIVES, o=NEUTRAL, s=x.PROFESSORS, v=TEACH),
    rule("{e}{o.cl}{o}是{s}{v}的？", "{s} {v@s} {e} {o.sg}?", "s|v|o", 20,
         e=x.DEMONSTRATIVES, o=NEUTRAL, s=x.WHO, v=TEACH),
    rule("{s}{o}{m}", "{s} {m} {o}", "s|o|m", 30, s=OUR_SCHOOL, o=COURSES, m=AMOUNTS),
)
# fmt: on

RULES = (*LIKES, *ENROLMENT, *OPINIONS)
