/** `factory mcp`: offers the runs of a runs directory to a model client. */
import { hostname } from 'node:os';
import { join } from 'node:path';
import { packageRoot, packageVersion } from '../platform/package.ts';
import { runsDirOf, usage } from './find-run.ts';
import type { CliIo } from './io.ts';
import { rootsOf, webOf } from './serve.ts';
import type { VerbResult } from './verb.ts';

type McpOptions = {
  readonly runsdir?: string;
  readonly root?: readonly string[];
  readonly allowActs?: boolean;
  readonly notify?: string;
  readonly db?: string;
};

/** Serves until the client ends the session. */
export async function mcpCommand(options: McpOptions, io: CliIo): Promise<VerbResult> {
  const streams = io.streams?.();
  if (streams === undefined) return usage('a model client starts this command', 'docs/mcp.md shows how');
  const roots = rootsOf(options, io);
  if ('problems' in roots) return roots;
  const [{ webApp }, { readAssets }, { newToken }, { serveModels }] = await Promise.all([
    import('../web/server.ts'),
    import('../web/assets.ts'),
    import('../web/security.ts'),
    import('../web/mcp.ts'),
  ]);
  const signal = io.signal();
  const allowActs = options.allowActs === true;
  const web = webOf(
    { ...options, who: 'mcp', readOnly: !allowActs },
    { runsDir: runsDirOf(options, io), roots },
    signal,
    io,
  );
  // Requests stay in this process: there is no port, and the token only satisfies the same checks as those of a server.
  const access = { token: newToken(), host: '127.0.0.1', port: () => 80, machine: hostname() };
  const page = readAssets(join(packageRoot(), 'dist/page'));
  const app = webApp(web, access, page, (error) =>
    io.err(`internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`),
  );
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    request.headers.set('Host', '127.0.0.1');
    return app.fetch(request);
  };
  const client = { url: 'http://127.0.0.1', token: access.token, fetch };
  const report = (why: string) => io.err(`a message of the client cannot be used: ${why}\n`);
  await serveModels(streams, { version: packageVersion(), allowActs, signal, report }, client);
  await web.queue.close();
  return 0;
}
