/** `NAME.routes.json` next to a pipeline: ways that it must take for given outcomes, tried without executing anything. */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import * as z from 'zod';
import { type Diagnostic, hasErrors } from '../core/diagnostic.ts';
import { type Edge, type Graph, withoutItems } from '../core/graph.ts';
import { mapJson, positionAt } from '../core/json-places.ts';
import { nearest } from '../core/nearest.ts';
import type { Outcome } from '../core/outcome.ts';
import { schemaOfFile } from '../core/records/json-forms.ts';
import { isMissing, systemWords } from '../platform/files/write.ts';
import { givenOutcomes } from './given-outcomes.ts';
import { readPipeline } from './read-pipeline.ts';
import { type SimulatedStep, type Simulation, simulate } from './simulate.ts';

const routeRowSchema = z.strictObject({
  name: z.string().min(1),
  outcomes: z.record(z.string(), z.string()).optional(),
  way: z.string(),
  ends: z.enum(['success', 'fail']).optional(),
});

export const routesSchema = z.strictObject({
  $schema: schemaOfFile(),
  format: z.literal('factory-routes/1'),
  routes: z.array(routeRowSchema).min(1),
});

type RouteRow = z.infer<typeof routeRowSchema>;

/** What became of one row. */
export type RouteResult = {
  readonly name: string;
  readonly ok: boolean;
  /** The line of the row in its file. */
  readonly line: number;
  readonly expected: string;
  readonly went: string;
  /** How the simulated run ended; null where it did not within the steps of a simulation. */
  readonly ends: 'success' | 'fail' | null;
  readonly reason: string;
  /** Where the way parts from the expected one: after `node` came `to`, and not `instead`. */
  readonly parts?: { readonly node: string; readonly to: string | null; readonly instead: string | null };
};

export type RoutesReport = {
  readonly pipeline: string;
  readonly file: string;
  readonly routes: readonly RouteResult[];
  readonly edges: number;
  /** The edges that no row walks. */
  readonly unwalked: readonly {
    readonly from: string;
    readonly to: string;
    readonly condition: string;
    readonly line: number;
  }[];
};

/** The file with the ways of a pipeline. */
export const routesFileOf = (pipeline: string): string => `${pipeline.replace(/\.dot$/, '')}.routes.json`;

export const hasRoutes = (pipeline: string, cwd: string): boolean =>
  existsSync(resolve(cwd, routesFileOf(pipeline)));

const mostSteps = 2000;

/** Tries every row. Problems are of the pipeline, which must be valid, or of the file with the ways. */
export async function testRoutes(
  pipeline: string,
  cwd: string,
): Promise<RoutesReport | { readonly problems: readonly Diagnostic[] }> {
  const { graph, found } = await readPipeline(pipeline, cwd, { toRun: false });
  if (graph === undefined || hasErrors(found))
    return { problems: found.filter(({ severity }) => severity === 'error') };
  const file = routesFileOf(pipeline);
  const read = readRoutes(file, cwd, graph);
  if ('problems' in read) return read;
  const walked = new Set<string>();
  const routes = read.rows.map(({ row, outcomes, line }): RouteResult => {
    const simulation = simulate(graph, outcomes, mostSteps);
    for (const step of simulation.steps) for (const key of keysWalked(graph, step)) walked.add(key);
    return resultOf(row, line, simulation);
  });
  const unwalked = graph.edges
    .filter((edge) => !walked.has(keyOf(edge)))
    .map(({ from, to, conditionText, span }) => ({
      from,
      to,
      condition: conditionText,
      line: span.start.line,
    }));
  return { pipeline, file, routes, edges: graph.edges.length, unwalked };
}

type ReadRow = {
  readonly row: RouteRow;
  readonly outcomes: ReadonlyMap<string, readonly Outcome[]>;
  readonly line: number;
};

/** The rows of a file with ways, or everything that is wrong with them. */
function readRoutes(
  file: string,
  cwd: string,
  graph: Graph,
): { readonly rows: readonly ReadRow[] } | { readonly problems: readonly Diagnostic[] } {
  let text: string;
  try {
    text = readFileSync(resolve(cwd, file), 'utf8');
  } catch (error) {
    const fix = `write the ways that it must take:\n${exampleOf(graph)}`;
    const message = isMissing(error) ? `there is no ${file}` : `${file}: ${systemWords(error)}`;
    return { problems: [{ code: 'routes-file', severity: 'error', message, fix }] };
  }
  const at = (offset: number, message: string, fix: string): Diagnostic => {
    const place = positionAt(text, offset);
    return {
      code: 'routes-file',
      severity: 'error',
      message,
      fix,
      place: { file, span: { start: place, end: place } },
    };
  };
  const form = 'docs/authoring.md shows the form: { "format": "factory-routes/1", "routes": […] }';
  const map = mapJson(text);
  if ('problem' in map) return { problems: [at(map.offset, `this is not JSON: ${map.problem}`, form)] };
  const read = routesSchema.safeParse(JSON.parse(text.replace(/^\uFEFF/, '')));
  if (!read.success)
    return {
      problems: read.error.issues.map(({ path, message }) =>
        at(
          map.offset(path.map(String)),
          `${path.length === 0 ? 'the file' : path.join('.')}: ${message}`,
          form,
        ),
      ),
    };
  const problems: Diagnostic[] = [];
  const rows = read.data.routes.map((row, index): ReadRow => {
    const path = ['routes', String(index)];
    const outcomes = new Map<string, readonly Outcome[]>();
    for (const [id, words] of Object.entries(row.outcomes ?? {})) {
      const given = givenOutcomes(graph, id, words);
      if ('outcomes' in given) outcomes.set(id, given.outcomes);
      else
        problems.push(
          at(
            map.offset([...path, 'outcomes', id]),
            given.why,
            given.fix ?? 'the words are those of factory simulate --outcome',
          ),
        );
    }
    for (const id of stepsOf(row.way).filter((one) => !isGap(one) && !isNode(graph, one)))
      problems.push(
        at(
          map.offset([...path, 'way']),
          `the way names "${id}", and there is no such node`,
          nearFix(graph, id),
        ),
      );
    return { row, outcomes, line: positionAt(text, map.offset(path)).line };
  });
  return problems.length > 0 ? { problems } : { rows };
}

const isNode = (graph: Graph, id: string): boolean =>
  graph.nodes.has(id) || [...(graph.children?.values() ?? [])].some((child) => isNode(child, id));

const nearFix = (graph: Graph, id: string): string => {
  const meant = nearest(id, graph.nodes.keys());
  return meant === undefined ? 'name nodes of the pipeline, with -> between them' : `write ${meant}`;
};

/** A file with the way of a run in which everything succeeds. */
function exampleOf(graph: Graph): string {
  const { steps } = simulate(graph, new Map(), mostSteps);
  const row = { name: 'everything succeeds', outcomes: {}, way: steps.map(idOf).join(' -> ') };
  return JSON.stringify({ format: 'factory-routes/1', routes: [row] }, null, 2);
}

const idOf = ({ node }: SimulatedStep): string => withoutItems(node.id);
const stepsOf = (way: string): readonly string[] => way.split('->').map((one) => one.trim());
/** Any number of steps. */
const isGap = (step: string): boolean => step === '...' || step === '…';

function resultOf({ name, way, ends }: RouteRow, line: number, { steps, ending }: Simulation): RouteResult {
  const [expected, went] = [stepsOf(way), steps.map(idOf)];
  const ended = ending === undefined ? null : ending.ok ? 'success' : 'fail';
  const isSame = matches(expected, went);
  const parted = expected.findIndex((one, at) => one !== went[at]);
  const at = parted === -1 ? expected.length : parted;
  const before = went[at - 1];
  const parts =
    isSame || before === undefined || expected.some(isGap)
      ? {}
      : { parts: { node: before, to: went[at] ?? null, instead: expected[at] ?? null } };
  return {
    ...{ name, ok: isSame && (ends === undefined || ends === ended), line, expected: expected.join(' -> ') },
    ...{ went: went.join(' -> '), ends: ended, reason: ending?.ok === false ? ending.reason : '' },
    ...parts,
  };
}

/** Whether the steps are those that are expected. What follows a gap is sought from its first place on: only the latest gap is ever
 *  made longer, so that a long loop costs no more than the product of the two lengths. */
function matches(expected: readonly string[], went: readonly string[]): boolean {
  let [at, step] = [0, 0];
  let gap: { readonly at: number; readonly step: number } | undefined;
  while (step < went.length) {
    const one = expected[at];
    if (one !== undefined && isGap(one)) gap = { at: ++at, step };
    else if (one === went[step]) [at, step] = [at + 1, step + 1];
    else if (gap === undefined) return false;
    else {
      gap = { at: gap.at, step: gap.step + 1 };
      ({ at, step } = gap);
    }
  }
  return expected.slice(at).every(isGap);
}

const keyOf = ({
  from,
  to,
  conditionText,
  label,
}: Pick<Edge, 'from' | 'to' | 'conditionText' | 'label'>): string =>
  JSON.stringify([withoutItems(from), withoutItems(to), conditionText, label]);

/** The edges that a step leaves by: one, or those to the branches that it begins. */
function keysWalked({ edges }: Graph, { node, route, opens }: SimulatedStep): readonly string[] {
  if (route?.edge !== undefined) return [keyOf(route.edge)];
  if (opens === undefined) return [];
  const heads = new Set(opens.branches.map((id) => withoutItems(id).split('.').at(-1)));
  return edges.filter(({ from, to }) => from === node.id && heads.has(to)).map(keyOf);
}
