// Command fakeslackd serves a fakeslack workspace, and prints each accepted message as a
// line of JSON. It is for demonstrations, and for tests whose sender runs in another
// process or in a pod.
//
//	fakeslackd -listen 127.0.0.1:8080 -token xoxb-test -channels C01,C02,C03=outside,C04=archived \
//	       -webhooks /services/T0/B0/secret=C01 -allow '<!subteam^S0123>'
//
// POST /fakeslack/faults with a list of faults makes the next requests fail; with a single
// fault, all requests fail until DELETE. GET /fakeslack/messages and /fakeslack/refusals
// return the accepted messages and the rejected requests.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "fakeslackd:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("fakeslackd", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:0", "address to listen on")
	token := flags.String("token", "xoxb-test", "token of the app")
	channels := flags.String("channels", "", "comma-separated channel IDs; append =outside or =archived to those that the app cannot post to")
	webhooks := flags.String("webhooks", "", "comma-separated webhooks, each as path=channel")
	interval := flags.Duration("interval", time.Second, "minimum time between two messages to a channel; negative: none")
	var allow []string
	flags.Func("allow", "control sequence that messages may contain; can be repeated", func(s string) error {
		allow = append(allow, s)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	c := fakeslack.Config{
		Token: *token, Allowed: allow, Interval: *interval, Record: stdout,
		Channels: map[string]fakeslack.Membership{}, Webhooks: pairs(*webhooks),
	}
	for id, membership := range pairs(*channels) {
		c.Channels[id] = fakeslack.Membership(membership)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Fprintln(stderr, "fakeslackd: listening on", l.Addr())
	return serve(ctx, l, fakeslack.New(c))
}

// serve serves until the context ends.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// pairs parses a list of key or key=value.
func pairs(list string) map[string]string {
	m := map[string]string{}
	for item := range strings.SplitSeq(list, ",") {
		if key, value, _ := strings.Cut(item, "="); key != "" {
			m[key] = value
		}
	}
	return m
}
