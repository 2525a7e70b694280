"""People, times, degrees and places: the words that every topic shares."""

from __future__ import annotations

from transduce.demo.grammar import Word
from transduce.demo.words import adjective, degree, someone, thing, verb

I = someone("我", "I", "I", "first")
YOU = someone("你", "you", "you", "plural")
HE = someone("他", "he", "he")
SHE = someone("她", "she", "she")
WE = someone("我们", "we", "we", "plural")
THEY = someone("他们", "they", "they", "plural")
XIAOMING = someone("小明", "Xiaoming", "he")
XIAOHONG = someone("小红", "Xiaohong", "she")
ROOMMATE = someone("我室友", "my roommate", "he")
CLASSMATE = someone("我同学", "my classmate", "she")
MOTHER = someone("我妈妈", "my mother", "she")
FATHER = someone("我爸爸", "my father", "he")
BROTHER = someone("我哥哥", "my brother", "he")
SISTER = someone("我姐姐", "my sister", "she")
WANG = someone("王教授", "Professor Wang", "he")
LI = someone("李教授", "Professor Li", "she")
TEACHER = someone("老师", "the teacher", "she")
STUDENTS_AT_LARGE = someone("大学生", "college students", "they", "plural")
CHILDREN = someone("孩子们", "the children", "they", "plural")
EVERYONE = someone("大家都", "everyone", "they", key="大家")
SAILOR = someone("那个水手", "that sailor", "he", sense="水手", key="水手")

STUDENTS = (I, YOU, HE, SHE, WE, THEY, XIAOMING, XIAOHONG, ROOMMATE, CLASSMATE)
FAMILY = (MOTHER, FATHER, BROTHER, SISTER)
PROFESSORS = (WANG, LI)
NAMED = (XIAOMING, XIAOHONG, ROOMMATE, CLASSMATE)
ADULTS = (I, YOU, HE, SHE, WE, THEY, *FAMILY, ROOMMATE, XIAOHONG)
SINGULAR = (I, YOU, HE, SHE, XIAOMING, XIAOHONG, ROOMMATE, *FAMILY)
SOLO = tuple(person for person in (*STUDENTS, *FAMILY) if person not in (WE, THEY))
"""People with one face, one backpack and one pillow."""


def others(people: tuple[Word, ...]) -> tuple[Word, ...]:
    """Everyone but the speakers, for questions that nobody asks about themselves."""
    return tuple(person for person in people if person not in (I, WE))


LOVE = verb("爱", "love")
LIKE = verb("喜欢", "like")
HATE = verb("讨厌", "hate")
LIKING = (LOVE, LIKE, HATE)

VERY = degree("很", "very")
REALLY = degree("真", "really")
EXTREMELY = degree("非常", "extremely")
SO = degree("太", "so", "了")
DEGREES = (VERY, REALLY, EXTREMELY, SO)

THIS = thing("这", "this")
THAT = thing("那", "that")
DEMONSTRATIVES = (THIS, THAT)

YESTERDAY = thing("昨天", "yesterday")
LAST_NIGHT = thing("昨天晚上", "last night")
THIS_MORNING = thing("今天早上", "this morning")
TODAY = thing("今天", "today")
LAST_WEEK = thing("上个星期", "last week")
LAST_MONTH = thing("上个月", "last month")
LAST_SEMESTER = thing("上学期", "last semester")
LAST_YEAR = thing("去年", "last year")
TOMORROW = thing("明天", "tomorrow")
NEXT_WEEK = thing("下个星期", "next week")
NEXT_SEMESTER = thing("下学期", "next semester")
NEXT_YEAR = thing("明年", "next year")
PAST_DAYS = (YESTERDAY, LAST_NIGHT, THIS_MORNING, LAST_WEEK)
PAST = (YESTERDAY, TODAY, LAST_WEEK, LAST_MONTH)
FUTURE_DAYS = (TOMORROW, NEXT_WEEK)

TWO = thing("两", "two")
THREE = thing("三", "three")
FOUR = thing("四", "four")
FIVE = thing("五", "five")
NUMBERS = (TWO, THREE, FOUR, FIVE)

LIBRARY = thing("图书馆", "in the library")
DORM = thing("宿舍", "in the dorm")
CLASSROOM = thing("教室", "in the classroom")
CAFETERIA = thing("食堂", "in the cafeteria")
CAFE = thing("咖啡馆", "at the coffee shop")
HOME = thing("家里", "at home")
PARK = thing("公园", "in the park")
FORUM = thing("论坛上", "on the forum")
GROUP = thing("群里", "in the group chat")
WEBSITE = thing("学校网站上", "on the school website")

INTERESTING = adjective("有意思", "interesting")
BORING = adjective("无聊", "boring")
IMPORTANT = adjective("重要", "important")
USEFUL = adjective("有用", "useful")
HARD = adjective("难", "hard", "harder")
EASY = adjective("水", "easy", "easier", sense="水课", key="水")
WEAK = adjective("水", "weak", "weaker", sense="水论文", key="水论文")
JUICY = adjective("多", "juicy", "juicier", before="水", sense="水多", key="水多")
EXPENSIVE = adjective("贵", "expensive")
CHEAP = adjective("便宜", "cheap", "cheaper")
HIGH = adjective("高", "high", "higher")
LOW = adjective("低", "low", "lower")
LONG = adjective("长", "long", "longer")
CLEAN = adjective("干净", "clean", "cleaner")
DIRTY = adjective("脏", "dirty", "dirtier")

WANT = verb("想", "want")
WHO = someone("谁", "who", "they")
EVERY_DAY = thing("每天", "every day")
