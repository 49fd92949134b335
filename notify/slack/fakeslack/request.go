package fakeslack

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxBody is how much of a request is read. Slack's own limit is unknown; messages within
// the known limits are much smaller.
const maxBody = 1 << 20

// The methods that the server supports.
const (
	postMessage   = "chat.postMessage"
	updateMessage = "chat.update"
	webhook       = "webhook"
)

// arguments are the arguments of each method. Slack ignores others, which hides
// misspellings.
var arguments = map[string][]string{
	postMessage: {
		"token", "channel", "text", "blocks", "thread_ts", "reply_broadcast", "unfurl_links", "unfurl_media", "mrkdwn", "parse", "link_names",
		// Only the errors of the method mention it, and it promises nothing.
		"client_msg_id",
	},
	updateMessage: {"token", "channel", "ts", "text", "blocks", "parse", "link_names"},
	webhook: {
		"text", "blocks", "unfurl_links", "unfurl_media", "mrkdwn", "replace_original", "delete_original",
	},
}

// call is a request with its arguments.
type call struct {
	method string
	token  string
	args   map[string]string // blocks as JSON
}

// parse reads the arguments of a method from a form or from JSON.
func parse(r *http.Request, method string) (call, *problem) {
	c := call{method: method, args: map[string]string{}}
	if r.Method != http.MethodPost {
		return c, &problem{"invalid_post_type", "the method is " + r.Method}
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return c, &problem{"request_timeout", err.Error()}
	case len(body) > maxBody:
		return c, &problem{"msg_too_long", "the request is larger than " + strconv.Itoa(maxBody) + " bytes"}
	}
	mediaType, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return c, &problem{"invalid_post_type", "the content type is " + strconv.Quote(r.Header.Get("Content-Type"))}
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return c, &problem{"invalid_charset", charset}
	}
	switch {
	case mediaType == "application/json":
		err = c.fromJSON(body)
	case mediaType == "application/x-www-form-urlencoded" && method != webhook:
		err = c.fromForm(string(body))
	default:
		return c, &problem{"invalid_post_type", mediaType}
	}
	if err != nil {
		return c, &problem{"invalid_form_data", err.Error()}
	}
	// The token in the header takes precedence.
	c.token = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if c.token == "" {
		c.token = c.args["token"]
	}
	for name := range c.args {
		if !slices.Contains(arguments[method], name) {
			return c, &problem{"invalid_arguments", "argument " + name + " is unknown"}
		}
	}
	return c, nil
}

func (c *call) fromForm(body string) error {
	form, err := url.ParseQuery(body)
	for name, values := range form {
		c.args[name] = values[len(values)-1]
	}
	return err
}

func (c *call) fromJSON(body []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil {
		return err
	}
	for name, value := range raw {
		// Blocks may be JSON, or a string that contains JSON.
		var s string
		if json.Unmarshal(value, &s) != nil {
			s = string(value)
		}
		c.args[name] = s
	}
	return nil
}

// flag parses a boolean argument.
func (c *call) flag(name string) (bool, *problem) {
	s, ok := c.args[name]
	if !ok || s == "" {
		return false, nil
	}
	b, err := strconv.ParseBool(s)
	if err != nil {
		return false, &problem{"invalid_arguments", name + " is " + strconv.Quote(s)}
	}
	return b, nil
}

// problem is why a request is rejected: Slack's error code, and a detail for people.
type problem struct{ code, detail string }
