/** Changed files of a run, of a work order or of an execution, as diffs. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ChangeList } from '../../../app/answers.ts';
import type { RunView } from '../../../app/inspect/shapes.ts';
import { countedItems } from '../../../core/amounts.ts';
import { api, readProblem } from '../api.ts';
import { reconnected } from '../live.ts';
import { diffLayout } from '../settings.ts';
import { FileDiff } from './diff.tsx';

/** What the diff is between, as the API takes it. */
interface Scope {
  readonly name: string;
  readonly query: Readonly<Record<string, string>>;
}

export function ChangesPanel({ run }: { run: RunView }) {
  const scopes = scopesOf(run);
  const chosen = useSignal('Whole run');
  const scope = scopes.find(({ name }) => name === chosen.value) ?? scopes[0];
  if (scope === undefined || run.executions.length === 0)
    return <p class="loading">Nothing has been executed.</p>;
  return (
    <div class="changes">
      <p class="tools">
        {scopes.length > 1 && (
          <label>
            Changes of{' '}
            <select
              value={scope.name}
              onChange={(event) => {
                chosen.value = event.currentTarget.value;
              }}
            >
              {scopes.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
        <LayoutChoice />
      </p>
      <ChangedFiles run={run.run_id} query={scope.query} version={run.executions.length} />
    </div>
  );
}

/** The whole run, and each work order that changed something: from before its last attempt to after it. */
function scopesOf(run: RunView): readonly Scope[] {
  const names = run.executions.map(({ node, visit }) => `${node}@${visit}`);
  const orders = run.groups.flatMap((group): Scope[] => {
    const last = group.attempts.at(-1);
    const [first] = last?.executions ?? [];
    const to = last?.executions.at(-1);
    if (group.kind !== 'order' || first === undefined || to === undefined) return [];
    const from = names[names.indexOf(first) - 1];
    const name = group.title === group.id ? group.id : `${group.id} ${group.title}`;
    return [{ name, query: { to, ...(from === undefined ? {} : { from }) } }];
  });
  return [{ name: 'Whole run', query: {} }, ...orders];
}

export function LayoutChoice() {
  return (
    <button
      type="button"
      class="small"
      onClick={() => {
        diffLayout.value = diffLayout.value === 'unified' ? 'split' : 'unified';
      }}
    >
      {diffLayout.value === 'unified' ? 'Side by side' : 'Unified'}
    </button>
  );
}

/** The files of one comparison. `version` changes when there may be new ones. */
export function ChangedFiles({
  run,
  query,
  version,
}: {
  run: string;
  query: Readonly<Record<string, string>>;
  version: number;
}) {
  const list = useSignal<ChangeList | null>(null);
  const problem = useSignal('');
  const key = JSON.stringify(query);
  useEffect(() => {
    let current = true;
    api.changes(run, JSON.parse(key) as Record<string, string>).then(
      (answer) => {
        if (!current) return;
        list.value = answer;
        problem.value = '';
      },
      (error: unknown) => {
        if (current) problem.value = readProblem(error);
      },
    );
    return () => {
      current = false;
    };
  }, [run, key, version, reconnected.value]);
  if (problem.value !== '') return <p class="loading">{problem.value}</p>;
  const answer = list.value;
  if (answer === null) return <p class="loading">Reading the changes…</p>;
  const added = answer.files.reduce((sum, file) => sum + file.added, 0);
  const removed = answer.files.reduce((sum, file) => sum + file.removed, 0);
  return (
    <>
      <p class="quiet changes-sum">
        {countedItems(answer.files.length + answer.more, 'file')} <ins>+{added}</ins> <del>−{removed}</del>
        {answer.more > 0 && ` · the first ${answer.files.length} are listed`}
        {answer.withheld &&
          ' · Patches are withheld until the run has ended: they may contain text of the holdout.'}
      </p>
      {answer.files.map((file) => (
        <FileDiff key={file.path} run={run} query={query} file={file} open={answer.files.length <= 20} />
      ))}
    </>
  );
}
