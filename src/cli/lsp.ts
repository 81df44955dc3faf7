/** `factory lsp`: a language server for editors, on standard input and output. */
import { packageVersion } from '../platform/package.ts';
import { usage } from './find-run.ts';
import type { CliIo } from './io.ts';
import type { VerbResult } from './verb.ts';

/** Ends with the session of the editor: 0 after a shutdown, else 1. */
export async function lspCommand(_: unknown, io: CliIo): Promise<VerbResult> {
  const streams = io.streams?.();
  if (streams === undefined) return usage('an editor starts this command', 'docs/authoring.md shows how');
  const { serveEditor } = await import('../lsp/server.ts');
  return serveEditor(streams, io.clock, packageVersion(), io.env);
}
