// Package fakeslack is a Slack for tests: a server that speaks chat.postMessage,
// chat.update and incoming webhooks, keeps what it is sent, and misbehaves on
// demand.
//
// It is stricter than Slack. Whatever Slack documents as a limit it holds to the
// letter, and of what Slack does not document it takes the careful side: the
// characters of all blocks together, a fallback text beside blocks, one message
// a second and channel without bursts, and no argument or block that it cannot
// judge. Beyond that it refuses what no sender of untrusted text may send: a
// control sequence such as <!channel> that the test did not allow, characters
// that should have been escaped, and characters that cannot be seen. What it
// refuses for such a reason it keeps as a Refusal, so that a test can assert that
// there was none.
package fakeslack
