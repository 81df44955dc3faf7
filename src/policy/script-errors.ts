/** Messages of shells, interpreters and the scenario harness that show that a scenario itself is broken. Pure. */

/** The first of `scripts` that its interpreter could not run, by standard error: it is missing, not executable or
 *  no valid text, or it uses an undefined name. */
export function scriptError(
  scripts: readonly string[],
  stderr: string,
): { readonly script: string; readonly why: string } | undefined {
  for (const script of scripts)
    for (const pattern of errorsOf(script)) {
      const why = pattern.exec(stderr)?.[1];
      if (why !== undefined) return { script, why: why.trim().slice(0, 120) };
    }
  return undefined;
}

function errorsOf(script: string): RegExp[] {
  const name = `(?:\\S*/)?${script.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}`;
  const shell = '(?:\\S*sh: (?:line )?(?:\\d+: )?)?';
  return [
    `^${shell}${name}: ((?:not found|No such file|Permission denied|cannot execute|.*bad interpreter|Is a directory|Exec format error|command not found).*)$`,
    `^${shell}${name}: ((?:line )?\\d+: (?:[Ss]yntax error.*|unexpected EOF.*|.*(?:unbound variable|parameter not set|[Bb]ad substitution)))$`,
    `(?:^${shell}|: )((?:cannot|can't) open(?: file)?|Cannot find module) '?(?:file://)?${name}'?`,
    // For Python and Node right below the location: an exception of the script may quote the product's output.
    `^ *File "${name}", line \\d+.*\\n(?: {4}.*\\n)*((?:Syntax|Indentation|Tab|Name|UnboundLocal)Error\\b.*)$`,
    `^${name}:\\d+\\n(?:.*\\n){1,3}?((?:Syntax|Reference)Error\\b.*)$`,
  ].map((source) => new RegExp(source, 'm'));
}

/** The last program that a shell script (`speaker`) could not start; paths in a run's workspace are relative to it. */
export function missingProgram(
  stderr: string,
): { readonly speaker: string; readonly program: string } | undefined {
  const [, speaker, program] = [...stderr.matchAll(/^(\S+): (?:line )?\d+: (\S+): .+$/gm)].at(-1) ?? [];
  if (speaker === undefined || program === undefined) return undefined;
  return { speaker, program: program.replace(/^.*\/workspace\//, '').replace(/^(?:\.\/)+/, './') };
}

/** Why a failure happened in the scenario's selftest, before it reached the product; undefined where it did not. */
export function selftestOf(command: string, output: string): string | undefined {
  const line = output
    .split('\n')
    .map((one) => one.trim())
    .findLast((one) => /^\[preflight\].*\b(?:selftest|live)\b/i.test(one));
  if (line !== undefined) {
    // A script may have either word in its name: the first one is the harness's.
    const inSelftest = /\b(?:selftest|live)\b/i.exec(line)?.[0].toLowerCase() === 'selftest';
    const over = /\b(?:pass(?:ed)?|ok|done|succeeded|completed?|good)\b/i.test(line);
    return inSelftest && !over ? `the harness was at: ${line.slice(0, 140)}` : undefined;
  }
  const modes = [...command.matchAll(/\bSCENARIO_MODE=["']?(\w+)/g)].map(([, mode]) => mode);
  return modes.length > 0 && modes.every((mode) => mode === 'selftest')
    ? 'the scenario was testing itself (SCENARIO_MODE=selftest)'
    : undefined;
}
