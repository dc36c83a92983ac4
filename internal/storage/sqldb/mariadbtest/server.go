package mariadbtest

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// patience is how long a server may take to answer.
const patience = 60 * time.Second

// Settings are the session variables of the product's connections, values as
// SQL writes them. MySQL 8 calls the last one transaction_isolation.
func Settings() map[string]string {
	return map[string]string{
		"sql_mode":     "'STRICT_ALL_TABLES,NO_UNSIGNED_SUBTRACTION,NO_ENGINE_SUBSTITUTION'",
		"time_zone":    "'+00:00'",
		"tx_isolation": "'READ-COMMITTED'",
	}
}

// Server is a private MariaDB. Its methods may be called by one goroutine at a
// time; connections to it are free.
type Server struct {
	Socket string // path of the Unix socket
	Port   int    // on 127.0.0.1
	User   string // may do everything, has no password

	folder  string
	flush   int
	keeper  *keeper
	process *process
	stopped bool
}

// Options of a server of its own.
type Options struct {
	// Durable syncs the log at each commit, as production does. Otherwise a
	// second of commits may be lost when the server is killed.
	Durable bool
}

var shared struct {
	sync.Mutex
	server *Server
	err    error
}

// Main runs the tests of a package and ends the shared server: a TestMain gives
// its result to os.Exit.
func Main(m *testing.M) int {
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		shared.server.close()
		shared.server = nil
	}
	return code
}

// Start is the server that the tests of this process share. It is started at the
// first call, and again when a test left it dead or stopped. The test fails when
// there is no MariaDB.
func Start(t testing.TB) *Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = start(Options{})
	}
	if shared.err != nil {
		t.Fatalf("mariadbtest: %v", shared.err)
	}
	if s := shared.server; s.stopped || s.process.ended() {
		if err := s.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	return shared.server
}

// New is a server for one test, ended with it.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := start(o)
	if err != nil {
		t.Fatalf("mariadbtest: %v", err)
	}
	t.Cleanup(s.close)
	return s
}

// DSN names a database of the server for the driver "mysql", over the socket,
// with the session settings of the product. Database may be empty.
func (s *Server) DSN(database string) string { return s.config("unix", s.Socket, database) }

// DSNTCP is DSN over TCP.
func (s *Server) DSNTCP(database string) string {
	return s.config("tcp", "127.0.0.1:"+strconv.Itoa(s.Port), database)
}

func (s *Server) config(network, address, database string) string {
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName = s.User, network, address, database
	c.Collation = "utf8mb4_general_ci"
	c.InterpolateParams = true
	c.ClientFoundRows = true
	c.Params = Settings()
	return c.FormatDSN()
}

// Kill ends the server at once, as a crash would (SIGKILL). Connections break
// and new ones are refused until Restart.
func (s *Server) Kill() {
	s.process.kill()
	s.stopped = false
}

// Stop lets the server stand still (SIGSTOP): when it returns, connections stay
// and answer nothing until Restart.
func (s *Server) Stop() {
	s.process.signal(syscall.SIGSTOP)
	s.stopped = true
	for deadline := time.Now().Add(patience); !s.process.still() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

// Restart brings a server back that was killed or stopped, on the same socket,
// port and data, and returns when it answers. A running one is killed first.
func (s *Server) Restart() error {
	if s.stopped && !s.process.ended() {
		s.stopped = false
		s.process.signal(syscall.SIGCONT)
		return s.ready()
	}
	s.Kill()
	if err := s.run(); err != nil {
		return fmt.Errorf("mariadbtest.Restart: %w", err)
	}
	return nil
}

func start(o Options) (*Server, error) {
	folder, err := os.MkdirTemp(base(), "dcdb")
	if err != nil {
		return nil, err
	}
	s := &Server{Socket: filepath.Join(folder, "s"), User: "root", folder: folder}
	if o.Durable {
		s.flush = 1
	}
	if s.keeper, err = keep(folder); err != nil {
		os.RemoveAll(folder)
		return nil, err
	}
	if err := install(folder); err != nil {
		s.close()
		return nil, err
	}
	for range 3 { // a free port may be taken before the server has it
		if s.Port, err = freePort(); err == nil {
			err = s.run()
		}
		if err == nil {
			return s, nil
		}
	}
	s.close()
	return nil, err
}

// base is the folder for temporary files, or /tmp where its path leaves no room
// for a socket's, which may have some 107 bytes.
func base() string {
	if dir := os.TempDir(); len(dir) <= 60 {
		return dir
	}
	return "/tmp"
}

// freePort finds a port below those that the system gives to connections: it
// must still be free after a Kill.
func freePort() (int, error) {
	var err error
	for range 100 {
		port := 20000 + rand.IntN(12000)
		var l net.Listener
		if l, err = net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}

// run starts the program and waits until it answers.
func (s *Server) run() error {
	path, err := program("mariadbd", "mysqld")
	if err != nil {
		return err
	}
	args := append([]string{"--no-defaults"}, common(s.folder)...)
	args = append(args,
		"--socket="+s.Socket,
		"--port="+strconv.Itoa(s.Port),
		"--bind-address=127.0.0.1",
		"--pid-file="+filepath.Join(s.folder, "pid"),
		"--log-error="+filepath.Join(s.folder, "log"),
		"--tmpdir="+s.folder,
		"--skip-name-resolve",
		"--skip-log-bin",
		"--performance-schema=OFF",
		"--character-set-server=utf8mb4",
		"--collation-server=utf8mb4_general_ci",
		"--default-time-zone=+03:00",
		"--sql-mode=",
		"--innodb-buffer-pool-size=64M",
		"--innodb-flush-log-at-trx-commit="+strconv.Itoa(s.flush),
		"--key-buffer-size=1M",
		"--max-connections=200",
		"--sync-frm=OFF",
	)
	if s.flush == 0 {
		args = append(args, "--innodb-flush-method=nosync", "--skip-innodb-doublewrite")
	}
	if s.process, err = launch(exec.Command(path, args...)); err != nil {
		return err
	}
	if err := s.ready(); err != nil {
		s.process.kill()
		return err
	}
	return nil
}

// ready waits until the server answers.
func (s *Server) ready() error {
	pool, err := sql.Open("mysql", s.DSN(""))
	if err != nil {
		return err
	}
	defer pool.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		// A socket of before a kill refuses; the driver would try it thrice.
		if conn, err := net.Dial("unix", s.Socket); err == nil {
			conn.Close()
			if err = pool.PingContext(ctx); err == nil {
				return nil
			}
		}
		select {
		case <-s.process.done:
			return fmt.Errorf("mariadbd ended: %s", s.log())
		case <-ctx.Done():
			return fmt.Errorf("mariadbd does not answer: %s", s.log())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// log is the end of the server's own log.
func (s *Server) log() string {
	text, err := os.ReadFile(filepath.Join(s.folder, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

func (s *Server) close() {
	if s.process != nil {
		s.process.kill()
	}
	s.keeper.finish()
}
