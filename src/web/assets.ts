/** The files of the page, as the build made them. */
import { createHash } from 'node:crypto';
import { extname, join } from 'node:path';
import type { Context } from 'hono';
import { accepts } from 'hono/accepts';
import { namesIn, readPlainBytes } from '../platform/files/read.ts';

type Bytes = Uint8Array<ArrayBuffer>;
type Asset = {
  readonly bytes: Bytes;
  readonly type: string;
  /** The hash of `bytes`. */
  readonly hash: string;
  /** The same compressed. */
  readonly gzipped: Bytes | undefined;
  /** Whether the name changes with the content. */
  readonly isNamedByContent: boolean;
};
export type PageAssets = {
  /** By path, such as `/app.js`. */
  readonly files: ReadonlyMap<string, Asset>;
  /** For every other path: the page itself chooses what it shows. */
  readonly index: Asset;
};

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
};

/** Reads the page from `folder`; without one, as in a checkout that was not built, a text that explains it. */
export function readAssets(folder: string): PageAssets {
  const files = new Map<string, Asset>();
  for (const name of namesIn(folder)) {
    const type = types[extname(name)];
    const bytes = type === undefined ? undefined : bytesOf(join(folder, name));
    if (type === undefined || bytes === undefined) continue;
    const gzipped = bytesOf(join(folder, `${name}.gz`));
    files.set(`/${name}`, asset(bytes, type, gzipped, name.startsWith('part-')));
  }
  const unbuilt = Buffer.from('The page is not built (npm run build); the API answers under /api/v1/.\n');
  const index = files.get('/index.html') ?? asset(new Uint8Array(unbuilt), 'text/plain; charset=utf-8');
  return { files, index };
}

function bytesOf(path: string): Bytes | undefined {
  const read = readPlainBytes(path);
  return read.kind === 'text' ? new Uint8Array(read.text) : undefined;
}

const asset = (bytes: Bytes, type: string, gzipped?: Bytes, isNamedByContent = false): Asset => ({
  ...{ bytes, type, gzipped, isNamedByContent },
  hash: createHash('sha256').update(bytes).digest('base64url'),
});

/** The file for the path of a request, compressed if the client reads that, or only that it has not changed. */
export function answerAsset({ files, index }: PageAssets, c: Context): Response {
  const { bytes, type, hash, gzipped, isNamedByContent } = files.get(c.req.path) ?? index;
  const encoding = accepts(c, {
    ...{ header: 'Accept-Encoding', supports: ['gzip'], default: 'identity' },
    match: (asked) =>
      asked.some(({ type: name, q }) => name.toLowerCase() === 'gzip' && q > 0) ? 'gzip' : 'identity',
  });
  const compressed = encoding === 'gzip' ? gzipped : undefined;
  const etag = compressed === undefined ? `"${hash}"` : `"${hash}-gzip"`;
  const headers = {
    ETag: etag,
    'Cache-Control': isNamedByContent ? 'public, max-age=31536000, immutable' : 'no-cache',
    ...(gzipped !== undefined ? { Vary: 'Accept-Encoding' } : {}),
  };
  // A proxy that compresses marks the tag as weak.
  const known = c.req.header('If-None-Match')?.split(/\s*,\s*/) ?? [];
  if (known.some((one) => one.replace(/^W\//, '') === etag))
    return new Response(null, { status: 304, headers });
  return new Response(compressed ?? bytes, {
    headers: {
      ...{ ...headers, 'Content-Type': type },
      ...(compressed === undefined ? {} : { 'Content-Encoding': 'gzip' }),
    },
  });
}
