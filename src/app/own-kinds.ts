/** The own node types of a project: `nodes` of its `factory.json` names the modules that define them. */
import { readFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parse } from 'acorn';
import type { KindSource, NodeKind } from '../core/contracts/node-kind.ts';
import type { NodeModule } from '../core/contracts/own-kind.ts';
import { type Diagnostic, errorText, type Place, type Refusal, refused } from '../core/diagnostic.ts';
import { type Graph, ownKindsIn } from '../core/graph.ts';
import {
  checkedKind,
  nodeTools,
  ownKindCode,
  type ReservedNames,
  reservedAttributes,
} from '../core/own-kind.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { commonAttributes, executableAttributes } from '../core/settings/node.ts';
import { sha256 } from '../core/sha256.ts';
import { synonyms } from '../dot/build.ts';
import { systemWords } from '../platform/files/write.ts';
import { importModule } from '../platform/import-module.ts';
import { kinds } from './kinds.ts';
import { entriesIn, placeOfLine, placeProblem, projectFileOf } from './project-file.ts';

/** The own node types of a project, and what is wrong with them. */
export type OwnKinds = { readonly own: readonly NodeKind[]; readonly found: readonly Diagnostic[] };

/** Those of the project to which a folder belongs, after those that a program has handed in. */
export async function ownKindsFor(folder: string, handed: readonly NodeModule[] = []): Promise<OwnKinds> {
  const file = projectFileOf(folder);
  if (file === undefined) return typesGiven(handed);
  const { modules, found } = await modulesOf(file);
  const whole = typesAmong([...(await modulesGiven(handed)), ...modules]);
  return { own: whole.own, found: [...found, ...whole.found] };
}

/** Those that a program has handed in. */
const typesGiven = async (handed: readonly NodeModule[]): Promise<OwnKinds> =>
  typesAmong(await modulesGiven(handed));

const modulesGiven = (handed: readonly NodeModule[]): Promise<readonly LoadedModule[]> =>
  Promise.all(
    handed.map(async (one) => ({
      kind: typeof one === 'function' ? await one(nodeTools) : one,
      source: { path: null, sha256: null },
    })),
  );

function typesAmong(modules: readonly LoadedModule[]): OwnKinds {
  const own: NodeKind[] = [];
  const found: Diagnostic[] = [];
  for (const { kind, source, place } of modules) {
    const checked = checkedKind(kind, source, namesReservedBy(own));
    if ('kind' in checked) own.push(checked.kind);
    else found.push(...checked.wrong.map((why) => wrongModule(source.path, why, place)));
  }
  return { own, found };
}

/** One module again, as a run has recorded it. */
async function ownKindIn(
  path: string,
): Promise<{ readonly kind: NodeKind } | { readonly problem: Diagnostic }> {
  const loaded = await loadModule(path);
  if ('why' in loaded) return { problem: wrongModule(path, loaded.why, loaded.place) };
  const checked = checkedKind(loaded.kind, loaded.source, namesReservedBy([]));
  if ('kind' in checked) return checked;
  return { problem: wrongModule(path, checked.wrong.join('; ')) };
}

/** What a manifest has of the own types of a pipeline. */
export const typesToRecord = (graph: Pick<Graph, 'own' | 'children'>): Pick<Manifest, 'node_types'> =>
  ownKindsIn(graph).length === 0
    ? {}
    : {
        node_types: Object.fromEntries(
          ownKindsIn(graph).map(({ type, does, shapes, aliases = [], own: of }) => [
            type,
            {
              path: of?.path ?? null,
              sha256: of?.sha256 ?? null,
              does,
              shapes: [...shapes],
              aliases: [...aliases],
            },
          ]),
        ),
      };

/** The own types of a run as its manifest has them: enough to look at its pipeline, without its code. */
export const recordedTypes = ({ node_types = {} }: Pick<Manifest, 'node_types'>): readonly NodeKind[] =>
  Object.entries(node_types).map(([type, { path, sha256: hash, does, shapes, aliases }]) => ({
    ...{ type, does, shapes, aliases, ids: [], executable: true, own: { path, sha256: hash } },
    attributes: { ...commonAttributes, ...executableAttributes },
    run: () => Promise.reject(new Error(`Internal: the node type "${type}" was not loaded`)),
  }));

/** The own types of a run, to execute it: those of its present pipeline, those that the program hands in, else from the recorded
 *  files. With `changed`, another file than the recorded one counts too. */
export async function typesOfRun(
  { run_id, node_types = {} }: Pick<Manifest, 'run_id' | 'node_types'>,
  {
    graph,
    kinds: handed = [],
  }: { readonly graph?: Graph | undefined; readonly kinds?: readonly NodeModule[] },
  changed: boolean,
): Promise<{ readonly own: readonly NodeKind[] } | Refusal> {
  const own: NodeKind[] = [];
  const given = [...(graph === undefined ? [] : ownKindsIn(graph)), ...(await typesGiven(handed)).own];
  for (const [type, { path, sha256: hash }] of Object.entries(node_types)) {
    const there = given.find((kind) => kind.type === type && (changed || kind.own?.sha256 === hash));
    if (there === undefined && path === null)
      return refused(
        'node-type-missing',
        `run ${run_id} has nodes of the type "${type}", which the program handed in that started it`,
        'resume it from that program: host.kinds',
      );
    const loaded = there === undefined && path !== null ? await ownKindIn(path) : undefined;
    if (loaded !== undefined && 'problem' in loaded) return { problems: [loaded.problem] };
    const kind = there ?? loaded?.kind;
    if (kind === undefined || kind.type !== type)
      return refused(
        ownKindCode,
        `${path} does not define the node type "${type}" any more`,
        'restore the file',
      );
    if (!changed && kind.own?.sha256 !== hash) return { problems: [changedType(type, path)] };
    own.push(kind);
  }
  return { own };
}

/** The types whose files are not the recorded ones. */
export const changedTypes = ({ node_types = {} }: Pick<Manifest, 'node_types'>): readonly Diagnostic[] =>
  Object.entries(node_types).flatMap(([type, { path, sha256: hash }]) => {
    if (path === null) return [];
    const now = textOf(path);
    return now !== undefined && sha256(now) === hash ? [] : [changedType(type, path, now === undefined)];
  });

const changedType = (type: string, path: string | null, isGone = false): Diagnostic => ({
  code: 'resume-changed',
  severity: 'error',
  message: `the file ${path} of the node type "${type}" ${isGone ? 'cannot be read' : 'has changed since the run began'}`,
  fix: isGone ? 'restore it' : 'start a new run, or pass --accept-changes to resume with the changed inputs',
});

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

type LoadedModule = { readonly kind: unknown; readonly source: KindSource; readonly place?: Place };

async function modulesOf(
  file: string,
): Promise<{ readonly modules: readonly LoadedModule[]; readonly found: readonly Diagnostic[] }> {
  const read = entriesIn(file);
  if ('found' in read) return { modules: [], found: read.found };
  const modules: LoadedModule[] = [];
  const found: Diagnostic[] = [];
  for (const { entry, place } of read.entries) {
    const path = resolve(dirname(file), entry);
    const outside = placeProblem(entry, path, dirname(file));
    const loaded = outside === undefined ? await loadModule(path) : { why: outside, place: undefined };
    if ('why' in loaded) found.push(wrongModule(path, loaded.why, loaded.place ?? place));
    else modules.push({ ...loaded, place });
  }
  return { modules, found };
}

async function loadModule(
  path: string,
): Promise<
  | (LoadedModule & { readonly place?: undefined })
  | { readonly why: string; readonly place?: Place | undefined }
> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return { why: `cannot be read: ${systemWords(error)}` };
  }
  const hash = sha256(text);
  // A long-lived process sees a changed file as another module.
  const url = `${pathToFileURL(path).href}?sha256=${hash}`;
  try {
    const { default: exported } = await importModule(url);
    if (exported === undefined) return { why: 'has no default export: export default { type: …, run: … }' };
    const kind: unknown = typeof exported === 'function' ? await exported(nodeTools) : exported;
    return { kind, source: { path, sha256: hash } };
  } catch (error) {
    return { why: `cannot be loaded: ${errorText(error)}`, place: placeOfError(error, path, text) };
  }
}

/** The line of a module where its loading failed: its stack names it, but not that of a syntax error. */
function placeOfError(error: unknown, path: string, text: string): Place | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const url = pathToFileURL(path).href.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const found = new RegExp(`${url}\\?sha256=\\w+:(\\d+)(?::(\\d+))?`).exec(stack);
  if (found !== null) return placeOfLine(path, text, offsetOf(text, Number(found[1]), Number(found[2] ?? 1)));
  if (!(error instanceof SyntaxError)) return undefined;
  try {
    parse(text, { ecmaVersion: 'latest', sourceType: 'module' });
    return undefined;
  } catch (problem) {
    return problem instanceof SyntaxError && 'pos' in problem
      ? placeOfLine(path, text, Number(problem.pos))
      : undefined;
  }
}

function offsetOf(text: string, line: number, column: number): number {
  const before = text.split('\n').slice(0, line - 1);
  return before.reduce((sum, one) => sum + one.length + 1, 0) + column - 1;
}

const wrongModule = (path: string | null, why: string, place?: Place): Diagnostic => ({
  code: ownKindCode,
  severity: 'error',
  message: `${path === null ? 'the node type that was handed in' : basename(path)} ${why}`,
  ...(place === undefined ? {} : { place }),
  fix: 'see docs/node-types.md',
});

/** Names of factory's own types, and of those of the project so far. */
function namesReservedBy(own: readonly NodeKind[]): ReservedNames {
  const names = (list: (kind: NodeKind) => readonly string[]) =>
    new Map([
      ...kinds.flatMap((kind) => list(kind).map((name) => [name, 'one of factory'] as const)),
      ...own.flatMap((kind) => list(kind).map((name) => [name, `that of "${kind.type}" already`] as const)),
    ]);
  return {
    types: names(({ type, aliases = [] }) => [type, ...aliases]),
    shapes: names(({ shapes }) => shapes),
    attributes: reservedAttributes(kinds, Object.keys(synonyms)),
  };
}
