/** What a check uses in the workspace: the files that its commands run, the tests, and the settings of runners. */
import { posix } from 'node:path';
import { type Reached, reachedBy } from '../core/policy/check-commands.ts';
import { isOfChecks, isOutput, isOutputFolder } from '../core/policy/check-files.ts';
import { type CheckCommand, mayCheck } from '../core/policy/check-words.ts';
import { inScope } from '../core/policy/paths.ts';
import { hasCommands, isSourceCode } from '../core/policy/test-files.ts';
import { parseVerificationPlan } from '../core/policy/verification-plan.ts';
import { type Ignore, readIgnore } from '../workspace/ignore.ts';
import type { Entry, Tree } from '../workspace/snapshot.ts';
import { Folder, topOf } from '../workspace/tree.ts';
import type { LayerContext } from './layers/layer.ts';

export type CheckSet = {
  readonly reached: Reached;
  /** Files that the check uses, those that its commands name first. */
  readonly own: readonly string[];
  /** Files and links of the workspace, without outputs and what git ignores. */
  readonly files: ReadonlyMap<string, Entry>;
};

/** The most bytes of a script, or of a file with settings, that is read. */
const mostRead = 1024 * 1024;

/** The commands of a tool or verification that may be a check; none for any other node. */
export function checkCommandsOf({ kind, node, inputs, workspace }: LayerContext): readonly CheckCommand[] {
  const { settings } = node;
  if (kind.type === 'verification') {
    const value = inputs.values[settings['verification.plan_context_key']];
    if (value === undefined) return [];
    const parsed = parseVerificationPlan(value, {
      workspace: workspace.path,
      seenAt: workspace.seenAt,
      byTool: true,
    });
    return 'plan' in parsed ? parsed.plan.commands : [];
  }
  if (kind.type !== 'tool' || settings.tool_command === undefined || settings.access !== undefined) return [];
  const expanded = inputs.expand(settings.tool_command, 'shell');
  return 'text' in expanded && mayCheck(expanded.text) ? [expanded.text] : [];
}

/** By the workspace and the commands: it is the same until something changes. */
const known = new WeakMap<Folder, Map<string, Promise<CheckSet>>>();

/** Undefined for a node that is no check. */
export async function checkSetOf(context: LayerContext): Promise<CheckSet | undefined> {
  const commands = checkCommandsOf(context);
  if (commands.length === 0) return undefined;
  const { before, kind, node } = context;
  const top = topOf(before.tree);
  const sets = known.get(top) ?? new Map<string, Promise<CheckSet>>();
  known.set(top, sets);
  const key = JSON.stringify(commands);
  const set = sets.get(key) ?? resolve(context, commands, top);
  sets.set(key, set);
  const { own, files, reached } = await set;
  if (kind.type !== 'verification' && !reached.isCheck) return undefined;
  const may = node.settings['verification.may_change'] ?? [];
  const isFixed = (path: string): boolean => !inScope(path, may);
  return may.length === 0
    ? { own, files, reached }
    : { own: own.filter(isFixed), files: new Map([...files].filter(([path]) => isFixed(path))), reached };
}

async function resolve(
  context: LayerContext,
  commands: readonly CheckCommand[],
  top: Folder,
): Promise<CheckSet> {
  const files = new Map<string, Entry>();
  await gather(top, '', [], { context, files });
  const read = (path: string) => context.workspace.read(path, mostRead);
  const texts = new Map<string, string>();
  for (const path of files.keys()) if (hasCommands(path)) texts.set(path, (await read(path)) ?? '');
  const reached = await reachedBy(commands, texts, (path) =>
    path === '' || isOutput(path) ? Promise.resolve(undefined) : read(path),
  );
  const isNamed = (path: string): boolean => reached.runs(path) || reached.includes(path);
  const isUsed = (path: string): boolean => named(path).ofChecks || reached.imported.has(path);
  const paths = [...files.keys()];
  return { reached, files, own: [...new Set([...paths.filter(isNamed), ...paths.filter(isUsed)])] };
}

/** What names say, which is asked again after every change of the workspace. */
type Named = { readonly output: boolean; readonly ofChecks: boolean };
const names = new Map<string, Named>();
const mostNames = 100_000;

function named(path: string): Named {
  const old = names.get(path);
  if (old !== undefined) return old;
  if (names.size >= mostNames) names.clear();
  const output = isOutput(path);
  const is = { output, ofChecks: !output && isOfChecks(path) };
  names.set(path, is);
  return is;
}

type Gathering = { readonly context: LayerContext; readonly files: Map<string, Entry> };
/** What a `.gitignore` in `folder` says. What an agent has put there hides no source. */
type Rules = { readonly folder: string; readonly ignores: Ignore; readonly isOwn: boolean };

async function gather(folder: Folder, path: string, above: readonly Rules[], to: Gathering): Promise<void> {
  const rules = folder.items.has('.gitignore') ? [...above, ...(await rulesIn(path, to.context))] : above;
  for (const [name, item] of folder.items) {
    const at = posix.join(path, name);
    const isFolder = item instanceof Folder;
    if (isFolder ? isOutputFolder(at) : named(at).output) continue;
    if (isIgnored(at, isFolder, rules)) continue;
    if (isFolder) await gather(item, at, rules, to);
    else to.files.set(at, item);
  }
}

const isIgnored = (path: string, isFolder: boolean, rules: readonly Rules[]): boolean =>
  rules.some(
    ({ folder, ignores, isOwn }) =>
      (!isOwn || !(isFolder || isSourceCode(path) || named(path).ofChecks)) &&
      ignores(folder === '' ? path : path.slice(folder.length + 1), isFolder),
  );

async function rulesIn(folder: string, context: LayerContext): Promise<readonly Rules[]> {
  const path = posix.join(folder, '.gitignore');
  const { run, snapshots, workspace } = context;
  const change = (await context.changedInRun()).get(path);
  const now = { folder, ignores: readIgnore((await workspace.read(path, mostRead)) ?? '') };
  if (change === undefined) return [{ ...now, isOwn: false }];
  const start: Tree | undefined = change === 'created' ? undefined : (await snapshots.load(run.start)).tree;
  const hash = start?.get(path)?.hash;
  const was = hash === undefined ? '' : (await snapshots.read(hash)).toString();
  return [
    { folder, ignores: readIgnore(was), isOwn: false },
    { ...now, isOwn: true },
  ];
}
