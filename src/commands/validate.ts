/** `factory validate`: everything that is wrong with pipelines, before anything runs. */

import { misnamedAgents } from '../engine/casting.ts';
import { readInputs, requiredVariable } from '../engine/inputs.ts';
import { readPipeline } from '../factory/pipeline.ts';
import { hasErrors, type Severity } from '../model/diagnostic.ts';
import { draw } from './draw.ts';
import { fewOfEach } from './few.ts';
import type { Io } from './io.ts';
import { errColumns, paints } from './io.ts';

/** Exit code 0 when no file has errors (warnings and hints may be there), else 2. */
export async function validateCommand(
  files: readonly string[],
  options: { readonly json?: boolean; readonly strict?: boolean; readonly color?: boolean },
  io: Io,
): Promise<number> {
  const reports: object[] = [];
  let allOk = true;
  for (const file of files) {
    const { graph, text, found, counts } = await readPipeline(file, io.cwd, {
      toRun: false,
      strict: options.strict === true,
    });
    const inputs = graph === undefined ? undefined : await readInputs(graph, {}, io.cwd);
    const diagnostics = [
      ...found,
      ...(graph === undefined ? [] : misnamedAgents(graph)),
      // A run sets the variables that have no default.
      ...(inputs !== undefined && 'problems' in inputs
        ? inputs.problems.filter(({ code }) => code !== requiredVariable)
        : []),
    ];
    const ok = !hasErrors(diagnostics);
    allOk &&= ok;
    reports.push({ file, ok, ...(counts ?? {}), diagnostics });
    if (options.json === true) continue;
    const colour = paints(io, io.errIsTerminal, options.color);
    const { told, more } = fewOfEach(diagnostics, io.errIsTerminal);
    for (const diagnostic of told) io.err(`${draw(diagnostic, text, colour, errColumns(io))}\n`);
    for (const line of more) io.err(`${line}\n`);
    const count = (severity: Severity) => diagnostics.filter((d) => d.severity === severity).length;
    const [errors, warnings, hints] = [count('error'), count('warning'), count('hint')];
    const counted = [
      ...(errors > 0 ? [plural(errors, 'error')] : []),
      ...(warnings > 0 ? [plural(warnings, 'warning')] : []),
      ...(hints > 0 ? [plural(hints, 'hint')] : []),
    ];
    const size =
      counts === undefined
        ? ''
        : ` (${plural(counts.nodes + counts.undeclared, 'node')}, ${plural(counts.edges, 'edge')})`;
    io.out(`${file}: ${counted.length === 0 ? 'ok' : counted.join(', ')}${size}\n`);
  }
  if (options.json === true) io.out(`${JSON.stringify({ schema_version: 1, files: reports }, null, 2)}\n`);
  return allOk ? 0 : 2;
}

const plural = (n: number, word: string): string => `${n} ${word}${n === 1 ? '' : 's'}`;
