/** `factory validate`: everything that is wrong with pipelines, before anything runs. */
import { readInputs, requiredVariable } from '../app/inputs.ts';
import { pipelinePath } from '../app/pipelines.ts';
import { readPipeline } from '../app/read-pipeline.ts';
import { unknownAgentNames } from '../app/resolve-agents.ts';
import { countedItems } from '../core/amounts.ts';
import { hasErrors, type Severity } from '../core/diagnostic.ts';
import type { Io } from './io.ts';
import { shownBy } from './report/diagnostics.ts';
import { printFindings, textsOfFiles } from './report/errors.ts';

/** Exit code 0 when no file has errors (warnings and hints may be there), else 2. */
export async function validateCommand(
  files: readonly string[],
  options: { readonly json?: boolean; readonly strict?: boolean; readonly color?: boolean },
  io: Io,
): Promise<number> {
  const reports: object[] = [];
  let allOk = true;
  for (const file of files) {
    const { graph, text, found, counts } = await readPipeline(pipelinePath(file, io.cwd), io.cwd, {
      toRun: false,
      strict: options.strict === true,
    });
    const inputs = graph === undefined ? undefined : await readInputs(graph, {}, io.cwd);
    const all = [
      ...found,
      ...(graph === undefined ? [] : unknownAgentNames(graph)),
      // A run sets the variables that have no default.
      ...(inputs !== undefined && 'problems' in inputs
        ? inputs.problems.filter(({ code }) => code !== requiredVariable)
        : []),
    ];
    // What is wrong comes first: a hint can wait until then.
    const diagnostics = hasErrors(all) ? all.filter(({ severity }) => severity !== 'hint') : all;
    const ok = !hasErrors(diagnostics);
    allOk &&= ok;
    reports.push({
      file,
      ok,
      ...(counts ?? {}),
      diagnostics: diagnostics.map((one) => {
        const show = shownBy(one);
        return show === undefined ? one : { ...one, show };
      }),
    });
    if (options.json === true) continue;
    const texts = await textsOfFiles(diagnostics, io.cwd, new Map([[pipelinePath(file, io.cwd), text]]));
    printFindings(diagnostics, (of) => texts.get(of), io, options.color);
    const count = (severity: Severity) => diagnostics.filter((d) => d.severity === severity).length;
    const [errors, warnings, hints] = [count('error'), count('warning'), count('hint')];
    const words = [
      ...(errors > 0 ? [countedItems(errors, 'error')] : []),
      ...(warnings > 0 ? [countedItems(warnings, 'warning')] : []),
      ...(hints > 0 ? [countedItems(hints, 'hint')] : []),
    ];
    const size =
      counts === undefined
        ? ''
        : ` (${countedItems(counts.nodes + counts.undeclared, 'node')}, ${countedItems(counts.edges, 'edge')})`;
    io.out(`${file}: ${words.length === 0 ? 'ok' : words.join(', ')}${size}\n`);
  }
  if (options.json === true) io.out(`${JSON.stringify({ schema_version: 1, files: reports }, null, 2)}\n`);
  return allOk ? 0 : 2;
}
