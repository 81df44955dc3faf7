import { build } from 'esbuild';
await build({entryPoints:['test/crash/bundle.ts'],bundle:true,format:'esm',platform:'node',packages:'external',outfile:'.dbg2.mjs'});
const {bundle}=await import('./.dbg2.mjs');
const {rm}=await import('node:fs/promises');
await rm('/tmp/dbg/cli',{recursive:true,force:true});
console.log(await bundle(process.cwd(),'/tmp/dbg/cli'));
