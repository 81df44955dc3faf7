/** What of a product is mutated: files under git, and of them the lines that were changed since a commit. */
import type { Git } from '../../platform/git.ts';

export type SourceFile = {
  /** A slash path. */
  readonly path: string;
  /** The lines that count, from 1; without it all do. */
  readonly lines?: ReadonlySet<number>;
};

export type StrengthSubject = {
  /** The product's folder; absolute. */
  readonly app: string;
  readonly files: readonly SourceFile[];
  /** Slash paths of files that git neither has nor ignores. */
  readonly untracked: readonly string[];
  /** Slash paths of folders that git ignores, the topmost of each. */
  readonly ignored: readonly string[];
  /** The work order that wrote a line; null if none did. */
  readonly orderOf: (path: string, line: number) => Promise<string | null>;
};

/** The product in the folder where `git` runs. `base`: the commit before the work; without it all lines count. */
export async function subjectInGit(
  app: string,
  git: Git,
  { base, isSought }: { readonly base?: string | undefined; readonly isSought: (path: string) => boolean },
): Promise<StrengthSubject> {
  const tracked = await git.list(['ls-files', '-z', '--cached']);
  const paths = [...new Set(tracked)].filter(isSought).sort();
  const untracked = await git.list(['ls-files', '-z', '--others', '--exclude-standard']);
  const ignored = await git.list([
    'ls-files',
    '-z',
    '--others',
    '--ignored',
    '--exclude-standard',
    '--directory',
  ]);
  return {
    app,
    files: base === undefined ? paths.map((path) => ({ path })) : await changedFiles(git, base, paths),
    untracked: untracked.filter((path) => !path.endsWith('/') && isSought(path)),
    ignored: ignored.filter((path) => path.endsWith('/')).map((path) => path.replace(/\/+$/, '')),
    orderOf: ordersIn(git),
  };
}

/** As text: attributes of the product must not hide changed lines. */
const plain = ['--text', '--no-ext-diff', '--no-textconv', '--no-color', '--no-renames', '--relative'];

async function changedFiles(
  git: Git,
  base: string,
  paths: readonly string[],
): Promise<readonly SourceFile[]> {
  const names = new Set(
    await git.list(['diff', ...plain, '--name-only', '-z', '--diff-filter=d', base, '--']),
  );
  const files: SourceFile[] = [];
  for (const path of paths.filter((one) => names.has(one))) {
    const hunks = await git.text(['diff', ...plain, '--unified=0', base, '--', `:(literal)${path}`]);
    files.push({ path, lines: linesAdded(hunks) });
  }
  return files;
}

/** The lines of the new file that the hunks of a difference without context add. */
export function linesAdded(hunks: string): ReadonlySet<number> {
  const ranges = [...hunks.matchAll(/^@@ -\S+ \+(\d+)(?:,(\d+))? @@/gm)];
  return new Set(
    ranges.flatMap(([, first, count = '1']) =>
      Array.from({ length: Number(count) }, (_, n) => Number(first) + n),
    ),
  );
}

/** By the trailer that commits of work orders have. `at`: the commit whose lines are meant; without it those of the files. */
export function ordersIn(git: Git, at?: string): StrengthSubject['orderOf'] {
  const files = new Map<string, Promise<ReadonlyMap<number, string>>>();
  const orders = new Map<string, Promise<string | null>>();
  const known = <K, V>(map: Map<K, V>, key: K, make: () => V): V => {
    const value = map.get(key) ?? make();
    map.set(key, value);
    return value;
  };
  return async (path, line) => {
    const commits = await known(files, path, () => commitsOfLines(git, path, at));
    const commit = commits.get(line);
    return commit === undefined ? null : known(orders, commit, () => orderOfCommit(git, commit));
  };
}

async function commitsOfLines(
  git: Git,
  path: string,
  at: string | undefined,
): Promise<ReadonlyMap<number, string>> {
  const blamed = await git.run(['blame', '--porcelain', ...(at === undefined ? [] : [at]), '--', path]);
  const heads = blamed.ok ? [...blamed.text.matchAll(/^([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?$/gm)] : [];
  return new Map(
    heads.flatMap(([, commit = '', line]) => (/^0+$/.test(commit) ? [] : [[Number(line), commit] as const])),
  );
}

/** Its subject, which begins with the order's id. */
async function orderOfCommit(git: Git, commit: string): Promise<string | null> {
  const format = '--format=%s%x00%(trailers:key=Work-Order,valueonly,separator=%x2C)';
  const shown = await git.run(['show', '--no-patch', format, commit]);
  const [subject = '', order = ''] = shown.ok ? shown.text.split('\0') : [];
  if (order.trim() === '') return null;
  return subject.startsWith(`${order.trim()}:`) ? subject : `${order.trim()}: ${subject}`;
}
