"""Salaries, bills, languages and trades: 薪水, 水电费, 水平, 水手, 水利, 风水."""

from __future__ import annotations

from transduce.demo import lexicon as x
from transduce.demo.grammar import rule
from transduce.demo.words import adjective, noun, thing, verb

SALARY = thing("薪水", "salary", sense="薪水")
JOB = thing("工作", "job")
GRADES = thing("成绩", "grades")
MORE_THAN = (x.HIGH, x.LOW)
EARNERS = (x.I, x.YOU, x.HE, x.SHE, *x.FAMILY, x.XIAOHONG, x.ROOMMATE, x.SAILOR)
OTHERS = x.others(EARNERS)
GET = verb("拿到", "get")
SPEND = verb("花光", "spend")
GIVE = verb("给", "give")
BUY = verb("买", "buy")
GOODS = (
    noun("香水", "perfume", cl="瓶", unit="bottle", sense="香水"),
    noun("自行车", "bicycle", cl="辆"),
    noun("手机", "phone", cl="部"),
    noun("电脑", "computer", cl="台"),
)

UTILITY_BILLS = thing("水电费", "the utility bills", "plural", sense="水电费")
BILLS = (
    UTILITY_BILLS,
    thing("房租", "the rent"),
    thing("学费", "the tuition"),
    thing("电话费", "the phone bill"),
)
MONTHLY = BILLS[:2] + BILLS[3:]
THIS_MONTH = thing("这个月", "this month")
PAY = verb("交", "pay")
FORGET = thing("忘了", "forgot")

WANT_MORE = verb("想要", "want")
LEVEL = thing("水平", "level", sense="水平")
ENGLISH = thing("英语", "English")
LANGUAGES = (ENGLISH, thing("德语", "German"), thing("法语", "French"), thing("日语", "Japanese"))
SKILLS = (*LANGUAGES, thing("数学", "math"))
SPEAK = verb("说", "speak")
IMPROVE = verb("提高", "improve")
STUDY = verb("学", "study")

TRADES = (
    noun("水手", "sailor", sense="水手"),
    noun("医生", "doctor"),
    noun("律师", "lawyer"),
    noun("作家", "writer"),
    noun("工程师", "engineer"),
)
ACQUAINTANCES = (x.YOU, x.HE, x.SHE, x.XIAOMING, x.XIAOHONG)
TALL = adjective("高", "tall", "taller")
BUSY = adjective("忙", "busy", "busier")
YOUNG = adjective("年轻", "young", "younger")
FAMOUS = adjective("有名", "famous")
HAPPY = adjective("高兴", "happy", "happier")
HYDRAULICS = thing("水利工程", "hydraulic engineering", sense="水利")
FIELDS = (
    HYDRAULICS,
    thing("法律", "law"),
    thing("历史", "history"),
    thing("医学", "medicine"),
    thing("音乐", "music"),
)
FENG_SHUI = thing("风水", "feng shui", sense="风水")
BELIEFS = (FENG_SHUI, thing("科学", "science"), thing("命运", "fate"))
PLACES = (
    thing("这个宿舍", "this dorm"),
    thing("这座房子", "this house"),
    thing("那座桥", "that bridge"),
    thing("我们学校", "our school"),
    thing("那个公园", "that park"),
    thing("这个村子", "this village"),
)
GOOD = adjective("好", "good", "better")
BELIEVE = verb("相信", "believe in")
UNDERSTAND = verb("懂", "understand")
INTEREST = thing("感兴趣", "interested in")
SATISFIED = thing("满意", "satisfied with")
CHANGE_JOBS = verb("换工作", "change jobs")
COMPANY = thing("公司", "the company")

# One rule to a line or two, Chinese beside English, so that the tables read as a phrase book.
# fmt: off
PAYDAY = (
    rule("{s}的{o}{d}{a}{d.post}", "{s.poss} {o} is {d} {a}", "s|o|a", 40,
         s=EARNERS, o=SALARY, d=x.DEGREES, a=MORE_THAN),
    rule("{s}的{o}不{a}", "{s.poss} {o} isn't {a}", "s|o|a", 20, s=EARNERS, o=SALARY, a=MORE_THAN),
    rule("{s}的{o}比{p}的{a}", "{s.poss} {o} is {a.more} than {p.mine}", "s|o|a", 40, "sp",
         s=EARNERS, p=EARNERS, o=SALARY, a=MORE_THAN),
    rule("{s}的{o}没有{p}的{a}", "{s.poss} {o} isn't as {a} as {p.mine}", "s|o|a", 30, "sp",
         s=EARNERS, p=EARNERS, o=SALARY, a=x.HIGH),
    rule("{s}对{o}{d}{a}", "{s} {be@s} {d} {a} {s.own} {o}", "s|a|o", 60,
         s=EARNERS, o=(SALARY, JOB), d=(x.VERY, x.EXTREMELY), a=SATISFIED),
    rule("{s}对{o}不{a}", "{s} {not_be@s} {a} {s.own} {o}", "s|a|o", 25,
         s=EARNERS, o=(SALARY, JOB), a=SATISFIED),
    rule("{s}对{o}{a}吗？", "{be@s} {s} {a} {s.own} {o}?", "s|a|o", 25,
         s=OTHERS, o=(SALARY, JOB), a=SATISFIED),
    rule("{s}对{o}{d}{a}", "{s} {be@s} {d} {a} {s.own} {o}", "s|a|o", 20,
         s=x.STUDENTS, o=GRADES, d=(x.VERY, x.EXTREMELY), a=SATISFIED),
    rule("{s}对{o}不{a}", "{s} {not_be@s} {a} {s.own} {o}", "s|a|o", 10, s=x.STUDENTS, o=GRADES, a=SATISFIED),
    rule("{s}{w}更{a}的{o}", "{s} {w@s} a {a.more} {o}", "s|w|o", 20, s=EARNERS, w=WANT_MORE, a=x.HIGH, o=SALARY),
    rule("{s}{t}{v}了{o}", "{s} {v.past} {s.own} {o} {t}", "s|v|o", 30,
         s=EARNERS, t=(*x.PAST, x.LAST_YEAR), v=GET, o=SALARY),
    rule("{s}{t}把{o}{v}了", "{s} {v.past} all of {s.own} {o} {t}", "s|v|o", 30,
         s=EARNERS, t=x.PAST, v=SPEND, o=SALARY),
    rule("{s}{t}把{o}{v}了{p}", "{s} {v.past} {s.own} {o} to {p.obj} {t}", "s|v|o", 40, "sp",
         s=(x.I, *x.FAMILY), t=x.PAST, p=x.FAMILY, v=GIVE, o=SALARY),
    rule("{s}[1用]{o}{v}了一{g.cl}{g}", "{s} {v.past} {g.one} [1with] {s.own} {o}", "s|v|g", 30,
         s=EARNERS, o=SALARY, v=BUY, g=GOODS),
    rule("{c}给{s}[1涨]了{o}", "{c} [1raised] {s.poss} {o}", "s|o|涨", 25, c=COMPANY, s=EARNERS, o=SALARY),
    rule("{c}{t}给{s}[1涨]了{o}", "{c} [1raised] {s.poss} {o} {t}", "s|o|涨", 30,
         c=COMPANY, t=(x.TODAY, x.LAST_MONTH, x.LAST_WEEK, x.LAST_YEAR), s=EARNERS, o=SALARY),
    rule("{s}{w}{v}", "{s} {w@s} to {v.base}", "s|v", 12, s=EARNERS, w=x.WANT, v=CHANGE_JOBS),
    rule("{s}{t}换了[1工作]", "{s} changed [1jobs] {t}", "s|换工作", 25,
         s=EARNERS, t=(x.LAST_MONTH, x.LAST_WEEK, x.LAST_YEAR)),
    rule("{s}的{o}[1涨]了", "{s.poss} {o} has [1gone up]", "s|o|涨", 13, s=EARNERS, o=SALARY),
    rule("{s}的{o}[2又][1涨]了", "{s.poss} {o} has [1gone up] [2again]", "s|o|涨", 13, s=EARNERS, o=SALARY),
    rule("{s}的{o}[1涨]了吗？", "has {s.poss} {o} [1gone up]?", "s|o|涨", 12, s=OTHERS, o=SALARY),
    rule("{s}的{o}是[1多少]？", "[1how much] is {s.poss} {o}?", "s|o|多少", 12, s=OTHERS, o=SALARY),
)

HOUSEHOLD = (
    rule("{s}{t}{v}了{o}", "{s} {v.past} {o} {t}", "s|v|o", 65, s=x.ADULTS, t=x.PAST, v=PAY, o=BILLS),
    rule("{s}{f}{v}{o}", "{s} {f} to {v.base} {o}", "s|v|o", 45, s=x.ADULTS, f=FORGET, v=PAY, o=BILLS),
    rule("{s}[1还没]{v}{o}", "{s} {not_have@s} {v.done} {o} [1yet]", "s|v|o", 45, s=x.ADULTS, v=PAY, o=BILLS),
    rule("{s}[1必须]{v}{o}", "{s} [1must] {v.base} {o}", "s|v|o", 45, s=x.ADULTS, v=PAY, o=BILLS),
    rule("{s}不{w}{v}{o}", "{s} {not_do@s} {w.base} to {v.base} {o}", "s|v|o", 45,
         s=x.ADULTS, w=x.WANT, v=PAY, o=BILLS),
    rule("{s}{v}{o}了吗？", "{have@s} {s} {v.done} {o}?", "s|v|o", 44, s=x.others(x.ADULTS), v=PAY, o=BILLS),
    rule("{s}{t}{v}了{o}？", "{s} {v.past} {o} {t}?", "s|v|o", 16, s=x.WHO, t=x.PAST, v=PAY, o=BILLS),
    rule("{s}[1帮]{p}{v}了{o}", "{s} {v.past} {o} [1for] {p.obj}", "s|v|o", 65, "sp",
         s=x.ADULTS, p=x.ADULTS, v=PAY, o=BILLS),
    rule("{t}的{o}{d}{a}{d.post}", "{o} {be@o} {d} {a} {t}", "t|o|a", 36,
         t=THIS_MONTH, o=MONTHLY, d=x.DEGREES, a=MORE_THAN),
    rule("{t}的{o}{d}{a}{d.post}", "{o} {was@o} {d} {a} {t}", "t|o|a", 36,
         t=x.LAST_MONTH, o=MONTHLY, d=x.DEGREES, a=MORE_THAN),
    rule("{t}的{o}比{q}的{a}", "{o} {be@o} {a.more} {t} than {q}", "t|o|a", 8,
         t=THIS_MONTH, q=x.LAST_MONTH, o=MONTHLY, a=MORE_THAN),
    rule("{o}[1又]涨了", "{o} {have@o} gone up [1again]", "o|涨", 4, o=BILLS),
)

LEARNING = (
    rule("{s}的{o}{l}{d}{a}{d.post}", "{s.poss} {l} of {o} is {d} {a}", "s|o|a", 65,
         s=x.STUDENTS, o=SKILLS, l=LEVEL, d=x.DEGREES, a=MORE_THAN),
    rule("{s}的{o}{l}不{a}", "{s.poss} {l} of {o} isn't {a}", "s|o|a", 35,
         s=x.STUDENTS, o=SKILLS, l=LEVEL, a=MORE_THAN),
    rule("{s}的{o}{l}比{p}{a}", "{s.poss} {l} of {o} is {a.more} than {p.mine}", "s|o|a", 60, "sp",
         s=x.STUDENTS, p=x.STUDENTS, o=SKILLS, l=LEVEL, a=MORE_THAN),
    rule("{s}的{o}{l}{a}吗？", "is {s.poss} {l} of {o} {a}?", "s|o|a", 30,
         s=x.others(x.STUDENTS), o=SKILLS, l=LEVEL, a=x.HIGH),
    rule("{s}{w}{v}{o}{l}", "{s} {w@s} to {v.base} {s.own} {l} of {o}", "s|v|o", 40,
         s=x.STUDENTS, w=x.WANT, v=IMPROVE, o=SKILLS, l=LEVEL),
    rule("{s}的{o}{l}{v}了", "{s.poss} {l} of {o} has {v.done}", "s|v|o", 35,
         s=x.STUDENTS, v=IMPROVE, o=SKILLS, l=LEVEL),
    rule("{s}[1会]{v}{o}", "{s} [1can] {v.base} {o}", "s|v|o", 35, s=x.STUDENTS, v=SPEAK, o=LANGUAGES),
    rule("{s}[1不会]{v}{o}", "{s} [1can't] {v.base} {o}", "s|v|o", 35, s=x.STUDENTS, v=SPEAK, o=LANGUAGES),
    rule("{s}[1会]{v}{o}吗？", "[1can] {s} {v.base} {o}?", "s|v|o", 30, s=x.others(x.STUDENTS), v=SPEAK, o=LANGUAGES),
    rule("{s}{t}{v}{o}", "{s} {v@s} {o} {t}", "s|v|o", 50,
         s=x.STUDENTS, t=x.EVERY_DAY, v=STUDY, o=(*SKILLS, *FIELDS)),
    rule("{s}{w}{v}{o}", "{s} {w@s} to {v.base} {o}", "s|v|o", 50,
         s=x.STUDENTS, w=(x.WANT, x.LIKE), v=STUDY, o=(*LANGUAGES, *FIELDS)),
    rule("{s}[1为什么]{v}{o}？", "[1why] {do@s} {s} {v.base} {o}?", "s|v|o", 40,
         s=x.others(x.STUDENTS), v=STUDY, o=(*LANGUAGES, *FIELDS)),
    rule("{s}的[1专业]是{o}", "{s.poss} [1major] is {o}", "s|专业|o", 35, s=x.SINGULAR, o=FIELDS),
    rule("{s}的[1专业]不是{o}", "{s.poss} [1major] isn't {o}", "s|专业|o", 30, s=x.SINGULAR, o=FIELDS),
)

TRADE = (
    rule("{s}{w}[1当]{o}", "{s} {w@s} to [1be] {o.one}", "s|当|o", 50, s=x.SINGULAR, w=x.WANT, o=TRADES),
    rule("{s}不{w}[1当]{o}", "{s} {not_do@s} {w.base} to [1be] {o.one}", "s|当|o", 40,
         s=x.SINGULAR, w=x.WANT, o=TRADES),
    rule("{s}是{o}", "{s} {be@s} {o.one}", "s|是|o", 50, s=x.SINGULAR, o=TRADES),
    rule("{s}不是{o}", "{s} {not_be@s} {o.one}", "s|是|o", 40, s=x.SINGULAR, o=TRADES),
    rule("{s}[1以前]是{o}", "{s} [1used to] be {o.one}", "s|是|o", 40, s=x.SINGULAR, o=TRADES),
    rule("{s}是{o}吗？", "{be@s} {s} {o.one}?", "s|是|o", 30, s=ACQUAINTANCES, o=TRADES),
    rule("{e}个{o}{d}{a}{d.post}", "{e} {o.sg} is {d} {a}", "e|o|a", 105,
         e=x.DEMONSTRATIVES, o=TRADES, d=x.DEGREES, a=(TALL, BUSY, YOUNG, FAMOUS, HAPPY)),
    rule("{e}个{o}更{a}", "{e} {o.sg} is {a.more}", "e|o|a", 30,
         e=x.DEMONSTRATIVES, o=TRADES, a=(TALL, YOUNG, FAMOUS)),
    rule("{e}个{o}比{f}个{q}{a}", "{e} {o.sg} is {a.more} than {f} {q.sg}", "e|o|a", 50, "ef oq",
         e=x.DEMONSTRATIVES, f=x.DEMONSTRATIVES, o=TRADES, q=TRADES, a=(TALL, YOUNG, FAMOUS)),
)

FORTUNE = (
    rule("{s}{v}{o}", "{s} {v@s} {o}", "s|v|o", 45, s=x.ADULTS, v=BELIEVE, o=BELIEFS),
    rule("{s}不{v}{o}", "{s} {not_do@s} {v.base} {o}", "s|v|o", 45, s=x.ADULTS, v=BELIEVE, o=BELIEFS),
    rule("{s}{v}{o}吗？", "{do@s} {s} {v.base} {o}?", "s|v|o", 36, s=x.others(x.ADULTS), v=BELIEVE, o=BELIEFS),
    rule("{s}{v}{o}", "{s} {v@s} {o}", "s|v|o", 40, s=x.ADULTS, v=UNDERSTAND, o=(FENG_SHUI, *FIELDS)),
    rule("{s}不{v}{o}", "{s} {not_do@s} {v.base} {o}", "s|v|o", 40, s=x.ADULTS, v=UNDERSTAND, o=(FENG_SHUI, *FIELDS)),
    rule("{s}对{o}很{a}", "{s} {be@s} very {a} {o}", "s|a|o", 60,
         s=x.ADULTS, o=(FENG_SHUI, *FIELDS), a=INTEREST),
    rule("{s}对{o}不{a}", "{s} {not_be@s} {a} {o}", "s|a|o", 45,
         s=x.ADULTS, o=(FENG_SHUI, *FIELDS), a=INTEREST),
    rule("{p}的{o}{d}{a}{d.post}", "the {o} of {p} is {d} {a}", "p|d|a", 30,
         p=PLACES, o=FENG_SHUI, d=x.DEGREES, a=GOOD),
    rule("{s}{v}{p}的{o}很{a}", "{s} {v@s} the {o} of {p} is very {a}", "p|很|a", 60,
         s=x.STUDENTS, v=verb("觉得", "think"), p=PLACES, o=FENG_SHUI, a=GOOD),
    rule("{p}的{o}不{a}", "the {o} of {p} isn't {a}", "p|不|a", 10, p=PLACES, o=FENG_SHUI, a=GOOD),
)
# fmt: on

RULES = (*PAYDAY, *HOUSEHOLD, *LEARNING, *TRADE, *FORTUNE)
