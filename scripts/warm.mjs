/** Runs a small pipeline with the built program and stores V8's code cache as `program-….cache`: functions that ran need
 *  no compilation at the next start. `warm.mjs DIST SCRATCH` */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import v8 from 'node:v8';
import { Script } from 'node:vm';

const [, , dist, scratch] = process.argv;
// V8 accepts a cache only if it was created with the same flags.
v8.setFlagsFromString = () => {};
const filename = join(dist, 'program.cjs');
const script = new Script(readFileSync(filename, 'latin1'), { filename });
process.on('exit', (code) => {
  if (code !== 0) throw new Error(`the run ended with ${code}`);
  // Only for this build of Node: see src/platform/load-program.ts.
  const { version, platform, arch, execPath } = process;
  const maker = [version, platform, arch, statSync(execPath).size].join('-');
  writeFileSync(join(dist, `program-${maker}.cache`), script.createCachedData());
});
const pipeline = join(scratch, 'warm.dot');
writeFileSync(
  pipeline,
  `digraph warm {
    vars="word=a b"
    start [shape=Mdiamond]
    write [shape=parallelogram, tool_command="echo \${var.word} > out.txt", allowed_write_paths="out.txt"]
    fails [shape=parallelogram, tool_command="exit 3"]
    which [shape=diamond]
    check [type=verification, verification.allowed_commands="true,false"]
    done [shape=Msquare]
    bad [shape=Msquare, outcome=fail]
    start -> write -> fails
    fails -> which [condition="outcome=fail && context.x!=1"]
    fails -> bad [condition="outcome=success"]
    which -> check [condition="outcome=fail"]
    which -> bad [condition="outcome=success"]
    check -> done [condition="outcome=success"]
    check -> done [condition="outcome=fail"]
  }
`,
);
const cli = join(dist, 'cli.js');
const workdir = join(scratch, 'workdir');
mkdirSync(join(workdir, 'folder'), { recursive: true });
writeFileSync(join(workdir, 'folder/file.txt'), 'a file to copy\n');
process.argv = [
  process.execPath,
  cli,
  'run',
  pipeline,
  '--workdir',
  workdir,
  '--runsdir',
  join(scratch, 'runs'),
];
process.chdir(scratch);
const module = {};
script.runInThisContext()(createRequire(pathToFileURL(cli)), pathToFileURL(cli).href, module);
module.exports.commandLine();
