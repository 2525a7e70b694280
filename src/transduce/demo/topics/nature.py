"""Floods, rivers, waterfalls, poison, sweat and tears: 水 out of doors and on the face."""

from __future__ import annotations

from transduce.demo import lexicon as x
from transduce.demo.grammar import rule
from transduce.demo.words import adjective, noun, thing, verb

FLOOD = thing("洪水", "the flood", sense="洪水")
TYPHOON = thing("台风", "the typhoon")
WASH_AWAY = verb("冲走", "wash away")
DESTROY = verb("毁掉", "destroy")
SUBMERGE = verb("淹没", "submerge")
BRIDGE = noun("桥", "bridge", cl="座")
HOUSE = noun("房子", "house", cl="座")
VILLAGE = noun("村子", "village")
FIELD = noun("稻田", "rice field", cl="片")
ROAD = noun("路", "road", cl="条")
CAR = noun("汽车", "car", cl="辆")
BICYCLE = noun("自行车", "bicycle", cl="辆")
DISASTERS = (
    ((FLOOD,), WASH_AWAY, (BRIDGE, HOUSE, CAR, BICYCLE)),
    ((FLOOD,), SUBMERGE, (VILLAGE, FIELD, ROAD, HOUSE)),
    ((FLOOD, TYPHOON), DESTROY, (BRIDGE, HOUSE, VILLAGE, FIELD, ROAD, CAR)),
)
DAYS = (x.YESTERDAY, x.LAST_NIGHT, x.LAST_WEEK, x.LAST_YEAR)
OWNERS = (x.I, x.YOU, x.HE, x.SHE, x.WE, x.THEY, x.XIAOMING, x.ROOMMATE, *x.FAMILY)
AFRAID = thing("害怕", "afraid of")
FEARS = (
    thing("洪水", "floods", "plural", sense="洪水"),
    thing("台风", "typhoons", "plural"),
    thing("考试", "exams", "plural"),
    thing("蛇", "snakes", "plural"),
    thing("水母", "jellyfish", "plural", sense="水母"),
)

RIVER = noun("河", "river", cl="条")
LAKE = noun("湖", "lake")
WATERFALL = noun("瀑布", "waterfall")
SCENERY = (
    noun("河流", "river", cl="条"),
    WATERFALL,
    noun("山", "mountain", cl="座"),
    noun("水母", "jellyfish", "jellyfish", cl="只", sense="水母"),
    thing("大海", "the sea"),
)
BEAUTIFUL = adjective("美", "beautiful")
DEEP = adjective("深", "deep", "deeper")
WIDE = adjective("宽", "wide", "wider")
COLD = adjective("冷", "cold", "colder")
SIGHTS = (
    (WATERFALL, (x.HIGH, BEAUTIFUL)),
    (RIVER, (x.LONG, DEEP, WIDE, x.CLEAN, BEAUTIFUL)),
    (LAKE, (DEEP, x.CLEAN, BEAUTIFUL)),
    (BRIDGE, (x.LONG, WIDE, BEAUTIFUL)),
)
BELIEVE = verb("觉得", "think")
SEE = verb("看", "see")

POISONOUS = adjective("有毒", "poisonous")
FREE = adjective("免费", "free")
WATER = thing("水", "water", sense="喝水")
INK = thing("墨水", "ink", sense="墨水")
RAIN = thing("雨水", "rainwater", sense="雨水")
LIQUIDS = (
    WATER,
    RAIN,
    thing("自来水", "tap water", sense="自来水"),
    thing("开水", "boiled water", sense="开水"),
    thing("矿泉水", "mineral water", sense="矿泉水"),
    thing("河水", "river water", sense="河水"),
    thing("井水", "well water", sense="井水"),
)
POISONABLE = tuple(w for w in LIQUIDS if w.zh not in ("开水", "矿泉水"))
NATURES = ((POISONABLE, (POISONOUS,)), (LIQUIDS, (FREE, x.CLEAN)))
SPOTS = (
    thing("这条河", "this river"),
    thing("那条河", "that river"),
    thing("这个湖", "this lake"),
    thing("那个湖", "that lake"),
    thing("这个村子", "this village"),
    thing("那个村子", "that village"),
)

SWEAT = thing("汗水", "sweat", sense="汗水")
TEARS = thing("泪水", "tears", "plural", sense="泪水")
DROOL = thing("口水", "drool", sense="口水")
FACE = thing("脸", "face")
CLOTHES = thing("衣服", "clothes", "plural")
HANDS = thing("手", "hands", "plural")
PILLOW = thing("枕头", "pillow")
BACKPACK = thing("背包", "backpack")
HAT = thing("帽子", "hat")
STAINS = (
    (FACE, (SWEAT, TEARS, DROOL, INK, RAIN)),
    (CLOTHES, (SWEAT, INK, RAIN, DROOL)),
    (HANDS, (SWEAT, INK)),
    (PILLOW, (DROOL, TEARS, SWEAT)),
    (BACKPACK, (INK, RAIN)),
)
SOAKED = ((SWEAT, (CLOTHES, HAT, PILLOW)), (TEARS, (PILLOW, CLOTHES)), (RAIN, (CLOTHES, HAT, BACKPACK)))
PEOPLE = (*x.STUDENTS, *x.FAMILY)
WIPE = verb("擦掉", "wipe")
SOAK = verb("湿透", "soak")
DRIBBLE = verb("流口水", "drool", sense="口水")
CRAVED = (
    thing("西瓜", "watermelon"),
    thing("水饺", "dumplings", "plural", sense="水饺"),
    thing("水果", "fruit", sense="水果"),
    thing("面包", "bread"),
    thing("面条", "noodles", "plural"),
)

# One rule to a line or two, Chinese beside English, so that the tables read as a phrase book.
# fmt: off
FLOODS = tuple(
    flood
    for s, v, o in DISASTERS
    for flood in (
        rule("{s}{v}了{e}{o.cl}{o}", "{s} {v.past} {e} {o.sg}", "s|v|o", 20, s=s, v=v, e=x.DEMONSTRATIVES, o=o),
        rule("{s}{t}{v}了{p}的{o}", "{s} {v.past} {p.poss} {o.sg} {t}", "s|v|o", 50,
             s=s, t=DAYS, v=v, p=OWNERS, o=(o[1], o[-1])),
        rule("{o}被{s}{v}了", "the {o.sg} was {v.done} by {s}", "s|v|o", 10, s=s, v=v, o=o),
        rule("{e}{o.cl}{o}{t}被{s}{v}了", "{e} {o.sg} was {v.done} by {s} {t}", "s|v|o", 45,
             s=s, t=DAYS, v=v, e=x.DEMONSTRATIVES, o=o),
        rule("{e}{o.cl}{o}没被{s}{v}", "{e} {o.sg} wasn't {v.done} by {s}", "s|v|o", 20,
             s=s, v=v, e=x.DEMONSTRATIVES, o=o),
        rule("{e}{o.cl}{o}是被{s}{v}的吗？", "was {e} {o.sg} {v.done} by {s}?", "s|v|o", 20,
             s=s, v=v, e=x.DEMONSTRATIVES, o=o),
        rule("{s}[1会]{v}{e}{o.cl}{o}吗？", "[1will] {s} {v.base} {e} {o.sg}?", "s|v|o", 20,
             s=s, v=v, e=x.DEMONSTRATIVES, o=o),
        rule("{t}{s}{v}了[1什么]？", "[1what] did {s} {v.base} {t}?", "s|v", 6, s=s, v=v, t=DAYS),
    )
)

FEELINGS = (
    rule("{s}{a}{o}", "{s} {be@s} {a} {o}", "s|a|o", 50, s=(*PEOPLE, x.CHILDREN), a=AFRAID, o=FEARS),
    rule("{s}不{a}{o}", "{s} {not_be@s} {a} {o}", "s|a|o", 50, s=(*PEOPLE, x.CHILDREN), a=AFRAID, o=FEARS),
    rule("{s}{a}{o}吗？", "{be@s} {s} {a} {o}?", "s|a|o", 40, s=x.others(x.STUDENTS), a=AFRAID, o=FEARS),
    rule("{s}{v}{o}", "{s} {v@s} {o}", "s|v|o", 140, s=(*PEOPLE, x.CHILDREN), v=(x.LIKE, x.LOVE), o=SCENERY),
    rule("{s}{w}去{v}{o}", "{s} {w@s} to go and {v.base} the {o.sg}", "s|v|o", 24,
         s=x.STUDENTS, w=x.WANT, v=SEE, o=(WATERFALL, noun("大海", "sea"))),
    rule("{s}{t}去{v}了{e}{o.cl}{o}", "{s} went to {v.base} {e} {o.sg} {t}", "s|v|o", 55,
         s=PEOPLE, t=(x.YESTERDAY, x.LAST_WEEK, x.LAST_YEAR), v=SEE, e=x.DEMONSTRATIVES,
         o=(WATERFALL, LAKE, RIVER)),
)

LANDSCAPE = tuple(
    sight
    for n, a in SIGHTS
    for sight in (
        rule("{e}{n.cl}{n}{d}{a}{d.post}", "{e} {n.sg} is {d} {a}", "e|n|a", 60,
             e=x.DEMONSTRATIVES, n=n, d=x.DEGREES, a=a),
        rule("{e}{n.cl}{n}比{f}{n.cl}{a}", "{e} {n.sg} is {a.more} than {f} one", "e|n|a", 30, "ef",
             e=x.DEMONSTRATIVES, f=x.DEMONSTRATIVES, n=n, a=a),
        rule("{e}{n.cl}{n}更{a}", "{e} {n.sg} is {a.more}", "e|n|a", 10, e=x.DEMONSTRATIVES, n=n, a=a),
        rule("[1哪]{n.cl}{n}更{a}？", "[1which] {n.sg} is {a.more}?", "哪|n|a", 5, n=n, a=a),
        rule("{e}{n.cl}{n}不{a}", "{e} {n.sg} isn't {a}", "e|n|a", 10, e=x.DEMONSTRATIVES, n=n, a=a),
        rule("{e}{n.cl}{n}{a}吗？", "is {e} {n.sg} {a}?", "e|n|a", 10, e=x.DEMONSTRATIVES, n=n, a=a),
    )
)

PROPERTIES = tuple(
    claim
    for w, a in NATURES
    for claim in (
        rule("{w}是{a}的", "{w} is {a}", "w|a|是", 20, w=w, a=a),
        rule("{a}的是{w}", "what is {a} is {w}", "w|a|的", 20, w=w, a=a),
        rule("{w}不是{a}的", "{w} isn't {a}", "w|a|不", 20, w=w, a=a),
        rule("{w}是{a}的吗？", "is {w} {a}?", "w|a|吗", 20, w=w, a=a),
    )
)

WATERS = (
    rule("{w}{a}", "{w} is {a}", "w|a", 9, w=POISONABLE, a=POISONOUS),
    rule("{s}{v}{w}{a}", "{s} {v@s} {w} is {a}", "s|w|a", 50, s=x.STUDENTS, v=BELIEVE, w=POISONABLE, a=POISONOUS),
    rule("{s}{v}{w}是{a}的", "{s} {v@s} {w} is {a}", "s|w|a", 50,
         s=x.STUDENTS, v=BELIEVE, w=LIQUIDS, a=(FREE, x.CLEAN)),
    rule("{p}的{w}{d}{a}{d.post}", "the {w} in {p} is {d} {a}", "p|w|a", 55,
         p=SPOTS, w=WATER, d=x.DEGREES, a=(x.CLEAN, x.DIRTY, COLD)),
    rule("{p}的{w}不{a}", "the {w} in {p} isn't {a}", "p|w|a", 18, p=SPOTS, w=WATER, a=(x.CLEAN, x.DIRTY, COLD)),
    rule("{p}的{w}{a}吗？", "is the {w} in {p} {a}?", "p|w|a", 20,
         p=SPOTS, w=WATER, a=(x.CLEAN, x.DIRTY, COLD, POISONOUS)),
)

STAINED = tuple(
    stain
    for b, w in STAINS
    for stain in (
        rule("{s}的{b}上都是{w}", "{s.poss} {b} {be@b} covered with {w}", "s|b|w", 60, s=x.SOLO, b=b, w=w),
        rule("{s}{v}了{b}上的{w}", "{s} {v.past} the {w} off {s.own} {b}", "s|b|w", 30, s=x.SOLO, v=WIPE, b=b, w=w),
        rule("{s}的{b}上为什么都是{w}？", "why {be@b} {s.poss} {b} covered with {w}?", "s|b|w", 20,
             s=x.others(x.SOLO), b=b, w=w),
    )
)

SOAKINGS = tuple(
    rule("{w}{v}了{s}的{b}", "{w} {v.past} {s.poss} {b}", "s|b|w", 42, s=x.SOLO, b=b, w=w, v=SOAK)
    for w, b in SOAKED
)

CRAVINGS = (
    rule("{s}一看到{o}就{v}", "{s} {v@s} as soon as {s.pronoun} {q@s} {o}", "s|v|o",
         55, s=(*PEOPLE, x.CHILDREN), v=DRIBBLE, o=CRAVED, q=SEE),
    rule("{s}正在{v}", "{s} {be@s} {v.ing}", "s|v", 14, s=PEOPLE, v=DRIBBLE),
    rule("{s}睡觉的时候常常{v}", "{s} often {v@s} when {s.pronoun} {q@s}", "s|v", 14, s=PEOPLE, v=DRIBBLE,
         q=verb("睡觉", "sleep")),
)
# fmt: on

RULES = (*FLOODS, *FEELINGS, *LANDSCAPE, *PROPERTIES, *WATERS, *STAINED, *SOAKINGS, *CRAVINGS)
