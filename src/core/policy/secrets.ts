/** Which environment variables are secrets, which nodes get them, and which texts are masked. Everything that withholds or masks
 *  asks here. */
import type { Environment } from '../contracts/process.ts';
import { otelPairs } from '../otel-pairs.ts';
import { isVariableName } from '../settings/types.ts';
import { withoutPercents } from './words.ts';

/** Shorter texts are too common in ordinary output to be masked. */
const shortestMasked = 8;
/** Characters of a part of a secret that is masked by itself: shorter ones may be ordinary words. */
const shortestPart = 16;

/** A variable that holds a secret. */
export type Secret = {
  readonly name: string;
  /** Texts that appear in no record; none for a path or a short value. */
  readonly mask: readonly string[];
};

/** The variables of `env` that are secrets, sorted by name: those in `named`, those with the name of a secret, and those whose value has
 *  the shape of a secret. The engine's own settings are none, unless they are named. */
export function secretsOf(env: Environment, named: readonly string[] = []): readonly Secret[] {
  const isNamed = new Set(named);
  return Object.keys(env)
    .sort()
    .flatMap((name) => {
      const value = env[name];
      if (value === undefined || (isOwnName(name) && !isNamed.has(name))) return [];
      const whole = isNamed.has(name) || saysSecret(name, value);
      const parts = secretParts(value);
      if (!whole && parts.length === 0) return [];
      const sent = traceHeaders.test(name) ? headerValues(value) : [];
      return [{ name, mask: worthMasking(whole ? [...wholeTexts(value), ...sent, ...parts] : parts, name) }];
    });
}

/** In `env_pass`: all secrets. */
export const passesAll = '*';

export type EnvironmentWithSecrets = {
  /** What the node gets. */
  readonly env: Record<string, string>;
  /** Sorted names of the secrets that it does not get. */
  readonly withheld: readonly string[];
  readonly secrets: readonly Secret[];
  /** Texts to mask in all output, whether the node gets the variables or not. */
  readonly mask: readonly string[];
};

/** The environment of a node: everything but secrets, and those secrets that `pass` names (`*`: all). `named` are secrets whatever
 *  they are called; `keys` are, too, and they pass. */
export function environmentWithSecrets(
  env: Environment,
  {
    pass = [],
    named = [],
    keys = [],
  }: {
    readonly pass?: readonly string[];
    readonly named?: readonly string[];
    readonly keys?: readonly string[];
  },
): EnvironmentWithSecrets {
  const secrets = secretsOf(env, [...named, ...keys]);
  const passed = new Set([...pass, ...keys]);
  const withheld = passed.has(passesAll)
    ? []
    : secrets.map(({ name }) => name).filter((name) => !passed.has(name));
  const rest: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && !withheld.includes(name)) rest[name] = value;
  return { env: rest, withheld, secrets, mask: [...new Set(secrets.flatMap(({ mask }) => mask))] };
}

/** The names that `FACTORY_SECRETS` adds, or the first that is not the name of a variable. */
export function namedSecrets(
  env: Environment,
): { readonly names: readonly string[] } | { readonly bad: string } {
  const names = (env['FACTORY_SECRETS'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const bad = names.find((name) => !isVariableName(name));
  return bad === undefined ? { names } : { bad };
}

/** The texts to mask in what a program prints that gets the whole of `env`: in a node, or by hand. */
export function textsToMask(env: Environment): readonly string[] {
  const named = namedSecrets(env);
  return [...new Set(secretsOf(env, 'names' in named ? named.names : []).flatMap(({ mask }) => mask))];
}

/** The variables of `names` that a text names: as `$NAME`, or as a word that only a variable would be. */
export const namedIn = (text: string, names: readonly string[]): readonly string[] =>
  names.filter((name) => {
    const literal = name.replace(/[^A-Za-z0-9_]/g, '\\$&');
    const before = name.includes('_') ? '(?<![A-Za-z0-9_])' : '(?:\\$\\{?|env\\.|printenv\\s+|[[(]\\s*["\'])';
    return new RegExp(`${before}${literal}(?![A-Za-z0-9_])`).test(text);
  });

/** How the whole value of a secret is found in other texts. */
function wholeTexts(value: string): readonly string[] {
  const text = value.trim();
  const words = text.split(/[\s,;]+/);
  const urls = words.map((word) => urlsIn(word).find((url) => url.text === word));
  // Of a URL with a password only that is secret, and it is among the parts.
  if (urls.every((url) => url !== undefined))
    return urls.flatMap((url) =>
      url === undefined || url.passwords.length > 0
        ? []
        : url.path.length <= 1 && url.user === ''
          ? []
          : [url.text, ...[url.path, url.user, ...url.path.split(/[/?#&=]/)].filter(isLong)],
    );
  const fields = inJson(text);
  if (fields !== undefined) return [text, ...fields];
  const pair = /^[^\s:@/]+:(\S+)$/.exec(text)?.[1] ?? '';
  const isPart = (word: string) => isLong(word) && urlsIn(word).length === 0;
  return [text, pair, ...text.split(/(?:[\s,;=]|%20)+/).filter(isPart)];
}

/** The values as they are sent, and what follows a word such as `Basic` in them. */
const headerValues = (text: string): readonly string[] =>
  otelPairs(text)
    .flatMap(([, value]) => [value, value.replace(/^\S+\s+/, '')])
    .filter(isLong);

const isLong = (part: string): boolean => part.length >= shortestPart;

/** The secrets in a value that is JSON, such as the credentials of a service account. */
function inJson(text: string): readonly string[] | undefined {
  if (!/^[{[]/.test(text)) return undefined;
  try {
    return fieldsOf('', JSON.parse(text));
  } catch {
    return undefined;
  }
}

function fieldsOf(name: string, value: unknown): readonly string[] {
  if (typeof value === 'string')
    return [...secretParts(value), ...(saysSecret(name, value) ? wholeTexts(value) : [])];
  if (Array.isArray(value)) return value.flatMap((one: unknown) => fieldsOf(name, one));
  return typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, one]) => fieldsOf(key, one))
    : [];
}

/** The texts that are long enough, no paths, and not said by the name of the variable, as in `POSTGRES_PASSWORD=postgres`. White
 *  space around one is not part of the secret. */
function worthMasking(texts: readonly string[], name: string): string[] {
  const shown = name.toLowerCase();
  return [...new Set(texts.map((text) => text.trim()))].filter(
    (text) => text.length >= shortestMasked && !isPath(text) && !shown.includes(text.toLowerCase()),
  );
}

/* Whether a name says that its value is a secret: of an environment variable, a field of JSON, a parameter of a URL. */

/** Variables of the engine. */
const ownName = /^(?:FACTORY|ATTRACTOR|ATTRACTION)_/;

/** Variables that npm sets for the scripts that it runs. */
const ofNpm = /^npm_(?:config|package|lifecycle)_|^npm_(?:command|execpath|node_execpath)$/;
/** npm's settings that hold credentials begin with `_`: `npm_config__auth`, `npm_config_//host/:_authToken`. */
const npmCredential = /(?:^npm_config_|:)_[^:]*$/;

/** A whole word. Words of six letters and more, and TOKEN, also count at the end of a longer one (`PGPASSWORD`, `authtoken`). */
const secretWord =
  /^(?:KEY|PASS|SSHPASS|PWD|PAT|DSN|AUTH|AUTHORIZATION|CREDS?|PRIVATE|SIGNING)$|PASSWORD|PASSWD|PASSPHRASE|(?:APIKEY|TOKEN|SECRET|CREDENTIALS?|COOKIE|WEBHOOK|(?:ACCESS|AUTH|PRIVATE|SECRET|SIGNING)KEY)$/;
const severalSecrets = /^(?:KEYS|COOKIES)$|(?:APIKEYS|TOKENS|SECRETS|WEBHOOKS)$/;
/** Of a plural, such a value is a number of things or a switch: `MAX_TOKENS=4096`, `USE_COOKIES=true`. */
const countOrSwitch = /^(?:[\d_.,]*[km]?|true|false|yes|no|on|off)$/i;

/** Variables of the engine that hold secrets: what signs notices, and the address of the queue with its password. */
const ownSecret = /^FACTORY_(?:NOTIFY_SECRET|DB)$/;

/** What a collector of traces is sent with each request: usually a key. */
const traceHeaders = /^OTEL_EXPORTER_OTLP_(?:[A-Z]+_)?HEADERS$/;

/** Whether the engine set a variable of this name, or reads it as a setting. */
const isOwnName = (name: string): boolean => ownName.test(name) && !ownSecret.test(name);

/** Whether a name says that the value is a secret. */
function saysSecret(name: string, value: string): boolean {
  if (ownSecret.test(name) || traceHeaders.test(name)) return true;
  if (/^(?:OLD)?PWD$/i.test(name) || (ofNpm.test(name) && !npmCredential.test(name))) return false;
  const words = wordsOf(name);
  if (words.some((word, at) => secretWord.test(word) || (word === 'PW' && !isPrefix(words, at)))) return true;
  return !countOrSwitch.test(value.trim()) && words.some((word) => severalSecrets.test(word));
}

/** Of `PW_TEST_REPORT` it is the name of a tool. */
const isPrefix = (words: readonly string[], at: number): boolean => at === 0 && words.length > 1;

/** As `saysSecret` for parameters, by the last word alone: `authSource` is no secret, `sslpassword` is one. */
function endsAsSecret(name: string): boolean {
  const last = wordsOf(name).at(-1) ?? '';
  return (
    (secretWord.test(last) && !/^(?:AUTH|PRIVATE|SIGNING)$/.test(last)) ||
    /^(?:PW|SIG(?:NATURE)?)$/.test(last)
  );
}

/** The words of `API_KEY_2`, `apiKey`, `_authToken` and `api-key`, in upper case and without numbers at their ends. */
const wordsOf = (name: string): readonly string[] =>
  name
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .split(/[^A-Za-z\d]+/)
    .map((word) => word.replace(/\d+$/, '').toUpperCase())
    .filter((word) => word !== '');

/* What looks like a secret whatever its name is: the password of a URL, a PEM block, a JSON web token, a published token form. */

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
const secretParts = (value: string): readonly string[] => [
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
const urlsIn = (text: string): readonly FoundUrl[] =>
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
  return rest.includes(password.toLowerCase()) ? [`:${password}@`] : [password, withoutPercents(password)];
}

/** Parameters of a URL (`jdbc:…?password=…`) and of a connection string (`…;AccountKey=…`, `host=… password=…`) whose names say that they are secrets.
 *  Short values are flags and ids. */
const parametersIn = (value: string): readonly string[] =>
  [
    ...value.matchAll(
      /(?:^(?=[^;]*;)|[?&;\s])\s{0,3}([A-Za-z][\w.-]{0,40}(?: [A-Za-z]{1,20})?)=([^&;\s"']{8,})/g,
    ),
  ].flatMap(([, name = '', text = '']) =>
    endsAsSecret(name) && !isPath(text) ? [text, withoutPercents(text)] : [],
  );

/** The first folders of absolute paths, by which a path differs from base64 that begins with `/`. */
const topFolders =
  /^\/(?:Applications|Library|System|Users|Volumes|app|bin|boot|builds|cache|code|data|dev|etc|github|home|lib|lib64|media|mnt|nix|opt|private|proc|repo|root|run|sbin|secrets|snap|srv|sys|tmp|usr|var|work|workdir|workspace|workspaces)(?:\/|$)/;

/** Whether a value is a path, or several with `:` between them. */
const isPath = (value: string): boolean => {
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
