package clitest

import (
	"fmt"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"minisrp/cmd/cli"
)

// section is that of all pages: programs of the administrator.
const section = "8"

// Page makes the manual page of a command, in the order of man-pages(7). It has no date: it is as old as its program.
func Page(c *cobra.Command) string {
	var b strings.Builder
	name := pageName(c)
	fmt.Fprintf(&b, "%% %q %q \"\" \"minisrp\" \"minisrp\"\n", strings.ToUpper(name), section)
	fmt.Fprintf(&b, "# NAME\n%s \\- %s\n\n# SYNOPSIS\n", name, plain(c.Short))
	if c.Runnable() && c.HasParent() {
		fmt.Fprintf(&b, "**%s**%s\n\n", plain(c.CommandPath()), plain(strings.TrimPrefix(cli.UseLine(c), c.CommandPath())))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "**%s** *COMMAND*\n\n", plain(c.CommandPath()))
	}
	b.WriteString("# DESCRIPTION\n" + text(c.Long) + "\n")
	if c.HasAvailableSubCommands() {
		b.WriteString("# COMMANDS\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				name := "**" + plain(sub.CommandPath()) + "**"
				if hasPage(sub) {
					name = fmt.Sprintf("**%s**(%s)", plain(pageName(sub)), section)
				}
				fmt.Fprintf(&b, "%s\n: %s\n\n", name, plain(sub.Short))
			}
		}
	}
	options(&b, "OPTIONS", c.LocalFlags())
	options(&b, "OPTIONS OF EVERY COMMAND", c.InheritedFlags())
	b.WriteString("# EXIT STATUS\n")
	for _, code := range cli.ExitsOf(c) {
		fmt.Fprintf(&b, "**%d**\n: %s\n\n", int(code), plain(code.String()))
	}
	fmt.Fprintf(&b, "# EXAMPLES\n%s\n# SEE ALSO\n", block(strings.Split(strings.Trim(c.Example, "\n"), "\n")))
	b.WriteString(strings.Join(related(c), ", ") + "\n")
	return string(md2man.Render([]byte(b.String())))
}

// hasPage says whether a command has a page: not completion, which is for setting up a shell, once.
func hasPage(c *cobra.Command) bool { return !strings.Contains(c.CommandPath(), " completion") }

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// related are the pages to read on with.
func related(c *cobra.Command) []string {
	pages := []string{}
	for _, p := range []string{"srpd", "srpctl", "srptgt"} {
		if p != c.CommandPath() {
			pages = append(pages, fmt.Sprintf("**%s**(%s)", p, section))
		}
	}
	if c.HasParent() && c.Parent().HasParent() {
		pages = append(pages, fmt.Sprintf("**%s**(%s)", plain(pageName(c.Parent())), section))
	}
	return pages
}

func options(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, "# %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		term := "**--" + plain(f.Name) + "**"
		if f.Shorthand != "" {
			term = "**-" + f.Shorthand + "**, " + term
		}
		if value != "" {
			term += "=*" + plain(value) + "*"
		}
		if d := f.DefValue; value != "" && d != "" && d != "0" && d != "[]" && d != "0s" && !strings.Contains(usage, "(default") {
			usage += " (default " + d + ")"
		}
		fmt.Fprintf(b, "%s\n: %s\n\n", term, plain(usage))
	})
}

// text makes markdown of a description: paragraphs, and indented lines as they are.
func text(s string) string {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(strings.Trim(s, "\n"), "\n\n") {
		var kept []string
		for line := range strings.SplitSeq(paragraph, "\n") {
			if strings.HasPrefix(line, "  ") {
				kept = append(kept, line)
				continue
			}
			b.WriteString(plain(line) + "\n")
		}
		b.WriteString("\n" + block(kept))
	}
	return b.String()
}

// block makes lines that are printed as they are.
func block(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "```\n" + strings.Join(lines, "\n") + "\n```\n\n"
}

// plain keeps markdown from finding anything in a text.
func plain(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "#", `\#`, "|", `\|`).Replace(s)
}
