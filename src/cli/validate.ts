/** `factory validate`: everything that is wrong with pipelines, before anything runs. */
import { type PipelineFindings, pipelineFindings } from '../app/pipeline-findings.ts';
import { pipelinePath } from '../app/pipelines.ts';
import { countedItems } from '../core/amounts.ts';
import { hasErrors, type Severity } from '../core/diagnostic.ts';
import { usage } from './find-run.ts';
import type { CliIo, Io } from './io.ts';
import { shownBy } from './report/diagnostics.ts';
import { printFindings, textsOfFiles } from './report/errors.ts';
import type { VerbResult } from './verb.ts';

export type ValidateOptions = {
  readonly json?: boolean;
  readonly strict?: boolean;
  readonly color?: boolean;
  readonly fix?: boolean;
  /** With `fix`: without asking. */
  readonly yes?: boolean;
  readonly watch?: boolean;
};

/** Exit code 0 when no file has errors (warnings and hints may be there), else 2; 130 after a watch. */
export async function validateCommand(
  files: readonly string[],
  options: ValidateOptions,
  io: CliIo,
): Promise<VerbResult> {
  if (options.yes === true && options.fix !== true)
    return usage('--yes answers the question of --fix', 'factory validate --fix --yes FILE');
  if (options.watch === true) {
    if (options.fix === true)
      return usage('--watch changes no file: it cannot be given with --fix', 'leave one of them out');
    const { watchPipelines } = await import('./validate-watch.ts');
    return watchPipelines(files, options, io);
  }
  const fixed =
    options.fix === true ? await (await import('./validate-fix.ts')).fixFiles(files, options, io) : undefined;
  if (fixed !== undefined && 'problems' in fixed) return fixed;
  const checked = await checkedFiles(files, options, io);
  if (options.json === true) io.out(`${JSON.stringify(reportOf(checked, fixed?.differences), null, 2)}\n`);
  else for (const one of checked) await print(one, options, io);
  return checked.every(isOk) ? 0 : 2;
}

/** A pipeline as the user named it, and what was found. */
export type CheckedFile = PipelineFindings & { readonly file: string };

export async function checkedFiles(
  files: readonly string[],
  { strict }: Pick<ValidateOptions, 'strict'>,
  { cwd, env }: Pick<Io, 'cwd' | 'env'>,
): Promise<readonly CheckedFile[]> {
  const checked: CheckedFile[] = [];
  for (const file of files) {
    const path = pipelinePath(file, cwd);
    checked.push({ ...(await pipelineFindings(path, cwd, { strict: strict === true, env })), file });
  }
  return checked;
}

const isOk = ({ diagnostics }: CheckedFile): boolean => !hasErrors(diagnostics);

/** What `--json` prints. `differences`: what `--fix` changes or would change, by file. */
export const reportOf = (checked: readonly CheckedFile[], differences?: ReadonlyMap<string, object>) => ({
  schema_version: 1,
  files: checked.map((one) => ({
    file: one.file,
    ok: isOk(one),
    ...(one.counts ?? {}),
    ...(one.setup && { setup: { path: one.setup.path, commands: one.setup.commands } }),
    ...(differences?.get(one.file) ?? {}),
    diagnostics: one.diagnostics.map((found) => {
      const show = shownBy(found);
      return show === undefined ? found : { ...found, show };
    }),
  })),
});

/** Findings on standard error, and a line about the file on standard output. */
export async function print(one: CheckedFile, { color }: ValidateOptions, io: Io): Promise<void> {
  const known = new Map([[pipelinePath(one.file, io.cwd), one.text]]);
  const texts = await textsOfFiles(one.diagnostics, io.cwd, known);
  printFindings(one.diagnostics, (of) => texts.get(of), io, color);
  for (const line of linesOfFile(one)) io.out(`${line}\n`);
}

/** `a.dot: 1 error (5 nodes, 5 edges)`, and the setup commands of its runs. */
export function linesOfFile(one: CheckedFile): readonly string[] {
  const { commands, path } = one.setup ?? {};
  return [
    lineOfFile(one),
    ...(commands === undefined ? [] : [`  setup before the first node: ${commands.join('; ')} (${path})`]),
  ];
}

function lineOfFile({ file, diagnostics, counts }: CheckedFile): string {
  const words = (['error', 'warning', 'hint'] satisfies Severity[]).flatMap((severity) => {
    const count = diagnostics.filter((one) => one.severity === severity).length;
    return count === 0 ? [] : [countedItems(count, severity)];
  });
  const size =
    counts === undefined
      ? ''
      : ` (${countedItems(counts.nodes + counts.undeclared, 'node')}, ${countedItems(counts.edges, 'edge')})`;
  return `${file}: ${words.length === 0 ? 'ok' : words.join(', ')}${size}`;
}
