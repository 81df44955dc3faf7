/** `factory serve` as a process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { cleanEnv, cli } from '../support/cli.ts';

export const token = '0123456789abcdef0123';

/** `factory serve` in a folder, on the same address after each start. */
export class Serve {
  private process: ChildProcess | undefined;
  private readonly folder: string;
  private port = 0;
  constructor(folder: string) {
    this.folder = folder;
  }

  /** The address that it prints. */
  async start(secret = token): Promise<string> {
    const process_ = spawn(process.execPath, [cli, 'serve', '--port', String(this.port)], {
      ...{
        cwd: this.folder,
        env: cleanEnv({ HOME: this.folder, FACTORY_SERVE_TOKEN: secret }),
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    });
    this.process = process_;
    const url = await new Promise<string>((found) =>
      process_.stdout?.once('data', (text) => found(String(text).trim().split('\n')[0] ?? '')),
    );
    this.port = Number(new URL(url).port);
    return url;
  }

  async stop(): Promise<void> {
    const { process: running } = this;
    if (running === undefined || running.exitCode !== null) return;
    const ended = new Promise((done) => running.once('exit', done));
    running.kill('SIGINT');
    await ended;
  }
}
