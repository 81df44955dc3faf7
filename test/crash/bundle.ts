/** Puts faults before the built command line, in a folder that looks like the package. */
import { cp, mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

/** Returns the path of the `cli.js` to run. `root` is the repository, whose `dist` is built; `folder` is made. With all that
 *  makes a start of the built program fast, a case takes half as long as with a separate bundle. */
export async function bundle(root: string, folder: string): Promise<string> {
  const dist = join(folder, 'dist');
  await mkdir(folder, { recursive: true });
  await cp(join(root, 'dist'), dist, { recursive: true });
  await rename(join(dist, 'cli.js'), join(dist, 'real.js'));
  // What nodes call as `factory` has the faults, too.
  await writeFile(join(dist, 'cli.js'), "import('./faults.mjs');\n");
  await build({
    entryPoints: { faults: join(root, 'test/crash/faults/cli.ts') },
    outdir: dist,
    bundle: true,
    format: 'esm',
    outExtension: { '.js': '.mjs' },
    platform: 'node',
    target: 'node20.19',
    logLevel: 'warning',
  });
  // Files that the program finds relative to itself: its version, prompts, examples.
  await writeFile(join(folder, 'package.json'), '{"name":"factory","version":"0.0.0","type":"module"}\n');
  for (const name of ['pipelines', 'prompts', 'examples'])
    await symlink(join(root, name), join(folder, name));
  return join(dist, 'cli.js');
}
