package sqldb

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"hce/dc/internal/storage/sqldb/mariadbtest"
)

// The tests in this file start the test program as another process. This environment
// variable selects the code that it runs.
const partVariable = "DC_DB_TEST_PART"

func TestMain(m *testing.M) {
	play := map[string]func(path string) error{"open": playOpen, "hold": playHold, "nobody": playNobody}[os.Getenv(partVariable)]
	if play == nil {
		os.Exit(mariadbtest.Main(m))
	}
	if err := play(os.Getenv("DC_DB_TEST_PATH")); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func command(part, path string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), partVariable+"="+part, "DC_DB_TEST_PATH="+path)
	return c
}

// playOpen opens the database and writes one row.
func playOpen(path string) error {
	d, err := Open(ctx, Config{Path: path})
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Update(ctx, func(tx *Tx) error {
		_, err := tx.Do("trash_put", "s", "")
		return err
	})
}

// playHold writes many rows in a transaction and then waits for a kill.
func playHold(path string) error {
	d, err := Open(ctx, Config{Path: path, CacheKB: 64}) // spills to the log
	if err != nil {
		return err
	}
	return d.Update(ctx, func(tx *Tx) error {
		if _, err := tx.Exec("CREATE TABLE half (x)"); err != nil {
			return err
		}
		for range 2000 {
			if _, err := tx.Do("trash_put", strings.Repeat("x", 1000), ""); err != nil {
				return err
			}
		}
		fmt.Println("holding")
		select {}
	})
}

// playNobody tries to write as a user without write permission.
func playNobody(path string) error {
	if err := syscall.Setuid(65534); err != nil {
		return err
	}
	err := playOpen(path)
	fmt.Println("critical:", Critical(err), err)
	return nil
}

func TestSeveralProcessesOpenANewFile(t *testing.T) {
	path := fresh(t)
	const processes = 6
	var wg sync.WaitGroup
	for range processes {
		wg.Go(func() {
			if out, err := command("open", path).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	d := openTest(t, path)
	if n := d.number(t, `SELECT COUNT(*) FROM "dc_sites.trash"`); n != processes {
		t.Errorf("%d writes, want %d", n, processes)
	}
	if n := d.number(t, `SELECT COUNT(*) FROM "dc_sites.schema_steps"`); n != int64(len(d.steps)) {
		t.Errorf("%d recorded schema steps, want each step once", n)
	}
}

func TestKillInATransaction(t *testing.T) {
	path := fresh(t)
	d := openTest(t, path)
	c := command("hold", path)
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line != "holding\n" {
		t.Errorf("the other process printed %q", line)
	}
	must(t, c.Process.Signal(syscall.SIGKILL))
	c.Wait()
	must(t, d.Update(ctx, func(*Tx) error { return nil })) // the lock is free
	for _, handle := range []*DB{d, openTest(t, path)} {
		if n := handle.number(t, `SELECT COUNT(*) FROM "dc_sites.trash"`); n != 0 {
			t.Errorf("%d rows of the killed transaction", n)
		}
		if n := handle.number(t, "SELECT COUNT(*) FROM sqlite_master WHERE name = 'half'"); n != 0 {
			t.Errorf("%d tables of the killed transaction", n)
		}
	}
}

// A user without write permission gets a critical error, with and without a file.
func TestReadOnlyFolder(t *testing.T) {
	if os.Getuid() != 0 {
		testReadOnly(t, func(path string) string {
			err := playOpen(path)
			return fmt.Sprintln("critical:", Critical(err), err)
		})
		return
	}
	testReadOnly(t, func(path string) string {
		out, err := command("nobody", path).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	})
}

func testReadOnly(t *testing.T, write func(path string) string) {
	// Other users must be able to read the folder.
	root, err := os.MkdirTemp("", "dcdb")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(root) })
	must(t, os.Chmod(root, 0o755))
	made, empty := filepath.Join(root, "made"), filepath.Join(root, "empty")
	openTest(t, filepath.Join(made, "dc.db")).Close()
	must(t, os.Mkdir(empty, 0o755))
	for _, folder := range []string{made, empty} {
		must(t, os.Chmod(folder, 0o555))
		t.Cleanup(func() { os.Chmod(folder, 0o755) })
		if out := write(filepath.Join(folder, "dc.db")); !strings.HasPrefix(out, "critical: true") {
			t.Errorf("%s: %s", folder, out)
		}
	}
}
