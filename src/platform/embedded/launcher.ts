/** The launcher of a single call, for callers that the launch server does not serve: it has the product's broker start a program, and
 *  behaves as that program would have. */
import fs from 'node:fs';
import type { Socket } from 'node:net';
import {
  type CallerEnd,
  callerEnd,
  connectLaunch,
  forwardedSignals,
  ignore,
  isOneOutput,
  type LauncherPlaces,
  launchEnd,
  launchRequest,
  leaveMark,
  sendSignal,
} from './launch.ts';
import { inputKind, isScriptsInput, lostInput, readInput, selfFolder } from './standard-input.ts';

/** Defined before the program's text: see `programWith`. */
declare const places: LauncherPlaces;
const [, , ...argv] = process.argv;
const write = (text: string): void => {
  try {
    fs.writeSync(2, `APP_RUN: ${text}\n`);
  } catch {
    // Standard error is closed.
  }
};
if (argv.length === 0) {
  write('no program is given: "$APP_RUN" PROGRAM ARGUMENTS…');
  process.exit(125);
}

const ownPlace = (): string | undefined => {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
};
const request = launchRequest(
  { argv, env: process.env, folder: ownPlace(), oneOutput: isOneOutput(selfFolder) },
  places,
);
try {
  process.chdir(places.socket);
} catch {
  leave(callerEnd(undefined, '', places));
}
const { control, input, output, errors } = connectLaunch(request);
const end = launchEnd(control);

/** Copies a stream of the product to a descriptor; the answer settles when all is written. */
const copy = (from: Socket, fd: number): Promise<void> =>
  new Promise((copied) => {
    let waiting = false;
    let ended = false;
    const close = () => {
      ended = true;
      if (!waiting) copied();
    };
    const put = (bytes: Buffer, at: number): void => {
      if (at >= bytes.length) {
        waiting = false;
        if (ended) copied();
        else from.resume();
        return;
      }
      // Not the synchronous call: a slow reader must not delay signals.
      fs.write(fd, bytes, at, bytes.length - at, null, (error, count) => {
        if (error === null) return put(bytes, at + count);
        // Another program has made the pipe non-blocking.
        if (error.code === 'EAGAIN') setTimeout(() => put(bytes, at), 5);
        else {
          waiting = false;
          from.destroy();
        }
      });
    };
    from.on('data', (bytes: Buffer) => {
      waiting = true;
      from.pause();
      put(bytes, 0);
    });
    from.once('end', () => from.end());
    from.once('close', close);
  });
const copied = Promise.all([copy(output, 1), copy(errors, 2)]);

const kind = inputKind(() => fs.fstatSync(0));
const stdin = kind === 'socket' || kind === 'other' ? process.stdin : readInput(kind, selfFolder);
let length = 0;
stdin?.on('error', ignore);
stdin?.on('data', (bytes: Buffer) => {
  length += bytes.length;
});
if (stdin === undefined) input.end();
else stdin.pipe(input);

/** Input that the script would have read itself after a product that reads none. */
const giveBack = (consumed: number): void => {
  if (kind === 'file') {
    const room = Buffer.allocUnsafe(65_536);
    for (let rest = Math.min(consumed, length); rest > 0; ) {
      const got = fs.readSync(0, room, 0, Math.min(rest, room.length), null);
      if (got === 0) break;
      rest -= got;
    }
  } else if (length > consumed && isScriptsInput(selfFolder, process.ppid)) {
    leaveMark(places, 'input-lost');
    write(lostInput);
  }
};

function leave({ code, signal, message }: CallerEnd): void {
  if (message !== undefined) write(message);
  if (signal === undefined) process.exit(code);
  for (const name of forwardedSignals) process.removeAllListeners(name);
  process.kill(process.pid, signal);
  // For signals that do not end this program.
  setTimeout(() => process.exit(code), 100);
}

for (const name of forwardedSignals) process.on(name, () => sendSignal(control, name));
leaveMark(places, 'launched');
end.then(async (ended) => {
  if (ended !== undefined) await copied;
  const last = callerEnd(ended, argv[0] ?? '', places);
  if (last.message === undefined) giveBack(last.consumed);
  leave(last);
});
