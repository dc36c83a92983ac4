package mariadbtest

import (
	"context"
	"database/sql"
	"fmt"
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

	"hce/dc/internal/childprocess"
)

// patience is the longest wait for an answer of the server.
const patience = 60 * time.Second

// Settings returns the session variables of the product's connections, with SQL values.
// MySQL 8 calls tx_isolation transaction_isolation.
func Settings() map[string]string {
	return map[string]string{
		"sql_mode":     "'STRICT_ALL_TABLES,NO_UNSIGNED_SUBTRACTION,NO_ENGINE_SUBSTITUTION'",
		"time_zone":    "'+00:00'",
		"tx_isolation": "'READ-COMMITTED'",
	}
}

// Server is a private MariaDB server. Only one goroutine may call its methods at a time.
// Any number of connections may use it.
type Server struct {
	Socket string // path of the Unix socket
	Port   int    // on 127.0.0.1
	User   string // has all rights and no password

	folder  string
	flush   int
	release func() // of the port
	keeper  *keeper
	process *process
	stopped bool
}

// Options are the options of New.
type Options struct {
	// Durable syncs the log at each commit, as production does. Otherwise a kill of
	// the server may lose the commits of the last second.
	Durable bool
}

var shared struct {
	sync.Mutex
	server *Server
	err    error
}

// Main runs the tests of a package and stops the shared server. TestMain passes the result
// to os.Exit.
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

// Start returns the shared server of this process. The first call starts it. Later calls
// restart it if a test has killed or stopped it. The test fails if MariaDB is missing.
func Start(t testing.TB) *Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = startServer(Options{})
	}
	if shared.err != nil {
		t.Fatalf("start MariaDB: %v", shared.err)
	}
	if s := shared.server; s.stopped || s.process.hasEnded() {
		if err := s.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	return shared.server
}

// New starts a server for one test. It stops after the test.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := startServer(o)
	if err != nil {
		t.Fatalf("start MariaDB: %v", err)
	}
	t.Cleanup(s.close)
	return s
}

// DSN returns the data source name of a database for the driver "mysql", over the socket and
// with the session settings of the product. database may be empty.
func (s *Server) DSN(database string) string { return s.connectionString("unix", s.Socket, database) }

// DSNTCP is DSN over TCP.
func (s *Server) DSNTCP(database string) string {
	return s.connectionString("tcp", "127.0.0.1:"+strconv.Itoa(s.Port), database)
}

func (s *Server) connectionString(network, address, database string) string {
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName = s.User, network, address, database
	c.Collation = "utf8mb4_general_ci"
	c.InterpolateParams = true
	c.ClientFoundRows = true
	c.Params = Settings()
	return c.FormatDSN()
}

// Kill kills the server (SIGKILL), as in a crash. Connections break, and new connections
// fail until Restart.
func (s *Server) Kill() {
	s.process.kill()
	s.stopped = false
}

// Stop stops all threads of the server (SIGSTOP). Connections stay open but get no answer
// until Restart.
func (s *Server) Stop() {
	s.process.sendSignal(syscall.SIGSTOP)
	s.stopped = true
	for deadline := time.Now().Add(patience); !s.process.isStopped() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

// Usual gives the server the memory and the log that a new installation of MariaDB has, until its next
// start. The small ones of tests start quickly, but a full log stops all writers while pages are flushed.
func (s *Server) Usual(t testing.TB) {
	t.Helper()
	db, err := sql.Open("mysql", s.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, set := range []string{"innodb_log_file_size = 96 << 20", "innodb_buffer_pool_size = 128 << 20"} {
		if _, err := db.ExecContext(t.Context(), "SET GLOBAL "+set); err != nil {
			t.Fatal(err)
		}
	}
}

// Restart restarts a killed or stopped server with the same socket, port and data, and waits
// until it answers. It kills a running server first.
func (s *Server) Restart() error {
	if s.stopped && !s.process.hasEnded() {
		s.stopped = false
		s.process.sendSignal(syscall.SIGCONT)
		return s.waitUntilReady()
	}
	s.Kill()
	if err := s.startProgram(); err != nil {
		return fmt.Errorf("restart MariaDB: %w", err)
	}
	return nil
}

func startServer(o Options) (*Server, error) {
	folder, err := os.MkdirTemp(tempBase(), "dcdb")
	if err != nil {
		return nil, err
	}
	s := &Server{Socket: filepath.Join(folder, "s"), User: "root", folder: folder}
	if o.Durable {
		s.flush = 1
	}
	if s.keeper, err = startKeeper(folder); err != nil {
		os.RemoveAll(folder)
		return nil, err
	}
	if err := installServer(folder); err != nil {
		s.close()
		return nil, err
	}
	ports, release, err := childprocess.FreePorts(1)
	if err != nil {
		s.close()
		return nil, err
	}
	s.Port, s.release = ports[0], release
	if err := s.startProgram(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// tempBase returns the folder for temporary files, or /tmp if its path is too long for a socket.
// The path of a socket has at most 107 bytes.
func tempBase() string {
	if dir := os.TempDir(); len(dir) <= 60 {
		return dir
	}
	return "/tmp"
}

// startProgram starts the program and waits until it answers.
func (s *Server) startProgram() error {
	path, err := findProgram("mariadbd", "mysqld")
	if err != nil {
		return err
	}
	args := append([]string{"--no-defaults"}, commonOptions(s.folder)...)
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
	if s.process, err = launchProcess(exec.Command(path, args...)); err != nil {
		return err
	}
	if err := s.waitUntilReady(); err != nil {
		s.process.kill()
		return err
	}
	return nil
}

// waitUntilReady waits until the server answers.
func (s *Server) waitUntilReady() error {
	pool, err := sql.Open("mysql", s.DSN(""))
	if err != nil {
		return err
	}
	defer pool.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		// The socket of a killed server refuses connections; the driver would retry.
		if conn, err := net.Dial("unix", s.Socket); err == nil {
			conn.Close()
			if err = pool.PingContext(ctx); err == nil {
				return nil
			}
		}
		select {
		case <-s.process.done:
			return fmt.Errorf("mariadbd ended: %s", s.logTail())
		case <-ctx.Done():
			return fmt.Errorf("mariadbd does not answer: %s", s.logTail())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// logTail returns the end of the server's log.
func (s *Server) logTail() string {
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
	if s.release != nil {
		s.release()
	}
	s.keeper.removeFolder()
}
