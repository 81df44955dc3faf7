/** The folder that one case runs in, and the processes started there. */
import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { cleanEnv } from '../support/cli.ts';
import type { Story } from './stories.ts';

export type Ended = {
  readonly code: number | null;
  readonly signal: string | null;
  /** Both streams, for people. */
  readonly said: string;
};

export type Ground = {
  readonly home: string;
  readonly runDir: string;
  /** Writes files, by name. */
  put(files: Story['files']): Promise<void>;
  /** Runs `factory …args` with a fault at `point` (`who:kind:k:action`; empty for none). */
  factory(args: readonly string[], point: string, seed: number): Promise<Ended>;
  /** The operation that the fault hit; undefined if it did not occur. */
  fired(): Promise<string | undefined>;
  /** Lines of the file that nodes write outside of their workspace. */
  ledger(): Promise<readonly string[]>;
  /** Operations of a process of the latest run: `kind` and its path. */
  operations(who: string): readonly { readonly kind: string; readonly what: string }[];
  /** Processes with this folder's name in their environment. */
  processes(): readonly number[];
  [Symbol.asyncDispose](): Promise<void>;
};

/** Makes the folder of a story. `parent` is where, default the system's place for such things. */
export async function ground(cli: string, story: Story, parent = tmpdir()): Promise<Ground> {
  const home = await realpath(await mkdtemp(join(parent, 'crash-')));
  const put = async (files: Story['files']): Promise<void> => {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(home, name)), { recursive: true });
      await writeFile(join(home, name), text, { mode: text.startsWith('#!') ? 0o755 : 0o644 });
    }
  };
  await put(story.files);
  if (story.source !== undefined) {
    const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.org'];
    const git = (...args: string[]) =>
      execFileSync('git', [...who, ...args], {
        cwd: join(home, story.source ?? ''),
        env: cleanEnv({ HOME: home }),
      });
    git('init', '--quiet', '--initial-branch=main');
    git('add', '--all');
    git('commit', '--quiet', '--message=begin');
  }
  await mkdir(join(home, 'tmp'));
  const model = story.model === undefined ? undefined : await startModel(story.model, join(home, 'ledger'));
  // A separate folder for each call, so that records of an orphan belong to its call.
  const allRecords = `${home}.records`;
  let calls = 0;
  let records = '';
  const mine = `CRASH_HOME=${home}`;
  const processes = () =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => {
        try {
          return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(mine);
        } catch {
          return false;
        }
      });
  return {
    home,
    runDir: join(home, '.factory/runs/r1'),
    put,
    async factory(args, point, seed) {
      records = join(allRecords, String(++calls));
      await mkdir(records, { recursive: true });
      const env = cleanEnv({
        HOME: home,
        TMPDIR: join(home, 'tmp'),
        LEDGER: join(home, 'ledger'),
        CRASH_HOME: home,
        CRASH_FOLDER: records,
        CRASH_POINT: point,
        CRASH_SEED: String(seed),
        ...(model === undefined ? {} : { OPENAI_API_KEY: 'sk-of-the-matrix', OPENAI_BASE_URL: model.url }),
      });
      delete env['NODE_EXTRA_CA_CERTS'];
      return new Promise((resolve, reject) => {
        const child = spawn(process.execPath, [cli, ...args], {
          cwd: home,
          env,
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        let said = '';
        for (const stream of [child.stdout, child.stderr])
          stream.setEncoding('utf8').on('data', (text: string) => {
            said += text;
          });
        child.on('error', reject);
        // Not `close`: a node that outlives killed factory may hold its streams.
        child.on('exit', (code, signal) => setImmediate(() => resolve({ code, signal, said })));
      });
    },
    async fired() {
      const path = join(records, 'fired');
      return existsSync(path) ? (await readFile(path, 'utf8')).trim() : undefined;
    },
    async ledger() {
      const path = join(home, 'ledger');
      return existsSync(path) ? (await readFile(path, 'utf8')).split('\n').filter(Boolean) : [];
    },
    operations(who) {
      const path = join(records, `${who}.ops`);
      if (!existsSync(path)) return [];
      const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
      return lines.map((line) => {
        const [kind = '', , name = '', path = ''] = line.split('\t');
        return { kind, what: `${name} ${path.replace(home, '')}` };
      });
    },
    processes,
    async [Symbol.asyncDispose]() {
      await model?.close();
      for (const pid of processes()) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // It has ended by itself.
        }
      }
      for (const path of [home, allRecords]) await rm(path, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** A model on loopback, which answers at once. */
async function startModel(answerTo: NonNullable<Story['model']>, ledger: string) {
  const server = createServer(async (request, response) => {
    let body = '';
    // A client that is killed in the middle of its request has asked nothing.
    try {
      for await (const piece of request) body += String(piece);
    } catch {
      return;
    }
    const { line, text } = answerTo(JSON.parse(body).input);
    appendFileSync(ledger, `${line}\n`);
    const output = [{ type: 'message', content: [{ type: 'output_text', text }] }];
    response.writeHead(200, { 'content-type': 'application/json' });
    const usage = { input_tokens: 5, output_tokens: 5 };
    response.end(JSON.stringify({ id: 'r', status: 'completed', output, usage }));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo; // listening on a port, so it is no pipe's name
  return {
    url: `http://127.0.0.1:${port}/v1`,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
