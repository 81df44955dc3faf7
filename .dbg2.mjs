// test/crash/bundle.ts
import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
async function bundle(root, folder) {
  const dist = join(folder, "dist");
  await mkdir(join(dist, "bin"), { recursive: true });
  await build({
    entryPoints: { cli: join(root, "test/crash/faults/cli.ts") },
    outdir: dist,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    logLevel: "warning",
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);"
    }
  });
  await writeFile(join(folder, "package.json"), '{"name":"factory","version":"0.0.0","type":"module"}\n');
  for (const name of ["pipelines", "prompts", "examples"])
    await symlink(join(root, name), join(folder, name));
  const tool = join(dist, "bin", "factory");
  await writeFile(tool, '#!/bin/sh\nexec "${FACTORY_NODE_EXEC:-node}" "$(dirname "$0")/../cli.js" "$@"\n');
  await chmod(tool, 493);
  return join(dist, "cli.js");
}
export {
  bundle
};
