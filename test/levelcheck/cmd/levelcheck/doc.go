// Command levelcheck checks the levels of the packages that it is given, and of those that they import from this
// module. It prints each place that breaks a rule, the exemptions, and how many functions it has looked at.
//
//	levelcheck ./...
//
// It exits with 1 when a rule is broken, with 2 when the packages cannot be loaded or an argument is wrong.
package main
