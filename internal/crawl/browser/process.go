package browser

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"golang.org/x/sys/unix"
)

// programs are looked up in PATH if Config.Path is empty.
var programs = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}

// findProgram returns the path of the Chromium to start.
func findProgram(path string) (string, error) {
	names := programs
	if path != "" {
		names = []string{path}
	}
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
	}
	return "", &Fault{Kind: NotInstalled, Err: fmt.Errorf("%s not found; install the Debian package chromium, or set the path of a Chromium", strings.Join(names, ", "))}
}

// deadProxy is the proxy of Chromium itself. Nothing listens there: only pages may connect,
// through their own proxies.
const deadProxy = "http://127.0.0.1:9"

// chromiumSwitches returns the command line options of Chromium.
func chromiumSwitches(folder string, maxMemory int64) []string {
	list := []string{
		"--headless=new",
		"--remote-debugging-pipe",
		"--user-data-dir=" + folder,
		"--no-startup-window",
		"--no-first-run", "--no-default-browser-check", "--no-pings", "--no-service-autorun",
		"--disable-background-networking", "--disable-client-side-phishing-detection",
		"--disable-component-update", "--disable-component-extensions-with-background-pages",
		"--disable-default-apps", "--disable-domain-reliability", "--disable-extensions",
		"--disable-sync", "--disable-quic", "--disable-gpu", "--disable-breakpad", "--disable-crash-reporter",
		"--disable-dev-shm-usage", "--disable-hang-monitor", "--disable-notifications",
		"--disable-print-preview", "--disable-prompt-on-repost", "--disable-speech-api",
		// All windows are invisible, so Chromium must not throttle invisible ones.
		"--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
		// All frames of a page then share one session, so this package sees their requests.
		// A browser context holds no data that one site could steal from another.
		"--disable-site-isolation-trials",
		"--disable-features=IsolateOrigins,site-per-process,Translate,MediaRouter,OptimizationHints,InterestFeedContentSuggestions,DialMediaRouteProvider,CertificateTransparencyComponentUpdater,AutofillServerCommunication,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,Prerender2,SpareRendererForSitePerProcess",
		"--dns-prefetch-disable",
		"--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--proxy-server=" + deadProxy, "--proxy-bypass-list=<-loopback>",
		"--block-new-web-contents", // window.open opens nothing
		"--mute-audio", "--hide-scrollbars", "--password-store=basic", "--use-mock-keychain",
		"--metrics-recording-only", "--safebrowsing-disable-auto-update", "--window-size=1366,768",
		// V8 ends a page with a message; the kernel would kill it without one.
		"--js-flags=--max-old-space-size=" + strconv.FormatInt(max(maxMemory>>20*3/4, 64), 10),
	}
	if os.Geteuid() == 0 {
		// Chromium refuses to start as root with its sandbox. Other users keep the sandbox.
		list = append(list, "--no-sandbox")
	}
	return list
}

// chromiumEnvironment returns Chromium's environment. It leaves out ours, which may hold secrets.
func chromiumEnvironment(folder string) []string {
	env := []string{"HOME=" + folder, "TMPDIR=" + folder, "XDG_CONFIG_HOME=" + folder, "XDG_CACHE_HOME=" + folder,
		"XDG_RUNTIME_DIR=" + folder, "LANG=" + cmp.Or(os.Getenv("LANG"), "en_US.UTF-8"), "PATH=" + os.Getenv("PATH"),
		"DBUS_SESSION_BUS_ADDRESS=disabled:", "DBUS_SYSTEM_BUS_ADDRESS=disabled:"}
	for _, name := range []string{"LD_LIBRARY_PATH", "FONTCONFIG_FILE", "FONTCONFIG_PATH", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// chromium is one running browser.
type chromium struct {
	profile *profile
	log     *slog.Logger
	cmd     *exec.Cmd
	output  outputTail
	started chan error
	gone    chan struct{} // closed when all its processes have ended and its folder is removed

	root    context.Context // of the driver; parent of the contexts of pages
	cancel  context.CancelFunc
	driver  *chromedp.Browser
	control *pipe

	mu       sync.Mutex
	pages    int
	served   int
	retired  bool   // takes no more pages
	reaped   bool   // its pid may belong to another process
	memory   uint64 // processes killed for their memory
	stopping bool
}

// startChromium starts a browser and connects to it. ctx limits the start, not the life of
// the browser.
func startChromium(ctx context.Context, cfg *Config) (*chromium, error) {
	program, err := findProgram(cfg.Path)
	if err != nil {
		return nil, err
	}
	folder, err := newProfile(cfg.TempDir)
	if err != nil {
		return nil, fmt.Errorf("create browser folder: %w", err)
	}
	c := &chromium{profile: folder, log: cfg.Log, started: make(chan error, 1), gone: make(chan struct{})}
	toUs, fromIt, err1 := os.Pipe()
	toIt, fromUs, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		closeAll([]*os.File{toUs, fromIt, toIt, fromUs})
		folder.removeFolder()
		return nil, err
	}
	c.cmd = exec.Command(program, chromiumSwitches(folder.path, cfg.MaxMemory)...)
	c.cmd.Dir = folder.path
	c.cmd.Env = chromiumEnvironment(folder.path)
	c.cmd.Stdout, c.cmd.Stderr = &c.output, &c.output
	c.cmd.WaitDelay = time.Second               // for the end of the output
	c.cmd.ExtraFiles = []*os.File{toIt, fromIt} // descriptors 3 and 4, as --remote-debugging-pipe expects
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	go c.runProcess()
	err = <-c.started
	closeAll([]*os.File{fromIt, toIt})
	if err != nil {
		closeAll([]*os.File{toUs, fromUs})
		folder.removeFolder()
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	// JSON may need six bytes for one byte of a document.
	c.control = newPipe(toUs, fromUs, 8*DefaultMaxBytes)
	if err := c.connectDriver(ctx); err != nil {
		c.killProcesses()
		<-c.gone
		if said := c.output.lastLine(); said != "" && ctx.Err() == nil {
			err = fmt.Errorf("%w; its output: %s", err, said)
		}
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	go c.watchMemory(cfg.MaxMemory)
	go c.watchAnswers(cmp.Or(cfg.answerTime, defaultAnswerTime))
	return c, nil
}

// watchAnswers kills a browser that does not answer a simple command within limit. The
// next page starts a new one.
func (c *chromium) watchAnswers(limit time.Duration) {
	tick := time.NewTicker(limit / 4)
	defer tick.Stop()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		_, err := cdp.Call(ctx, c.driver, browser.GetVersion, cdp.Empty{})
		late := err != nil && ctx.Err() != nil
		cancel()
		if late {
			c.log.Warn("the browser does not answer and is killed", "limit", limit)
			c.killProcesses()
			return
		}
		select {
		case <-c.gone:
			return
		case <-tick.C:
		}
	}
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// runProcess starts the process, waits for its end and cleans up. The kernel sends the
// parent-death signal when the forking thread ends, so this goroutine keeps its thread.
func (c *chromium) runProcess() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.cmd.Start(); err != nil {
		c.started <- err
		return
	}
	c.started <- nil
	pid := c.cmd.Process.Pid
	// The pid of the leader is not reused while it is a zombie.
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			break
		}
	}
	c.mu.Lock()
	unix.Kill(-pid, unix.SIGKILL)
	c.reaped, c.retired = true, true
	stopping := c.stopping
	c.mu.Unlock()
	killUsers(c.profile.path)
	c.cmd.Wait() // the exit status does not matter
	if !stopping {
		c.log.Warn("the browser ended unexpectedly", "status", c.cmd.ProcessState.String(), "output", c.output.lastLine())
	}
	if err := c.profile.removeFolder(); err != nil {
		c.log.Warn("cannot remove the folder of the browser", "folder", c.profile.path, "error", err)
	}
	close(c.gone)
}

// connectDriver opens the driver's connection to the browser.
func (c *chromium) connectDriver(ctx context.Context) error {
	life, end := context.WithCancel(context.Background())
	quiet := func(text string, args ...any) { c.log.Debug("browser driver", "message", fmt.Sprintf(text, args...)) }
	alloc, _ := chromedp.NewAllocatorContext(life, attached{c})
	root, _ := chromedp.NewContext(alloc, chromedp.WithBrowserOption(chromedp.WithBrowserLogf(quiet), chromedp.WithBrowserErrorf(quiet)))
	c.root, c.cancel = root, end
	done := make(chan error, 1)
	go func() { done <- chromedp.Do(root) }()
	select {
	case err := <-done:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	c.driver = chromedp.FromContext(root).Browser
	return nil
}

// attached is an allocator that gives the driver a running browser.
type attached struct{ c *chromium }

func (a attached) Allocate(ctx context.Context, opts ...chromedp.BrowserOption) (*chromedp.Browser, error) {
	return chromedp.NewBrowserTransport(ctx, a.c.control, opts...)
}
func (a attached) Wait()          {}
func (a attached) Attaches() bool { return true }

// newPage returns the driver's context of a new page, whose browser context uses proxy
// only. listen receives all events of the page in order; it must not block. end closes the
// page and waits for that. It must be called even after an error.
func (c *chromium) newPage(ctx context.Context, proxy string, listen func(any)) (page context.Context, end func() error, err error) {
	page, _ = chromedp.NewContext(c.root,
		chromedp.WithListener(listen),
		chromedp.WithNewBrowserContext(func(p *target.CreateBrowserContextParams) {
			p.ProxyServer, p.ProxyBypassList = proxy, "<-loopback>"
		}))
	end = func() error { return chromedp.Cancel(page) }
	done := make(chan error, 1)
	go func() { done <- chromedp.Do(page) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return page, end, err
}

// killProcesses kills all processes of the browser. It returns at once; gone is closed when they
// have ended.
func (c *chromium) killProcesses() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retired, c.stopping = true, true
	if !c.reaped {
		unix.Kill(-c.cmd.Process.Pid, unix.SIGKILL)
	}
	if c.cancel != nil {
		c.cancel()
	}
}

// killUsers kills processes with folder in their command line. It finds children that left
// the process group of their parent.
func killUsers(folder string) {
	for range 400 { // two seconds: a child may fork before it is killed
		found := processesOf(folder)
		if len(found) == 0 {
			return
		}
		for _, pid := range found {
			unix.Kill(pid, unix.SIGKILL)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// processesOf returns the processes with folder in an argument, without zombies.
func processesOf(folder string) []int {
	return slices.DeleteFunc(listProcesses(), func(pid int) bool {
		line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		return err != nil || pid == os.Getpid() || !bytes.Contains(line, []byte(folder))
	})
}

// outputTail keeps the end of a program's output.
type outputTail struct {
	mu   sync.Mutex
	text []byte
}

// maxTail is the number of bytes that outputTail keeps.
const maxTail = 2 << 10

func (t *outputTail) Write(output []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, output...)
	t.text = t.text[max(0, len(t.text)-maxTail):]
	return len(output), nil
}

// lastLine returns the end of the output as one line.
func (t *outputTail) lastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(strings.Join(strings.Fields(string(t.text)), " "), "")
}
