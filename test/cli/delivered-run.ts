/** A run that has ended, and the command that delivers it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandHost } from '../../src/cli/command-line.ts';
import { nothingSpent } from '../../src/core/budget/usage.ts';
import type { Json } from '../../src/core/json.ts';
import { emptyReport } from '../../src/core/outcome.ts';
import type { RunState } from '../../src/core/records/checkpoint.ts';
import { openRun } from '../../src/run/open-run.ts';
import { openRunJournal, startJournal } from '../../src/run/run-journal.ts';
import { beginRun, commitPaths, type Files, put, repository, toolIo, when } from '../builder/support.ts';
import { call, type Flags } from '../support/verb.ts';

/** The checkpoint of a run whose last execution has recorded `head` as its last commit, and its journal. */
async function writeState(
  dir: string,
  status: RunState['status'],
  head: string | null,
  set: Record<string, Json>,
) {
  const at = when.toISOString();
  const begun = { context: {}, origins: {}, next_node: 'commit', snapshot: 's', manifest_sha256: '' };
  await startJournal(dir, 'RUN1', { type: 'Start', at, ...begun });
  const history = openRun(dir).history();
  if (!history.ok) throw new Error(history.why);
  const journal = await openRunJournal(dir, { runId: 'RUN1', epoch: 1, sync: false }, history);
  const outcome = { ...emptyReport, status: 'success' } as const;
  const order = { version: 1, digests: {}, head, done: [], current: null };
  const ended = { exit_node: null, ok: status === 'completed', reason: 'because', code: 0 };
  const after = await journal.commit(
    {
      ...{ type: 'Visit', node: 'commit', node_type: 'tool', visit: 1, before: 's' },
      ...{ after: 's', outcome, retries: 0, calls: 0, context: { set, unset: [] }, origins: { set: {} } },
      ...{ next_node: null, arrived: null, steps: 1, elapsed_ms: 1, at, tool_state: { order } },
      ...(status === 'completed' || status === 'failed' ? { ended } : {}),
    },
    history.checkpoint,
  );
  const stopped = { type: 'Stopped', at, elapsed_ms: 1, spent: nothingSpent } as const;
  if (status === 'interrupted') await journal.commit({ ...stopped, status, ended: null }, after);
  await journal.close();
}

const manifest = (workdir: string | undefined, kind: string) => ({
  schema_version: 1,
  run_id: 'RUN1',
  pipeline_path: 'p.dot',
  original_workdir: workdir ?? '',
  workspace_path: 'w',
  started_at: when.toISOString(),
  factory_version: '0',
  node_version: '20',
  pipeline: { text: '', sha256: '' },
  prompts: {},
  variables: {},
  agent: { name: '', describe: '', chosen_by: '' },
  base_commit: null,
  workdir_kind: kind,
  git: { base_commit: null, author: { name: 'a', email: 'e' } },
  marker: 'm',
  caps: { max_steps: 1, max_wall_ms: null },
  env_pass: [],
  not_enforced: [],
});

/** A run in `<root>/runs` that ended, its source in `<root>/src`. */
export async function run(
  root: string,
  more: {
    files?: Files | null;
    git?: boolean;
    untracked?: Files;
    status?: 'running' | 'completed' | 'failed' | 'interrupted';
    writes?: Files | null;
    allowDirty?: boolean;
    /** What its last execution sets. */
    context?: (head: string | null) => Record<string, Json>;
    /** What the user does before the run begins. */
    prepare?: (source: string) => void;
  } = {},
) {
  const { files = { 'a.txt': 'a\n' }, writes = { 'f1.txt': '1\n', 'sub/run.sh': 's\n' } } = more;
  const source = join(root, 'src');
  mkdirSync(source);
  if (files !== null) put(source, files);
  if (more.git !== false && files !== null) repository(source);
  put(source, more.untracked ?? {});
  more.prepare?.(source);
  const workdir = files === null ? undefined : source;
  const begun = await beginRun({ root, workdir, allowDirty: more.allowDirty === true });
  let head = begun.first;
  for (const [n, [path, content]] of Object.entries(writes ?? {}).entries()) {
    put(begun.run.workspace, { [path]: content });
    const made = await commitPaths({
      historyDir: begun.run.history,
      workspace: begun.run.workspace,
      env: begun.env,
      parent: head,
      touched: [path],
      order: { id: `WO-0${n + 1}`, title: path },
      digest: 'd',
      runId: 'RUN1',
      author: begun.started.author,
      date: when,
    });
    if ('problem' in made) throw new Error(made.problem);
    head = made.commit ?? head;
  }
  writeFileSync(begun.run.manifest, JSON.stringify(manifest(workdir, begun.started.kind)));
  await writeState(begun.run.root, more.status ?? 'completed', head, more.context?.(head) ?? {});
  const { io, said } = toolIo(begun);
  const asked = async (flags: Flags = {}, id = 'RUN1', more: Partial<CommandHost> = {}): Promise<number> => {
    said.length = 0;
    const doors = { ...io, cwd: root, ...more };
    return (await call(['deliver', id], { runsdir: join(root, 'runs'), ...flags }, doors)).code;
  };
  return { ...begun, source, head, asked, said: () => said.join('') };
}
