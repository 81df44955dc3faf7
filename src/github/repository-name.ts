/** The repository that is meant: as typed, or as the address of a git remote names it. */

/** `OWNER/REPO`. */
export type RepositoryName = { readonly owner: string; readonly repo: string };

export const repositoryText = ({ owner, repo }: RepositoryName): string => `${owner}/${repo}`;

/** The path of its resources in the API. */
export const repositoryPath = ({ owner, repo }: RepositoryName): string => `/repos/${owner}/${repo}`;

const ownerForm = /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,99})$/;
const repoForm = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/;

/** Reads `OWNER/REPO`; undefined for another text. */
export function repositoryNamed(text: string): RepositoryName | undefined {
  const [owner = '', repo = '', ...more] = text.split('/');
  return more.length === 0 && ownerForm.test(owner) && repoForm.test(repo) ? { owner, repo } : undefined;
}

export type RemotePlace = RepositoryName & {
  /** In small letters, without a port. */
  readonly host: string;
};

/** Reads the address of a remote: `https://HOST/OWNER/REPO.git`, `ssh://git@HOST:22/OWNER/REPO`, `git@HOST:OWNER/REPO.git`. */
export function remotePlace(address: string): RemotePlace | undefined {
  const text = address.trim();
  const scp = /^(?:[^@/\s]+@)?([^:/@\s[\]]+):(?!\/\/)\/?(.+)$/.exec(text);
  const isUrl = /^(?:https?|ssh|git(?:\+ssh)?):\/\//i.test(text) && URL.canParse(text);
  const url = isUrl ? new URL(text) : undefined;
  const [host, path] = url === undefined ? [scp?.[1], scp?.[2]] : [url.hostname, url.pathname];
  const name = repositoryNamed((path ?? '').replace(/^\/+|\/+$/g, '').replace(/\.git$/, ''));
  return host === undefined || name === undefined ? undefined : { ...name, host: host.toLowerCase() };
}
