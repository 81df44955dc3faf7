/** The author of the run's commits. */
import { type Environment, sourceGit } from '../system/git.ts';

export type Author = { readonly name: string; readonly email: string };

/** Used if the source repository has no identity. Existing tools know builds of work orders by this name. */
export const fixedAuthor: Author = { name: 'llm-compiler', email: 'llm-compiler@noreply.local' };

/** The identity that git would use in `workdir` (environment, repository, user); without one, `fixedAuthor`. */
export async function authorOf(workdir: string, env: Environment): Promise<Author> {
  const git = sourceGit(workdir, env);
  const listed = await git
    .list(['config', '-z', '--get-regexp', '^(user|author)\\.(name|email)$'])
    .catch(() => []);
  // Each entry is a key, a newline and a value; the last value of a key counts.
  const settings = new Map(
    listed.map((entry) => [entry.split('\n', 1)[0], entry.slice(entry.indexOf('\n') + 1)]),
  );
  const first = (...words: readonly (string | undefined)[]): string =>
    words.map(clean).find((word) => word !== '') ?? '';
  const name = first(env['GIT_AUTHOR_NAME'], settings.get('author.name'), settings.get('user.name'));
  const email = first(env['GIT_AUTHOR_EMAIL'], settings.get('author.email'), settings.get('user.email'));
  return name === '' || email === '' ? fixedAuthor : { name, email };
}

/** The name as git would store it; empty if it has only dots, quotes and the like, which git rejects. */
function clean(word: string | undefined): string {
  const kept = (word ?? '').replace(/[<>\r\n\0]/g, '').trim();
  return /^[\x00-\x20.,:;"'\\]*$/.test(kept) ? '' : kept;
}
