/** Copies of the product in which mutants are judged. */
import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { isAtOrBelow } from '../../core/policy/holdout-paths.ts';
import { sha256 } from '../../core/sha256.ts';
import { removeTree } from '../../platform/files/remove.ts';
import { type ChangedTexts, placeProduct, type ShownFiles } from '../floor/shown-files.ts';
import type { PhaseHost } from '../launch/product.ts';
import type { ProductMount } from '../sites.ts';
import { endedWell, runInProduct } from './command.ts';

/** The product that copies are made of: built, if it has to be. */
export type BaseProduct = {
  /** Without git's and the engine's folders, scenarios and caches. */
  readonly folder: string;
  readonly mounts: readonly ProductMount[];
  /** Of all that it consists of, before it was built. */
  readonly hash: string;
  /** Milliseconds of its newest file. */
  readonly newest: number;
  /** How it is built again. */
  readonly build?: {
    readonly command: string;
    /** Has the caches of the first build, which make the next one fast. */
    readonly scratch: string;
    readonly limitMs: number;
  };
};

export type BaseRequest = {
  readonly app: string;
  /** Absolute paths that are not copied. */
  readonly except: readonly string[];
  readonly mounts: readonly ProductMount[];
  readonly build: string | undefined;
  readonly timeoutMs: number;
  /** An empty folder for it. */
  readonly place: string;
};

/** Copies the product and builds it. */
export async function makeBase(
  { app, except, mounts, build, timeoutMs, place }: BaseRequest,
  host: PhaseHost,
): Promise<BaseProduct | { readonly problem: string; readonly isInfra: boolean }> {
  const folder = join(place, 'app');
  await host.copyProduct(app, folder, [...except, ...mounts.map(({ path }) => join(app, path))]);
  const copied = await inspected(folder);
  const hash = sha256(
    JSON.stringify([copied.hash, ...mounts.map(({ path, source }) => [path, factsOf(source)])]),
  );
  const base = { folder, mounts, hash, newest: copied.newest };
  if (build === undefined) return base;
  const scratch = join(place, 'build');
  await mkdir(scratch);
  const began = host.clock.monotonic();
  const ended = await runInProduct({ command: build, app: folder, mounts, scratch, timeoutMs }, host);
  if (!endedWell(ended.exit)) return { problem: `the build fails: ${ended.why}`, isInfra: ended.isInfra };
  const limitMs = Math.min(limitAfter(host.clock.monotonic() - began), timeoutMs);
  const { newest } = await inspected(folder);
  return { ...base, newest, build: { command: build, scratch, limitMs } };
}

/** Longer than it took, also on a machine that has become busy. */
export const limitAfter = (ms: number): number => 3 * ms + 5000;

/** Removes Python's caches, which may hide a change of their source, and answers what is left. */
async function inspected(folder: string): Promise<{ readonly hash: string; readonly newest: number }> {
  const facts: string[] = [];
  let newest = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory() && entry.name === '__pycache__') await removeTree(path);
    const is = lstatSync(path, { throwIfNoEntry: false });
    if (is?.isFile() !== true) continue;
    newest = Math.max(newest, is.mtimeMs);
    facts.push(`${relative(folder, path)}\0${is.mode}\0${sha256(readFileSync(path))}`);
  }
  return { hash: sha256(facts.sort().join('\n')), newest };
}

/** Names, sizes and times: contents of dependencies would take seconds. */
const factsOf = (folder: string): string =>
  sha256(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .sort()
      .map((name) => {
        const is = lstatSync(join(folder, name), { throwIfNoEntry: false });
        return `${name}\0${is?.isFile() === true ? `${is.size} ${is.mtimeMs}` : ''}`;
      })
      .join('\n'),
  );

/** A variant of the product: the other texts of its files. */
export type Variant = ChangedTexts['texts'];

/** Why a variant was not judged. `infra`: nothing follows for the variant. */
export type Unbuilt = { readonly what: 'not_built' | 'infra'; readonly why: string };

/** Runs `act` with the variant: the folder of a product, and what in it is to be changed for each copy of it. `place`: an existing folder
 *  of this judgement alone. */
export async function withVariant<T>(
  { folder, mounts, newest, build }: BaseProduct,
  variant: Variant,
  place: string,
  host: PhaseHost,
  act: (app: string, files: ShownFiles) => Promise<T>,
): Promise<T | Unbuilt> {
  const files = variant.size === 0 ? 'whole' : { texts: variant, newerThan: newest };
  if (build === undefined) return act(folder, files);
  const at = join(place, `built-${randomBytes(8).toString('hex')}`);
  const [app, scratch] = [join(at, 'app'), join(at, 'build')];
  await mkdir(scratch, { recursive: true });
  await placeProduct(() => host.copyProduct(folder, app, []), app, files);
  const home = join(build.scratch, 'home');
  if (existsSync(home)) await host.copyProduct(home, join(scratch, 'home'), []);
  const { exit, why, isInfra } = await runInProduct(
    { command: build.command, app, mounts, scratch, timeoutMs: build.limitMs },
    host,
  );
  if (!endedWell(exit)) {
    // A build that takes too long does so on a busy machine too.
    const isOpen = isInfra || exit.kind === 'timed_out';
    return { what: isOpen ? 'infra' : 'not_built', why: `the build fails: ${why}` };
  }
  return act(app, 'whole');
}

/** Bytes from which a folder is mounted instead of copied. */
const worthMounting = { bytes: 4 * 1024 ** 2, files: 300 };
const dependencyNames: ReadonlySet<string> = new Set(
  'node_modules .venv venv env site-packages vendor bower_components .yarn .pnpm-store jspm_packages deps'.split(
    ' ',
  ),
);

/** Which ignored folders may be mounted, from the most to none: a product that writes into one of them fails, and then it is
 *  copied. */
export function mountChoices(
  app: string,
  ignored: readonly string[],
  except: readonly string[],
): readonly (readonly ProductMount[])[] {
  const mounts = ignored.flatMap((path) => {
    const source = join(app, path);
    if (lstatSync(source, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
    const inUse = except.some((one) => isAtOrBelow(one, source) || isAtOrBelow(source, one));
    if (inUse || (!isDependency(path) && hasCaches(source)) || !isWorthMounting(source)) return [];
    return [{ path, source: realpathSync(source) }];
  });
  const known = mounts.filter(({ path }) => isDependency(path));
  return [...(known.length < mounts.length ? [mounts] : []), ...(known.length > 0 ? [known] : []), []];
}

const isDependency = (path: string): boolean => dependencyNames.has(basename(path));

/** Python's, which are never shown. */
const hasCaches = (folder: string): boolean =>
  basename(folder) === '__pycache__' ||
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).some((name) => basename(name) === '__pycache__');

function isWorthMounting(folder: string): boolean {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  if (names.length > worthMounting.files) return true;
  const bytes = names.reduce(
    (sum, name) => sum + (lstatSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
  return bytes > worthMounting.bytes;
}
