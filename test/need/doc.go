// Package need says what a test needs of the machine that it runs on: the tools that others wrote, and what a kernel
// may refuse. It is for tests only.
//
// A tool that is absent skips the test, which names it; with CI=true it fails it, since test/tools.sh has installed
// what is needed there. What a kernel or a container refuses cannot be installed, so it skips the test in CI too.
//
// # Levels
//
// Everything is Passive: programs are looked for and run.
package need
