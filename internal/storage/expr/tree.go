package expr

// node is one part of a parsed text. Trees are immutable, so goroutines may share one.
type node interface{}

// literalKind is the type of a literal.
type literalKind uint8

const (
	litNull literalKind = iota
	litInt              // i
	litReal             // f
	litText             // s
)

type (
	literal struct {
		kind literalKind
		i    int64
		f    float64
		s    string
		// decimal marks a litReal without an exponent: a DECIMAL in MySQL with scale
		// digits after the point.
		decimal bool
		scale   int
	}
	column struct{ database, table, name string }
	unary  struct {
		op string // - ~ NOT
		x  node
	}
	binary struct {
		op   string // + - * / DIV % & | = <> < <= > >=
		l, r node
	}
	// logic is a flat chain of AND or of OR.
	logic struct {
		op string
		xs []node
	}
	isNull struct {
		x   node
		not bool
	}
	between struct {
		x, lo, hi node
		not       bool
	}
	in struct {
		x    node
		list []node
		sub  *query
		not  bool
	}
	like struct {
		x, pattern node
		not        bool
	}
	call struct {
		name string // upper case
		args []node
		unit string // of INTERVAL and TIMESTAMPDIFF
	}
	cast struct {
		x  node
		to string // SIGNED UNSIGNED CHAR DATE DATETIME
	}
	aggregate struct {
		name     string // upper case
		distinct bool
		x        node // nil for COUNT(*)
	}
	exists struct {
		sub *query
		not bool
	}
	scalar struct{ sub *query }

	// query is a SELECT.
	query struct {
		distinct bool
		fields   []field
		from     []source
		where    node
		group    []sortKey
		having   node
		order    []sortKey
		limit    *Limit
	}
	field struct {
		x     node   // nil for *
		table string // of table.*
		alias string
		label string // text of the field, the default name of the result column
	}
	source struct {
		database, name, alias string
		join                  string // "", ", ", " JOIN ", " LEFT JOIN "
		on                    node
	}
	sortKey struct {
		x    node
		desc bool
	}
)
