/** Texts of two runs of one pipeline, made comparable: what differs only by where and when a run was is the same. */

/** A run, as its texts name it. */
export type Place = {
  readonly runId: string;
  /** Absolute names of its directory. */
  readonly dirs: readonly string[];
};

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** The text with these folders called `<run>`. */
const withoutFolders = (text: string, dirs: readonly string[]): string =>
  dirs.reduce(
    (so, dir) =>
      dir === '' || !so.includes(dir)
        ? so
        : so.replace(new RegExp(`${escaped(dir)}(?![A-Za-z0-9_-])`, 'g'), '<run>'),
    text,
  );

/** Two ways of spelling: for texts of the recorded run and for those of the run that follows it. Both may name runs that
 *  the recorded one was made from. */
export function spellings(
  recorded: Place,
  following: Place,
  ancestors: readonly Place[],
): { readonly was: (text: string) => string; readonly is: (text: string) => string } {
  const dirs = [...new Set([recorded, following, ...ancestors].flatMap((place) => place.dirs))].sort(
    (a, b) => b.length - a.length,
  );
  // An id may be a word that occurs anywhere ("try again"), so both sides are spelled in the same way.
  const spelled = (text: string) =>
    [...ancestors, following].reduce(
      (so, { runId }) => renamed(so, runId, recorded.runId),
      withoutFolders(text, dirs),
    );
  return { was: spelled, is: spelled };
}

/** The text with one run's id in place of the other's, where it stands as a word of its own. */
const renamed = (text: string, from: string, to: string): string =>
  from === to || !text.includes(from)
    ? text
    : text.replace(new RegExp(`(?<![A-Za-z0-9_])${escaped(from)}(?![A-Za-z0-9_])`, 'g'), () => to);

/** The text with moments, lengths of time and process ids made alike. */
export const withoutTimes = (text: string): string =>
  text
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?/g, '<time>')
    .replace(/\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b/g, '<time>')
    .replace(/((?:_ms|elapsed|duration)\w{0,20}"?[ \t]*[:=]?[ \t]*)\d+(?:\.\d+)?/g, '$1<duration>')
    .replace(/\b\d+(?:\.\d+)?[ \t]?(?:ms|µs|us|ns)\b/g, '<duration>')
    .replace(/\b\d+\.\d+[ \t]?(?:s|secs?|seconds)\b/g, '<duration>')
    .replace(/\b(pid[ \t]*[:=]?[ \t]*)\d+/gi, '$1<pid>');

/** The text with ids of git objects made alike: a commit's depends on when it was made. */
export const withoutCommits = (text: string): string =>
  text.replace(/(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])/g, '<commit>');
