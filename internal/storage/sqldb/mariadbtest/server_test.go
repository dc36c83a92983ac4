package mariadbtest

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/testkit/testwait"
)

// With this environment variable the test program starts a server and waits for its kill.
const partVariable = "DC_MARIADBTEST_PART"

func TestMain(m *testing.M) {
	if os.Getenv(partVariable) == "" {
		os.Exit(Main(m))
	}
	s, err := startServer(Options{})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println(s.process.pid, s.folder)
	select {}
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	pool, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	return pool
}

func text(t *testing.T, pool *sql.DB, query string, args ...any) string {
	t.Helper()
	var s string
	if err := pool.QueryRow(query, args...).Scan(&s); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return s
}

func TestSessions(t *testing.T) {
	s := Start(t)
	if Start(t) != s {
		t.Error("a second call starts another server")
	}
	for name, dsn := range map[string]string{"socket": s.DSN(""), "tcp": s.DSNTCP("")} {
		t.Run(name, func(t *testing.T) {
			pool := open(t, dsn)
			for query, want := range map[string]string{
				"SELECT @@sql_mode":             "NO_UNSIGNED_SUBTRACTION,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION",
				"SELECT @@time_zone":            "+00:00",
				"SELECT @@tx_isolation":         "READ-COMMITTED",
				"SELECT @@collation_connection": "utf8mb4_general_ci",
				"SELECT @@global.time_zone":     "+03:00",
				"SELECT @@global.sql_mode":      "",
				"SELECT CURRENT_USER() LIKE ?":  "1",
			} {
				var args []any
				if strings.Contains(query, "?") {
					args = []any{"root@%"}
				}
				if got := text(t, pool, query, args...); got != want {
					t.Errorf("%s: %q, want %q", query, got, want)
				}
			}
		})
	}
}

func TestNames(t *testing.T) {
	s := Start(t)
	pool := open(t, s.DSN(""))
	var first map[string]string
	t.Run("one test", func(t *testing.T) {
		first = Names(t)
		if len(first) != 7 {
			t.Errorf("%d names, want 7", len(first))
		}
		if _, err := pool.Exec("CREATE DATABASE " + first["dc_urls"]); err != nil {
			t.Fatal(err)
		}
	})
	for key, name := range Names(t) {
		if name == first[key] || name == "" {
			t.Errorf("%s has the name %q in two tests", key, name)
		}
	}
	if n := text(t, pool, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?", first["dc_urls"]); n != "0" {
		t.Error("the database of a finished test still exists")
	}
}

func TestKillStopRestart(t *testing.T) {
	s := New(t, Options{Durable: true})
	name := s.Names(t)["dc_sites"]
	pool := open(t, s.DSN(""))
	for _, query := range []string{"CREATE DATABASE " + name, "CREATE TABLE " + name + ".t (x INT) ENGINE=InnoDB", "INSERT INTO " + name + ".t VALUES (7)"} {
		if _, err := pool.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	port := s.Port
	s.Kill()
	if err := pool.Ping(); err == nil {
		t.Error("a killed server answers")
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	if got := text(t, pool, "SELECT x FROM "+name+".t"); got != "7" || s.Port != port {
		t.Errorf("after a kill: row %q, port %d, want 7 and %d", got, s.Port, port)
	}
	s.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if _, err := pool.ExecContext(ctx, "SELECT 1"); err == nil {
		t.Error("a stopped server answers")
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	if got := text(t, pool, "SELECT @@port"); got != strconv.Itoa(port) {
		t.Errorf("port %s, want %d", got, port)
	}
}

// The server and its folder must not outlive a killed test process.
func TestKilledTestProcess(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), partVariable+"=hold")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	var folder string
	line, _ := bufio.NewReader(out).ReadString('\n')
	if _, err := fmt.Sscan(line, &pid, &folder); err != nil {
		t.Fatalf("the other process printed %q", line)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	testwait.Until(t, "the server process ends", func() bool { return gone(pid) })
	testwait.Until(t, "the folder is removed", func() bool {
		_, err := os.Stat(folder)
		return os.IsNotExist(err)
	})
}

// gone reports whether a process has ended. It may still be a zombie.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestMissingPrograms(t *testing.T) {
	if _, err := findProgram("no-such-mariadbd"); err == nil || !strings.Contains(err.Error(), "scripts/setup.sh test") {
		t.Errorf("error %v, want the setup command in it", err)
	}
}
