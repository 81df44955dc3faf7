/** What shells, interpreters and the harness of a scenario print when it is the script that is broken. */

/** The first of `scripts` that its interpreter could not run, by what standard error says of it. */
export function cannotRun(
  scripts: readonly string[],
  stderr: string,
): { readonly script: string; readonly why: string } | undefined {
  for (const script of scripts) {
    const name = `(?:\\./|\\S*/)?${script.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}`;
    const shell = '(?:(?:\\S*/)?(?:ba|da|a|k|z)?sh: (?:line )?(?:\\d+: )?)?';
    const ways: readonly RegExp[] = [
      new RegExp(
        `^${shell}${name}: ((?:not found|No such file or directory|Permission denied|cannot execute|bad interpreter|/\\S+: bad interpreter|Is a directory|Exec format error|command not found).*)$`,
        'm',
      ),
      new RegExp(`^${shell}((?:cannot|can't) open) '?${name}'?`, 'm'),
      new RegExp(`^${shell}${name}: ((?:line )?\\d+: (?:syntax error|Syntax error|unexpected EOF).*)$`, 'm'),
      new RegExp(
        `^${shell}${name}: ((?:line )?\\d+: .*(?:unbound variable|parameter not set|bad substitution|Bad substitution))$`,
        'm',
      ),
      new RegExp(`(can't open file) '?${name}'?`),
      new RegExp(`(Cannot find module) '?(?:file://)?${name}'`),
      new RegExp(`^ *File "${name}", line \\d+\\n[^]*^((?:Syntax|Indentation|Tab)Error\\b.*)$`, 'm'),
      new RegExp(`^(?:file://)?${name}:\\d+\\n[^]*^(SyntaxError\\b.*)$`, 'm'),
      // A name that the script itself uses, and that nobody has made.
      new RegExp(
        `^ *File "${name}", line \\d+.*\\n(?: {4}.*\\n)*((?:NameError|UnboundLocalError): .*)\\s*$(?![^])`,
        'm',
      ),
      // Right below the place: what a script throws may quote what the product said.
      new RegExp(`^(?:file://)?${name}:\\d+\\n.*\\n *\\^+\\n\\n?(ReferenceError: .*)$`, 'm'),
    ];
    for (const way of ways) {
      const why = way.exec(stderr)?.[1];
      if (why !== undefined) return { script, why: why.trim().slice(0, 120) };
    }
  }
  return undefined;
}

/** The program that a script could not start, by the last line in which its shell says so; below the workspace without the
 *  way there. */
export function notStarted(stderr: string): string | undefined {
  const line =
    /^\S+: (?:line )?\d+: (\S+): (?:not found|No such file or directory|Permission denied|command not found|cannot execute.*)$/gm;
  const program = [...stderr.matchAll(line)].at(-1)?.[1];
  return program?.replace(/^.*\/workspace\//, '').replace(/^(?:\.\/)+/, './');
}

/** Why a failure happened while the scenario tested itself, before it came to the product; undefined when it did not. */
export function phaseOf(command: string, stdout: string, stderr: string): string | undefined {
  // The harness tells on standard output how far it has come; some tell it on standard error.
  for (const text of [stdout, stderr]) {
    const lines = text
      .split('\n')
      .flatMap((line) => /^\[preflight\](.*)$/.exec(line.trim())?.[1]?.trim() ?? []);
    const last = lines.findLast((line) => /\b(?:selftest|live)\b/i.test(line));
    if (last === undefined) continue;
    // A script may have either word in its name: the first one of the line is the harness's.
    const inSelftest = /\b(?:selftest|live)\b/i.exec(last)?.[0].toLowerCase() === 'selftest';
    const over = /\b(?:pass(?:ed)?|ok|done|succeeded|complete[d]?|good)\b/i.test(last);
    return inSelftest && !over ? `the harness was at: ${last.trim().slice(0, 120)}` : undefined;
  }
  const modes = [...command.matchAll(/\bSCENARIO_MODE=["']?(\w+)/g)].map((found) => found[1]);
  return modes.length > 0 && modes.every((mode) => mode === 'selftest')
    ? 'the scenario was testing itself (SCENARIO_MODE=selftest)'
    : undefined;
}
