package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify/visible"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// harmless fails the test if a terminal would do anything but show the text.
func harmless(t *testing.T, out string) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Error("output is no UTF-8")
	}
	for _, r := range out {
		if r != '\n' && !visible.Rune(r) {
			t.Errorf("U+%04X in the output", r)
		}
	}
}

// fits fails the test if a table breaks out of its width, or lets text from the
// cluster stand at the left edge, where only lines of ours do.
func fits(t *testing.T, out string, width int) {
	t.Helper()
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if n := columns(shown(line)); n > width {
			t.Errorf("%d columns instead of %d: %q", n, width, line)
		}
		ours := line == "" || strings.HasPrefix(line, "  ")
		for _, word := range []string{"HIGH  ", "LOW  ", "ADVISORY  ", "INCOMPLETE  ", "SUMMARY  "} {
			ours = ours || strings.HasPrefix(line, word)
		}
		if !ours {
			t.Errorf("text at the left edge: %q", line)
		}
		if strings.HasSuffix(line, " ") {
			t.Errorf("blank at the end of %q", line)
		}
	}
}

// spoiled returns a result that says the text everywhere.
func spoiled(text string) *audit.Result {
	res := namesResult(text, text, text, text)
	f := &res.Findings[0]
	f.Rule, f.Verdict, f.State, f.Message, f.Cause, f.Remedy = text, text, audit.State(text), text, text, text
	f.Subject.Kind, f.Subject.Detail = text, text
	f.Objects[0].Kind, f.Objects[0].Detail, f.Objects[1].Reason, f.Objects[1].Detail = text, text, text, ""
	res.Advisories = []audit.Advisory{{Rule: text, Subject: f.Subject, Owners: f.Owners, Message: text, Objects: f.Objects}}
	res.Problems = []audit.Problem{{Where: text, Reason: text}}
	res.Rules[0] = audit.Outcome{Rule: text, Status: audit.OutcomeStatus(text), Reason: text}
	res.Reads[0] = snapshot.Read{Kind: snapshot.Kind(text), Status: snapshot.Failed, Err: text}
	res.Cluster = text
	return res
}

func FuzzWrite(f *testing.F) {
	for _, h := range hostile() {
		f.Add(h, 80)
	}
	f.Add(strings.Repeat("商", 130), 60)
	f.Add(strings.Repeat("n", 253), 40)
	f.Add("clean: no findings "+strings.Repeat("clean: ", 40), 100)
	f.Fuzz(func(t *testing.T, text string, width int) {
		res := spoiled(text)
		width = MinWidth + (width%200+200)%200
		out := write(t, Table, res, Options{Width: width})
		harmless(t, out)
		fits(t, out, width)
		harmless(t, write(t, Wide, res, Options{Width: width}))
		sameDocument(t, res)
	})
}

// TestWriteRandom does what the fuzzer does, over text that is likelier to hurt,
// whenever the tests run.
func TestWriteRandom(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, seed))
	pool := []rune("ab-./ \\:x01;,\n\r\t\x1b\x00\x7f\u009b\u202e\u2066\u200f\u200b\ufeff\u2028\u0301\u0301e商Ａｱ🚢\ue000\U000e0041\u00a0\ufffd")
	for i := range 100 {
		var b strings.Builder
		for range rng.IntN(60) * rng.IntN(6) {
			if rng.IntN(40) == 0 {
				b.WriteByte(byte(rng.IntN(256)))
			} else {
				b.WriteRune(pool[rng.IntN(len(pool))])
			}
		}
		text, width := b.String(), MinWidth+rng.IntN(160)
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			res := spoiled(text)
			out := write(t, Table, res, Options{Width: width})
			harmless(t, out)
			fits(t, out, width)
			harmless(t, write(t, Wide, res, Options{Width: width}))
			sameDocument(t, res)
			if t.Failed() {
				t.Logf("text %q, width %d", text, width)
			}
		})
	}
}
