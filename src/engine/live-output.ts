/** Hands on what a program prints while it runs: reads what was added to its output files, masked. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { maskStream } from '../core/policy/mask.ts';
import { seesHoldout } from '../holdout/mount.ts';
import type { LayerContext } from './layers/layer.ts';

/** Milliseconds between two looks. */
const lookMs = 250;

/** Bytes of one stream that are handed on at a look. Of a program that prints more, the middle is left out. */
const mostAtOnce = 64 * 1024;

/** Shown in place of what a node prints, or its model says, that sees the holdout. */
export const withheldNotice = 'the output is withheld until the run has ended: this node sees the holdout\n';

/** Whether the texts of a node may contain the holdout. */
export const mayShowHoldout = ({ run, node, kind }: Pick<LayerContext, 'run' | 'node' | 'kind'>): boolean =>
  run.sealed !== undefined && seesHoldout(node, kind.type);

/** Looks at the output of one program, from `begin` (it has started) to `end`. */
export type LiveOutput = { begin(): void; end(): void };

/** `files` receive the program's standard output and standard error. A program that ends before the first look costs
 *  nothing: no file is opened. */
export function liveOutput(context: LayerContext, files: readonly [string, string]): LiveOutput {
  const { run, node, secrets } = context;
  const { every } = run;
  if (every === undefined) return { begin() {}, end() {} };
  const show = (text: string, channel: 'stdout' | 'stderr'): void => {
    if (text !== '') run.watcher.output(node.id, text, channel);
  };
  let streams: readonly Stream[] | undefined;
  let stop: (() => void) | undefined;
  const open = (): readonly Stream[] => {
    if (mayShowHoldout(context)) {
      show(withheldNotice, 'stderr');
      return [];
    }
    const [stdout, stderr] = files;
    const values = secrets.known();
    return [
      new Stream(stdout, values, (text) => show(text, 'stdout')),
      ...(stderr === stdout ? [] : [new Stream(stderr, values, (text) => show(text, 'stderr'))]),
    ];
  };
  return {
    begin() {
      stop ??= every(lookMs, () =>
        quietly(() => {
          streams ??= open();
          for (const stream of streams) stream.look();
        }),
      );
    },
    end() {
      stop?.();
      for (const stream of streams ?? []) quietly(() => stream.end());
    },
  };
}

/** A file that cannot be read, or a view that fails, is no reason to lose the node. */
function quietly(act: () => void): void {
  try {
    act();
  } catch {}
}

/** One growing file. A file that cannot be read shows nothing. */
class Stream {
  readonly #file: number | undefined;
  readonly #values: readonly string[];
  readonly #show: (text: string) => void;
  #masker: ReturnType<typeof maskStream>;
  #decoder = new StringDecoder();
  #at = 0;

  constructor(path: string, values: readonly string[], show: (text: string) => void) {
    this.#file = openPlain(path);
    this.#values = values;
    this.#show = show;
    this.#masker = maskStream(values);
  }

  look(): void {
    const added = this.#added();
    if (added.length > 0) this.#show(this.#decoder.write(this.#masker.push(added)));
  }

  end(): void {
    try {
      const last = this.#decoder.write(this.#masker.push(this.#added()));
      this.#show(last + this.#decoder.end(this.#masker.end()));
    } finally {
      if (this.#file !== undefined) closeSync(this.#file);
    }
  }

  #added(): Buffer {
    if (this.#file === undefined) return Buffer.alloc(0);
    const { size } = fstatSync(this.#file);
    const skipped = size - mostAtOnce - this.#at;
    const from = Math.max(this.#at, size - mostAtOnce);
    const piece = Buffer.alloc(Math.max(0, size - from));
    const read = piece.subarray(0, readSync(this.#file, piece, 0, piece.length, from));
    this.#at = from + read.length;
    return skipped > 0 ? this.#afterGap(read, skipped) : read;
  }

  /** From the next line on: the end of a secret whose beginning was left out would not be recognised, and nor would the
   *  beginning that is held back. */
  #afterGap(bytes: Buffer, skipped: number): Buffer {
    this.#masker = maskStream(this.#values);
    this.#decoder = new StringDecoder();
    const line = bytes.indexOf(10);
    const rest = bytes.subarray(line === -1 ? bytes.length : line + 1);
    const left = skipped + bytes.length - rest.length;
    return Buffer.concat([Buffer.from(`\n[… ${left} bytes are not shown …]\n`), rest]);
  }
}

/** A node may have put a link, a pipe or nothing in the place of its output. */
function openPlain(path: string): number | undefined {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    if (fstatSync(file).isFile()) return file;
    closeSync(file);
  } catch {
    // The artifact is looked at when the program has ended.
  }
  return undefined;
}
