package expr

import (
	"maps"
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
	functions = documentedFunctions()
	maps.Copy(functions, reportFunctions())
}

// documentedFunctions are those of the specification and of the program's own conditions.
func documentedFunctions() map[string]rule {
	const (
		spec      = "docs/spec/storage.md 5.4"
		casts     = "docs/spec/storage.md 5.2, SQL_EXPRESSION_FIELDS_UPDATE_*"
		recrawl   = "ini/dc-daemon.ini, RecrawlSiteRecrawlDateExpression"
		ages      = "docs/properties.md, RECRAWL_URL_AGE_EXPRESSION; URLs of an incremental crawl"
		agingSort = "order of the sites of an aging task"
	)
	return map[string]rule{
		"NOW":               {0, 1, writeInstant, spec},
		"CURRENT_TIMESTAMP": {0, 1, writeInstant, spec},
		"CURDATE":           {0, 0, writeInstant, spec},
		"CURTIME":           {0, 1, writeInstant, recrawl},

		"IF":     {3, 3, ifFunction, spec},
		"IFNULL": {2, 2, writeCoalesce, spec},
		"CAST":   {1, 1, nil, casts},

		"CEIL":      {1, 1, writeCeil, spec},
		"LENGTH":    {1, 1, byteLength, spec},
		"SUBSTRING": {2, 3, nativeFunction("my_substring", classText, asText, asNumber), spec},
		"CONCAT":    {1, maxArgs, writeConcat, agingSort},
		"MD5":       {1, 1, nativeFunction("my_md5", classText, asText), agingSort},

		"DATE_ADD":      {2, 2, addInterval, spec},
		"DATE_SUB":      {2, 2, addInterval, spec},
		"DATE_FORMAT":   {2, 2, nativeFunction("my_date_format", classText, asIs, asText), spec},
		"DATE":          {1, 1, nativeFunction("my_date", classDate, asIs), spec},
		"TIME":          {1, 1, nativeFunction("my_time", classTime, asIs), spec},
		"YEAR":          {1, 1, datePart, spec},
		"MONTH":         {1, 1, datePart, spec},
		"DAY":           {1, 1, datePart, spec},
		"HOUR":          {1, 1, datePart, spec},
		"MINUTE":        {1, 1, datePart, spec},
		"SECOND":        {1, 1, datePart, spec},
		"TIMEDIFF":      {2, 2, nativeFunction("my_timediff", classTime, asIs), spec},
		"TIMESTAMPDIFF": {2, 2, timestampDiff, ages},
		"TIME_TO_SEC":   {1, 1, nativeFunction("my_time_to_sec", classInt, asIs), recrawl},

		"COUNT":  {1, 1, nil, spec},
		"SUM":    {1, 1, nil, spec},
		"AVG":    {1, 1, nil, spec},
		"MIN":    {1, 1, nil, spec},
		"MAX":    {1, 1, nil, spec},
		"BIT_OR": {1, 1, nil, spec},
	}
}

// conversion prepares an argument for a call.
type conversion func(w *sqliteWriter, p piece) piece

func asText(w *sqliteWriter, p piece) piece   { return w.toText(p) }
func asNumber(w *sqliteWriter, p piece) piece { return w.toNumber(p) }
func asIs(_ *sqliteWriter, p piece) piece     { return p }

// nativeFunction calls a function of SQLiteFunctions.
func nativeFunction(name string, c class, conversions ...conversion) func(*sqliteWriter, *call) piece {
	return func(w *sqliteWriter, n *call) piece {
		return w.newPiece(c, name+"(", w.joinWith(c, ", ", w.writeArguments(n, conversions...)), ")")
	}
}

// writeArguments returns the arguments of a call. The last conversion applies to all further ones.
func (w *sqliteWriter) writeArguments(n *call, conversions ...conversion) []piece {
	args := make([]piece, len(n.args))
	for i, arg := range n.args {
		args[i] = conversions[min(i, len(conversions)-1)](w, w.writeValue(arg))
	}
	return args
}

// instants are the functions that read Scope.Now.
var instants = map[string]class{
	"NOW": classDateTime, "CURRENT_TIMESTAMP": classDateTime, "CURDATE": classDate, "CURTIME": classTime,
	"UTC_TIMESTAMP": classDateTime, "CURRENT_DATE": classDate, "UTC_DATE": classDate,
}

func writeInstant(w *sqliteWriter, n *call) piece {
	c := instants[n.name]
	return bindValue(c, w.instantText(n, c))
}

// instantText returns the text of an instant function. It accepts a precision, as in
// NOW(6), but always returns whole seconds, which is what columns store.
func (w *writer) instantText(n *call, c class) string {
	if len(n.args) > 0 {
		if l, ok := n.args[0].(*literal); !ok || l.kind != litInt || l.i < 0 || l.i > 6 {
			w.recordError(newRefusal(n.name + " with a fraction that is not 0 to 6"))
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
	r := w.unifyPieces([]piece{w.writeValue(n.args[1]), w.writeValue(n.args[2])})
	return withSharedClass(w.newPiece(classNull, "CASE WHEN ", w.writeCondition(n.args[0]), " THEN ", r[0], " ELSE ", r[1], " END"), r)
}

func writeCeil(w *sqliteWriter, n *call) piece  { return w.writeWhole("my_ceil", n) }
func writeFloor(w *sqliteWriter, n *call) piece { return w.writeWhole("my_floor", n) }

// writeWhole returns integers unchanged and keeps the type of doubles.
func (w *sqliteWriter) writeWhole(function string, n *call) piece {
	p := w.toNumber(w.writeValue(n.args[0]))
	if p.class == classInt {
		return p
	}
	q := w.newPiece(classInt, function+"(", p, ")")
	if q.float = p.float; q.float {
		q.class = classReal
	}
	return q
}

func writeCoalesce(w *sqliteWriter, n *call) piece {
	args := w.unifyPieces(w.writeArguments(n, asIs))
	if len(args) == 1 {
		return args[0]
	}
	return withSharedClass(w.newPiece(classNull, "coalesce(", w.joinWith(classNull, ", ", args), ")"), args)
}

func nullIf(w *sqliteWriter, n *call) piece {
	x := w.writeValue(n.args[0])
	return withSharedClass(w.newPiece(classNull, "CASE WHEN ", w.writeComparison("=", x, w.writeValue(n.args[1])), " THEN NULL ELSE ", x, " END"), []piece{x})
}

func isNullFunction(w *sqliteWriter, n *call) piece {
	return w.newPiece(classInt, "(", w.writeValue(n.args[0]), " IS NULL)")
}

// extremeFunction writes GREATEST and LEAST with SQLite's max and min of several values, unless case does not
// count.
func extremeFunction(function string) func(*sqliteWriter, *call) piece {
	return func(w *sqliteWriter, n *call) piece {
		args := w.unifyPieces(w.writeArguments(n, asIs))
		p := withSharedClass(w.newPiece(classNull, function+"(", w.joinWith(classNull, ", ", args), ")"), args)
		if p.class == classText && !p.exact {
			return w.newPiece(classText, "my_"+function+"(", w.joinWith(classText, ", ", args), ")")
		}
		return p
	}
}

// writeAbsolute keeps the type of its argument.
func writeAbsolute(w *sqliteWriter, n *call) piece {
	x := w.toNumber(w.writeValue(n.args[0]))
	p := w.newPiece(x.class, "abs(", x, ")")
	p.traits = x.traits
	return p
}

// writeRound writes ROUND. The number of digits is a literal, because it is the scale of the result.
func writeRound(w *sqliteWriter, n *call) piece {
	digits := int64(0)
	if len(n.args) == 2 {
		l, ok := n.args[1].(*literal)
		if !ok || l.kind != litInt || l.i < -18 || l.i > 18 {
			return w.recordError(newRefusal("ROUND to digits that are not a number from -18 to 18"))
		}
		digits = l.i
	}
	x := w.writeValue(n.args[0])
	precise, scale := x.isPrecise(), x.scale
	x = w.toNumber(x)
	if x.class == classInt && digits >= 0 {
		return x
	}
	p := w.newPiece(x.class, "my_round(", x, ", ", bindValue(classInt, digits), ", ", bindValue(classInt, bitOf(precise)), ")")
	if p.float = x.float; precise && x.class == classReal {
		p.decimal, p.scale = true, int(max(0, min(digits, int64(scale))))
	}
	return p
}

// positionFunction writes INSTR and LOCATE, given the places of the text and of its part.
func positionFunction(part, text int) func(*sqliteWriter, *call) piece {
	return func(w *sqliteWriter, n *call) piece {
		p, t := w.writeValue(n.args[part]), w.writeValue(n.args[text])
		exact := bindValue(classInt, bitOf(p.exact || t.exact))
		return w.newPiece(classInt, "my_position(", w.toText(p), ", ", w.toText(t), ", ", exact, ")")
	}
}

func bitOf(on bool) int64 {
	if on {
		return 1
	}
	return 0
}

func fromUnix(w *sqliteWriter, n *call) piece {
	return w.newPiece(classDateTime, "my_from_unixtime(", w.toInteger(w.writeValue(n.args[0])), ")")
}

func byteLength(w *sqliteWriter, n *call) piece {
	return w.newPiece(classInt, "length(CAST(", w.toText(w.writeValue(n.args[0])), " AS BLOB))") // as in the index of urls
}

func writeConcat(w *sqliteWriter, n *call) piece {
	return w.newPiece(classText, "(", w.joinWith(classText, " || ", w.writeArguments(n, asText)), ")")
}

// addInterval writes DATE_ADD and DATE_SUB. As in MySQL, a text plus an interval is
// a text.
func addInterval(w *sqliteWriter, n *call) piece {
	x, count := w.writeValue(n.args[0]), w.writeValue(n.args[1])
	if x.class == classTime {
		return w.recordError(newRefusal("interval of a TIME"))
	}
	if count.class != classText {
		count = w.toNumber(count)
	}
	if count.float && n.unit != "SECOND" { // only seconds see the fraction
		count = w.newPiece(classInt, "my_rint(", count, ")")
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
	p := w.newPiece(c, "my_"+strings.ToLower(n.name)+"(", x, ", ", count, ", '"+n.unit+"')")
	p.date = c == classText
	return p
}

// datePart writes YEAR, MONTH, DAY, HOUR, MINUTE, SECOND and days of the week, month and year.
func datePart(w *sqliteWriter, n *call) piece {
	return w.newPiece(classInt, "my_date_part('"+n.name+"', ", w.writeValue(n.args[0]), ")")
}

func timestampDiff(w *sqliteWriter, n *call) piece {
	return w.newPiece(classInt, "my_timestampdiff('"+n.unit+"', ", w.writeValue(n.args[0]), ", ", w.writeValue(n.args[1]), ")")
}
