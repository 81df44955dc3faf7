/** What is there by the time a command runs: the repository's files, and what the orders up to then have promised. */
import { normalizePath } from '../model/work-order.ts';

/** What is known of the npm packages in a repository. */
export type Npm = {
  /** The names that its package.json declares, its own, and those installed beside it. */
  readonly packages: readonly string[];
  /** The programs installed with them. */
  readonly tools: readonly string[];
};

export class ByThen {
  private readonly files: Set<string>;
  private readonly folders = new Set<string>();
  private manifestIsOpen = false;

  constructor(
    repoFiles: Iterable<string>,
    private readonly npm: Npm | undefined,
  ) {
    this.files = new Set();
    for (const file of repoFiles) this.add(file);
  }

  /** `path`, in normal form, is there from now on. */
  add(path: string): void {
    this.files.add(path);
    for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1))
      this.folders.add(path.slice(0, at));
  }

  /** From now on package.json may say what nobody knows yet. */
  openManifest(): void {
    this.manifestIsOpen = true;
  }

  file(path: string): boolean {
    return this.files.has(normalizePath(path));
  }

  /** Whether something is below it. */
  folder(path: string): boolean {
    const normal = normalizePath(path);
    return normal === '.' || this.folders.has(normal);
  }

  /** Whether `name` lies in `folder` or in one that contains it. */
  above(folder: string, name: string): boolean {
    for (let at = normalizePath(folder); ; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) {
      if (this.file(at === '' ? name : `${at}/${name}`)) return true;
      if (at === '' || at === '.') return false;
    }
  }

  /** As `require` looks for a path; `import` wants the file's own name. */
  module(path: string, how: 'require' | 'import'): boolean {
    if (how === 'import') return this.file(path);
    const endings = ['', '.js', '.json', '.node', '/index.js', '/index.json', '/index.node', '/package.json'];
    return endings.some((ending) => this.file(`${path}${ending}`));
  }

  /** Whether a package can be there; true as well when nothing is known of it. */
  package(name: string): boolean {
    if (this.manifestIsOpen) return true;
    if (this.npm !== undefined) return this.npm.packages.includes(name);
    return this.file('package.json');
  }

  tool(name: string): boolean {
    return this.package(name) || (this.npm?.tools.includes(name) ?? false);
  }
}
