/** Changed files of a run, of a work order or of an execution: their tree and their diffs. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { ChangeList } from '../../../app/answers.ts';
import type { RunView } from '../../../app/inspect/shapes.ts';
import { countedItems } from '../../../core/amounts.ts';
import { api, readProblem } from '../api.ts';
import { addKeys } from '../keys.ts';
import { reconnected } from '../live.ts';
import { fragment, go } from '../place.ts';
import { promptPath, runAddress } from '../selection.ts';
import { diffLayout } from '../settings.ts';
import { type ChangeScope, changeScopes } from '../text/change-scopes.ts';
import { changeTree } from '../text/change-tree.ts';
import { promptSource } from '../text/prompt-source.ts';
import { ChangeTree, fileFragment } from './change-tree.tsx';
import { FileDiff, LineCounts } from './diff.tsx';

/** More files, or more lines of one, are shown when they are opened. */
const most = { files: 100, lines: 1000 } as const;

export function ChangesPanel({ run }: { run: RunView }) {
  const scopes = changeScopes(run);
  const at = runAddress();
  const scope = scopes.find(({ id }) => id === (at?.of ?? '')) ?? scopes[0];
  if (at === undefined || scope === undefined || run.executions.length === 0)
    return <p class="loading">Nothing has been executed.</p>;
  return (
    <div class="changes">
      {scopes.length > 1 && (
        <p class="tools">
          <label>
            Changes of{' '}
            <select
              value={scope.id}
              onChange={({ currentTarget: { value } }) => {
                const { of: _, ...rest } = at;
                go(value === '' ? rest : { ...rest, of: value });
              }}
            >
              {scopes.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <ScopeFacts run={run} scope={scope} />
        </p>
      )}
      <ChangedFiles run={run} query={scope.query} version={run.executions.length} />
    </div>
  );
}

/** The commit of a work order, and the prompt that asked for it. */
function ScopeFacts({ run, scope: { commit, attempts, query } }: { run: RunView; scope: ChangeScope }) {
  const source = query['to'] === undefined ? undefined : promptSource(run, query['to']);
  return (
    <span class="quiet">
      {commit !== null && (
        <>
          commit <code title={commit}>{commit.slice(0, 10)}</code>
        </>
      )}
      {attempts > 1 && ` · attempt ${attempts}`}
      {source !== undefined && (
        <>
          {' · '}
          <a href={promptPath(run.run_id, source)}>prompt of {`${source.node}@${source.visit}`}</a>
        </>
      )}
    </span>
  );
}

/** The files of one comparison. `version` changes when there may be new ones. */
export function ChangedFiles({
  run,
  query,
  version,
}: {
  run: RunView;
  query: Readonly<Record<string, string>>;
  version: number;
}) {
  const { list, problem } = useChanges(run.run_id, query, version);
  const root = useRef<HTMLDivElement>(null);
  const reveal = (path: string) => openFile(root.current, path);
  useEffect(() => addKeys(stepKeys(() => root.current)), []);
  const paths = list?.files.map(({ path }) => path);
  useEffect(() => {
    const path = paths?.find((one) => fileFragment(one) === fragment.value);
    if (path !== undefined) reveal(path);
  }, [fragment.value, paths?.length]);
  if (problem !== '') return <p class="loading">{problem}</p>;
  if (list === null) return <p class="loading">Reading the changes…</p>;
  const rows = changeTree(list.files);
  const files = rows.flatMap(({ file: one }) => (one === null ? [] : [one]));
  const open = files.length <= most.files;
  return (
    <div ref={root} class={files.length > 1 ? 'changed-files with-tree' : 'changed-files'}>
      <Sum list={list} root={() => root.current} />
      {files.length > 1 && <ChangeTree rows={rows} reveal={reveal} />}
      <div class="file-diffs">
        {files.map((file) => (
          <FileDiff
            key={file.path}
            run={run}
            query={query}
            file={file}
            open={open && file.added + file.removed <= most.lines}
          />
        ))}
      </div>
    </div>
  );
}

/** Reads the changes again whenever there may be others. */
function useChanges(run: string, query: Readonly<Record<string, string>>, version: number) {
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
  return { list: list.value, problem: problem.value };
}

function Sum({
  list: { files, more, withheld },
  root,
}: {
  list: ChangeList;
  root: () => HTMLElement | null;
}) {
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);
  return (
    <div class="changes-sum">
      <p class="quiet">
        {countedItems(files.length + more, 'file')} <LineCounts of={{ added, removed }} />
        {more > 0 && ` · the first ${files.length} are listed`}
        {withheld && ' · Patches are withheld until the run has ended: they may contain text of the holdout.'}
      </p>
      {files.length > 0 && (
        <p class="tools">
          <StepButton name="Previous change" keys="p" sign="↑" act={() => step(root(), change, -1)} />
          <StepButton name="Next change" keys="n" sign="↓" act={() => step(root(), change, 1)} />
          <LayoutChoice />
        </p>
      )}
    </div>
  );
}

function StepButton({
  name,
  keys,
  sign,
  act,
}: {
  name: string;
  keys: string;
  sign: string;
  act: () => void;
}) {
  return (
    <button
      type="button"
      class="small"
      aria-label={name}
      aria-keyshortcuts={keys}
      title={`${name} (${keys})`}
      onClick={act}
    >
      {sign}
    </button>
  );
}

function LayoutChoice() {
  return (
    <button
      type="button"
      class="small layout-choice"
      onClick={() => {
        diffLayout.value = diffLayout.value === 'unified' ? 'split' : 'unified';
      }}
    >
      {diffLayout.value === 'unified' ? 'Side by side' : 'Unified'}
    </button>
  );
}

const change = '[data-change]';
const file = '[data-file]';

const stepKeys = (root: () => HTMLElement | null) => ({
  n: () => step(root(), change, 1),
  p: () => step(root(), change, -1),
  N: () => step(root(), file, 1),
  P: () => step(root(), file, -1),
});

/** Focuses the next or the previous change or file: seen from the one that has the focus, else from the top of the window. */
function step(root: HTMLElement | null, what: string, by: 1 | -1): void {
  const all = [...(root?.querySelectorAll<HTMLElement>(what) ?? [])];
  const focused = document.activeElement;
  const inside = focused !== null && root?.contains(focused) && focused.closest('.file-diff') !== null;
  const isBefore = (one: HTMLElement) =>
    inside
      ? one !== focused && (one.compareDocumentPosition(focused) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0
      : one.getBoundingClientRect().top < 0;
  const next = by === 1 ? all.find((one) => one !== focused && !isBefore(one)) : all.findLast(isBefore);
  if (next !== undefined) show(next);
}

function openFile(root: HTMLElement | null, path: string): void {
  const summary = root?.querySelector<HTMLElement>(`[data-file="${CSS.escape(path)}"]`);
  if (summary) show(summary);
}

function show(element: HTMLElement): void {
  element.closest('details')?.setAttribute('open', '');
  element.focus({ preventScroll: true });
  element.scrollIntoView({ block: 'start' });
}
