package datetext

import "strings"

// monthNames lists, for each month, its names and short forms. A final * means: and all
// words that begin so.
var monthNames = [12]string{
	"jan january januar janner jan janv janvier enero ene gennaio gen janeiro januari stycz* sty ledna leden ocak janeiro января январь янв січня січень січ",
	"feb february februar feber fevr fev fevrier febrero febbraio fevereiro februari lut* unora unor subat феврал* фев февр лютого лютий лют",
	"mar march marz maerz mrz mars marzo marco maart mrt marc* brezna brezen mart марта март мар березня березень бер",
	"apr april avr avril abril abr aprile kwie* kwi dubna duben nisan апрел* апр квітня квітень кві квіт",
	"may mai mayo maggio mag maio mei maj* kvetna kveten mayis мая май травня травень тра трав",
	"jun june juni juin junio giugno giu junho czerw* cze cervna cerven haziran июня июнь июн червня червень чер черв",
	"jul july juli juillet juil julio luglio lug julho lipca lipiec lip cervence cervenec temmuz июля июль июл липня липень лип",
	"aug august aout agosto ago augustus augusti sierp* sie srpna srpen agustos август* авг серпня серпень сер серп",
	"sep sept september septembre septiembre setiembre settembre sett set setembro wrze* wrz zari eylul сентябр* сен сент вересня вересень вер вересн",
	"oct october oktober okt octobre octubre ottobre ott outubro out pazdzier* paz rijna rijen ekim октябр* окт жовтня жовтень жов жовт",
	"nov november novembre noviembre novembro listopad* lis kasim ноябр* ноя нояб листопада листопад лис",
	"dec december dezember dez decembre diciembre dic dicembre dezembro grud* gru prosince prosinec desember des aralik декабр* дек грудня грудень гру груд",
}

// dayWords are days relative to today.
var dayWords = map[int]string{
	0:  "today heute aujourd hoy oggi hoje vandaag dzis dzisiaj dnes bugun idag сегодня сьогодні 今日 本日 今天 오늘",
	-1: "yesterday gestern hier ayer ieri ontem gisteren wczoraj vcera dun igar вчера вчора учора 昨日 昨天 어제",
	-2: "vorgestern anteayer antier anteontem eergisteren przedwczoraj predevcirem позавчера позавчора 一昨日 前天 그저께",
	1:  "tomorrow morgen demain domani amanha jutro zitra завтра 明日 明天 내일",
}

// unit is a unit of elapsed time.
type unit uint8

const (
	second unit = iota + 1
	minute
	hour
	day
	week
	month
	year
)

// unitNames are the words behind a number of elapsed time. Names of one letter count
// in "5h ago" only.
var unitNames = map[unit]string{
	second: "s sec secs second seconds sekunde sekunden seconde secondes segundo segundos secondo secondi segundos sekund* seconden секунд* сек",
	minute: "m min mins minute minutes minuten minuto minutos minuti minut* minuut minuten минут* мин хвилин* хв",
	hour:   "h hr hrs hour hours stunde stunden std heure heures hora horas ora ore godzin* godz uur hodin* час часа часов ч годин* год saat",
	day:    "d day days tag tagen tage jour jours dia dias giorno giorni dag dagen dzien dni dnem dny den день дня дней дн дні днів gun",
	week:   "w wk week weeks woche wochen semaine semaines semana semanas settimana settimane tydzien tygodnie tygodni недел* тиж* weken",
	month:  "mo month months monat monaten monate mois mes meses mese mesi miesiac* miesiec* месяц* місяц* maand maanden mesic*",
	year:   "y yr yrs year years jahr jahre jahren an ans ano anos anni anno rok* lat lata года лет рік роки років jaar",
}

// eastUnitNames are the words behind a number in Japanese, Chinese and Korean, together
// with the word for ago.
var eastUnitNames = map[unit]string{
	second: "秒前 초전", minute: "分前 分钟前 分鐘前 분전", hour: "時間前 小时前 小時前 시간전", day: "日前 天前 일전",
	week: "週間前 周前 주전", month: "か月前 ヶ月前 ケ月前 カ月前 个月前 個月前 개월전", year: "年前 년전",
}

type eastUnit struct {
	text string
	unit unit
}

var eastUnits = func() (all []eastUnit) {
	for u, list := range eastUnitNames {
		for w := range strings.FieldsSeq(foldText(list)) {
			all = append(all, eastUnit{w, u})
		}
	}
	return all
}()

const (
	agoWords    = "ago назад тому fa temu geleden siden sedan once atras"
	agoPrefixes = "vor hace ha pred"
	laterWords  = "left later"
	oneWords    = "a an one einer einem ein eine un une una uno hour"
	pmWords     = "pm 午後 下午 오후 晚上"
	amWords     = "am 午前 上午 오전 凌晨 早上"
)

// Words that may be between the parts of a date.
const linkWords = "st nd rd th er of de del di den the d do го числа"

var (
	months     = newTable(monthTable())
	days       = newTable(shiftDays(dayWords))
	units      = newTable(unitTable())
	ago        = newTable(map[int]string{1: agoWords})
	agoBefore  = newTable(map[int]string{1: agoPrefixes})
	later      = newTable(map[int]string{1: laterWords})
	one        = newTable(map[int]string{1: oneWords})
	halves     = newTable(map[int]string{1: amWords, 2: pmWords})
	links      = newTable(map[int]string{1: linkWords})
	harmless   = newTable(map[int]string{1: harmlessWords})
	justNow    = newTable(map[int]string{1: "щойно"})
	clockWords = newTable(map[int]string{1: "uhr"})
)

// harmlessWords may stand next to a date of two numbers, such as 5/25.
const harmlessWords = "am um at on uhr klo kl a om the the в о об at am pm h utc gmt " +
	"mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday " +
	"montag dienstag mittwoch donnerstag freitag samstag sonntag mo di mi do fr sa so " +
	"lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miercoles jueves viernes sabado domingo " +
	"пн вт ср чт пт сб вс нд понедельник вторник среда четверг пятница суббота воскресенье"

// table maps words to a number above 0. Words and texts are folded.
type table struct {
	words map[string]int
	stems []string // of the words that end in *, by length
	value map[string]int
}

func newTable(lists map[int]string) table {
	t := table{words: map[string]int{}, value: map[string]int{}}
	for n, list := range lists {
		for w := range strings.FieldsSeq(foldText(list)) {
			if stem, ok := strings.CutSuffix(w, "*"); ok {
				t.stems = append(t.stems, stem)
				t.value[stem] = n
			} else {
				t.words[w] = n
			}
		}
	}
	return t
}

// numberOf returns the number of a word, or 0.
func (t *table) numberOf(w string) int {
	if n := t.words[w]; n != 0 {
		return n
	}
	for _, stem := range t.stems {
		if strings.HasPrefix(w, stem) {
			return t.value[stem]
		}
	}
	return 0
}

func monthTable() map[int]string {
	lists := map[int]string{}
	for i, list := range monthNames {
		lists[i+1] = list
	}
	return lists
}

// dayShift makes all values of dayWords positive.
const dayShift = 10

func shiftDays(lists map[int]string) map[int]string {
	out := map[int]string{}
	for n, list := range lists {
		out[n+dayShift] = list
	}
	return out
}

func unitTable() map[int]string {
	lists := map[int]string{}
	for u, list := range unitNames {
		lists[int(u)] = list
	}
	return lists
}
