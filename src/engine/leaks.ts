/** The guard over what is sealed: no agent is asked with a line of it, and no stage leaves one behind. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { mayRead } from '../audit/exempt.ts';
import { fileVariables, knownTexts } from '../audit/known.ts';
import type { Node } from '../model/graph.ts';
import type { Manifest } from '../model/manifest.ts';
import type { Context, Outcome } from '../model/outcome.ts';
import { reasonOf } from '../model/outcome.ts';
import type { SealedFile } from '../model/sealed.ts';
import { type Canaries, chooseCanaries, type Sighting } from '../policy/canaries.ts';
import { reportedLines, tracedLines, tracesItself } from '../policy/judge-report.ts';
import { isMissing } from '../system/files.ts';
import { readSome } from '../system/read.ts';
import { diff } from '../workspace/changes.ts';
import type { Snapshot, Snapshots } from '../workspace/snapshot.ts';

/** A sealed line has been seen where it must not be; the message says where, never what. The run ends. */
export class HoldoutLeak extends Error {}

export interface LeakGuard {
  /** Before an agent is asked: rejects with a HoldoutLeak when the prompt, or the context that its program may read, shows
   *  a sealed line. */
  beforeAsking(node: Node, prompt: string, context: Context): Promise<void>;
  /** What a failed stage printed, for those who are to mend it: sealed lines that are a failing check's own words are left
   *  out, since a judge may print them. A marked one stays, and whatever else shows the judge's text: that is a leak.
   *  `all`: for a log, without any of them. */
  printable(text: string, what?: 'all'): Promise<string>;
  /** After a stage: where what it said or left in the workspace shows a sealed line; undefined where nothing does. */
  afterStage(stage: Stage): Promise<string | undefined>;
}

export type Stage = {
  readonly node: Node;
  /** Whether an agent did it: then what it said counts too. */
  readonly byAgent: boolean;
  readonly nodeDir: string;
  readonly outcome: Outcome;
  readonly before: Snapshot;
  readonly after: Snapshot;
  /** Files that are put back anyway. */
  readonly undone: readonly string[];
};

/** In place of a line that is the judge's. */
const leftOut = '[a line of the scenario itself is left out]';

/** Bytes of one artifact that are looked at. */
const mostOfArtifact = 256 * 1024 * 1024;

/** What the engine has put into a node's folder itself: the prompt was looked at before it was sent. */
const notSaid = new Set(['prompt.md', 'stage.json', 'context.json', 'workspace.diff.json', 'budget.json']);

export function leakGuard(from: {
  readonly runDir: string;
  readonly manifest: Pick<Manifest, 'variables'>;
  readonly snapshots: Snapshots;
  /** The snapshot that the run began with. */
  readonly start: string;
  readonly files: readonly SealedFile[];
}): LeakGuard {
  let chosen: Promise<Canaries> | undefined;
  /** Chosen when they are first needed: that reads the workspace as it was. */
  const canaries = (): Promise<Canaries> => {
    chosen ??= choose();
    return chosen;
  };
  const choose = async (): Promise<Canaries> => {
    const choosing = chooseCanaries(from.files);
    for await (const text of knownTexts(from.runDir, from.manifest, from.snapshots, from.start))
      choosing.known(text);
    return choosing.chosen();
  };
  let given: Promise<string | undefined> | undefined;
  /** Where a file variable, which the builder has from the beginning, shows what is marked or encoded: what else stands
   *  there is nobody's. */
  const givenAway = (): Promise<string | undefined> => {
    given ??= (async () => {
      for await (const { name, text } of fileVariables(from.runDir, from.manifest)) {
        const found = await shown(`the file of the variable "${name}"`, text);
        if (found !== undefined) return found;
      }
      return undefined;
    })();
    return given;
  };
  const traced = from.files.some(({ kind, content }) => kind === 'file' && tracesItself(content.toString()));
  /** Contents that show nothing, by their hash. */
  const clean = new Set<string>();
  const shown = async (where: Where, text: string | Buffer): Promise<string | undefined> => {
    const [seen] = (await canaries()).find(text);
    return seen === undefined ? undefined : told(where, seen);
  };
  type Where = string | { readonly file: string; readonly by: string };
  const told = (where: Where, seen: Sighting): string => {
    const line = seen.at > 0 ? `:${seen.at}` : '';
    const place = typeof where === 'string' ? where : `${where.file}${line}${where.by}`;
    return `holdout_leak: ${place} shows line ${seen.line} of a sealed file`;
  };

  return {
    async beforeAsking(node, prompt, context) {
      if (mayRead(node)) return;
      const found =
        (await givenAway()) ??
        (await shown(`the prompt of node "${node.id}"`, prompt)) ??
        (await shown(`the context that node "${node.id}" is given`, JSON.stringify(context)));
      if (found !== undefined) throw new HoldoutLeak(found);
    },
    async printable(text, what) {
      const all = await canaries();
      const lines = text.split('\n');
      const reported = reportedLines(text);
      // Of a line that stands there several times one is found at a time.
      for (let left = lines.length; left > 0; left--) {
        const seen = all
          .find(lines.join('\n'))
          .filter((one) => one.at > 0 && (what === 'all' || (!one.marked && reported.has(one.at))));
        if (seen.length === 0) break;
        for (const { at } of seen) lines[at - 1] = leftOut;
      }
      if (!traced) return lines.join('\n');
      // What shows a sealed line word for word still ends the run.
      const whole = new Set(all.find(lines.join('\n')).map(({ at }) => at));
      for (const at of tracedLines(lines.join('\n'))) if (!whole.has(at)) lines[at - 1] = leftOut;
      return lines.join('\n');
    },
    async afterStage(stage) {
      const { node } = stage;
      if (mayRead(node)) return undefined;
      return (stage.byAgent ? await saidBy(stage) : undefined) ?? (await leftBy(stage));
    },
  };

  async function saidBy({ node, nodeDir, outcome }: Stage): Promise<string | undefined> {
    const told = [reasonOf(outcome), outcome.notes, outcome.label, ...outcome.suggested].join('\n');
    const found =
      (await shown(`what node "${node.id}" reports`, told)) ??
      (await shown(`a context update of node "${node.id}"`, JSON.stringify(outcome.updates)));
    if (found !== undefined) return found;
    for (const name of await filesIn(nodeDir)) {
      if (notSaid.has(name)) continue;
      const text = await readSome(join(nodeDir, name), mostOfArtifact);
      const leak = text === undefined ? undefined : await shown(`${name} of node "${node.id}"`, text);
      if (leak !== undefined) return leak;
    }
    return undefined;
  }

  async function leftBy({ node, before, after, undone }: Stage): Promise<string | undefined> {
    const { created, modified, folders } = diff(before, after);
    for (const path of folders.created) {
      const name = await shown(`the name of a folder that node "${node.id}" made`, path);
      if (name !== undefined) return name;
    }
    for (const path of [...created, ...modified]) {
      if (undone.includes(path)) continue;
      const entry = after.tree.get(path);
      const where = { file: path, by: `, written by node "${node.id}",` };
      const name = await shown(`the name of a file that node "${node.id}" wrote`, path);
      if (name !== undefined) return name;
      if (entry?.target !== undefined) {
        const leak = await shown(where, entry.target);
        if (leak !== undefined) return leak;
      }
      const { hash } = entry ?? {};
      if (hash === undefined || clean.has(hash)) continue;
      const seen = await seenIn(hash);
      if (seen.length === 0) {
        clean.add(hash);
        continue;
      }
      const [fresh] = await withoutEarlier(before, path, seen);
      if (fresh !== undefined) return told(where, fresh);
    }
    return undefined;
  }

  /** What a content shows. In a large one nobody counts the lines. */
  async function seenIn(hash: string): Promise<readonly Sighting[]> {
    const all = await canaries();
    const seen: Sighting[] = [];
    let whole = true;
    for await (const piece of from.snapshots.pieces(hash)) {
      seen.push(...all.find(piece).map((one) => (whole ? one : { ...one, at: 0 })));
      whole = false;
    }
    return seen;
  }

  /** What stood there before the stage is not its doing. */
  async function withoutEarlier(
    before: Snapshot,
    path: string,
    seen: readonly Sighting[],
  ): Promise<readonly Sighting[]> {
    const key = ({ file, line }: Sighting) => `${file}:${line}`;
    const was = before.tree.get(path)?.hash;
    const had = new Set(was === undefined ? [] : (await seenIn(was)).map(key));
    return seen.filter((sighting) => !had.has(key(sighting)));
  }
}

async function filesIn(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .sort();
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
