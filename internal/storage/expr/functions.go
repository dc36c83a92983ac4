package expr

import "strings"

// rule is one function that a text may call: how many arguments it takes, and
// how SQLite's text of it is made. On MySQL it is called by its own name.
type rule struct {
	min, max int
	sqlite   func(w *sqliteWriter, c *call) piece
}

// functions is the whole list; what is not in it is refused. It holds what
// docs/spec/storage.md 5.4 names and the near kin of those. The parser turns MOD(a, b) and
// CONVERT(x, type) into an operator and a cast.
var functions map[string]rule

// The list is filled here, since its writers reach back to it.
func init() {
	functions = map[string]rule{
		"NOW":               {0, 1, instant(classDateTime)},
		"CURRENT_TIMESTAMP": {0, 1, instant(classDateTime)},
		"LOCALTIME":         {0, 1, instant(classDateTime)},
		"LOCALTIMESTAMP":    {0, 1, instant(classDateTime)},
		"SYSDATE":           {0, 1, instant(classDateTime)},
		"UTC_TIMESTAMP":     {0, 1, instant(classDateTime)},
		"CURDATE":           {0, 0, instant(classDate)},
		"CURRENT_DATE":      {0, 0, instant(classDate)},
		"UTC_DATE":          {0, 0, instant(classDate)},
		"CURTIME":           {0, 1, instant(classTime)},
		"CURRENT_TIME":      {0, 1, instant(classTime)},
		"UTC_TIME":          {0, 1, instant(classTime)},

		"IF":       {3, 3, ifFunction},
		"IFNULL":   {2, 2, firstKnown},
		"COALESCE": {1, maxArgs, firstKnown},
		"NULLIF":   {2, 2, nullIf},
		"ISNULL":   {1, 1, isNullFunction},
		"GREATEST": {2, maxArgs, extreme("max")},
		"LEAST":    {2, maxArgs, extreme("min")},

		"ABS":      {1, 1, absolute},
		"CEIL":     {1, 1, wholeNumber("my_ceil")},
		"CEILING":  {1, 1, wholeNumber("my_ceil")},
		"FLOOR":    {1, 1, wholeNumber("my_floor")},
		"ROUND":    {1, 2, round("my_round")},
		"TRUNCATE": {2, 2, round("my_truncate")},
		"SIGN":     {1, 1, native("my_sign", classInt, asNumber)},
		"POW":      {2, 2, float("my_pow")},
		"POWER":    {2, 2, float("my_pow")},
		"SQRT":     {1, 1, float("my_sqrt")},

		"LENGTH":           {1, 1, byteLength},
		"OCTET_LENGTH":     {1, 1, byteLength},
		"CHAR_LENGTH":      {1, 1, native("length", classInt, asText)},
		"CHARACTER_LENGTH": {1, 1, native("length", classInt, asText)},
		"SUBSTRING":        {2, 3, native("my_substring", classText, asText, asNumber)},
		"SUBSTR":           {2, 3, native("my_substring", classText, asText, asNumber)},
		"MID":              {3, 3, native("my_substring", classText, asText, asNumber)},
		"SUBSTRING_INDEX":  {3, 3, native("my_substring_index", classText, asText, asText, asNumber)},
		"LEFT":             {2, 2, native("my_left", classText, asText, asNumber)},
		"RIGHT":            {2, 2, native("my_right", classText, asText, asNumber)},
		"CONCAT":           {1, maxArgs, concat},
		"CONCAT_WS":        {2, maxArgs, native("my_concat_ws", classText, asText)},
		"LOWER":            {1, 1, native("my_lower", classText, asText)},
		"LCASE":            {1, 1, native("my_lower", classText, asText)},
		"UPPER":            {1, 1, native("my_upper", classText, asText)},
		"UCASE":            {1, 1, native("my_upper", classText, asText)},
		"TRIM":             {1, 2, trim},
		"LTRIM":            {1, 1, native("ltrim", classText, asText)},
		"RTRIM":            {1, 1, native("rtrim", classText, asText)},
		"REPLACE":          {3, 3, native("my_replace", classText, asText)},
		"REVERSE":          {1, 1, native("my_reverse", classText, asText)},
		"LOCATE":           {2, 3, native("my_locate", classInt, asText, asText, asNumber)},
		"POSITION":         {2, 2, native("my_locate", classInt, asText)},
		"INSTR":            {2, 2, native("my_instr", classInt, asText)},
		"FIND_IN_SET":      {2, 2, native("my_find_in_set", classInt, asText)},
		"MD5":              {1, 1, native("my_md5", classText, asText)},
		"CONVERT":          {1, 1, convertUsing},

		"DATE_ADD":     {2, 2, addInterval("my_date_add")},
		"ADDDATE":      {2, 2, addInterval("my_date_add")},
		"DATE_SUB":     {2, 2, addInterval("my_date_sub")},
		"SUBDATE":      {2, 2, addInterval("my_date_sub")},
		"TIMESTAMPADD": {2, 2, addInterval("my_date_add")},

		"DATE":           {1, 1, native("my_date", classDate, asIs)},
		"TIME":           {1, 1, native("my_time", classTime, asIs)},
		"TIMESTAMP":      {1, 1, native("my_datetime", classDateTime, asIs)},
		"LAST_DAY":       {1, 1, native("my_last_day", classDate, asIs)},
		"DATE_FORMAT":    {2, 2, native("my_date_format", classText, asIs, asText)},
		"DAYNAME":        {1, 1, dateFormat("%W")},
		"MONTHNAME":      {1, 1, dateFormat("%M")},
		"YEAR":           {1, 1, datePart("YEAR")},
		"QUARTER":        {1, 1, datePart("QUARTER")},
		"MONTH":          {1, 1, datePart("MONTH")},
		"DAY":            {1, 1, datePart("DAY")},
		"DAYOFMONTH":     {1, 1, datePart("DAY")},
		"HOUR":           {1, 1, datePart("HOUR")},
		"MINUTE":         {1, 1, datePart("MINUTE")},
		"SECOND":         {1, 1, datePart("SECOND")},
		"MICROSECOND":    {1, 1, datePart("MICROSECOND")},
		"DAYOFWEEK":      {1, 1, datePart("DAYOFWEEK")},
		"WEEKDAY":        {1, 1, datePart("WEEKDAY")},
		"DAYOFYEAR":      {1, 1, datePart("DAYOFYEAR")},
		"WEEK":           {1, 1, datePart("WEEK")},
		"WEEKOFYEAR":     {1, 1, datePart("WEEKOFYEAR")},
		"TO_DAYS":        {1, 1, datePart("TO_DAYS")},
		"EXTRACT":        {1, 1, extract},
		"DATEDIFF":       {2, 2, native("my_datediff", classInt, asIs)},
		"TIMEDIFF":       {2, 2, native("my_timediff", classTime, asIs)},
		"TIMESTAMPDIFF":  {2, 2, timestampDiff},
		"TIME_TO_SEC":    {1, 1, native("my_time_to_sec", classInt, asIs)},
		"SEC_TO_TIME":    {1, 1, native("my_sec_to_time", classTime, asNumber)},
		"UNIX_TIMESTAMP": {0, 1, unixTimestamp},
		"FROM_UNIXTIME":  {1, 2, fromUnixtime},
		"FROM_DAYS":      {1, 1, native("my_from_days", classDate, asNumber)},
	}
}

// conversion is what an argument is made before a call.
type conversion func(w *sqliteWriter, p piece) piece

func asText(w *sqliteWriter, p piece) piece   { return w.text(p) }
func asNumber(w *sqliteWriter, p piece) piece { return w.number(p) }
func asIs(_ *sqliteWriter, p piece) piece     { return p }

// native calls a function of SQLite or of SQLiteFunctions. Further arguments
// than conversions take the last one.
func native(name string, c class, conversions ...conversion) func(*sqliteWriter, *call) piece {
	return func(w *sqliteWriter, n *call) piece {
		args := make([]piece, len(n.args))
		for i, arg := range n.args {
			args[i] = conversions[min(i, len(conversions)-1)](w, w.value(arg))
		}
		return w.form(c, name+"(", w.joined(c, ", ", args), ")")
	}
}

// float calls a function of numbers that yields a double.
func float(name string) func(*sqliteWriter, *call) piece {
	write := native(name, classReal, asNumber)
	return func(w *sqliteWriter, n *call) piece {
		p := write(w, n)
		p.float = true
		return p
	}
}

func instant(c class) func(*sqliteWriter, *call) piece {
	return func(w *sqliteWriter, n *call) piece {
		if !wholeSeconds(n) {
			return w.fail(refuse(n.name + " with a fraction that is not 0 to 6"))
		}
		return bindValue(c, w.scope.now(c))
	}
}

// wholeSeconds checks the precision that NOW(6) and its kin may ask. Instants
// are kept in seconds, as columns are, whatever it says.
func wholeSeconds(n *call) bool {
	if len(n.args) == 0 {
		return true
	}
	l, ok := n.args[0].(*literal)
	return ok && l.kind == litInt && l.i >= 0 && l.i <= 6
}

func (s *Scope) now(c class) string {
	layout := "2006-01-02 15:04:05"
	switch c {
	case classDate:
		layout = "2006-01-02"
	case classTime:
		layout = "15:04:05"
	}
	return s.Now.UTC().Format(layout)
}

func ifFunction(w *sqliteWriter, n *call) piece {
	r := w.unify([]piece{w.value(n.args[1]), w.value(n.args[2])})
	return shared(w.form(classNull, "CASE WHEN ", w.condition(n.args[0]), " THEN ", r[0], " ELSE ", r[1], " END"), r)
}

func (w *sqliteWriter) unifiedArgs(n *call) []piece {
	args := make([]piece, len(n.args))
	for i, arg := range n.args {
		args[i] = w.value(arg)
	}
	return w.unify(args)
}

func firstKnown(w *sqliteWriter, n *call) piece {
	args := w.unifiedArgs(n)
	if len(args) == 1 {
		return args[0]
	}
	return shared(w.form(classNull, "coalesce(", w.joined(classNull, ", ", args), ")"), args)
}

func nullIf(w *sqliteWriter, n *call) piece {
	a, b := w.value(n.args[0]), w.value(n.args[1])
	if l, r := w.align(a, b); l.text == a.text && !a.lit {
		return shared(w.form(classNull, "nullif(", a, ", ", r, ")"), []piece{a})
	}
	return shared(w.form(classNull, "CASE WHEN ", w.compare("=", a, b), " THEN NULL ELSE ", a, " END"), []piece{a})
}

func isNullFunction(w *sqliteWriter, n *call) piece {
	return w.truth(w.form(classInt, "(", w.value(n.args[0]), " IS NULL)"))
}

// extreme is GREATEST or LEAST: NULL when any is NULL, as SQLite's max and min
// of several values.
func extreme(name string) func(*sqliteWriter, *call) piece {
	return func(w *sqliteWriter, n *call) piece {
		args := w.unifiedArgs(n)
		p := shared(piece{}, args)
		if p.class == classInt && p.mask {
			for i := range args {
				args[i] = w.unsigned(args[i])
			}
			p.mask = false
		}
		if p.class == classText && !p.exact {
			args[0] = w.form(classText, args[0], " COLLATE NOCASE")
		}
		q := w.form(p.class, name+"(", w.joined(p.class, ", ", args), ")")
		q.small, q.exact, q.bytes, q.float = p.small, p.exact, p.bytes, p.float
		return q
	}
}

func absolute(w *sqliteWriter, n *call) piece {
	p := w.number(w.value(n.args[0]))
	q := w.form(p.class, "my_abs(", p, ")")
	q.float = p.float
	return q
}

// wholeNumber is CEIL or FLOOR, which leave integers alone.
func wholeNumber(name string) func(*sqliteWriter, *call) piece {
	return func(w *sqliteWriter, n *call) piece {
		p := w.number(w.value(n.args[0]))
		if p.class == classInt {
			return p
		}
		q := w.form(classInt, name+"(", p, ")")
		return asDouble(q, p.float)
	}
}

// asDouble keeps a whole double one: MySQL's arithmetic stays with doubles.
func asDouble(p piece, float bool) piece {
	if p.float = float; float {
		p.class = classReal
	}
	return p
}

func round(name string) func(*sqliteWriter, *call) piece {
	return func(w *sqliteWriter, n *call) piece {
		p := w.number(w.value(n.args[0]))
		digits := numberPiece(int64(0))
		if len(n.args) == 2 {
			digits = w.number(w.value(n.args[1]))
		}
		c := p.class
		if d, ok := literalInt(digits); ok && d <= 0 {
			c = classInt
		}
		function := name
		if p.float && name == "my_round" {
			function = "my_rint" // halves of doubles go to even numbers
		}
		return asDouble(w.form(c, function+"(", p, ", ", digits, ")"), p.float && p.class == classReal)
	}
}

func byteLength(w *sqliteWriter, n *call) piece {
	return w.truth(w.form(classInt, "octet_length(", w.text(w.value(n.args[0])), ")"))
}

func concat(w *sqliteWriter, n *call) piece {
	args := make([]piece, len(n.args))
	for i, arg := range n.args {
		args[i] = w.text(w.value(arg))
	}
	return w.form(classText, "(", w.joined(classText, " || ", args), ")")
}

func trim(w *sqliteWriter, n *call) piece {
	x := w.text(w.value(n.args[0]))
	removed := bindValue(classText, " ")
	if len(n.args) == 2 {
		removed = w.text(w.value(n.args[1]))
	} else if n.unit == "" {
		return w.form(classText, "trim(", x, ")")
	}
	side := n.unit
	if side == "" {
		side = "BOTH"
	}
	return w.form(classText, "my_trim(", x, ", ", removed, ", '"+side+"')")
}

func convertUsing(w *sqliteWriter, n *call) piece { return w.text(w.value(n.args[0])) }

func addInterval(name string) func(*sqliteWriter, *call) piece {
	return func(w *sqliteWriter, n *call) piece {
		x, count, unit := w.value(n.args[0]), w.value(n.args[1]), n.unit
		switch {
		case n.name == "TIMESTAMPADD":
			x, count = count, x
		case unit == "" && (n.name == "ADDDATE" || n.name == "SUBDATE"):
			unit = "DAY"
		}
		if x.class == classTime {
			return w.fail(refuse("interval of a TIME"))
		}
		if count.class != classText {
			count = w.number(count)
		}
		if count.float && unit != "SECOND" {
			count = w.form(classInt, "my_rint(", count, ", 0)")
		}
		c := classText // MySQL gives a text for a text
		switch x.class {
		case classDateTime:
			c = classDateTime
		case classDate:
			c = classDateTime
			if strings.Contains(" DAY WEEK MONTH QUARTER YEAR ", " "+unit+" ") {
				c = classDate
			}
		}
		p := w.form(c, name+"(", x, ", ", count, ", '"+unit+"')")
		p.date = c == classText
		return p
	}
}

func dateFormat(format string) func(*sqliteWriter, *call) piece {
	return func(w *sqliteWriter, n *call) piece {
		return w.form(classText, "my_date_format(", w.value(n.args[0]), ", '"+format+"')")
	}
}

func datePart(part string) func(*sqliteWriter, *call) piece {
	return func(w *sqliteWriter, n *call) piece {
		return w.truth(w.form(classInt, "my_date_part('"+part+"', ", w.value(n.args[0]), ")"))
	}
}

func extract(w *sqliteWriter, n *call) piece { return datePart(n.unit)(w, n) }

func timestampDiff(w *sqliteWriter, n *call) piece {
	return w.form(classInt, "my_timestampdiff('"+n.unit+"', ", w.value(n.args[0]), ", ", w.value(n.args[1]), ")")
}

func unixTimestamp(w *sqliteWriter, n *call) piece {
	if len(n.args) == 0 {
		return numberPiece(w.scope.Now.Unix())
	}
	return w.form(classInt, "my_unix_timestamp(", w.value(n.args[0]), ")")
}

func fromUnixtime(w *sqliteWriter, n *call) piece {
	p := w.form(classDateTime, "my_from_unixtime(", w.number(w.value(n.args[0])), ")")
	if len(n.args) == 2 {
		return w.form(classText, "my_date_format(", p, ", ", w.text(w.value(n.args[1])), ")")
	}
	return p
}
