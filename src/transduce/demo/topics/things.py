"""Buying, losing, spilling, and the internet: 香水, 墨水, 水货, 灌水, 水军."""

from __future__ import annotations

from transduce.demo import lexicon as x
from transduce.demo.grammar import rule
from transduce.demo.words import noun, someone, thing, verb

PERFUME = noun("香水", "perfume", cl="瓶", unit="bottle", sense="香水")
INK = noun("墨水", "ink", cl="瓶", unit="bottle", sense="墨水")
PHONE = noun("手机", "phone", cl="部")
COMPUTER = noun("电脑", "computer", cl="台")
CAMERA = noun("相机", "camera", cl="台")
WATCH = noun("手表", "watch", cl="块")
BAG = noun("包", "bag")
BOOK = noun("书", "book", cl="本")
PEN = noun("钢笔", "pen", cl="支")
WATERMELON = noun("西瓜", "watermelon")
WATERCOLOR = noun("水彩画", "watercolor", cl="幅", sense="水彩画")
GADGETS = (PHONE, COMPUTER, CAMERA, WATCH, BAG)
GOODS = (PERFUME, INK, *GADGETS, BOOK, PEN, WATERMELON, WATERCOLOR)
GIFTS = (PERFUME, PHONE, WATCH, BAG, BOOK, PEN, WATERCOLOR)
PORTABLE = (PERFUME, PHONE, COMPUTER, CAMERA, BOOK, BAG, PEN)
ONLINE = thing("网上", "online")
SHOPS = (
    thing("超市", "at the supermarket"),
    thing("商店", "at the store"),
    ONLINE,
)
SPILT = (INK, PERFUME, noun("水", "water", unit="glass", cl="杯", sense="喝水"), noun("咖啡", "coffee", unit="cup"))
GRAY_IMPORT = noun("水货", "gray import", cl="件", sense="水货")
LETTERS = (noun("信", "letter"), noun("日记", "diary entry"))
INKS = (thing("红", "red"), thing("蓝", "blue"), thing("黑", "black"))

WANT = verb("想要", "want")
BUY = verb("买", "buy")
SELL = verb("卖", "sell")
GIVE = verb("送", "give")
FORGET = verb("忘", "leave")
PUT = verb("放", "put")
SPILL = verb("打翻", "knock over")
USE_UP = verb("用完", "use up")
SPRAY = verb("喷", "wear")
SMELL = verb("闻到", "smell")
WRITE = verb("写", "write")

POST_SPAM = verb("灌水", "post spam", sense="灌水")
POSTS = (
    POST_SPAM,
    verb("发广告", "post ads", key="发|广告"),
    verb("发照片", "post photos", key="发|照片"),
    verb("写评论", "write comments", key="写|评论"),
)
SITES = (x.FORUM, x.GROUP, x.WEBSITE)
PAID_POSTERS = someone("水军", "paid posters", "they", "plural", sense="水军")
POSTERS = (*x.STUDENTS, PAID_POSTERS)
WRITTEN = (
    thing("评论", "comments", "plural"),
    thing("文章", "articles", "plural"),
    thing("广告", "ads", "plural"),
)
THESE = (thing("这些", "these"), thing("那些", "those"))
HIRERS = (thing("公司", "the company"), thing("那个作家", "that writer"), thing("商店", "the store"))
HIRE = verb("雇", "hire")
NUISANCES = (PAID_POSTERS, thing("水货", "gray imports", sense="水货"), thing("广告", "ads"))

PEOPLE = (*x.STUDENTS, *x.FAMILY)
BUYERS = (*PEOPLE, x.SAILOR)
OTHERS = x.others(x.STUDENTS)

# One rule to a line or two, Chinese beside English, so that the tables read as a phrase book.
# fmt: off
SHOPPING = (
    rule("{s}{w}一{o.cl}{o}", "{s} {w@s} {o.one}", "s|w|o", 60, s=PEOPLE, w=WANT, o=GOODS),
    rule("{s}{t}{v}了一{o.cl}{o}", "{s} {v.past} {o.one} {t}", "s|v|o", 60, s=BUYERS, t=x.PAST, v=BUY, o=GOODS),
    rule("{s}{t}{v}了{n}{o.cl}{o}", "{s} {v.past} {n} {o.many} {t}", "s|v|o", 55,
         s=BUYERS, t=x.PAST, v=BUY, n=(x.TWO, x.THREE), o=GOODS),
    rule("{s}{t}在{p}{v}了一{o.cl}{o}", "{s} {v.past} {o.one} {p} {t}", "s|v|o", 75,
         s=BUYERS, t=x.PAST, p=SHOPS, v=BUY, o=GOODS),
    rule("{s}{w}{v}{e}{o.cl}{o}", "{s} {w@s} to {v.base} {e} {o.sg}", "s|v|o", 45,
         s=BUYERS, w=x.WANT, v=BUY, e=x.DEMONSTRATIVES, o=GOODS),
    rule("{s}在[1哪里]{v}了{e}{o.cl}{o}？", "[1where] did {s} {v.base} {e} {o.sg}?", "s|v|o", 45,
         s=OTHERS, v=BUY, e=x.DEMONSTRATIVES, o=GOODS),
    rule("{s}{t}{v}了[1几]{o.cl}{o}？", "[1how many] {o.many} did {s} {v.base} {t}?", "s|v|o", 45,
         s=OTHERS, t=x.PAST, v=BUY, o=GOODS),
    rule("{s}{t}{v}了{o}？", "{o} did {s} {v.base} {t}?", "s|v|o", 24,
         s=OTHERS, t=x.PAST, v=BUY, o=thing("什么", "what")),
    rule("{e}{o.cl}{o}[1多少钱]？", "[1how much] is {e} {o.sg}?", "e|o|多少钱", 22, e=x.DEMONSTRATIVES, o=GOODS),
    rule("{e}{o.cl}{o}是{s}的", "{e} {o.sg} is {s.mine}", "e|s|o", 100,
         e=x.DEMONSTRATIVES, o=GOODS, s=(*x.STUDENTS, x.MOTHER, x.FATHER)),
    rule("{e}{o.cl}{o}不是{s}的", "{e} {o.sg} isn't {s.mine}", "e|s|o", 60,
         e=x.DEMONSTRATIVES, o=GOODS, s=x.STUDENTS),
    rule("{e}{o.cl}{o}是{s}的吗？", "is {e} {o.sg} {s.mine}?", "e|s|o", 50,
         e=x.DEMONSTRATIVES, o=GOODS, s=OTHERS),
    rule("{e}{o.cl}{o}是[1谁]的？", "[1whose] {o.sg} is {e}?", "e|谁|o", 22, e=x.DEMONSTRATIVES, o=GOODS),
    rule("{e}{o.cl}{o}更{a}", "{e} {o.sg} is {a.more}", "e|o|a", 30,
         e=x.DEMONSTRATIVES, o=GOODS, a=(x.EXPENSIVE, x.CHEAP)),
    rule("{e}{o.cl}{o}{d}{a}{d.post}", "{e} {o.sg} is {d} {a}", "e|o|a", 45,
         e=x.DEMONSTRATIVES, o=GOODS, d=x.DEGREES, a=(x.EXPENSIVE, x.CHEAP)),
    rule("{e}{o.cl}{o}比{f}{o.cl}{a}", "{e} {o.sg} is {a.more} than {f} one", "e|o|a", 30, "ef",
         e=x.DEMONSTRATIVES, f=x.DEMONSTRATIVES, o=GOODS, a=(x.EXPENSIVE, x.CHEAP)),
    rule("{s}{t}{v}了{p}一{o.cl}{o}", "{s} {v.past} {p.obj} {o.one} {t}", "s|v|o", 60, "sp",
         s=x.STUDENTS, t=x.PAST, v=GIVE, p=PEOPLE, o=GIFTS),
    rule("{s}{t}把{o}{v}在了{p}", "{s} {v.past} {s.own} {o.bare} {p} {t}", "s|v|o", 50,
         s=PEOPLE, t=x.PAST_DAYS[:3], o=PORTABLE, v=FORGET, p=(x.LIBRARY, x.DORM, x.CLASSROOM, x.CAFETERIA)),
    rule("{s}把{o}{v}在了{p}上", "{s} {v.past} the {o.bare} on the {p}", "s|v|o", 75,
         s=PEOPLE, o=(*PORTABLE, INK), v=PUT, p=(thing("桌子", "table"), thing("床", "bed"), thing("椅子", "chair"))),
)

SPILLS = (
    rule("{s}{t}{v}了{o}", "{s} {v.past} the {o.bare} {t}", "s|v|o", 65, s=PEOPLE, t=x.PAST_DAYS[:3], v=SPILL, o=SPILT),
    rule("{s}{v}了{o}", "{s} {v.past} the {o.bare}", "s|v|o", 40, s=PEOPLE, v=SPILL, o=SPILT),
    rule("{s}把{p}的{o}{v}了", "{s} {v.past} {p.poss} {o.bare}", "s|v|o", 65, "sp",
         s=PEOPLE, p=x.STUDENTS, v=SPILL, o=SPILT),
    rule("{p}的{o}被{s}{v}了", "{p.poss} {o.bare} was {v.done} by {s.obj}", "s|v|o", 65, "sp",
         s=x.NAMED, p=x.STUDENTS, v=SPILL, o=SPILT),
    rule("{s}把{p}的{o}{v}了", "{s} {v.past} {p.poss} {o.bare}", "s|v|o", 65, "sp",
         s=x.STUDENTS, p=x.STUDENTS, v=USE_UP, o=(INK, PERFUME)),
    rule("{s}的{q}没{o}了", "{s.poss} {q.sg} is out of {o.bare}", "s|q|o", 10, s=x.STUDENTS, q=PEN, o=INK),
    rule("{s}[1用]{c}{o}{v}{n}", "{s} {v@s} {n} [1in] {c} {o.bare}", "s|o|n", 45,
         s=x.STUDENTS, c=INKS, o=INK, v=WRITE, n=LETTERS),
    rule("{s}{w}[1用]{c}{o}{v}{n}", "{s} {w@s} to {v.base} {n} [1in] {c} {o.bare}", "s|o|n", 45,
         s=x.STUDENTS, w=x.LIKE, c=INKS, o=INK, v=WRITE, n=LETTERS),
    rule("{s}{t}{v}{o}", "{s} {v@s} {o.bare} {t}", "s|v|o", 14, s=PEOPLE, t=x.EVERY_DAY, v=SPRAY, o=PERFUME),
    rule("{s}不{w}{v}{o}", "{s} {not_do@s} {w.base} to {v.base} {o.bare}", "s|v|o", 28,
         s=PEOPLE, w=(x.LIKE, x.WANT), v=SPRAY, o=PERFUME),
    rule("{s}{v}了{o}的味道", "{s} {v.past} {o.bare}", "s|v|o", 40, s=PEOPLE, v=SMELL, o=(PERFUME, INK)),
)

IMPORTS = (
    rule("{s}在{p}{v}{o}", "{s} {v@s} {o} {p}", "s|v|o", 30,
         s=BUYERS, p=ONLINE, v=SELL, o=(*GADGETS, GRAY_IMPORT, BOOK, WATERCOLOR)),
    rule("{s}{t}在{p}{v}{o}", "{s} {v@s} {o} {p} {t}", "s|v|o", 25,
         s=BUYERS, t=x.EVERY_DAY, p=ONLINE, v=SELL, o=(*GADGETS, GRAY_IMPORT, BOOK, WATERCOLOR)),
    rule("{s}{t}{v}了一{o.cl}{o}", "{s} {v.past} {o.one} {t}", "s|v|o", 35,
         s=BUYERS, t=x.PAST, v=SELL, o=GADGETS),
    rule("{e}{o.cl}{o}是{g}", "{e} {o.sg} is {g.one}", "e|o|g", 10, e=x.DEMONSTRATIVES, o=GADGETS, g=GRAY_IMPORT),
    rule("{e}{o.cl}{o}不是{g}", "{e} {o.sg} isn't {g.one}", "e|o|g", 10, e=x.DEMONSTRATIVES, o=GADGETS, g=GRAY_IMPORT),
    rule("{e}{o.cl}{o}是{g}吗？", "is {e} {o.sg} {g.one}?", "e|o|g", 10, e=x.DEMONSTRATIVES, o=GADGETS, g=GRAY_IMPORT),
    rule("{s}的{o}是{g}", "{s.poss} {o.sg} is {g.one}", "s|o|g", 30, s=PEOPLE, o=GADGETS, g=GRAY_IMPORT),
    rule("{s}的{o}不是{g}", "{s.poss} {o.sg} isn't {g.one}", "s|o|g", 30, s=PEOPLE, o=GADGETS, g=GRAY_IMPORT),
    rule("{s}的{o}是{g}吗？", "is {s.poss} {o.sg} {g.one}?", "s|o|g", 25, s=OTHERS, o=GADGETS, g=GRAY_IMPORT),
    rule("{s}{v}的{o}是{g}", "the {o.sg} {s} {v.past} is {g.one}", "s|o|g", 70,
         s=PEOPLE, v=BUY, o=GADGETS, g=GRAY_IMPORT),
    rule("{s}{t}{v}的{o}是{g}", "the {o.sg} {s} {v.past} {t} is {g.one}", "s|o|g", 40,
         s=PEOPLE, t=x.PAST, v=BUY, o=GADGETS, g=GRAY_IMPORT),
    rule("{s}从来不{v}{o}", "{s} never {v@s} {o}", "s|v|o", 25, s=BUYERS, v=(BUY, SELL), o=GRAY_IMPORT),
    rule("{s}不{w}{v}{o}", "{s} {not_do@s} {w.base} to {v.base} {o}", "s|v|o", 14,
         s=PEOPLE, w=x.WANT, v=BUY, o=GRAY_IMPORT),
)

FORUM = (
    rule("{s}{t}在{p}{v}", "{s} {v@s} {p} {t}", "s|v", 132, s=POSTERS, t=x.EVERY_DAY, p=SITES, v=POSTS),
    rule("{s}正在{p}{v}", "{s} {be@s} {v.ing} {p}", "s|v", 65, s=POSTERS, p=SITES, v=POSTS),
    rule("{s}{t}在{p}{v}", "{s} {v.past} {p} {t}", "s|v", 65, s=POSTERS, t=x.PAST_DAYS, p=SITES, v=POSTS),
    rule("{s}常常在{p}{v}", "{s} often {v@s} {p}", "s|v", 60, s=POSTERS, p=SITES, v=POSTS),
    rule("{s}{w}在{p}{v}", "{s} {w@s} to {v.base} {p}", "s|v", 60, s=x.STUDENTS, w=(x.LIKE, x.LOVE), p=SITES, v=POSTS),
    rule("{s}[1为什么]在{p}{v}？", "[1why] {be@s} {s} {v.ing} {p}?", "s|v", 50, s=OTHERS, p=SITES, v=POSTS),
    rule("别在{p}{v}", "don't {v.base} {p}", "别|v", 15, p=SITES, v=POSTS),
    rule("{e}{n}是{s}写的", "{e} {n} were written by {s.obj}", "s|写|n", 50,
         e=THESE, n=WRITTEN, s=(PAID_POSTERS, x.STUDENTS_AT_LARGE, *x.NAMED, *x.PROFESSORS)),
    rule("{e}{n}是{s}写的吗？", "were {e} {n} written by {s.obj}?", "s|写|n", 45,
         e=THESE, n=WRITTEN, s=(PAID_POSTERS, x.STUDENTS_AT_LARGE, *x.NAMED, *x.PROFESSORS)),
    rule("{s}{t}{v}了{n}个{o}", "{s} {v.past} {n} {o} {t}", "s|v|o", 30,
         s=HIRERS, t=x.PAST, v=HIRE, n=x.NUMBERS, o=PAID_POSTERS),
    rule("{s}{w}{v}{o}", "{s} {w@s} to {v.base} {o}", "s|v|o", 3, s=HIRERS, w=x.WANT, v=HIRE, o=PAID_POSTERS),
    rule("{s}不{w}{v}{o}", "{s} {not_do@s} {w.base} to {v.base} {o}", "s|v|o", 3,
         s=HIRERS, w=x.WANT, v=HIRE, o=PAID_POSTERS),
    rule("{s}没{v}{o}", "{s} didn't {v.base} {o}", "s|v|o", 3, s=HIRERS, v=HIRE, o=PAID_POSTERS),
    rule("{s}{v}{o}", "{s} {v@s} {o}", "s|v|o", 42, s=PEOPLE, v=x.HATE, o=NUISANCES),
    rule("{s}很{v}{o}", "{s} really {v@s} {o}", "s|v|o", 42, s=PEOPLE, v=x.HATE, o=NUISANCES),
    rule("{s}{v}{o}", "{s} {v@s} {o.bare}", "s|v|o", 42, s=PEOPLE, v=x.LIKING, o=PERFUME),
)
# fmt: on

RULES = (*SHOPPING, *SPILLS, *IMPORTS, *FORUM)
