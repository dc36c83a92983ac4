package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

// mySyntax is the error of MySQL before 5.6, which has no read-only sessions.
const mySyntax = 1064

// OpenForeign opens the MySQL server of another program for reading. A statement that
// writes fails if the server supports read-only sessions. TIMESTAMP columns are in UTC,
// DATETIME columns as written. Dates are texts. The caller closes the pool.
func OpenForeign(ctx context.Context, s Server) (*sql.DB, error) {
	c := mysql.NewConfig()
	c.User, c.Passwd = s.User, s.Password
	c.Net, c.Addr = "tcp", net.JoinHostPort(s.Host, strconv.Itoa(s.Port))
	if s.Socket != "" {
		c.Net, c.Addr = "unix", s.Socket
	}
	c.InterpolateParams = true
	c.Collation = "utf8mb4_general_ci"
	c.Timeout, c.ReadTimeout, c.WriteTimeout = 10*time.Second, 10*time.Minute, time.Minute
	c.Params = map[string]string{"time_zone": "'+00:00'", "sql_mode": "''"}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("open foreign server: %w", err)
	}
	pool := sql.OpenDB(sessionConnector{Connector: connector, setUp: []string{"SET SESSION TRANSACTION READ ONLY"}, numbers: &sync.Map{}})
	err = pool.PingContext(ctx)
	if mysqlNumber(err) == mySyntax {
		pool.Close()
		pool = sql.OpenDB(connector)
		err = pool.PingContext(ctx)
	}
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("open foreign server %s: %w", c.Addr, err)
	}
	pool.SetMaxOpenConns(2)
	pool.SetMaxIdleConns(2)
	return pool, nil
}
