package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

func TestServesAndPrintsMessages(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	outReader, out := io.Pipe()
	errReader, errs := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"-channels", "C01,C02=archived", "-interval", "-1s"}, out, errs)
		errs.Close()
		out.Close()
	}()
	t.Cleanup(func() {
		stop()
		outReader.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(errReader).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + strings.TrimSpace(line[strings.LastIndex(line, " ")+1:])
	api := slack.New("xoxb-test", slack.OptionAPIURL(address+"/api/"))

	printed := json.NewDecoder(outReader)
	sent := make(chan error, 1)
	go func() {
		_, ts, err := api.PostMessageContext(ctx, "C01", slack.MsgOptionText("hello", false))
		if err == nil {
			_, _, _, err = api.UpdateMessageContext(ctx, "C01", ts, slack.MsgOptionText("bye", false))
		}
		sent <- err
	}()
	for _, want := range []string{"posted hello", "updated bye"} {
		var event struct {
			Event string
			fakeslack.Message
		}
		if err := printed.Decode(&event); err != nil {
			t.Fatal(err)
		}
		if got := event.Event + " " + event.Text; got != want || event.Channel != "C01" || event.TS == "" {
			t.Errorf("printed %+v, want %s", event, want)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}

	resp, err := http.Post(address+"/fakeslack/faults", "application/json", strings.NewReader(`[{"error":"fatal_error"}]`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if _, _, err := api.PostMessageContext(ctx, "C01", slack.MsgOptionText("hello", false)); err == nil || err.Error() != "fatal_error" {
		t.Errorf("a fault that was ordered gave %v", err)
	}
	if _, _, err := api.PostMessageContext(ctx, "C02", slack.MsgOptionText("hello", false)); err == nil || err.Error() != "is_archived" {
		t.Errorf("an archived channel gave %v", err)
	}
}

func TestRefusesBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-nonsense"}, {"-listen", "nowhere:-1"}} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}
