/** Builds the command line with faults into a folder that looks like the package. */
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { programTexts } from '../../scripts/program-text.mjs';

/** Returns the path of the `cli.js` to run. `root` is the repository, `folder` is made. */
export async function bundle(root: string, folder: string): Promise<string> {
  const dist = join(folder, 'dist');
  await mkdir(join(dist, 'bin'), { recursive: true });
  await build({
    entryPoints: { cli: join(root, 'test/crash/faults/cli.ts') },
    outdir: dist,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    // Native code, which no story runs.
    external: ['@resvg/resvg-js'],
    plugins: [programTexts],
    logLevel: 'warning',
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);",
    },
  });
  // Files that the program finds relative to itself: its version, prompts, examples, and `factory` for its nodes.
  await writeFile(join(folder, 'package.json'), '{"name":"factory","version":"0.0.0","type":"module"}\n');
  for (const name of ['pipelines', 'prompts', 'examples'])
    await symlink(join(root, name), join(folder, name));
  const tool = join(dist, 'bin', 'factory');
  await writeFile(tool, '#!/bin/sh\nexec "${FACTORY_NODE_EXEC:-node}" "$(dirname "$0")/../cli.js" "$@"\n');
  await chmod(tool, 0o755);
  return join(dist, 'cli.js');
}
