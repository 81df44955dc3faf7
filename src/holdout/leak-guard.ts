/** Ends a run in which a prompt, an answer or a changed file shows a line of the holdout. */
import { isUtf8 } from 'node:buffer';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Node } from '../core/graph.ts';
import { leakReason } from '../core/leak-reason.ts';
import { type Context, type Outcome, reasonOf } from '../core/outcome.ts';
import { leftOut, withoutSealed } from '../core/policy/visible-failure.ts';
import type { Manifest, SealedFile } from '../core/records/manifest.ts';
import { type RunRecord, startRecordIn } from '../core/records/visit.ts';
import { mayReadHoldout } from '../core/settings/node.ts';
import { readSome } from '../platform/files/read.ts';
import { isMissing } from '../platform/files/write.ts';
import { diff } from '../workspace/diff.ts';
import type { Snapshot, Snapshots } from '../workspace/snapshot.ts';
import { fileVariables, knownTexts } from './access.ts';
import { type Canaries, canariesIn, newSightings, type Sighting } from './leak-scan.ts';
import type { SealedHoldout } from './mount.ts';

/** A canary was found where it must not be; the message says where, never its text. The run ends. */
export class HoldoutLeak extends Error {}

export interface LeakGuard {
  /** Before a prompt is sent: rejects with a HoldoutLeak if the prompt, or the context that the agent may read, shows a
   *  canary. */
  beforeAsking(node: Node, prompt: string, context: Context): Promise<void>;
  /** The output of a failed node without lines of the holdout, which a failing scenario may print. */
  printable(text: string): Promise<string>;
  /** After an attempt: a message if its answer or its changed files show a canary, else undefined. */
  afterAttempt(attempt: FinishedAttempt): Promise<string | undefined>;
}

export type FinishedAttempt = {
  readonly node: Node;
  /** Whether an agent ran: then its answer is searched too. */
  readonly byAgent: boolean;
  readonly nodeDir: string;
  readonly outcome: Outcome;
  /** What the agent kept of its conversation. */
  readonly thread: string | undefined;
  readonly before: Snapshot;
  readonly after: Snapshot;
  /** Files whose changes are undone anyway. */
  readonly undone: readonly string[];
};

/** Bytes of one artifact that are searched. */
const largestArtifact = 256 * 1024 * 1024;

/** Files of a node directory that are not the agent's answer; the prompt was searched before it was sent. */
const notAnswers = new Set(['prompt.md', 'stage.json', 'context.json', 'workspace.diff.json', 'budget.json']);

type Searched = {
  readonly runDir: string;
  readonly manifest: Pick<Manifest, 'variables'>;
  readonly snapshots: Snapshots;
  /** The first snapshot of the run. */
  readonly start: string;
  readonly files: readonly SealedFile[];
};

const leakGuard = (from: Searched): LeakGuard => new CanaryGuard(from);

class CanaryGuard implements LeakGuard {
  readonly #from: Searched;
  /** Computed on first use: that reads the whole first snapshot. */
  readonly #canaries: () => ReturnType<typeof canariesIn>;
  /** A message if a file variable shows a marked line; its other lines were known and are no canaries. */
  readonly #leakInVariables: () => Promise<string | undefined>;
  /** Hashes of contents without canaries. */
  readonly #clean = new Set<string>();

  constructor(from: Searched) {
    const { runDir, manifest, snapshots, start, files } = from;
    this.#from = from;
    this.#canaries = once(() => canariesIn(files, knownTexts(runDir, manifest, snapshots, start)));
    this.#leakInVariables = once(async () => {
      for await (const { name, text } of fileVariables(runDir, manifest)) {
        const found = await this.#leakIn(`the file of the variable "${name}"`, text);
        if (found !== undefined) return found;
      }
      return undefined;
    });
  }

  async beforeAsking(node: Node, prompt: string, context: Context): Promise<void> {
    if (mayReadHoldout(node)) return;
    const found =
      (await this.#leakInVariables()) ??
      (await this.#leakIn(`the prompt of node "${node.id}"`, prompt)) ??
      (await this.#leakIn(`the context of node "${node.id}"`, JSON.stringify(context)));
    if (found !== undefined) throw new HoldoutLeak(found);
  }

  async printable(text: string): Promise<string> {
    const sealed = this.#from.files
      .filter(({ kind, content }) => kind === 'file' && isUtf8(content))
      .map(({ content }) => content.toString());
    const lines = withoutSealed(text, sealed).split('\n');
    const canaries = await this.#canaries();
    // A printed line may show a canary in other punctuation. Only the first place of each is found at a time.
    for (let left = lines.length; left > 0; left--) {
      const seen = canaries.find(lines.join('\n')).filter(({ at, marked }) => at > 0 && !marked);
      if (seen.length === 0) break;
      const ends = seen.map((one) => lastLineOf(one, lines, canaries));
      for (const [n, { at }] of seen.entries()) lines.fill(leftOut, at - 1, ends[n]);
    }
    return lines.join('\n');
  }

  async afterAttempt(attempt: FinishedAttempt): Promise<string | undefined> {
    if (mayReadHoldout(attempt.node)) return undefined;
    const inAnswer = attempt.byAgent ? await this.#leakInAnswer(attempt) : undefined;
    return inAnswer ?? this.#leakInFiles(attempt);
  }

  async #leakIn(where: string, text: string | Buffer): Promise<string | undefined> {
    const [seen] = (await this.#canaries()).find(text);
    return seen === undefined ? undefined : leakReason(where, seen.line);
  }

  async #leakInAnswer({ node, nodeDir, outcome, thread }: FinishedAttempt): Promise<string | undefined> {
    const report = [reasonOf(outcome), outcome.notes, outcome.label, ...outcome.suggested].join('\n');
    const found =
      (await this.#leakIn(`what node "${node.id}" reports`, report)) ??
      (await this.#leakIn(`a context update of node "${node.id}"`, JSON.stringify(outcome.updates))) ??
      (thread === undefined
        ? undefined
        : await this.#leakIn(`the conversation of node "${node.id}"`, thread));
    if (found !== undefined) return found;
    for (const name of await filesIn(nodeDir)) {
      if (notAnswers.has(name)) continue;
      const text = await readSome(join(nodeDir, name), largestArtifact);
      const leak = text === undefined ? undefined : await this.#leakIn(`${name} of node "${node.id}"`, text);
      if (leak !== undefined) return leak;
    }
    return undefined;
  }

  async #leakInFiles({ node, before, after, undone }: FinishedAttempt): Promise<string | undefined> {
    const { created, modified, folders } = diff(before, after);
    const paths = [...created, ...modified].filter((path) => !undone.includes(path));
    const names = [...folders.created, ...paths].join('\n');
    const named = await this.#leakIn(`the name of a file or folder that node "${node.id}" created`, names);
    if (named !== undefined) return named;
    for (const path of paths) {
      const { hash, target } = after.tree.get(path) ?? {};
      if (hash !== undefined && this.#clean.has(hash)) continue;
      const seen = target === undefined ? await this.#seenIn(hash) : (await this.#canaries()).find(target);
      if (seen.length === 0 && hash !== undefined) this.#clean.add(hash);
      const earlier = seen.length === 0 ? [] : await this.#seenIn(before.tree.get(path)?.hash);
      const [fresh] = newSightings(seen, earlier);
      const line = fresh === undefined || fresh.at === 0 ? '' : `:${fresh.at}`;
      if (fresh !== undefined) return leakReason(`${path}${line}, written by node "${node.id}",`, fresh.line);
    }
    return undefined;
  }

  /** The canaries in a content. The pieces of a large one have no line numbers, except the first. */
  async #seenIn(hash: string | undefined): Promise<readonly Sighting[]> {
    const seen: Sighting[] = [];
    if (hash === undefined) return seen;
    let first = true;
    for await (const piece of this.#from.snapshots.pieces(hash)) {
      seen.push(...(await this.#canaries()).find(piece).map((one) => (first ? one : { ...one, at: 0 })));
      first = false;
    }
    return seen;
  }
}

/** The number of the line of the text in which a canary ends: a program may have broken it to fit its screen. */
function lastLineOf(seen: Sighting, lines: readonly string[], canaries: Canaries): number {
  const isSeen = ({ file, line }: Sighting) => file === seen.file && line === seen.line;
  let last = seen.at;
  while (last < lines.length && !canaries.find(lines.slice(seen.at - 1, last).join('\n')).some(isSeen))
    last++;
  return last;
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
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

/* Opens the guard against holdout leaks. */

/** `leaks` is undefined in a run without a holdout. */
export async function openLeaks(
  runDir: string,
  manifest: Manifest,
  records: readonly RunRecord[],
  snapshots: Snapshots,
  sealed: SealedHoldout | undefined,
): Promise<{ readonly leaks: LeakGuard | undefined }> {
  if (sealed === undefined) return { leaks: undefined };
  const { snapshot: start } = startRecordIn(records);
  return { leaks: leakGuard({ runDir, manifest, snapshots, start, files: sealed.files() }) };
}
