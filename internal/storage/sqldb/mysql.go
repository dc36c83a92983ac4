package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"hce/dc/internal/storage/expr"
)

// Server describes a MySQL or MariaDB server.
type Server struct {
	Socket    string // path of a Unix socket, which replaces Host and Port
	Host      string
	Port      int
	User      string
	Password  string
	TLS       bool          // encrypted, with a verified server certificate
	Statement time.Duration // longest statement; 0 means 60 s
	Conns     int           // connections of one pool; 0 means 4
}

// ParseDSN parses user:password@tcp(host:3306)/ or user:password@unix(/path/of/a/socket)/,
// with ?tls=true for an encrypted connection. It refuses a database name and other
// parameters, because this package sets them. Errors never contain the password.
func ParseDSN(dsn string) (Server, error) {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return Server{}, errors.New("is not of the form user:password@tcp(host:3306)/") // the error of the driver may contain the password
	}
	s := Server{User: c.User, Password: c.Passwd}
	switch c.TLSConfig {
	case "", "false":
	case "true":
		s.TLS = true
	default:
		return Server{}, fmt.Errorf("has tls=%s, which is neither true nor false", c.TLSConfig)
	}
	_, query, _ := strings.Cut(dsn[strings.LastIndex(dsn, "/"):], "?")
	for _, parameter := range strings.Split(query, "&") {
		if name, _, _ := strings.Cut(parameter, "="); name != "" && name != "tls" {
			return Server{}, fmt.Errorf("has the parameter %s; only tls is supported", name)
		}
	}
	if c.DBName != "" {
		return Server{}, fmt.Errorf("names the database %s; set database names with primary_db and the other *_db keys", c.DBName)
	}
	if c.Net == "unix" {
		s.Socket = c.Addr
		return s, nil
	}
	host, port, err := net.SplitHostPort(c.Addr)
	if err == nil {
		s.Host = host
		s.Port, err = strconv.Atoi(port)
	}
	if err != nil || c.Net != "tcp" {
		return Server{}, errors.New("has an address that is neither tcp(host:port) nor unix(path)")
	}
	return s, nil
}

// driverConfig returns the settings of the driver. The driver inserts literals into the
// text, which saves one round trip for each statement. It knows the character set and
// quotes correctly.
func (s Server) driverConfig(busy time.Duration) *mysql.Config {
	c := mysql.NewConfig()
	c.User, c.Passwd = s.User, s.Password
	c.Net, c.Addr = "tcp", net.JoinHostPort(s.Host, strconv.Itoa(s.Port))
	if s.Socket != "" {
		c.Net, c.Addr = "unix", s.Socket
	}
	if s.TLS {
		c.TLSConfig = "true"
	}
	c.InterpolateParams = true
	c.ClientFoundRows = true // an UPDATE counts matched rows, as on SQLite
	c.Collation = "utf8mb4_general_ci"
	c.MaxAllowedPacket = 0        // use the limit of the server
	c.Logger = &mysql.NopLogger{} // returned errors hold the same information
	c.Timeout = 10 * time.Second
	c.ReadTimeout = s.Statement + busy + 10*time.Second
	c.WriteTimeout = s.Statement
	seconds := strconv.Itoa(max(1, int(busy.Seconds())))
	c.Params = map[string]string{
		// A value that does not fit is an error. Differences may be negative, as on
		// SQLite.
		"sql_mode":                 "'STRICT_ALL_TABLES,NO_UNSIGNED_SUBTRACTION,NO_ENGINE_SUBSTITUTION'",
		"time_zone":                "'+00:00'",
		"innodb_lock_wait_timeout": seconds,
		"lock_wait_timeout":        seconds,
	}
	return c
}

// sessionConnector runs statements on each new connection and stores its connection id.
type sessionConnector struct {
	driver.Connector
	setUp   []string
	numbers *sync.Map // connection ids by driver.Conn
}

func (c sessionConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	run := conn.(driver.ExecerContext) // implemented by the MySQL driver
	for _, text := range c.setUp {
		if _, err := run.ExecContext(ctx, text, nil); err != nil {
			conn.Close()
			return nil, err
		}
	}
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, "SELECT CONNECTION_ID()", nil)
	if err != nil {
		conn.Close()
		return nil, err
	}
	defer rows.Close()
	number := make([]driver.Value, 1)
	if err := rows.Next(number); err != nil {
		conn.Close()
		return nil, err
	}
	c.numbers.Store(conn, number[0])
	return conn, nil
}

// killOnCancel kills a connection in the server when ctx ends. The driver only drops its
// end, and the server would continue the statement. KILL QUERY would not do: the server
// forgets it if it comes before the statement starts. The caller calls stop after the
// statement.
func (d *DB) killOnCancel(ctx context.Context, conn *sql.Conn) (stop func()) {
	if d.dialect != expr.MySQL || ctx.Done() == nil {
		return func() {}
	}
	var number any
	_ = conn.Raw(func(c any) error {
		number, _ = d.numbers.Load(c)
		return nil
	})
	kill := sync.OnceFunc(func() {
		if number == nil {
			return
		}
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, _ = d.definers.ExecContext(short, fmt.Sprintf("KILL CONNECTION %s", textOf(number)))
	})
	after := context.AfterFunc(ctx, kill)
	return func() {
		if after() && ctx.Err() == nil {
			return
		}
		go kill() // the driver may notice the end of ctx before AfterFunc does
		// Never reuse a connection that is being killed.
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// textOf formats a number from the driver.
func textOf(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}

// openMySQL creates the pools of readers, writers and definers.
func (d *DB) openMySQL(ctx context.Context) error {
	s := &d.cfg.Server
	if s.Statement == 0 {
		s.Statement = time.Minute
	}
	if s.Conns == 0 {
		s.Conns = 4
	}
	limit, err := statementLimit(ctx, *s, d.cfg.Busy)
	if err != nil {
		return err
	}
	pool := func(setUp ...string) (*sql.DB, error) {
		c, err := mysql.NewConnector(s.driverConfig(d.cfg.Busy))
		if err != nil {
			return nil, err
		}
		p := sql.OpenDB(sessionConnector{Connector: c, setUp: append(setUp, limit...), numbers: &d.numbers})
		p.SetMaxOpenConns(s.Conns)
		p.SetMaxIdleConns(s.Conns)
		p.SetConnMaxIdleTime(5 * time.Minute)
		return p, nil
	}
	if d.readers, err = pool("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"); err != nil {
		return err
	}
	// A read after a lock must see rows that are newer than the lock.
	if d.writers, err = pool("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"); err != nil {
		return err
	}
	if d.definers, err = pool("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"); err != nil {
		return err
	}
	d.definers.SetMaxOpenConns(1)
	return nil
}

// statementLimit detects the kind of the server and returns its session settings. MariaDB
// and MySQL limit the time of a statement by different variables.
func statementLimit(ctx context.Context, s Server, busy time.Duration) ([]string, error) {
	c, err := mysql.NewConnector(s.driverConfig(busy))
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(c)
	defer pool.Close()
	var version string
	if err := pool.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return nil, err
	}
	if strings.Contains(strings.ToLower(version), "mariadb") {
		return []string{
			fmt.Sprintf("SET SESSION max_statement_time = %.3f", s.Statement.Seconds()),
			// MariaDB's sub-query cache confuses texts that differ only in case.
			"SET SESSION optimizer_switch = 'subquery_cache=off'",
		}, nil
	}
	return []string{fmt.Sprintf("SET SESSION max_execution_time = %d", s.Statement.Milliseconds())}, nil
}

// ErrUncertain means that the connection broke during a commit: the transaction may be
// committed or not.
var ErrUncertain = errors.New("the connection broke during the commit, which may have succeeded or not; check before you retry")

// errAgain makes Update repeat its change.
var errAgain = errors.New("the tables of the site were changed by another request")

// updateMySQL is Update on MySQL. It repeats a change that the server rolled back, or
// whose connection broke before the commit.
func (d *DB) updateMySQL(ctx context.Context, change func(*Tx) error) error {
	deadline := time.Now().Add(d.cfg.Busy)
	for try, lost := 0, 0; ; try++ {
		err := d.tryMySQL(ctx, change)
		switch {
		case err == nil || errors.Is(err, ErrUncertain):
			return err
		case rolledBack(err):
		case isUnreachable(err) && lost < 2:
			lost++ // idle connections break at a restart of the server
		default:
			return err
		}
		if time.Now().After(deadline) {
			return err
		}
		if e := sleepContext(ctx, time.Duration(1+rand.IntN(10<<min(try, 5)))*time.Millisecond); e != nil {
			return err
		}
	}
}

func (d *DB) tryMySQL(ctx context.Context, change func(*Tx) error) error {
	conn, err := d.writers.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect for a write transaction: %w", d.convertAwayError(err))
	}
	defer conn.Close()
	whole := context.WithoutCancel(ctx)
	if _, err := conn.ExecContext(whole, "START TRANSACTION"); err != nil {
		return fmt.Errorf("begin write transaction: %w", d.convertAwayError(err))
	}
	done := false
	t := d.newTx(ctx, conn)
	defer func() {
		if done && !t.mark.strays {
			return
		}
		if _, e := conn.ExecContext(whole, "ROLLBACK"); e != nil || t.mark.strays {
			conn.Raw(func(any) error { return driver.ErrBadConn })
		}
	}()
	if err := change(t); err != nil {
		return d.convertAwayError(err)
	}
	if _, err := conn.ExecContext(whole, "COMMIT"); err != nil {
		if isUnreachable(err) {
			return fmt.Errorf("commit: %w (%w)", ErrUncertain, err)
		}
		return fmt.Errorf("commit: %w", err)
	}
	done = true
	if t.mark.drops {
		// The list of tables to drop is stored: after an error the next Open, or the
		// next site of that name, drops them.
		_ = d.dropRecordedTables(whole)
	}
	return nil
}

// convertAwayError converts err to an AwayError if the server cannot be reached.
func (d *DB) convertAwayError(err error) error {
	var known *AwayError
	if err == nil || !isUnreachable(err) || errors.As(err, &known) {
		return err
	}
	return &AwayError{Addr: d.cfg.Server.driverConfig(0).Addr, Err: err}
}

// AwayError means that the database server cannot be reached or closed the connection.
type AwayError struct {
	Addr string
	Err  error
}

func (e *AwayError) Error() string {
	return fmt.Sprintf("the database server at %s cannot be reached; nothing was changed, retry when it is back (%v)", e.Addr, e.Err)
}

// Unwrap returns the cause.
func (e *AwayError) Unwrap() error { return e.Err }
