// Command hello stands in for audit.
package main

func main() { println("hello") }
