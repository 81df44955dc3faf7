/** The address of the database of a queue, as users write it. Its text may hold a password: no message repeats it. */
import { type Refusal, refused } from '../core/diagnostic.ts';

export type DatabaseAddress = {
  /** For the driver; with the password. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly database: string;
  /** The schema of the queue within the database. */
  readonly schema: string;
  /** For people: `postgres://HOST/DATABASE`. */
  readonly place: string;
};

/** The code of everything that is wrong with the database of a queue. */
export const databaseCode = 'queue-database';

const usual = { port: 5432, schema: 'factory' } as const;
const example = 'for example postgres://USER:PASSWORD@HOST/DATABASE';
const encoded = 'write special characters of the user and password as %XX (@ is %40, / is %2F, : is %3A)';

/** Forms of TLS that the driver takes for the strict one, each with a warning. */
const strictTls = new Set(['prefer', 'require', 'verify-ca']);
const schemaForm = /^[a-z_][a-z0-9_]{0,49}$/;

/** Reads `--db` or FACTORY_DB. */
export function databaseAddress(text: string): DatabaseAddress | Refusal {
  const bad = (why: string, fix = example) =>
    refused(databaseCode, `--db (or FACTORY_DB) names no database: ${why}`, fix);
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) return bad('this is not a URL');
  if (scheme !== 'postgres' && scheme !== 'postgresql') return bad(`${scheme}:// is not postgres://`);
  if (!URL.canParse(text)) return bad('the URL cannot be read', encoded);
  const url = new URL(text);
  const path = url.pathname.replace(/^\//, '');
  if (/[/@]/.test(path)) return bad('what follows the host is not the name of a database', encoded);
  const database = decoded(path);
  if ([database, decoded(url.username), decoded(url.password)].includes(undefined))
    return bad('a % in it is followed by no number', encoded);
  if (database === undefined || database === '')
    return bad('the name of the database is missing after the host');
  const schema = url.searchParams.get('schema') ?? usual.schema;
  if (!schemaForm.test(schema))
    return bad('its schema is no plain name', 'write small letters, digits and _: ?schema=factory_two');
  url.searchParams.delete('schema');
  if (strictTls.has(url.searchParams.get('sslmode') ?? '')) url.searchParams.set('sslmode', 'verify-full');
  const host = url.searchParams.get('host') ?? (url.hostname === '' ? 'localhost' : decoded(url.hostname));
  if (host === undefined) return bad('a % in it is followed by no number', encoded);
  const port = Number(url.searchParams.get('port') ?? (url.port === '' ? usual.port : url.port));
  return { url: url.href, host, port, database, schema, place: placeOf({ host, port, database, schema }) };
}

/** How messages name a database. */
export function placeOf({ host, port, database, schema }: Omit<DatabaseAddress, 'url' | 'place'>): string {
  const place = `postgres://${host}${port === usual.port ? '' : `:${port}`}/${database}`;
  return schema === usual.schema ? place : `${place}?schema=${schema}`;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
