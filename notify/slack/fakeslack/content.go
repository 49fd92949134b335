package fakeslack

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of a message. All but the last two are documented.
const (
	maxText   = 4000 // Slack truncates or splits longer ones
	maxBlocks = 50
	// maxCharacters is approximately where Slack starts to return msg_blocks_too_long: it
	// accepted 9,597 characters and rejected 11,341 (slackapi/bolt-js, issue 2867).
	maxCharacters = 11_000
	// blockCost is the cost of a block beside its text: with one more divider, Slack's limit
	// was 125 characters lower (slackapi/bolt-js, issue 2509).
	blockCost = 125
)

// checkContent checks the text and blocks of a call, and measures them.
func checkContent(c call, in *Config) (Size, *problem) {
	for _, name := range []string{"parse", "link_names"} {
		if v := c.args[name]; v != "" && v != "none" && v != "0" && v != "false" {
			return Size{}, &problem{"fakeslack_parse", name + "=" + v + " turns plain names into mentions and links"}
		}
	}
	text := c.args["text"]
	switch {
	case text == "":
		return Size{}, &problem{"no_text", "the text is missing: notifications and screen readers show it"}
	case utf8.RuneCountInString(text) > maxText:
		return Size{}, &problem{"msg_too_long", fmt.Sprintf("the text is longer than %d characters", maxText)}
	}
	if p := checkMarkup(text, in.Allowed); p != nil {
		return Size{}, p
	}
	if p := checkVisible(text); p != nil {
		return Size{}, p
	}
	blocks, ok := c.args["blocks"]
	if !ok {
		return Size{}, nil
	}
	return checkBlocks(blocks, in)
}

// checkBlocks checks the blocks of a message.
func checkBlocks(raw string, in *Config) (Size, *problem) {
	var blocks []json.RawMessage
	if err := json.Unmarshal([]byte(raw), &blocks); err != nil {
		return Size{}, &problem{"invalid_blocks_format", err.Error()}
	}
	if len(blocks) == 0 || len(blocks) > maxBlocks {
		return Size{}, &problem{"invalid_blocks", "there are " + strconv.Itoa(len(blocks)) + " blocks"}
	}
	check := checker{allowed: in.Allowed, channels: in.Channels, ids: map[string]bool{}}
	for i, b := range blocks {
		if p := check.block(b); p != nil {
			p.detail = fmt.Sprintf("block %d: %s", i, p.detail)
			return Size{}, p
		}
	}
	size := Size{Blocks: len(blocks), Characters: check.characters + blockCost*len(blocks)}
	if size.Characters > maxCharacters {
		return Size{}, &problem{"msg_blocks_too_long", fmt.Sprintf("all blocks together have %d characters", size.Characters)}
	}
	return size, nil
}

// checker checks block by block, and adds up their characters.
type checker struct {
	allowed    []string              // control sequences
	channels   map[string]Membership // which elements may name
	ids        map[string]bool       // of the blocks so far
	characters int
}

// entity is an escaped character.
var entity = regexp.MustCompile(`^&(amp|lt|gt);`)

// checkMarkup rejects what Slack would interpret in a text with markup: control sequences
// that the test did not allow, and unescaped characters.
func checkMarkup(text string, allowed []string) *problem {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '<':
			end := strings.IndexByte(text[i:], '>')
			if end < 0 || !slices.Contains(allowed, text[i:i+end+1]) {
				return &problem{"fakeslack_control_sequence", "not allowed: " + around(text, i)}
			}
			i += end
		case '>':
			return &problem{"fakeslack_unescaped", "a > is not escaped: " + around(text, i)}
		case '&':
			if !entity.MatchString(text[i:]) {
				return &problem{"fakeslack_unescaped", "an & is not escaped: " + around(text, i)}
			}
		}
	}
	return nil
}

// checkVisible rejects characters that hide text: controls except line breaks, and
// characters that change the direction of writing or have no width.
func checkVisible(text string) *problem {
	for i, r := range text {
		if r != '\n' && (unicode.Is(unicode.C, r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)) {
			return &problem{"fakeslack_invisible", "invisible character: " + around(text, i)}
		}
	}
	return nil
}

// around quotes a text around a position.
func around(text string, at int) string {
	return strconv.QuoteToASCII(text[max(0, at-20):min(len(text), at+40)])
}
