"""Drinking, eating and juicy fruit: where 水 is water, or juice."""

from __future__ import annotations

from transduce.demo import lexicon as x
from transduce.demo.grammar import rule
from transduce.demo.words import adjective, noun, thing, verb

DRINK = verb("喝", "drink")
EAT = verb("吃", "eat")
WATER = noun("水", "water", unit="glass", cl="杯", sense="喝水")
TAP_WATER = noun("自来水", "tap water", unit="glass", cl="杯", sense="自来水")
BOILED_WATER = noun("开水", "boiled water", unit="cup", cl="杯", sense="开水")
SODA = noun("汽水", "soda", unit="bottle", cl="瓶", sense="汽水")
MINERAL_WATER = noun("矿泉水", "mineral water", unit="bottle", cl="瓶", sense="矿泉水")
HOT_WATER = noun("热水", "hot water", unit="cup", cl="杯", sense="热水")
TEA = noun("茶", "tea", unit="cup", cl="杯")
COFFEE = noun("咖啡", "coffee", unit="cup", cl="杯")
MILK = noun("牛奶", "milk", unit="glass", cl="杯")
JUICE = noun("果汁", "juice", unit="glass", cl="杯")
PLAIN = (WATER, BOILED_WATER, HOT_WATER)
FANCY = (SODA, MINERAL_WATER, TEA, COFFEE, MILK, JUICE)
DRINKS = (*PLAIN, *FANCY)

FRUIT = noun("水果", "fruit", unit="plate", cl="盘", sense="水果")
WATERMELON_SLICE = noun("西瓜", "watermelon", unit="slice", cl="块")
DUMPLINGS = noun("水饺", "dumplings", unit="bowl", cl="碗", person="plural", sense="水饺")
NOODLES = noun("面条", "noodles", unit="bowl", cl="碗", person="plural")
RICE = noun("米饭", "rice", unit="bowl", cl="碗")
BREAD = noun("面包", "bread", unit="slice", cl="片")
APPLE = noun("苹果", "apple")
FOODS = (FRUIT, WATERMELON_SLICE, DUMPLINGS, NOODLES, RICE, BREAD, APPLE)
MEALS = ((DRINK, DRINKS), (EAT, FOODS))

WATERMELON = noun("西瓜", "watermelon")
FRUITS = (WATERMELON, APPLE, noun("桃子", "peach"), noun("梨", "pear"), noun("橙子", "orange"))
SWEET = adjective("甜", "sweet", "sweeter")
BIG = adjective("大", "big", "bigger")
TASTY = adjective("好吃", "tasty", "tastier")
FRUIT_QUALITIES = (x.JUICY, SWEET, BIG, x.EXPENSIVE)
BUY = verb("买", "buy")

EATERS = (*x.STUDENTS, *x.FAMILY, x.CHILDREN, x.SAILOR)
OTHERS = x.others(x.STUDENTS)
OFTEN = thing("常常", "often")
ALWAYS = thing("总是", "always")
THIS_ALONE = thing("这", "this")
WHAT = thing("什么", "what")

# One rule to a line or two, Chinese beside English, so that the tables read as a phrase book.
# fmt: off
HABITS = tuple(
    meal
    for v, o in MEALS
    for meal in (
        rule("{s}{t}{v}{o}", "{s} {v@s} {o} {t}", "s|v|o", 170, s=EATERS, t=x.EVERY_DAY, v=v, o=o),
        rule("{s}{t}{v}{o}", "{s} {t} {v@s} {o}", "s|v|o", 45, s=EATERS, t=(OFTEN, ALWAYS), v=v, o=o),
        rule("{s}正在{v}{o}", "{s} {be@s} {v.ing} {o}", "s|v|o", 50, s=EATERS, v=v, o=o),
        rule("{s}{w}{v}{o}", "{s} {w@s} to {v.base} {o}", "s|v|o", 65,
             s=EATERS, w=(x.WANT, x.LIKE, x.LOVE), v=v, o=o),
        rule("{s}不{w}{v}{o}", "{s} {not_do@s} {w.base} to {v.base} {o}", "s|v|o", 50,
             s=EATERS, w=(x.WANT, x.LIKE), v=v, o=o),
        rule("{s}{t}没{v}{o}", "{s} didn't {v.base} any {o} {t}", "s|v|o", 50,
             s=EATERS, t=(x.YESTERDAY, x.TODAY), v=v, o=o),
        rule("{s}{v}{o}吗？", "{do@s} {s} {v.base} {o}?", "s|v|o", 35, s=OTHERS, v=v, o=o),
        rule("{s}{w}{v}{o}吗？", "{do@s} {s} {w.base} to {v.base} {o}?", "s|v|o", 45,
             s=OTHERS, w=(x.WANT, x.LIKE), v=v, o=o),
        rule("{s}{w}{v}{o}？", "{o} {do@s} {s} {w.base} to {v.base}?", "s|v|o", 24,
             s=OTHERS, w=(x.WANT, x.LIKE), v=v, o=WHAT),
        rule("{s}{w}{v}{o}？", "{s} {w@s} to {v.base} {o}?", "s|v|o", 20, s=x.WHO, w=x.WANT, v=v, o=o),
        rule("别{v}{o}", "don't {v.base} {o}", "别|v|o", 10, v=v, o=o),
        rule("{s}{t}{v}了{n}{o.cl}{o}", "{s} {v.past} {n} {o.many} {t}", "s|v|o", 90,
             s=EATERS, t=(x.YESTERDAY, x.TODAY, x.THIS_MORNING, x.LAST_NIGHT), n=(x.TWO, x.THREE), v=v, o=o),
        rule("{s}{t}{v}了一{o.cl}{o}", "{s} {v.past} {o.one} {t}", "s|v|o", 90,
             s=EATERS, t=(x.YESTERDAY, x.TODAY, x.THIS_MORNING, x.LAST_NIGHT), v=v, o=o),
        rule("{s}{v}了{p}的{o}？", "{s} {v.past} {p.poss} {o}?", "s|v|o", 25,
             s=x.WHO, p=(x.I, x.HE, x.SHE, x.ROOMMATE), v=v, o=o),
        rule("{s}把{p}的{o}{v}完了", "{s} {v.past} all of {p.poss} {o}", "s|v|o", 50, "sp",
             s=(x.HE, x.SHE, x.THEY, *x.NAMED), p=(x.I, x.YOU, x.WE, x.ROOMMATE, x.XIAOMING), v=v, o=o),
        rule("{p}的{o}被{s}{v}完了", "all of {p.poss} {o} {was@o} {v.done} by {s.obj}", "s|v|o", 50, "sp",
             s=x.NAMED, p=(x.I, x.YOU, x.HE, x.SHE, x.ROOMMATE), v=v, o=o),
        rule("{s}应该[1多]{v}{o}", "{s} should {v.base} [1more] {o}", "s|v|o", 40,
             s=(*OTHERS, x.CHILDREN), v=v, o=o),
    )
)

HEALTH = (
    rule("别{v}{o}", "don't {v.base} {o}", "别|v|o", 10, v=DRINK, o=TAP_WATER),
    rule("{s}从来不{v}{o}", "{s} never {v@s} {o}", "s|v|o", 50, s=EATERS, v=DRINK, o=(TAP_WATER, *DRINKS)),
    rule("{s}不能{v}{o}", "{s} can't {v.base} {o}", "s|v|o", 50,
         s=(*OTHERS, x.CHILDREN), v=DRINK, o=(TAP_WATER, SODA, COFFEE, TEA)),
    rule("{o}比{q}{a}", "{o} {be@o} {a.more} than {q}", "o|a|q", 125, "oq",
         o=FOODS, q=FOODS, a=(TASTY, x.EXPENSIVE, x.CHEAP)),
    rule("{o}比{q}{a}", "{o} {be@o} {a.more} than {q}", "o|a|q", 70, "oq",
         o=FANCY, q=FANCY, a=(x.EXPENSIVE, x.CHEAP)),
    rule("{o}比{q}{a}", "{o} {be@o} {a.more} than {q}", "o|a|q", 21, o=PLAIN, q=FANCY, a=x.CHEAP),
    rule("{o}比{q}{a}", "{o} {be@o} {a.more} than {q}", "o|a|q", 21, o=FANCY, q=PLAIN, a=x.EXPENSIVE),
)

JUICY = (
    rule("{e}{f}{a.before}{d}{a}{d.post}", "{e} {f.sg} is {d} {a}", "e|f|a", 65,
         e=THIS_ALONE, f=FRUITS, d=x.DEGREES, a=FRUIT_QUALITIES),
    rule("{e}{f.cl}{f}{a.before}{d}{a}{d.post}", "{e} {f.sg} is {d} {a}", "e|f|a", 80,
         e=x.DEMONSTRATIVES, f=FRUITS, d=x.DEGREES, a=FRUIT_QUALITIES),
    rule("{e}{f.cl}{f}{a.before}不{a}", "{e} {f.sg} isn't {a}", "e|f|a", 45,
         e=x.DEMONSTRATIVES, f=FRUITS, a=FRUIT_QUALITIES),
    rule("{e}{f.cl}{f}{a.before}{a}吗？", "is {e} {f.sg} {a}?", "e|f|a", 45,
         e=x.DEMONSTRATIVES, f=FRUITS, a=FRUIT_QUALITIES),
    rule("{f}{a.before}{a}", "{f} are {a}", "f|a", 5, f=FRUITS, a=x.JUICY),
    rule("{e}{f.cl}{f}比{h}{f.cl}{a.before}{a}", "{e} {f.sg} is {a.more} than {h} one", "e|f|a", 80, "eh",
         e=x.DEMONSTRATIVES, h=x.DEMONSTRATIVES, f=FRUITS, a=FRUIT_QUALITIES),
    rule("{e}{f.cl}{f}更{a}", "{e} {f.sg} is {a.more}", "e|f|a", 30,
         e=x.DEMONSTRATIVES, f=FRUITS, a=FRUIT_QUALITIES[1:]),
    rule("[1哪]{f.cl}{f}更{a}？", "[1which] {f.sg} is {a.more}?", "哪|f|a", 15, f=FRUITS, a=FRUIT_QUALITIES[1:]),
    rule("{f}比{g}{a.before}{a}", "{f} are {a.more} than {g}", "f|a|g", 50, "fg",
         f=FRUITS, g=FRUITS, a=(x.JUICY, SWEET)),
    rule("{s}{t}{v}的{f}{a.before}{d}{a}{d.post}", "the {f.sg} {s} {v.past} {t} is {d} {a}", "s|f|a", 80,
         s=(*x.STUDENTS, *x.FAMILY), t=(x.YESTERDAY, x.TODAY, x.THIS_MORNING), v=BUY, f=FRUITS, d=x.DEGREES,
         a=FRUIT_QUALITIES),
    rule("{s}{w}{v}一{f.cl}{a.before}{a}的{f}", "{s} {w@s} to {v.base} a {a} {f.sg}", "s|f|a", 50,
         s=EATERS, w=x.WANT, v=EAT, f=FRUITS, a=x.JUICY),
)
# fmt: on

RULES = (*HABITS, *HEALTH, *JUICY)
