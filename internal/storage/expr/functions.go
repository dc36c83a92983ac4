package expr

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// rule describes one supported function. MySQL calls it by its own name.
type rule struct {
	min, max int                                  // number of arguments
	sqlite   func(w *sqliteWriter, c *call) piece // nil for CAST and aggregates, which have their own nodes
	source   string                               // the reason for its support
}

// functions is the complete table of supported functions. The parser refuses all
// others by name. MOD(a, b) is not listed: the parser turns it into the operator %.
var functions map[string]rule

// The table is filled in init because its writers refer to it.
func init() {
	const (
		spec      = "docs/spec/storage.md 5.4"
		casts     = "docs/spec/storage.md 5.2, SQL_EXPRESSION_FIELDS_UPDATE_*"
		recrawl   = "ini/dc-daemon.ini, RecrawlSiteRecrawlDateExpression"
		ages      = "docs/properties.md, RECRAWL_URL_AGE_EXPRESSION; URLs of an incremental crawl"
		agingSort = "order of the sites of an aging task"
	)
	functions = map[string]rule{
		"NOW":               {0, 1, instant, spec},
		"CURRENT_TIMESTAMP": {0, 1, instant, spec},
		"CURDATE":           {0, 0, instant, spec},
		"CURTIME":           {0, 1, instant, recrawl},

		"IF":     {3, 3, ifFunction, spec},
		"IFNULL": {2, 2, ifNull, spec},
		"CAST":   {1, 1, nil, casts},

		"CEIL":      {1, 1, ceil, spec},
		"LENGTH":    {1, 1, byteLength, spec},
		"SUBSTRING": {2, 3, native("my_substring", classText, asText, asNumber), spec},
		"CONCAT":    {1, maxArgs, concat, agingSort},
		"MD5":       {1, 1, native("my_md5", classText, asText), agingSort},

		"DATE_ADD":      {2, 2, addInterval, spec},
		"DATE_SUB":      {2, 2, addInterval, spec},
		"DATE_FORMAT":   {2, 2, native("my_date_format", classText, asIs, asText), spec},
		"DATE":          {1, 1, native("my_date", classDate, asIs), spec},
		"TIME":          {1, 1, native("my_time", classTime, asIs), spec},
		"YEAR":          {1, 1, datePart, spec},
		"MONTH":         {1, 1, datePart, spec},
		"DAY":           {1, 1, datePart, spec},
		"HOUR":          {1, 1, datePart, spec},
		"MINUTE":        {1, 1, datePart, spec},
		"SECOND":        {1, 1, datePart, spec},
		"TIMEDIFF":      {2, 2, native("my_timediff", classTime, asIs), spec},
		"TIMESTAMPDIFF": {2, 2, timestampDiff, ages},
		"TIME_TO_SEC":   {1, 1, native("my_time_to_sec", classInt, asIs), recrawl},

		"COUNT":  {1, 1, nil, spec},
		"SUM":    {1, 1, nil, spec},
		"AVG":    {1, 1, nil, spec},
		"MIN":    {1, 1, nil, spec},
		"MAX":    {1, 1, nil, spec},
		"BIT_OR": {1, 1, nil, spec},
	}
}

// Supported lists the functions that a text may call, sorted by name.
func Supported() []string { return slices.Sorted(maps.Keys(functions)) }

// conversion prepares an argument for a call.
type conversion func(w *sqliteWriter, p piece) piece

func asText(w *sqliteWriter, p piece) piece   { return w.text(p) }
func asNumber(w *sqliteWriter, p piece) piece { return w.number(p) }
func asIs(_ *sqliteWriter, p piece) piece     { return p }

// native calls a function of SQLiteFunctions. The last conversion applies to all
// further arguments.
func native(name string, c class, conversions ...conversion) func(*sqliteWriter, *call) piece {
	return func(w *sqliteWriter, n *call) piece {
		args := make([]piece, len(n.args))
		for i, arg := range n.args {
			args[i] = conversions[min(i, len(conversions)-1)](w, w.value(arg))
		}
		return w.form(c, name+"(", w.joined(c, ", ", args), ")")
	}
}

// instants are the functions that read Scope.Now.
var instants = map[string]class{
	"NOW": classDateTime, "CURRENT_TIMESTAMP": classDateTime, "CURDATE": classDate, "CURTIME": classTime,
}

func instant(w *sqliteWriter, n *call) piece {
	c := instants[n.name]
	return bindValue(c, w.now(n, c))
}

// now returns the text of an instant function. It accepts a precision, as in
// NOW(6), but always returns whole seconds, which is what columns store.
func (w *writer) now(n *call, c class) string {
	if len(n.args) > 0 {
		if l, ok := n.args[0].(*literal); !ok || l.kind != litInt || l.i < 0 || l.i > 6 {
			w.fail(refuse(n.name + " with a fraction that is not 0 to 6"))
		}
	}
	layout := time.DateTime
	switch c {
	case classDate:
		layout = time.DateOnly
	case classTime:
		layout = time.TimeOnly
	}
	return w.scope.Now.UTC().Format(layout)
}

func ifFunction(w *sqliteWriter, n *call) piece {
	r := w.unify([]piece{w.value(n.args[1]), w.value(n.args[2])})
	return shared(w.form(classNull, "CASE WHEN ", w.condition(n.args[0]), " THEN ", r[0], " ELSE ", r[1], " END"), r)
}

func ifNull(w *sqliteWriter, n *call) piece {
	args := w.unify([]piece{w.value(n.args[0]), w.value(n.args[1])})
	return shared(w.form(classNull, "coalesce(", w.joined(classNull, ", ", args), ")"), args)
}

// ceil returns integers unchanged and keeps the type of doubles.
func ceil(w *sqliteWriter, n *call) piece {
	p := w.number(w.value(n.args[0]))
	if p.class == classInt {
		return p
	}
	q := w.form(classInt, "my_ceil(", p, ")")
	if q.float = p.float; q.float {
		q.class = classReal
	}
	return q
}

func byteLength(w *sqliteWriter, n *call) piece {
	return w.form(classInt, "octet_length(", w.text(w.value(n.args[0])), ")")
}

func concat(w *sqliteWriter, n *call) piece {
	args := make([]piece, len(n.args))
	for i, arg := range n.args {
		args[i] = w.text(w.value(arg))
	}
	return w.form(classText, "(", w.joined(classText, " || ", args), ")")
}

// addInterval writes DATE_ADD and DATE_SUB. As in MySQL, a text plus an interval is
// a text.
func addInterval(w *sqliteWriter, n *call) piece {
	x, count := w.value(n.args[0]), w.value(n.args[1])
	if x.class == classTime {
		return w.fail(refuse("interval of a TIME"))
	}
	if count.class != classText {
		count = w.number(count)
	}
	if count.float && n.unit != "SECOND" { // only seconds see the fraction
		count = w.form(classInt, "my_rint(", count, ")")
	}
	c := classText
	switch x.class {
	case classDateTime:
		c = classDateTime
	case classDate:
		c = classDateTime
		if strings.Contains(" DAY WEEK MONTH YEAR ", " "+n.unit+" ") {
			c = classDate
		}
	}
	p := w.form(c, "my_"+strings.ToLower(n.name)+"(", x, ", ", count, ", '"+n.unit+"')")
	p.date = c == classText
	return p
}

// datePart writes YEAR, MONTH, DAY, HOUR, MINUTE and SECOND.
func datePart(w *sqliteWriter, n *call) piece {
	return w.form(classInt, "my_date_part('"+n.name+"', ", w.value(n.args[0]), ")")
}

func timestampDiff(w *sqliteWriter, n *call) piece {
	return w.form(classInt, "my_timestampdiff('"+n.unit+"', ", w.value(n.args[0]), ", ", w.value(n.args[1]), ")")
}
