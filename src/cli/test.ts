/** `factory test`: whether pipelines take the ways that their authors have written down; nothing is executed. */
import { relative } from 'node:path';
import { namedPipelines, pipelinePath } from '../app/pipelines.ts';
import { hasRoutes, type RouteResult, type RoutesReport, testRoutes } from '../app/routes.ts';
import { countedItems } from '../core/amounts.ts';
import { usage } from './find-run.ts';
import { type Io, paints } from './io.ts';
import { reportError } from './report/errors.ts';
import { type Paint, painter } from './report/run.ts';
import type { VerbResult } from './verb.ts';

export type TestOptions = {
  readonly everyEdge?: boolean;
  readonly json?: boolean;
  readonly color?: boolean;
};

/** Exit code 0 when every way is taken, 1 when one is not, or with `--every-edge` an edge is never walked; 2 for a pipeline or a
 *  file that cannot be read. */
export async function testCommand(
  pipelines: readonly string[],
  options: TestOptions,
  io: Io,
): Promise<VerbResult> {
  const paths = pipelines.length > 0 ? pipelines.map((one) => pipelinePath(one, io.cwd)) : withRoutes(io);
  if (paths.length === 0)
    return usage(
      'no pipeline here has a file with its ways',
      'write NAME.routes.json next to NAME.dot: docs/authoring.md shows the form; factory test NAME.dot prints an example',
    );
  const paint = painter(paints(io, io.outIsTerminal, options.color));
  const reports: RoutesReport[] = [];
  let code = 0;
  for (const path of paths) {
    const report = await testRoutes(path, io.cwd);
    if ('problems' in report) {
      if (options.json === true) return report;
      code = await reportError(report.problems, io, options);
      continue;
    }
    reports.push(report);
    const isMissed = options.everyEdge === true && report.unwalked.length > 0;
    if (report.routes.some(({ ok }) => !ok) || isMissed) code = Math.max(code, 1);
    if (options.json !== true) io.out(`${linesOf(report, paint).join('\n')}\n`);
  }
  if (options.json === true)
    io.out(`${JSON.stringify({ schema_version: 1, ok: code === 0, pipelines: reports }, null, 2)}\n`);
  return code;
}

/** The pipelines of the folder, and of its folder `pipelines`, that have one. */
const withRoutes = ({ cwd }: Io): readonly string[] =>
  namedPipelines(cwd)
    .map(({ file }) => relative(cwd, file))
    .filter((file) => hasRoutes(file, cwd));

function linesOf({ pipeline, file, routes, edges, unwalked }: RoutesReport, paint: Paint): readonly string[] {
  const good = routes.filter(({ ok }) => ok).length;
  return [
    `${pipeline}: ${good} of ${countedItems(routes.length, 'way')}, ${edges - unwalked.length} of ${countedItems(edges, 'edge')} walked`,
    ...routes.flatMap((one) => routeLines(one, file, paint)),
    ...unwalked.map(
      ({ from, to, condition, line }) =>
        `  never walked: ${from} -> ${to}${condition === '' ? '' : ` [${condition}]`} (${pipeline}:${line})`,
    ),
  ];
}

function routeLines(one: RouteResult, file: string, paint: Paint): readonly string[] {
  if (one.ok) return [`  ${paint.green('✓')} ${one.name}`];
  const ended = one.ends === null ? 'has not ended' : one.ends === 'success' ? 'succeeds' : 'fails';
  const { parts } = one;
  return [
    `  ${paint.red('✗')} ${one.name} (${file}:${one.line})`,
    `      expected  ${one.expected}`,
    `      went      ${one.went}`,
    ...(parts === undefined
      ? []
      : [`      after ${parts.node}: ${parts.instead ?? 'the end'} expected, ${parts.to ?? 'the end'} came`]),
    `      the run ${ended}${one.reason === '' ? '' : `: ${one.reason}`}`,
  ];
}
