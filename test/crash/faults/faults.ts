/** Replaces Node's own writing and spawning by counted ones, one of which fails or kills as the environment says.
 *  Imported first by the command line under test; without `CRASH_FOLDER` in the environment it does nothing. */
import childProcess from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Disk } from './disk.ts';
import { type Kind, readPlan } from './plan.ts';

type Fn = (this: unknown, ...args: never[]) => unknown;
type Door = Record<string, unknown>;

const real = { ...fs };
const plan = readPlan(process.env);

if (plan !== undefined) {
  const disk = new Disk(plan.folder, plan.who);
  const records = real.openSync(join(plan.folder, `${plan.who}.ops`), 'a');
  const counts = new Map<string, number>();
  let full = false;
  if (plan.who === 'engine') process.env['CRASH_ENGINE'] = String(process.pid);
  process.on('exit', () => disk.leave());

  /** A call of Node's that changes something on the disk or starts a program. */
  type Call = {
    /** A part of a write that a disk without space still takes; answers how many bytes. */
    readonly part?: () => number;
    readonly kind: Kind;
    readonly name: string;
    readonly path: string;
    readonly to?: string;
    /** Does the first half of a write. */
    readonly half?: () => void;
  };

  const kill = (): never => {
    const engine = Number(process.env['CRASH_ENGINE']);
    process.kill(engine, 'SIGKILL');
    if (engine !== process.pid) process.kill(process.pid, 'SIGKILL');
    for (;;);
  };
  const codes: Partial<Record<Kind, string>> = { spawn: 'EAGAIN', mode: 'EPERM' };
  const takesSpace: readonly Kind[] = ['create', 'write', 'sync', 'link', 'mkdir'];
  const takes = ({ kind, name }: Call) => takesSpace.includes(kind) && !name.includes('truncate');
  const numbers: Readonly<Record<string, number>> = { EIO: -5, ENOSPC: -28, EAGAIN: -11, EPERM: -1 };
  const words: Readonly<Record<string, string>> = {
    EIO: 'i/o error',
    ENOSPC: 'no space left on device',
    EAGAIN: 'resource temporarily unavailable',
    EPERM: 'operation not permitted',
  };
  /** As Node makes it: the path is named only where the call was given one. */
  const failure = (call: Call, code: string): Error => {
    const syscall = call.name.replace(/Sync$/, '');
    const named = !/^(f[a-z]*|handle\..*|write|writev)$/.test(syscall) && call.kind !== 'spawn';
    const where = named ? ` '${call.path}'${call.to === undefined ? '' : ` -> '${call.to}'`}` : '';
    return Object.assign(new Error(`${code}: ${words[code]}, ${syscall}${where}`), {
      errno: numbers[code],
      code,
      syscall: call.kind === 'spawn' ? `spawn ${call.path}` : syscall.replace('handle.', ''),
      ...(named ? { path: call.path } : {}),
      ...(named && call.to !== undefined ? { dest: call.to } : {}),
    });
  };

  /** What happens to a call: it is made, and `after` runs; or it returns `answer` instead. */
  type Course = { readonly after: () => void; readonly answer?: { readonly value: number } };

  /** Counts the call, and does to it what is planned. */
  const before = (call: Call): Course => {
    const count = (name: string): number => {
      const next = (counts.get(name) ?? 0) + 1;
      counts.set(name, next);
      return next;
    };
    const k = count(call.kind);
    const all = count('any');
    real.writeSync(records, `${call.kind}\t${k}\t${call.name}\t${call.path}\t${call.to ?? ''}\n`);
    const { point } = plan;
    const hit =
      point !== undefined && point.k === (point.kind === 'any' ? all : point.kind === call.kind ? k : 0);
    if (hit) {
      real.writeFileSync(
        join(plan.folder, 'fired'),
        `${plan.who} ${call.kind} ${k}: ${call.name} ${call.path} ${call.to ?? ''}\n`,
      );
    }
    const action = hit ? point.action : undefined;
    if (full && takes(call)) throw failure(call, 'ENOSPC');
    switch (action) {
      case 'kill':
        call.half?.();
        return kill();
      case 'orphan':
        process.kill(Number(process.env['CRASH_ENGINE']), 'SIGKILL');
        break;
      case 'power':
        if (call.half !== undefined) disk.writing(call.path, false);
        call.half?.();
        disk.cut(plan.seed);
        return kill();
      case 'error':
        if (call.part === undefined) call.half?.();
        throw failure(call, codes[call.kind] ?? 'EIO');
      case 'full':
        full = true;
        // As the system does it: what fits is written and its length answered, the next write fails.
        if (call.part !== undefined) return { after: () => {}, answer: { value: call.part() } };
        if (takes(call)) {
          call.half?.();
          throw failure(call, 'ENOSPC');
        }
        break;
      default:
    }
    if (call.kind === 'create') disk.writing(call.path, true);
    if (call.kind === 'write') disk.writing(call.path, false);
    if (call.kind === 'rename' && call.to !== undefined) disk.renaming(call.path, call.to);
    const after = () => {
      if (call.name === 'syncfs') disk.flushedAll();
      else if (call.kind === 'sync') disk.flushed(call.path);
      if (call.kind === 'rename' && call.to !== undefined) disk.renamed(call.path, call.to);
      if (action === 'after') kill();
    };
    return { after };
  };

  const text = (path: unknown): string =>
    Buffer.isBuffer(path) ? path.toString() : path instanceof URL ? fileURLToPath(path) : String(path);
  const ofDescriptor = (fd: unknown): string => {
    try {
      return real.readlinkSync(`/proc/self/fd/${String(fd)}`);
    } catch {
      return `fd ${String(fd)}`;
    }
  };
  // How often live texts are written depends on the clock: counted, they would give every run other points.
  const counted = (path: string): boolean =>
    /^\/(?!dev\/(?!shm\/)|proc\/)/.test(path) &&
    !path.startsWith(plan.folder) &&
    !path.endsWith('/.live.jsonl') &&
    !/\/\.sessions(?:\/|$)/.test(path);
  const bytes = (data: unknown): Buffer =>
    typeof data === 'string'
      ? Buffer.from(data)
      : ArrayBuffer.isView(data)
        ? Buffer.from(data.buffer, data.byteOffset, data.byteLength)
        : Buffer.alloc(0);
  const halfOf = (data: Buffer): Buffer => data.subarray(0, data.length >> 1);
  const flagsCreate = (flags: unknown): boolean =>
    typeof flags === 'string'
      ? /^[wa]/.test(flags)
      : typeof flags === 'number' && (flags & fs.constants.O_CREAT) !== 0;
  const flagsEmpty = (flags: unknown): boolean =>
    typeof flags === 'string'
      ? // With an x the opening fails where there is a file.
        flags.startsWith('w') && !flags.includes('x')
      : typeof flags === 'number' && (flags & fs.constants.O_TRUNC) !== 0;

  /** What a call of this name with these arguments is; undefined when it is not counted. */
  type Reading = (args: readonly unknown[], name: string) => Call | undefined;
  const onPath =
    (kind: Kind): Reading =>
    (args, name) =>
      counted(text(args[0])) ? { kind, name, path: text(args[0]) } : undefined;
  const onTwo =
    (kind: Kind, which: 0 | 1 = 0): Reading =>
    (args, name) =>
      counted(text(args[1]))
        ? { kind, name, path: text(args[which]), ...(which === 0 ? { to: text(args[1]) } : {}) }
        : undefined;
  const onDescriptor =
    (kind: Kind): Reading =>
    (args, name) => {
      const path = ofDescriptor(args[0]);
      return counted(path) ? { kind, name, path } : undefined;
    };
  const opening: Reading = (args, name) => {
    const path = text(args[0]);
    if (!counted(path) || !flagsCreate(args[1])) return undefined;
    const there = real.existsSync(path);
    return there && !flagsEmpty(args[1]) ? undefined : { kind: 'create', name, path };
  };
  const writingTo: Reading = (args, name) => {
    const path = ofDescriptor(args[0]);
    if (typeof args[0] !== 'number' || args[0] <= 2 || !counted(path)) return undefined;
    const data = bytes(args[1]);
    // A text is followed by its position, bytes by offset, length and position.
    const number = (at: number) => (typeof args[at] === 'number' ? args[at] : undefined);
    const isText = typeof args[1] === 'string';
    const from = isText ? 0 : (number(2) ?? 0);
    const length = isText ? undefined : number(3);
    const position = isText ? number(2) : number(4);
    const fd = args[0];
    const part = () => {
      const some = halfOf(data.subarray(from, length === undefined ? undefined : from + length));
      return real.writeSync(fd, some, 0, some.length, position ?? null);
    };
    const write = { kind: 'write', name, path, half: () => void part() } as const;
    return name === 'writeSync' ? { ...write, part } : write;
  };
  const wholeFile =
    (append: boolean): Reading =>
    (args, name) => {
      if (typeof args[0] === 'number') return writingTo(args, name);
      const path = text(args[0]);
      if (!counted(path)) return undefined;
      const options = args[2];
      const flag = append
        ? 'a'
        : typeof options === 'object' && options !== null && 'flag' in options
          ? String(options.flag)
          : 'w';
      const half = () => real.writeFileSync(path, halfOf(bytes(args[1])), { flag });
      return { kind: 'write', name, path, half };
    };
  /** `sync -f FOLDER …`; other programs that are started in this way change nothing that counts. */
  const flushing: Reading = ([program, words]) =>
    program === 'sync' && Array.isArray(words)
      ? { kind: 'sync', name: 'syncfs', path: text(words.at(-1)) }
      : undefined;
  const spawning: Reading = (args, name) => ({ kind: 'spawn', name, path: text(args[0]) });

  const readings: Readonly<Record<string, Reading>> = {
    open: opening,
    write: writingTo,
    writev: onDescriptor('write'),
    writeFile: wholeFile(false),
    appendFile: wholeFile(true),
    fsync: onDescriptor('sync'),
    fdatasync: onDescriptor('sync'),
    rename: onTwo('rename'),
    link: onTwo('link', 1),
    symlink: onTwo('link', 1),
    unlink: onPath('unlink'),
    rm: onPath('unlink'),
    rmdir: onPath('unlink'),
    mkdir: onPath('mkdir'),
    mkdtemp: onPath('mkdir'),
    truncate: onPath('write'),
    ftruncate: onDescriptor('write'),
    chmod: onPath('mode'),
    fchmod: onDescriptor('mode'),
    copyFile: onTwo('write', 1),
    cp: onTwo('write', 1),
  };

  // Node's own functions call each other: what is inside of a call that was counted is not counted again.
  let inside = 0;
  const sync = (name: string, reading: Reading, fn: Fn): Fn =>
    function (this: unknown, ...args) {
      const call = inside > 0 ? undefined : reading(args, name);
      if (call === undefined) return fn.apply(this, args);
      const { after, answer } = before(call);
      if (answer !== undefined) return answer.value;
      inside++;
      try {
        return fn.apply(this, args);
      } finally {
        inside--;
        after();
      }
    };
  const withCallback = (name: string, reading: Reading, fn: Fn): Fn =>
    function (this: unknown, ...args) {
      const call = inside > 0 ? undefined : reading(args, name);
      const done: unknown = args.at(-1);
      if (call === undefined || typeof done !== 'function') return fn.apply(this, args);
      let after: () => void;
      try {
        ({ after } = before(call));
      } catch (error) {
        process.nextTick(() => done(error));
        return undefined;
      }
      const told = (...answer: unknown[]) => {
        after();
        done(...answer);
      };
      return fn.apply(this, [...args.slice(0, -1), told] as never[]);
    };
  const promised = (name: string, reading: Reading, fn: Fn): Fn =>
    async function (this: unknown, ...args) {
      const call = inside > 0 ? undefined : reading(args, name);
      if (call === undefined) return fn.apply(this, args);
      const { after } = before(call);
      const answer = await fn.apply(this, args);
      after();
      return answer;
    };

  const replace = (door: Door, name: string, make: (fn: Fn) => Fn): void => {
    const fn = door[name];
    if (typeof fn !== 'function') return;
    const made = make(fn as Fn);
    // `promisify` finds on the function what its promise is to answer.
    for (const symbol of Object.getOwnPropertySymbols(fn)) {
      const descriptor = Object.getOwnPropertyDescriptor(fn, symbol);
      if (descriptor === undefined) continue;
      if (name === 'execFile' && symbol === promisify.custom)
        descriptor.value = promised(name, flushing, descriptor.value as Fn);
      Object.defineProperty(made, symbol, descriptor);
    }
    door[name] = made;
  };
  const files = fs as unknown as Door;
  const promises = fs.promises as unknown as Door;
  for (const [name, reading] of Object.entries(readings)) {
    replace(files, `${name}Sync`, (fn) => sync(`${name}Sync`, reading, fn));
    replace(files, name, (fn) => withCallback(name, reading, fn));
    replace(promises, name, (fn) => promised(name, reading, fn));
  }
  for (const name of ['spawn', 'spawnSync', 'execFile', 'execFileSync']) {
    replace(childProcess as unknown as Door, name, (fn) => sync(name, spawning, fn));
  }

  const handle = await fs.promises.open('/dev/null');
  const methods = Object.getPrototypeOf(handle) as Door;
  await handle.close();
  const onHandle: Readonly<Record<string, Kind>> = {
    write: 'write',
    writev: 'write',
    writeFile: 'write',
    appendFile: 'write',
    truncate: 'write',
    datasync: 'sync',
    sync: 'sync',
    chmod: 'mode',
  };
  for (const [name, kind] of Object.entries(onHandle)) {
    replace(methods, name, (fn) => {
      const wrapped = (fd: number): Fn =>
        promised(
          `handle.${name}`,
          (args) => {
            const path = ofDescriptor(fd);
            if (!counted(path)) return undefined;
            const at = name === 'write' && typeof args[3] === 'number' ? args[3] : null;
            const from = name === 'write' && typeof args[1] === 'number' ? args[1] : 0;
            const half = () => {
              const some = halfOf(bytes(args[0]).subarray(from));
              real.writeSync(fd, some, 0, some.length, at);
            };
            const writes = /^(write|writeFile|appendFile)$/.test(name);
            return { kind, name: `handle.${name}`, path, ...(writes ? { half } : {}) };
          },
          fn,
        );
      return function (this: unknown, ...args) {
        const { fd } = this as { readonly fd: number };
        return wrapped(fd).apply(this, args);
      };
    });
  }
  syncBuiltinESMExports();
}
