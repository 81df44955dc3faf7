/** Which paths of a workspace hold what programs can make again: what a `.gitignore` ignores, with or without a repository, what
 *  Python has compiled, and folders that are tagged as caches. */
import { lastMatch } from './ignore.ts';
import { Folder, type FolderTree } from './tree.ts';

/** The beginning of a `CACHEDIR.TAG` (https://bford.info/cachedir/). */
const signature = 'Signature: 8a477f597d28d172789f06886806bc55';

/** Bytes of a list that is read; larger ones are data. */
const mostBytes = 1024 * 1024;

type Facts = {
  /** By paths relative to the folder; undefined where it has no list. */
  readonly ignores: ReturnType<typeof lastMatch> | undefined;
  readonly isTagged: boolean;
};

export class CachePaths {
  private readonly known = new WeakMap<Folder, Promise<Facts>>();

  constructor(private readonly read: (hash: string) => Promise<Buffer>) {}

  /** Whether the path is a cache by what the tree has; it need not be in the tree. */
  async has(tree: FolderTree, path: string, isFolder: boolean): Promise<boolean> {
    const names = path.split('/');
    const lists: { readonly depth: number; readonly ignores: NonNullable<Facts['ignores']> }[] = [];
    let at: Folder | undefined = tree.top;
    for (const [depth, name] of names.entries()) {
      const facts = at === undefined ? undefined : await this.factsOf(at);
      if (facts?.isTagged === true) return true;
      if (facts?.ignores !== undefined) lists.unshift({ depth, ignores: facts.ignores });
      const isDir = depth < names.length - 1 || isFolder;
      if (isDir && name === '__pycache__') return true;
      // The list that is nearest to a path decides; what is in an ignored folder cannot be taken back.
      const answers = lists.map((list) => list.ignores(names.slice(list.depth, depth + 1).join('/'), isDir));
      if (answers.find((one) => one !== undefined) === true) return true;
      const item: unknown = at?.items.get(name);
      at = item instanceof Folder ? item : undefined;
    }
    return at !== undefined && (await this.factsOf(at)).isTagged;
  }

  private factsOf(folder: Folder): Promise<Facts> {
    const known = this.known.get(folder) ?? this.readFacts(folder);
    this.known.set(folder, known);
    return known;
  }

  private async readFacts(folder: Folder): Promise<Facts> {
    const list = await this.textOf(folder, '.gitignore');
    const tag = await this.textOf(folder, 'CACHEDIR.TAG');
    return {
      ignores: list === undefined ? undefined : lastMatch(list),
      isTagged: tag?.startsWith(signature) === true,
    };
  }

  private async textOf({ items }: Folder, name: string): Promise<string | undefined> {
    const item = items.get(name);
    if (item?.kind !== 'file' || item.hash === undefined || (item.size ?? 0) > mostBytes) return undefined;
    return (await this.read(item.hash)).toString('utf8');
  }
}
