package sqldb

import (
	"context"
	"database/sql"
	"fmt"
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
	c := s.driverConfig(0)
	c.ReadTimeout, c.WriteTimeout = 10*time.Minute, time.Minute
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
