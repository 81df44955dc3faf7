/** Builds `dist/`: the command line with everything it needs in small chunks, so that a command loads only what it
 *  uses, and the library, which imports its dependencies as any package does. */
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { build } from 'esbuild';

// Built beside and swapped, so that a build that fails leaves the last one working.
const out = `dist.${process.pid}.tmp`;
const common = {
  outdir: out,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  logLevel: 'warning',
};
try {
  await build({
    ...common,
    entryPoints: { cli: 'src/cli.ts' },
    splitting: true,
    minifySyntax: true,
    // Less to read at every start; names stay, so that a stack can be read.
    minifyWhitespace: true,
    // CommonJS dependencies in the bundle ask for Node's own modules with `require`.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);",
    },
  });
  await build({ ...common, entryPoints: { index: 'src/index.ts' }, packages: 'external' });
  await chmod(`${out}/cli.js`, 0o755);
  // First on a tool's PATH: `factory` in a pipeline is the factory that runs it.
  await mkdir(`${out}/bin`, { recursive: true });
  await writeFile(
    `${out}/bin/factory`,
    '#!/bin/sh\nexec "${FACTORY_NODE_EXEC:-node}" "$(dirname "$0")/../cli.js" "$@"\n',
    { mode: 0o755 },
  );
  await rm('dist', { recursive: true, force: true });
  await rename(out, 'dist');
} finally {
  await rm(out, { recursive: true, force: true });
}
