/** What looks like a secret whatever its name is: the password of a URL, a PEM block, a JSON web token, a published token form. */
import { endsAsSecret } from './secret-names.ts';

/** Prefixes that vendors have published for their tokens, so that they are recognised. After them at least eight characters, one of
 *  them a digit or a capital. Others are named by `secrets`. */
const prefixes = `
  gh[pousr]_ github_pat_ glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glagent- xox[a-z]- xapp- whsec_ [sr]k_live_ [sr]k_test_ sk-ant-
  sk-proj- AIza ya29\\. GOCSPX- pypi- hf_ do[opr]_v1_ shp(?:at|ca|pa|ss)_ dp\\.(?:pt|st|ct|sa)\\. lin_api_ ntn_ hv[sbr]\\.
  pscale_(?:tkn|pw|oauth)_ PMAK- NRAK- gl(?:sa|c)_ sntry[su]_ sbp_ nfp_ r8_ gsk_ xai- pplx- AT(?:A|C)TT3x ATBB sq0(?:atp|csp)-
  rubygems_ dckr_(?:pat|oat)_ AGE-SECRET-KEY-1 tskey- figd_ bkua_ ccipat_ lsv2_pt_ pul-
`
  .trim()
  .split(/\s+/)
  .join('|');

const tokens = new RegExp(
  [
    `(?<![A-Za-z0-9])(?:${prefixes})(?=[\\w.+/=-]{0,64}[0-9A-Z])[\\w.+/=-]{8,}`,
    // Of these the prefix alone is too common.
    '(?<![A-Za-z0-9])sk-(?=[\\w-]{0,64}\\d)[\\w-]{16,}',
    '(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])',
    '(?<![A-Za-z0-9])npm_[A-Za-z0-9]{30,}',
    '(?<![A-Za-z0-9])SG\\.[\\w-]{16,}\\.[\\w-]{16,}',
    '(?<![A-Za-z0-9])(?:SK|dapi|key-)[0-9a-f]{32}(?![A-Za-z0-9])',
    '(?<![A-Za-z0-9])\\d{8,10}:[\\w-]{35}(?![\\w-])',
    '(?<![A-Za-z0-9])\\w{14}\\.atlasv1\\.[\\w-]{30,}',
    // A JSON web token; its header is base64 of a JSON object.
    '(?<![A-Za-z0-9])eyJ[\\w-]{8,}\\.[\\w-]{8,}\\.[\\w.-]*',
    // A PEM block, and one in base64.
    '-----BEGIN [^-]{1,80}-----[\\s\\S]+?(?:-----END [^-]{1,80}-----|$)',
    '(?<![A-Za-z0-9+/])LS0tLS1CRUdJTi[A-Za-z0-9+/]+={0,2}',
  ].join('|'),
  'g',
);

/** The parts of a value that are secrets by their shape. */
export const secretParts = (value: string): readonly string[] => [
  ...urlsIn(value).flatMap(({ passwords }) => passwords),
  ...(value.match(tokens) ?? []).flatMap((token) => [token, token.replaceAll('\\n', '\n')]),
  ...parametersIn(value),
];

/** A URL with what follows its scheme. */
export type FoundUrl = {
  readonly text: string;
  readonly user: string;
  /** Texts by which its password is found in other texts; empty without one. */
  readonly passwords: readonly string[];
  readonly path: string;
};

/** The URLs in a text. A scheme is short: a search for a long one would take quadratic time. */
export const urlsIn = (text: string): readonly FoundUrl[] =>
  [
    ...text.matchAll(
      /(?<![A-Za-z0-9+.-])[a-z][a-z0-9+.:-]{0,30}:\/\/((?:(?![,;|][a-z][a-z0-9+.-]{0,30}:\/\/)[^\s"'`<>])+)/gi,
    ),
  ].map(([url, rest = '']) => urlOf(url, rest));

function urlOf(text: string, rest: string): FoundUrl {
  const end = rest.search(/[/?#]/);
  const authority = end < 0 ? rest : rest.slice(0, end);
  // A password may hold a `/` that should have been encoded; a port holds digits only.
  const at = authority.includes('@')
    ? authority.lastIndexOf('@')
    : /^[^:[]*:(?!\d*$)./.test(authority)
      ? rest.lastIndexOf('@')
      : -1;
  if (at < 0) return { text, user: '', passwords: [], path: end < 0 ? '' : rest.slice(end) };
  const [user = ''] = rest.slice(0, at).split(':', 1);
  const password = rest.slice(user.length + 1, at);
  const after = rest.slice(at + 1).search(/[/?#]/);
  const path = after < 0 ? '' : rest.slice(at + 1 + after);
  return { text, user, passwords: password === '' ? [] : passwordTexts(text, user, password), path };
}

/** A password that the rest of its URL repeats (`postgres://postgres:postgres@…`) is no secret by itself, and masking that word
 *  everywhere would destroy records: it is looked for as the URL writes it. */
function passwordTexts(url: string, user: string, password: string): readonly string[] {
  // The token is the user where a host documents this password.
  if (password === 'x-oauth-basic') return [user];
  const rest = url.replace(`:${password}@`, ' ').toLowerCase();
  return rest.includes(password.toLowerCase()) ? [`:${password}@`] : [password, decoded(password)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Parameters of a URL (`jdbc:…?password=…`) and of a connection string (`…;AccountKey=…`, `host=… password=…`) whose names say that they are secrets.
 *  Short values are flags and ids. */
const parametersIn = (value: string): readonly string[] =>
  [
    ...value.matchAll(
      /(?:^(?=[^;]*;)|[?&;\s])\s{0,3}([A-Za-z][\w.-]{0,40}(?: [A-Za-z]{1,20})?)=([^&;\s"']{8,})/g,
    ),
  ].flatMap(([, name = '', text = '']) => (endsAsSecret(name) && !isPath(text) ? [text, decoded(text)] : []));

/** The first folders of absolute paths, by which a path differs from base64 that begins with `/`. */
const topFolders =
  /^\/(?:Applications|Library|System|Users|Volumes|app|bin|boot|builds|cache|code|data|dev|etc|github|home|lib|lib64|media|mnt|nix|opt|private|proc|repo|root|run|sbin|secrets|snap|srv|sys|tmp|usr|var|work|workdir|workspace|workspaces)(?:\/|$)/;

/** Whether a value is a path, or several with `:` between them. */
export const isPath = (value: string): boolean => {
  const paths = value.replace(/^(?:file|unix):(?:\/\/)?/, '').split(':');
  return (
    value !== '' && paths.some((path) => path !== '') && paths.every((path) => path === '' || isOnePath(path))
  );
};

function isOnePath(path: string): boolean {
  if (/^(?:~|\.{1,2})(?:\/|$)/.test(path)) return true;
  if (/^(?:[a-z0-9_-]+\/)+[a-z0-9_.-]*\.[a-z]{1,5}$/.test(path)) return true;
  if (!path.startsWith('/')) return false;
  const likeBase64 = /^[A-Za-z0-9+/]{16,}={0,2}$/.test(path) && /\d/.test(path) && /[A-Z]/.test(path);
  return !likeBase64 || topFolders.test(path);
}
