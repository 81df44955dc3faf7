/** Notes of people to the agents of a run: each goes into the prompts of one execution, which its line in the journal names. */
import { branchesOf } from '../core/fork.ts';
import { isAgentType } from '../core/graph.ts';
import { once } from '../core/once.ts';
import type { SteeringNote } from '../core/records/note.ts';
import { linkNoteAgain, notesTo, notesUsed } from '../run/note-files.ts';
import { environmentOf, passedTo } from './environment.ts';
import type { Execution, Run } from './run-context.ts';

/** The notes of one execution. */
export type ExecutionNotes = {
  /** Those for its prompts, without secrets and lines of the holdout; the same at every call. */
  forPrompt(): Promise<readonly SteeringNote[]>;
  /** Those that it was given. */
  readonly used: readonly SteeringNote[];
};

/** Which executions of this process have which notes. Branches run at once: a note belongs to the first that asks. */
const holders = new WeakMap<Run['past'], Map<number, string>>();

export function notesFor(run: Run, { node, visit }: Pick<Execution, 'node' | 'visit'>): ExecutionNotes {
  const name = `${node.id}@${visit}`;
  let used: readonly SteeringNote[] = [];
  return {
    forPrompt: once(async () => {
      if (!isAgentType(node.type)) return [];
      used = await Promise.all((await given(run, { node, visit })).map((note) => printable(run, node, note)));
      for (const { note, by } of used)
        run.log('debug', `note ${note} of ${by} goes to node ${node.id}`, { node: node.id, visit });
      return used;
    }),
    get used() {
      return used;
    },
  };

  async function given(of: Run, at: Pick<Execution, 'node' | 'visit'>): Promise<readonly SteeringNote[]> {
    if (of.replay?.follows === true) {
      const recorded = of.replay.notesAt(at.node.id, at.visit);
      const linked: SteeringNote[] = [];
      for (const note of recorded) linked.push(await linkNoteAgain(of.runDir, note));
      return linked;
    }
    return unusedNotes(of, name);
  }
}

/** What no other execution has; from now on this one has it. */
function unusedNotes(run: Run, name: string): readonly SteeringNote[] {
  const notes = notesTo(run.runDir);
  if (notes.length === 0) return [];
  const { records, checkpoint } = run.past.history();
  const used = notesUsed(records);
  const held = holders.get(run.past) ?? new Map<number, string>();
  holders.set(run.past, held);
  const own = branchesOf(checkpoint).find(({ id }) => id === run.branch);
  const branches = own === undefined ? [run.branch] : [own.id, ...own.within];
  const free = notes.filter(
    ({ note, branch }) =>
      !used.has(note) &&
      [undefined, name].includes(held.get(note)) &&
      (branch === undefined || branches.includes(branch)),
  );
  for (const { note } of free) held.set(note, name);
  return free;
}

/** An execution that was not committed leaves its notes to another one. */
export function releaseNotes(run: Run, { node, visit }: Pick<Execution, 'node' | 'visit'>): void {
  const held = holders.get(run.past);
  for (const [note, name] of held ?? []) if (name === `${node.id}@${visit}`) held?.delete(note);
}

async function printable(run: Run, node: Execution['node'], note: SteeringNote): Promise<SteeringNote> {
  const masked = environmentOf(run, passedTo(run, node)).mask(note.text);
  return { ...note, text: (await run.leaks?.printable(masked)) ?? masked };
}
