package fakeslack

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// The limits of a message. Those of Slack are documented but for the last.
const (
	maxText   = 4000 // Slack cuts or splits longer ones
	maxBlocks = 50
	// maxCharacters is about where Slack begins to answer msg_blocks_too_long: it
	// took 9,597 characters and refused 11,341 (slackapi/bolt-js, issue 2867).
	maxCharacters = 11_000
	// blockCost is what a block costs beside its text: a divider more made Slack
	// refuse 125 characters earlier (slackapi/bolt-js, issue 2509).
	blockCost = 125
)

// checkContent judges text and blocks of a call, and measures them.
func (s *Server) checkContent(c call) (Size, *problem) {
	for _, name := range []string{"parse", "link_names"} {
		if v := c.args[name]; v != "" && v != "none" && v != "0" && v != "false" {
			return Size{}, &problem{"fakeslack_parse", name + "=" + v + " makes mentions and links of bare names"}
		}
	}
	text := c.args["text"]
	switch {
	case text == "":
		return Size{}, &problem{"no_text", "there is no text: notifications and screen readers have nothing to show"}
	case utf8.RuneCountInString(text) > maxText:
		return Size{}, &problem{"msg_too_long", fmt.Sprintf("the text is longer than %d characters", maxText)}
	}
	if p := s.checkMarkup(text); p != nil {
		return Size{}, p
	}
	if p := checkVisible(text); p != nil {
		return Size{}, p
	}
	blocks, ok := c.args["blocks"]
	if !ok {
		return Size{}, nil
	}
	return s.checkBlocks(blocks)
}

// checkBlocks judges the blocks of a message.
func (s *Server) checkBlocks(raw string) (Size, *problem) {
	var blocks []json.RawMessage
	if err := json.Unmarshal([]byte(raw), &blocks); err != nil {
		return Size{}, &problem{"invalid_blocks_format", err.Error()}
	}
	if len(blocks) == 0 || len(blocks) > maxBlocks {
		return Size{}, &problem{"invalid_blocks", "there are " + strconv.Itoa(len(blocks)) + " blocks"}
	}
	check := checker{server: s, ids: map[string]bool{}}
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

// checker judges block by block, and adds up their characters.
type checker struct {
	server     *Server
	ids        map[string]bool // of blocks, which are unique
	characters int
}
