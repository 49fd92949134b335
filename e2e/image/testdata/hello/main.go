// Command hello is a small binary that the tests use in place of audit.
package main

func main() { println("hello") }
