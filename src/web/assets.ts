/** The files of the page, as the build made them. */
import { createHash } from 'node:crypto';
import { extname, join } from 'node:path';
import { namesIn, readPlainBytes } from '../platform/files/read.ts';

type Asset = { readonly bytes: Uint8Array<ArrayBuffer>; readonly type: string; readonly etag: string };
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
    const read = readPlainBytes(join(folder, name));
    if (type !== undefined && read.kind === 'text') files.set(`/${name}`, asset(read.text, type));
  }
  const unbuilt = Buffer.from('The page is not built (npm run build); the API answers under /api/v1/.\n');
  return { files, index: files.get('/index.html') ?? asset(unbuilt, 'text/plain; charset=utf-8') };
}

const asset = (bytes: Buffer, type: string): Asset => ({
  bytes: new Uint8Array(bytes),
  type,
  etag: `"${createHash('sha256').update(bytes).digest('base64url')}"`,
});

/** The file for a path, or only that it has not changed. */
export function answerAsset({ files, index }: PageAssets, path: string, known: string | undefined): Response {
  const { bytes, type, etag } = files.get(path) ?? index;
  const headers = { ETag: etag, 'Cache-Control': 'no-cache' };
  if (known?.split(/\s*,\s*/).includes(etag) === true) return new Response(null, { status: 304, headers });
  return new Response(bytes, { headers: { ...headers, 'Content-Type': type } });
}
