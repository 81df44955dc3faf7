/** The diff of a file, unified or side by side. */
import { useSignal } from '@preact/signals';
import type { FilePatch } from '../../../app/answers.ts';
import { api, requestMessage } from '../api.ts';
import { diffLayout } from '../settings.ts';
import { type DiffLine, patchLines, sideBySide } from '../text/diff-rows.ts';

const marks = { same: ' ', added: '+', removed: '−', hunk: ' ' } as const;
const signs = { created: 'A', modified: 'M', deleted: 'D' } as const;

export function FileDiff({
  run,
  query,
  file: given,
  open,
}: {
  run: string;
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
      const answer = await api.changes(run, { ...query, path: given.path });
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
      <summary>
        <span class={`change-${file.what}`} title={file.what}>
          {signs[file.what]}
        </span>{' '}
        <span class="path">{file.path}</span>{' '}
        <span class="quiet">
          <ins>+{file.added}</ins> <del>−{file.removed}</del>
        </span>
      </summary>
      {shown.value && (
        <>
          {file.why_not !== '' && <p class="quiet note">{file.why_not}</p>}
          {file.patch !== '' && <Patch patch={file.patch} path={file.path} />}
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

function Patch({ patch, path }: { patch: string; path: string }) {
  const lines = patchLines(patch);
  const split = diffLayout.value === 'split';
  return (
    <section class="patch" tabIndex={0} aria-label={`Diff of ${path}`}>
      <table class={split ? 'split' : 'unified'}>
        <tbody>{split ? sideBySide(lines).map(SplitRow) : lines.map(UnifiedRow)}</tbody>
      </table>
    </section>
  );
}

function UnifiedRow(line: DiffLine, index: number) {
  return (
    <tr key={index} class={line.kind}>
      <td class="line-number">{line.before}</td>
      <td class="line-number">{line.after}</td>
      <td class="mark">{marks[line.kind]}</td>
      <td class="text">{line.text}</td>
    </tr>
  );
}

function SplitRow([before, after]: readonly [DiffLine | null, DiffLine | null], index: number) {
  if (before?.kind === 'hunk')
    return (
      <tr key={index} class="hunk">
        <td class="line-number" />
        <td class="text" colSpan={3}>
          {before.text}
        </td>
      </tr>
    );
  return (
    <tr key={index}>
      <td class="line-number">{before?.before}</td>
      <td class={`text ${before?.kind ?? 'nothing'}`}>{before?.text}</td>
      <td class="line-number">{after?.after}</td>
      <td class={`text ${after?.kind ?? 'nothing'}`}>{after?.text}</td>
    </tr>
  );
}
