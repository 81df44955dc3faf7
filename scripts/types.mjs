/** Writes the type declarations of the library, for TypeScript and editors. `node scripts/types.mjs [FOLDER]` replaces
 *  the folder (default `types`). */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const house = fileURLToPath(new URL('..', import.meta.url));
const out = resolve(process.argv[2] ?? join(house, 'types'));
/** Imports between declarations; only imported ones are copied. */
const named = /((?:from|import)\s*\(?\s*['"])(\.{1,2}\/[^'"]+)\.ts(['"])/g;

await mkdir(dirname(out), { recursive: true });
const work = await mkdtemp(`${out}.`);
try {
  const all = join(work, 'all');
  declare(all);
  const reached = new Map();
  const open = [join(all, 'index.d.ts')];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (reached.has(path)) continue;
    const text = await readFile(path, 'utf8');
    reached.set(path, text);
    for (const [, , other] of text.matchAll(named)) open.push(join(dirname(path), `${other}.d.ts`));
  }
  const kept = join(work, 'kept');
  for (const [path, text] of reached) {
    const at = join(kept, relative(all, path));
    await mkdir(dirname(at), { recursive: true });
    // A file name that every version of TypeScript resolves.
    await writeFile(at, text.replace(named, '$1$2.js$3'));
  }
  await rm(out, { recursive: true, force: true });
  await rename(kept, out);
} finally {
  await rm(work, { recursive: true, force: true });
}

function declare(folder) {
  const compiler = join(
    dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
    'bin/tsc',
  );
  // Types are checked by `npm run types`; what is declared is the same without that.
  const args = [
    '--noCheck',
    '--noEmit',
    'false',
    '--declaration',
    '--emitDeclarationOnly',
    '--outDir',
    folder,
  ];
  execFileSync(process.execPath, [compiler, '-p', join(house, 'tsconfig.types.json'), ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}
