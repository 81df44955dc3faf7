/** The diff of a file, unified or side by side. What is not in view is neither drawn nor coloured. */
import { signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { FilePatch } from '../../../app/answers.ts';
import type { RunView } from '../../../app/inspect/shapes.ts';
import { api, requestMessage } from '../api.ts';
import { colouredLines } from '../colours.ts';
import { executionPath, promptPath } from '../selection.ts';
import { diffLayout } from '../settings.ts';
import { type CodeToken, lineParts } from '../text/code-tokens.ts';
import { type DiffLine, type DiffPiece, diffPieces, patchLines, sideBySide } from '../text/diff-rows.ts';
import { changedWords } from '../text/diff-words.ts';
import { languageOfPath } from '../text/languages.ts';
import { promptSource } from '../text/prompt-source.ts';
import { CodeParts } from './code.tsx';

const marks = { same: ' ', added: '+', removed: '−', hunk: ' ' } as const;
const signs = { created: 'A', modified: 'M', deleted: 'D' } as const;

/** Of a line, in pixels, as in changes.css. */
const lineHeight = 18;

/** Half of a narrower window is too little for code. */
const narrowWindow = matchMedia('(max-width: 700px)');
const isNarrow = signal(narrowWindow.matches);
narrowWindow.addEventListener('change', () => {
  isNarrow.value = narrowWindow.matches;
});

export function FileDiff({
  run,
  query,
  file: given,
  open,
}: {
  run: RunView;
  query: Readonly<Record<string, string>>;
  file: FilePatch;
  open: boolean;
}) {
  const longer = useSignal<FilePatch | null>(null);
  const problem = useSignal('');
  const shown = useSignal(open);
  const file = longer.value ?? given;
  const more = async () => {
    try {
      const answer = await api.changes(run.run_id, { ...query, path: given.path });
      longer.value = answer.files.find(({ path }) => path === given.path) ?? null;
    } catch (error) {
      problem.value = requestMessage(error);
    }
  };
  return (
    <details
      class="file-diff"
      open={shown.value}
      onToggle={(event) => {
        shown.value = event.currentTarget.open;
      }}
    >
      <summary data-file={file.path} {...(shown.value ? {} : { 'data-change': '' })}>
        <span class={`change-${file.what}`} title={file.what}>
          {signs[file.what]}
        </span>{' '}
        <span class="path">{file.path}</span> <LineCounts of={file} />
      </summary>
      {shown.value && (
        <>
          <Writer run={run} file={file} />
          {file.why_not !== '' && <p class="quiet note">{file.why_not}</p>}
          {file.patch !== '' && <Patch file={file} />}
          {file.cut && (
            <p class="note">
              The patch is longer.{' '}
              <button type="button" class="small" onClick={more}>
                Show more
              </button>{' '}
              {problem.value}
            </p>
          )}
        </>
      )}
    </details>
  );
}

/** Lines that were added and removed. */
export function LineCounts({ of: { added, removed } }: { of: Pick<FilePatch, 'added' | 'removed'> }) {
  return (
    <span class="number">
      {added > 0 && <ins>+{added}</ins>} {removed > 0 && <del>−{removed}</del>}
    </span>
  );
}

/** Which execution wrote the file, and the prompt that asked for it. */
function Writer({ run, file: { by } }: { run: RunView; file: FilePatch }) {
  const writer = run.executions.find(({ node, visit }) => `${node}@${visit}` === by);
  if (by === null || writer === undefined) return null;
  const source = promptSource(run, by);
  return (
    <p class="quiet writer">
      written by <a href={executionPath(run.run_id, writer.node, writer.visit)}>{by}</a>
      {source !== undefined && (
        <>
          {' · '}
          <a href={promptPath(run.run_id, source)}>prompt of {`${source.node}@${source.visit}`}</a>
        </>
      )}
    </p>
  );
}

function Patch({ file: { patch, path, what } }: { file: FilePatch }) {
  const lines = useMemo(() => patchLines(patch), [patch]);
  // A file that is new or gone has one side.
  const look = what === 'modified' && diffLayout.value === 'split' && !isNarrow.value ? 'split' : 'unified';
  return <CodePieces lines={lines} path={path} look={look} label={`Diff of ${path}`} />;
}

/** `plain` is code that is no change: one number for each line. */
type CodeLook = 'unified' | 'split' | 'plain';

/** Lines of a file, of which only what comes near to the view is drawn. */
export function CodePieces({
  lines,
  path,
  look,
  label,
}: {
  lines: readonly DiffLine[];
  path: string;
  look: CodeLook;
  label: string;
}) {
  const pieces = useMemo(() => diffPieces(lines), [lines]);
  return (
    <section class="patch" aria-label={label}>
      {pieces.map((piece) => (
        <Piece key={piece.at} piece={piece} path={path} look={look} />
      ))}
    </section>
  );
}

/** Room for a piece, and the piece once it comes near to the view. */
function Piece({ piece, path, look }: { piece: DiffPiece; path: string; look: CodeLook }) {
  const room = useRef<HTMLDivElement>(null);
  const near = useSignal(false);
  useEffect(() => {
    const { current } = room;
    if (current === null) return;
    const watch = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        near.value = true;
        watch.disconnect();
      },
      { rootMargin: '600px 0px' },
    );
    watch.observe(current);
    return () => watch.disconnect();
  }, []);
  return (
    <div
      ref={room}
      class="piece"
      {...(piece.begins ? { 'data-change': '', tabIndex: -1 } : {})}
      style={{ minHeight: near.value ? '' : `${piece.lines.length * lineHeight}px` }}
    >
      {near.value && <PieceTable lines={piece.lines} path={path} look={look} />}
    </div>
  );
}

function PieceTable({ lines, path, look }: { lines: readonly DiffLine[]; path: string; look: CodeLook }) {
  const words = useMemo(() => changedWords(lines), [lines]);
  const tokens = tokensOf(lines, languageOfPath(path));
  const text = (line: DiffLine) => (
    <CodeParts parts={lineParts(line.text, tokens.get(line), words.get(line) ?? [])} />
  );
  const columns = {
    split: ['line-number', '', 'line-number', ''],
    unified: ['line-number', 'line-number', 'mark', ''],
    plain: ['line-number', ''],
  }[look];
  return (
    <table class={look}>
      <colgroup>
        {columns.map((column, at) => (
          <col key={at} class={column} />
        ))}
      </colgroup>
      <tbody>
        {look === 'split'
          ? sideBySide(lines).map(([before, after], at) => SplitRow({ before, after, at, text }))
          : lines.map((line, at) => (
              <tr key={at} class={line.kind}>
                {look === 'unified' && <td class="line-number">{line.before}</td>}
                <td class="line-number">{line.after}</td>
                {look === 'unified' && <td class="mark">{marks[line.kind]}</td>}
                <td class="text">{line.kind === 'hunk' ? line.text : text(line)}</td>
              </tr>
            ))}
      </tbody>
    </table>
  );
}

/** The coloured lines of both sides: each side is a text by itself. */
function tokensOf(
  lines: readonly DiffLine[],
  language: string | undefined,
): ReadonlyMap<DiffLine, readonly CodeToken[]> {
  const tokens = new Map<DiffLine, readonly CodeToken[]>();
  for (const other of ['removed', 'added'] as const) {
    const side = lines.filter(({ kind }) => kind === 'same' || kind === other);
    if (other === 'removed' && !side.some(({ kind }) => kind === other)) continue;
    const coloured = colouredLines(side.map(({ text }) => text).join('\n'), language);
    for (const [at, line] of side.entries()) {
      const of = coloured?.[at];
      if (of !== undefined) tokens.set(line, of);
    }
  }
  return tokens;
}

function SplitRow({
  before,
  after,
  at,
  text,
}: {
  before: DiffLine | null;
  after: DiffLine | null;
  at: number;
  text: (line: DiffLine) => ComponentChildren;
}) {
  if (before?.kind === 'hunk')
    return (
      <tr key={at} class="hunk">
        <td class="line-number" />
        <td class="text" colSpan={3}>
          {before.text}
        </td>
      </tr>
    );
  return (
    <tr key={at}>
      <td class="line-number">{before?.before}</td>
      <td class={`text ${before?.kind ?? 'nothing'}`}>{before && text(before)}</td>
      <td class="line-number">{after?.after}</td>
      <td class={`text ${after?.kind ?? 'nothing'}`}>{after && text(after)}</td>
    </tr>
  );
}
