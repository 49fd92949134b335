package faults

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

const token = "xoxb-faults"

// channels returns the channels of the teams and the fallback owner.
func channels() map[string]fakeslack.Membership {
	out := map[string]fakeslack.Membership{channel(platform): fakeslack.Member}
	for i := range teams {
		out[channel(team(i))] = fakeslack.Member
	}
	return out
}

const platform = "platform"

// channel returns the channel of an owner.
func channel(owner string) string {
	if owner == platform {
		return "C0PLATFORM"
	}
	return "C0TEAM" + string(owner[len(owner)-1]-'a'+'A')
}

// sentMessage is a message and its delivery attempts.
type sentMessage struct {
	act    int
	owner  string // the recipient
	covers []notify.Covered
	items  map[string]notify.Item // the items of its digest by ID
	tries  []*try
}

// try is a request with a message.
type try struct{ stored, answered bool }

// workspace is a Slack that knows which message each request belongs to.
type workspace struct {
	server *fakeslack.Server
	url    string

	mu       sync.Mutex
	act      int
	patience time.Duration
	sent     []*sentMessage
	tries    []*try // by number
	serving  int    // requests in flight
	idle     *sync.Cond

	before func()        // called before each request of the publisher
	pause  time.Duration // before each response

	one sync.Mutex // serializes requests, to know what each one stores
}

// tryHeader is the header with the number of a request.
const tryHeader = "X-Try"

func newWorkspace(t *testing.T, script *fakeslack.Script) *workspace {
	t.Helper()
	b := &workspace{server: fakeslack.New(fakeslack.Config{Token: token, Channels: channels(), Interval: -1})}
	b.idle = sync.NewCond(&b.mu)
	b.server.Faults(script.Decide)
	b.url = serve(t, b) + "/api/"
	return b
}

// ServeHTTP handles a request and records whether it stored a message.
func (b *workspace) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	b.serving++
	b.mu.Unlock()
	b.mu.Lock()
	pause := b.pause
	b.mu.Unlock()
	defer time.Sleep(pause)
	b.one.Lock()
	defer b.one.Unlock()
	before := len(b.server.Messages())
	// Deferred, because the server panics to break a connection.
	defer func() {
		n, err := strconv.Atoi(r.Header.Get(tryHeader))
		b.mu.Lock()
		defer b.mu.Unlock()
		if err == nil && len(b.server.Messages()) > before {
			b.tries[n].stored = true
		}
		b.serving--
		b.idle.Broadcast()
	}()
	b.server.ServeHTTP(w, r)
}

// begin begins an act in which the client waits for each response for the given time, or
// without a limit if it is zero.
func (b *workspace) begin(act int, patience time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.act, b.patience = act, patience
}

// messages returns the sent messages when no request is in flight.
func (b *workspace) messages() []sentMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.serving > 0 {
		b.idle.Wait()
	}
	out := make([]sentMessage, len(b.sent))
	for i, m := range b.sent {
		out[i] = *m
	}
	return out
}

type sentMessageKey struct{}

// slow makes each response take a while.
func (b *workspace) slow(pause time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pause = pause
}

// rivalTransport carries the requests of another publisher.
type rivalTransport struct{ board *workspace }

func (t rivalTransport) RoundTrip(r *http.Request) (*http.Response, error) { return t.board.carry(r) }

// RoundTrip sends a request to the workspace.
func (b *workspace) RoundTrip(r *http.Request) (*http.Response, error) {
	b.before()
	return b.carry(r)
}

func (b *workspace) carry(r *http.Request) (*http.Response, error) {
	m, _ := r.Context().Value(sentMessageKey{}).(*sentMessage)
	b.mu.Lock()
	this, n, patience := &try{}, len(b.tries), b.patience
	b.tries = append(b.tries, this)
	if m != nil {
		m.tries = append(m.tries, this)
	}
	b.mu.Unlock()
	ctx, cancel := r.Context(), func() {}
	if patience > 0 {
		ctx, cancel = context.WithTimeout(ctx, patience)
	}
	defer cancel()
	r = r.Clone(ctx)
	r.Header.Set(tryHeader, strconv.Itoa(n))
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		res, err = whole(res)
	}
	return res, err
}

// whole reads the response body, which must happen before the timeout is canceled.
func whole(res *http.Response) (*http.Response, error) {
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// sender is a notify.Sender that records the messages of another one.
type sender struct {
	notify.Sender
	board *workspace
}

// planned is the body of a message with the items of its digest.
type planned struct {
	body  any
	items map[string]notify.Item
}

func (s sender) Plan(d notify.Digest) []notify.Message {
	items := map[string]notify.Item{}
	for _, it := range d.Items {
		items[it.Record.ID] = it
	}
	plan := s.Sender.Plan(d)
	for i := range plan {
		plan[i].Body = planned{plan[i].Body, items}
	}
	return plan
}

func (s sender) Send(ctx context.Context, to notify.Recipient, m notify.Message, beneath audit.MessageRef) (audit.MessageRef, error) {
	p := m.Body.(planned)
	m.Body = p.body
	sent := &sentMessage{owner: to.Owner, covers: m.Covers, items: p.items}
	s.board.mu.Lock()
	sent.act = s.board.act
	s.board.sent = append(s.board.sent, sent)
	s.board.mu.Unlock()
	at, err := s.Sender.Send(context.WithValue(ctx, sentMessageKey{}, sent), to, m, beneath)
	s.board.mu.Lock()
	defer s.board.mu.Unlock()
	if n := len(sent.tries); err == nil && n > 0 {
		sent.tries[n-1].answered = true
	}
	return at, err
}
