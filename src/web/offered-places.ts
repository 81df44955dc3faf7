/** Which folders and files a request may name: those below the roots of the server, by their real paths. */
import { realpathSync, statSync } from 'node:fs';
import { relative, resolve, sep } from 'node:path';
import { knownHoldouts } from '../app/named-holdouts.ts';
import { isWithin, realOrSame } from '../workspace/roots.ts';

export type OfferedPlaces = {
  /** Absolute and real. */
  readonly roots: readonly string[];
  /** Absolute. */
  readonly runsDir: string;
  /** Whether a holdout that a request has named may be named, too. */
  readonly allowsHoldouts?: boolean;
};

/** The real path, or why it is not offered: the end of a sentence that begins with the path. */
export type OfferedPlace = { readonly real: string } | { readonly why: string };

type Kind = 'file' | 'folder';

const outside = 'is not below a folder that this server offers';

/** The folder or file `path`, relative to `from`. Nothing is looked at outside of the roots, except by a symbolic link, whose target must
 *  be below them too. */
export function offeredPlace(path: string, from: string, kind: Kind, places: OfferedPlaces): OfferedPlace {
  if (path.includes('\0')) return { why: outside };
  const named = resolve(from, path);
  const why = hiddenBelow(named, places.roots);
  if (why !== undefined) return { why };
  const real = realKind(named, kind);
  if (real === undefined) return { why: `is no ${kind}` };
  const place = hiddenBelow(real, places.roots) ?? takenPlace(real, places);
  return place === undefined ? { real } : { why: place };
}

/** Why nothing is read there: it belongs to runs. */
function takenPlace(real: string, { runsDir, allowsHoldouts = false }: OfferedPlaces): string | undefined {
  if (isWithin(realOrSame(runsDir), real)) return 'is in the runs directory';
  if (!allowsHoldouts && knownHoldouts(runsDir).some((holdout) => isWithin(holdout, real)))
    return 'belongs to the holdout of a run';
  return undefined;
}

/** Undefined for a path below a root without a name that begins with a dot. */
function hiddenBelow(path: string, roots: readonly string[]): string | undefined {
  const above = roots.filter((root) => isWithin(root, path));
  if (above.length === 0) return outside;
  const isSeen = above.some(
    (root) =>
      !relative(root, path)
        .split(sep)
        .some((name) => name.startsWith('.')),
  );
  return isSeen ? undefined : 'has a name that begins with a dot';
}

function realKind(path: string, kind: Kind): string | undefined {
  try {
    const real = realpathSync.native(path);
    const is = statSync(real);
    return (kind === 'folder' ? is.isDirectory() : is.isFile()) ? real : undefined;
  } catch {
    return undefined;
  }
}
