package faults

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

const token = "xoxb-faults"

// channels are those of the teams and of the fallback owner.
func channels() map[string]fakeslack.Membership {
	out := map[string]fakeslack.Membership{channel(platform): fakeslack.Member}
	for i := range teams {
		out[channel(team(i))] = fakeslack.Member
	}
	return out
}

const platform = "platform"

// channel is that of an owner.
func channel(owner string) string {
	if owner == platform {
		return "C0PLATFORM"
	}
	return "C0TEAM" + string(owner[len(owner)-1]-'a'+'A')
}

// telling is one message as it was sent: what it tells of, and what became of it.
type sentMessage struct {
	act    int
	owner  string // whom it goes to
	covers []notify.Covered
	items  map[string]notify.Item // that it is about, by the ID of the finding
	tries  []*try
}

// try is one request with a message.
type try struct{ stored, answered bool }

// board is a Slack that knows of each request which message it is of.
type workspace struct {
	server *fakeslack.Server
	url    string

	mu       sync.Mutex
	act      int
	patience time.Duration
	sent     []*sentMessage
	tries    []*try // by number
	serving  int    // requests
	idle     *sync.Cond

	one sync.Mutex // one request at a time, so that it is known what each stores
}

// tryHeader is the header that a request has its number in.
const tryHeader = "X-Try"

func newWorkspace(t *testing.T, script *fakeslack.Script) *workspace {
	t.Helper()
	b := &workspace{server: fakeslack.New(fakeslack.Config{Token: token, Channels: channels(), Interval: -1})}
	b.idle = sync.NewCond(&b.mu)
	b.server.Faults(script.Decide)
	served := httptest.NewServer(b)
	b.url = served.URL + "/api/"
	t.Cleanup(func() {
		served.CloseClientConnections()
		served.Close()
	})
	return b
}

// ServeHTTP serves one request, and notes whether it stored a message.
func (b *workspace) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	b.serving++
	b.mu.Unlock()
	b.one.Lock()
	defer b.one.Unlock()
	before := len(b.server.Messages())
	// Also where the server breaks the connection, for which it panics.
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

// begin begins an act in which the client has so much patience with each request;
// zero: any.
func (b *workspace) begin(act int, patience time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.act, b.patience = act, patience
}

// messages returns what was sent, once no request is under way any more.
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

// RoundTrip carries a request to the board.
func (b *workspace) RoundTrip(r *http.Request) (*http.Response, error) {
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

// whole reads an answer to its end, for which there is time until then only.
func whole(res *http.Response) (*http.Response, error) {
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// sender is a notify.Sender that notes what is sent by another one.
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
