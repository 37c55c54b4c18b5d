// Package headless opens pages in a Chromium without a window, for tests.
package headless

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// RequireVariable is the environment variable that turns a missing Chromium into a failure.
const RequireVariable = "ROWVEC_REQUIRE_CHROMIUM"

// patience is how long a browser may take for one answer.
const patience = time.Minute

// View is what a page is looked at with.
type View struct {
	Width, Height int
	Dark          bool // the theme that the reader prefers
}

// Page is one that is open.
type Page struct {
	// Requests are the addresses that were asked for, but for those of data, and Complaints what the browser has logged and
	// what the page's console has. Both are complete when Open returns.
	Requests, Complaints []string

	pipe    io.Writer
	answers chan message
	session string
	last    int
}

// message is one of the Chrome DevTools Protocol: a command, an answer or an event.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// Open opens a file. It skips the test where there is no Chromium, or fails it where there has to be one. The browser is gone
// when the test is over.
func Open(t testing.TB, file string, v View) *Page {
	t.Helper()
	p, err := open(t, file, v)
	if errors.Is(err, exec.ErrNotFound) {
		if os.Getenv(RequireVariable) == "" {
			t.Skipf("THE PAGE IS NOT LOOKED AT: %v; %s=1 would make this a failure", err, RequireVariable)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// find returns the program.
func find() (path string, err error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no Chromium: %w", exec.ErrNotFound)
}

func open(t testing.TB, file string, v View) (*Page, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	if file, err = filepath.Abs(file); err != nil {
		return nil, err
	}
	commands, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, answers, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, commands.Close(), in.Close())
	}
	// --no-sandbox, since it may run as root in a container, and the page is our own.
	browser := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-extensions", "--disable-background-networking", "--hide-scrollbars", "--remote-debugging-pipe",
		"--user-data-dir="+t.TempDir())
	browser.ExtraFiles = []*os.File{commands, answers} // 3 and 4
	err = browser.Start()
	commands.Close()
	answers.Close()
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	p := &Page{pipe: in, answers: make(chan message)}
	ended := make(chan struct{})
	go func() {
		defer close(p.answers)
		p.read(out, ended)
	}()
	t.Cleanup(func() {
		p.do("Browser.close", nil, nil)
		close(ended)
		in.Close()
		stop := time.AfterFunc(patience, func() { browser.Process.Kill() })
		browser.Wait()
		stop.Stop()
		out.Close()
	})
	return p, p.visit(&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}, v)
}

// read passes on what the browser says: messages with a zero behind each.
func (p *Page) read(from io.Reader, ended chan struct{}) {
	for in := bufio.NewReader(from); ; {
		b, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(b[:len(b)-1], &m) != nil {
			continue
		}
		select {
		case p.answers <- m:
		case <-ended:
			return
		}
	}
}

// visit opens the page and waits until it is loaded.
func (p *Page) visit(at *url.URL, v View) error {
	var target struct{ TargetID, SessionID string }
	if err := p.do("Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return err
	}
	attach := map[string]any{"targetId": target.TargetID, "flatten": true}
	if err := p.do("Target.attachToTarget", attach, &target); err != nil {
		return err
	}
	p.session = target.SessionID
	for _, domain := range []string{"Page", "Log", "Runtime", "Network"} {
		if err := p.do(domain+".enable", nil, nil); err != nil {
			return err
		}
	}
	if err := p.emulate(v); err != nil {
		return err
	}
	p.Requests, p.Complaints = nil, nil
	var went struct{ ErrorText string }
	if err := p.do("Page.navigate", map[string]any{"url": at.String()}, &went); err != nil {
		return err
	}
	if went.ErrorText != "" {
		return fmt.Errorf("%v: %s", at, went.ErrorText)
	}
	return p.settle()
}

// Look changes the view.
func (p *Page) Look(v View) error {
	if err := p.emulate(v); err != nil {
		return err
	}
	return p.settle()
}

func (p *Page) emulate(v View) error {
	size := map[string]any{"width": v.Width, "height": v.Height, "deviceScaleFactor": 1, "mobile": true}
	if err := p.do("Emulation.setDeviceMetricsOverride", size, nil); err != nil {
		return err
	}
	theme := map[bool]string{false: "light", true: "dark"}[v.Dark]
	return p.do("Emulation.setEmulatedMedia", map[string]any{
		"features": []any{map[string]any{"name": "prefers-color-scheme", "value": theme}},
	}, nil)
}

// settle waits for two frames of the complete page: whatever it draws or asks for has been begun then.
func (p *Page) settle() error {
	return p.Evaluate(`new Promise(done => {
		const frames = () => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))
		document.readyState === "complete" ? frames() : addEventListener("load", frames)
	})`, new(bool))
}

// do sends a command and waits for its answer, and keeps the events that come before.
func (p *Page) do(method string, params, result any) error {
	p.last++
	m := message{ID: p.last, Session: p.session, Method: method}
	if method == "Browser.close" {
		m.Session = ""
	}
	if params != nil {
		b, err := json.Marshal(params)
		if err != nil {
			return err
		}
		m.Params = b
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if _, err := p.pipe.Write(append(b, 0)); err != nil {
		return err
	}
	late := time.After(patience)
	for {
		select {
		case answer, ok := <-p.answers:
			switch {
			case !ok:
				return fmt.Errorf("%s: the browser is gone", method)
			case answer.ID != m.ID:
				p.note(answer)
			case answer.Error != nil:
				return fmt.Errorf("%s: %s", method, answer.Error.Message)
			case result != nil:
				return json.Unmarshal(answer.Result, result)
			default:
				return nil
			}
		case <-late:
			return fmt.Errorf("%s: no answer within %v", method, patience)
		}
	}
}

// note keeps what an event says.
func (p *Page) note(m message) {
	switch m.Method {
	case "Network.requestWillBeSent":
		var x struct{ Request struct{ URL string } }
		if json.Unmarshal(m.Params, &x); len(x.Request.URL) < 5 || x.Request.URL[:5] != "data:" {
			p.Requests = append(p.Requests, x.Request.URL)
		}
	case "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown":
		p.Complaints = append(p.Complaints, string(m.Params))
	}
}

// Evaluate sets result to what an expression of JavaScript is in the page, by way of JSON.
func (p *Page) Evaluate(expression string, result any) error {
	var x struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	err := p.do("Runtime.evaluate", map[string]any{
		"expression": expression, "returnByValue": true, "awaitPromise": true,
	}, &x)
	switch {
	case err != nil:
		return err
	case x.ExceptionDetails != nil:
		return fmt.Errorf("%s: %s", expression, x.ExceptionDetails)
	}
	return json.Unmarshal(x.Result.Value, result)
}
