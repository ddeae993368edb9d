package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"minisrp/cmd/exitcode"
)

// help prints what a command is for: its description, usage, commands, options, exit codes and examples.
func help(cmd *cobra.Command) {
	var b strings.Builder
	long := cmd.Long
	if long == "" {
		long = cmd.Short
	}
	fmt.Fprintf(&b, "%s\n\nUsage:\n", fill(long))
	if cmd.Runnable() && cmd.HasParent() {
		fmt.Fprintf(&b, "  %s\n", UseLine(cmd))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n\nCommands:\n", cmd.CommandPath())
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-*s  %s\n", c.NamePadding(), c.Name(), c.Short)
			}
		}
	}
	for _, f := range []struct{ title, usages string }{
		{"Options", cmd.LocalFlags().FlagUsages()},
		{"Options of every command", cmd.InheritedFlags().FlagUsages()},
	} {
		if f.usages != "" {
			fmt.Fprintf(&b, "\n%s:\n%s", f.title, f.usages)
		}
	}
	b.WriteString("\nExit codes:\n")
	for _, c := range ExitsOf(cmd) {
		b.WriteString(exitcode.Line(c))
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
	fmt.Fprint(cmd.OutOrStdout(), b.String())
}

// width is that of help, in columns: what two windows beside each other have.
const width = 100

// fill fills the lines of paragraphs; those that are indented stay as they are.
func fill(text string) string {
	var lines []string
	begin := true // of a paragraph
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line == "" || line[0] == ' ' {
			lines, begin = append(lines, line), true
			continue
		}
		for word := range strings.FieldsSeq(line) {
			if k := len(lines) - 1; !begin && len([]rune(lines[k]))+1+len([]rune(word)) <= width {
				lines[k] += " " + word
				continue
			}
			lines, begin = append(lines, word), false
		}
	}
	return strings.Join(lines, "\n")
}

// UseLine says how a command is called.
func UseLine(cmd *cobra.Command) string {
	return strings.TrimSuffix(cmd.UseLine(), "[flags]") + "[options]"
}

// describeCompletion puts what this project says of its commands in the place of what cobra says of its own.
func describeCompletion(name string, cmd *cobra.Command) {
	cmd.Short = "print a script that completes commands and options in a shell"
	cmd.Long = `completion prints a script for a shell, which then completes the commands and options of ` + name + ` when Tab is pressed.
An installed ` + name + ` has these scripts where shells look for them.`
	cmd.Example = "  " + name + " completion bash > ~/.local/share/bash-completion/completions/" + name
	cmd.Args = NoArguments
	for _, c := range cmd.Commands() {
		shell := c.Name()
		c.Short = "print the script for " + shell
		c.Long = "completion " + shell + " prints the script for " + shell + "."
		c.Example = map[string]string{
			"bash":       "  source <(" + name + " completion bash)",
			"zsh":        "  " + name + ` completion zsh > "${fpath[1]}/_` + name + `"`,
			"fish":       "  " + name + " completion fish > ~/.config/fish/completions/" + name + ".fish",
			"powershell": "  " + name + " completion powershell | Out-String | Invoke-Expression",
		}[shell]
		c.Hidden = shell == "powershell" // Linux only
	}
}
