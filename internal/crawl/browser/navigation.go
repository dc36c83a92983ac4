package browser

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"

	"hce/dc/canonical"
)

// openURL opens the URL of the request and returns when its document is committed.
func (v *visit) openURL(ctx context.Context) error {
	answer := make(chan error, 1)
	go func() {
		result, err := cdp.Call(ctx, v.session, page.Navigate, page.NavigateParams{URL: v.req.URL})
		if err == nil && result.ErrorText != "" {
			err = netError(result.ErrorText)
		}
		answer <- err
	}()
	// A fault of a redirect, or a complete download, may come first.
	err := v.waitUntil(ctx, func() bool { return v.phase >= committed }, answer)
	var failed netError
	if !errors.As(err, &failed) {
		return err
	}
	if f := v.netFault(string(failed)); f != nil {
		return f
	}
	return nil
}

// netError is an error text of Chromium, such as "net::ERR_TIMED_OUT".
type netError string

func (e netError) Error() string { return string(e) }

// netFault returns the fault of a request that failed in the network. It returns nil if the
// response is complete all the same.
func (v *visit) netFault(text string) *Fault {
	kind, _ := netKind(text)
	v.mu.Lock()
	fault, phase, target, code := v.fault, v.phase, v.url, v.code
	v.mu.Unlock()
	switch {
	case fault != nil:
		return fault
	case phase == downloaded:
		return nil
	case code >= 400 && phase == answered:
		// Chromium shows its own error page for empty responses of 400 and above.
		v.changeState(func() { v.phase = downloaded; v.body = []byte{} })
		return nil
	case code != 0 && phase == answered && strings.HasSuffix(text, "_ABORTED"):
		return v.faultOf(Empty, nil)
	}
	err := error(netError(text))
	if u, parseErr := canonical.Net(target); parseErr == nil {
		if failure := v.proxy.dialFailure(hostPort(u)); failure != nil {
			kind, err = kindOfDial(failure, kind), failure
		}
	}
	if v.proxy.full.Load() {
		kind, err = TooLarge, errTraffic
	}
	return v.faultOf(kind, err)
}

// hostPort returns the host and port of a URL, as Chromium sends them to its proxy.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// kindOfDial returns the kind of an error of Config.Dial. other is the kind of Chromium's
// error.
func kindOfDial(err error, other Kind) Kind {
	var (
		guard  interface{ Refused() bool }
		behind *upstreamError
		wrong  *responseError
		name   *net.DNSError
		late   interface{ Timeout() bool }
	)
	switch {
	case errors.As(err, &guard) && guard.Refused():
		return Guard
	case errors.As(err, &behind):
		return ProxyConnect
	case errors.As(err, &wrong):
		return wrong.kind
	case errors.As(err, &late) && late.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return ConnectTimeout
	case errors.As(err, &name):
		return NameNotResolved
	case other == Blocked: // our proxy closed the connection
		return Connect
	}
	return other
}

// waitUntil returns when cond holds. It calls cond under the lock. It returns early on a fault,
// the end of ctx or of the browser, or an error from answer, which may be nil.
func (v *visit) waitUntil(ctx context.Context, cond func() bool, answer <-chan error) error {
	for {
		v.mu.Lock()
		done, fault, changed := cond(), v.fault, v.changed
		v.mu.Unlock()
		switch {
		case fault != nil:
			return fault
		case done:
			return nil
		}
		select {
		case <-changed:
		case err := <-answer:
			if err != nil {
				return err
			}
			answer = nil // events report the rest
		case <-v.chromium.gone:
			return errors.New("the browser ended")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// waitLoaded returns when the page has loaded, the damping is over, and the page requests
// no other URL.
func (v *visit) waitLoaded(ctx context.Context, damping time.Duration) error {
	for {
		if err := v.waitUntil(ctx, func() bool { return v.phase >= loaded }, nil); err != nil {
			return err
		}
		v.mu.Lock()
		count, hint, isFile := v.count, time.Until(v.hinted.Add(hintTime)), v.phase == downloaded
		v.mu.Unlock()
		if isFile {
			return nil
		}
		calm, cancel := context.WithTimeout(ctx, max(damping, settleTime, hint))
		err := v.waitUntil(calm, func() bool { return v.count != count || v.phase < loaded }, nil)
		over := calm.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil: // the page has navigated
		case over:
			v.mu.Lock()
			hint, still := time.Until(v.hinted.Add(hintTime)), v.count == count
			v.mu.Unlock()
			if still && hint <= 0 {
				return nil
			}
			damping = 0
		default:
			return err
		}
	}
}

// handleEvent handles the events of the page, in order. It must not block.
func (v *visit) handleEvent(ev any) {
	switch ev := ev.(type) {
	case *fetch.EventRequestPaused:
		v.mu.Lock()
		own := ev.ResourceType == network.ResourceTypeDocument && ev.FrameID == v.frame
		v.mu.Unlock()
		if own {
			go v.handleDocument(ev)
			return
		}
		if !isResponse(ev) {
			v.noteLoad(ev)
		}
		select {
		case v.waiting <- ev:
		default: // too many; it gets no answer
		}
	case *fetch.EventAuthRequired:
		// There is no user. The page is what the server sends without a password.
		go cdp.Call(v.time, v.session, fetch.ContinueWithAuth, fetch.ContinueWithAuthParams{RequestID: ev.RequestID,
			AuthChallengeResponse: &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseCancelAuth}})
	case *page.EventFrameNavigated:
		if ev.Frame.ParentID == "" {
			v.changeState(func() { v.recordDocument(ev.Frame) })
		}
	case *page.EventLoadEventFired:
		v.changeState(func() {
			if v.phase == committed {
				v.phase = loaded
			}
		})
	case *page.EventFrameStoppedLoading:
		// A page has no load event if a script stopped it, or if it went to a URL for
		// another program.
		v.changeState(func() {
			if ev.FrameID == v.frame && v.phase == committed {
				v.phase = loaded
			}
		})
	case *page.EventFrameRequestedNavigation:
		if ev.Disposition == page.ClientNavigationDispositionCurrentTab {
			v.noteNavigation(ev.FrameID)
		}
	case *page.EventFrameStartedNavigating:
		if ev.NavigationType != page.FrameStartedNavigatingNavigationTypeSameDocument {
			v.noteNavigation(ev.FrameID)
		}
	case *page.EventJavascriptDialogOpening:
		// There is no user to answer a dialog. A page may be left.
		leave := ev.Type == page.DialogTypeBeforeunload
		go cdp.Call(v.time, v.session, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: leave})
	case *inspector.EventTargetCrashed:
		v.failPage(v.crashFault())
	}
}

// crashFault returns the fault of a page whose process has ended.
func (v *visit) crashFault() *Fault {
	if v.chromium.killedCount() != v.killed {
		return v.faultOf(Memory, fmt.Errorf("the browser may use %d MiB", v.cfg.MaxMemory>>20))
	}
	return v.faultOf(Driver, errors.New("the process of the page crashed"))
}

// noteNavigation records that the page is about to navigate.
func (v *visit) noteNavigation(frame cdp.FrameID) {
	v.changeState(func() {
		if frame == v.frame && v.phase == loaded {
			v.hinted = time.Now()
		}
	})
}

// recordDocument records a new document of the page. v.mu must be held.
func (v *visit) recordDocument(f *cdp.Frame) {
	if f.UnreachableURL != "" || strings.HasPrefix(f.URL, "chrome-error:") {
		return // Chromium's error page; navigate reports the fault
	}
	if v.phase == answered {
		v.phase = committed
	}
}
