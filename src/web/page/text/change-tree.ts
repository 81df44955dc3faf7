/** Changed files as a tree: folders with what changed in them. */

interface ChangedFile {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
}

/** A folder or a file, in the order in which the tree is read. */
export interface ChangeTreeRow<File> {
  /** `src/web` for a folder that has nothing but another one. */
  readonly name: string;
  readonly path: string;
  readonly depth: number;
  /** Null for a folder. */
  readonly file: File | null;
  /** Of a folder: of all files in it. */
  readonly files: number;
  readonly added: number;
  readonly removed: number;
}

interface Folder<File> {
  readonly name: string;
  readonly folders: Map<string, Folder<File>>;
  readonly files: (readonly [name: string, file: File])[];
}

/** The rows of the tree of `files`, folders before the files next to them. */
export function changeTree<File extends ChangedFile>(files: readonly File[]): readonly ChangeTreeRow<File>[] {
  const top: Folder<File> = { name: '', folders: new Map(), files: [] };
  for (const file of files) {
    const names = file.path.split('/');
    const last = names.pop() ?? '';
    let folder = top;
    for (const name of names) {
      const inner: Folder<File> = folder.folders.get(name) ?? { name, folders: new Map(), files: [] };
      folder.folders.set(name, inner);
      folder = inner;
    }
    folder.files.push([last, file]);
  }
  return rowsIn(top, '', 0);
}

function rowsIn<File extends ChangedFile>(
  folder: Folder<File>,
  above: string,
  depth: number,
): readonly ChangeTreeRow<File>[] {
  const folders = [...folder.folders.values()].flatMap((first) => {
    const names = [first.name];
    let inner = first;
    while (inner.files.length === 0 && inner.folders.size === 1) {
      for (const only of inner.folders.values()) inner = only;
      names.push(inner.name);
    }
    const name = names.join('/');
    const path = above + name;
    const rows = rowsIn(inner, `${path}/`, depth + 1);
    const own = rows.filter(({ file }) => file !== null);
    const sum = (what: 'added' | 'removed') => own.reduce((all, row) => all + row[what], 0);
    return [
      { name, path, depth, file: null, files: own.length, added: sum('added'), removed: sum('removed') },
      ...rows,
    ];
  });
  const files = folder.files.map(([name, file]) => ({
    ...{ name, path: file.path, depth, file, files: 1, added: file.added, removed: file.removed },
  }));
  return [...folders, ...files];
}
