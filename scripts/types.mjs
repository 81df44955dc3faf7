/** Writes the type declarations of the library, for TypeScript and editors, with those of the schemas' package, which is no
 *  dependency of the package. `node scripts/types.mjs [FOLDER]` replaces the folder (default `types`). */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const house = fileURLToPath(new URL('..', import.meta.url));
const out = resolve(process.argv[2] ?? join(house, 'types'));
/** The package of the schemas, whose types are part of ours. */
const zod = dirname(createRequire(import.meta.url).resolve('zod/package.json'));
/** Messages in other languages, which no type of ours uses. */
const translations = /^export \* as locales from .*$/gm;
/** Imports of declarations; only imported ones are copied. */
const imports = /((?:from|import)\s*\(?\s*['"])(\.{1,2}\/[^'"]+|zod)(['"])/g;

await mkdir(dirname(out), { recursive: true });
const work = await mkdtemp(`${out}.`);
try {
  const all = join(work, 'all');
  declare(all);
  const kept = join(work, 'kept');
  const targetOf = (path) =>
    path.startsWith(zod) ? join(kept, 'zod', relative(zod, path)) : join(kept, relative(all, path));
  const reached = new Set();
  const open = [join(all, 'index.d.ts')];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    const target = targetOf(path);
    await mkdir(dirname(target), { recursive: true });
    // A quarter of their size would be blanks.
    const text = (await readFile(path, 'utf8'))
      .replace(translations, '')
      .replace(/^(?: {4})+/gm, (blanks) => '\t'.repeat(blanks.length / 4));
    await writeFile(
      target,
      text.replace(imports, (_, before, name, after) => {
        const other = name === 'zod' ? join(zod, 'index.d.ts') : declarationOf(join(dirname(path), name));
        open.push(other);
        return `${before}${importOf(dirname(target), targetOf(other))}${after}`;
      }),
    );
  }
  await rm(out, { recursive: true, force: true });
  await rename(kept, out);
} finally {
  await rm(work, { recursive: true, force: true });
}

/** The declaration of a module that another one imports as `x.ts` or `x.js`. */
function declarationOf(path) {
  return path.replace(/\.[jt]s$/, '.d.ts');
}

/** A file name that every version of TypeScript resolves. */
function importOf(folder, target) {
  const path = relative(folder, target).replace(/\.d\.ts$/, '.js');
  return path.startsWith('.') ? path : `./${path}`;
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
