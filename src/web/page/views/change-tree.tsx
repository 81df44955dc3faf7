/** The changed files as a tree: each leads to its diff. */
import type { FilePatch } from '../../../app/answers.ts';
import { countedItems } from '../../../core/amounts.ts';
import type { ChangeTreeRow } from '../text/change-tree.ts';
import { LineCounts } from './diff.tsx';

/** The part of an address that names a file of the changes. */
export const fileFragment = (path: string): string => `#file=${encodeURIComponent(path)}`;

export function ChangeTree({
  rows,
  reveal,
}: {
  rows: readonly ChangeTreeRow<FilePatch>[];
  reveal: (path: string) => void;
}) {
  return (
    <nav class="change-tree" aria-label="Changed files">
      <ul>
        {rows.map(({ name, path, depth, file, files: inside, added, removed }) => (
          <li
            key={`${path} ${file === null}`}
            style={{ paddingLeft: `${depth * 12}px` }}
            class={file === null ? 'folder' : ''}
          >
            {file === null ? (
              <span class="path quiet" title={countedItems(inside, 'file')}>
                {name}/
              </span>
            ) : (
              <a
                class={`path change-${file.what}`}
                href={fileFragment(path)}
                title={path}
                onClick={() => reveal(path)}
              >
                {name}
              </a>
            )}
            <LineCounts of={{ added, removed }} />
          </li>
        ))}
      </ul>
    </nav>
  );
}
