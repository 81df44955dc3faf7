/** The newest messages of a stream that many clients read, each at its own pace. */

/** Whole messages, made once. */
export type MessagePiece = {
  readonly bytes: Uint8Array;
  /** `seq` of the last event up to its end; 0 without any. */
  readonly last: number;
  /** Identity of the row that was sent last. */
  readonly row: string;
};

/** Bytes that are kept for clients that are behind, besides what was added last. */
const mostKept = 8 * 1024 * 1024;

export type NextPiece =
  | MessagePiece
  /** It is not kept any more, or the stream has ended. */
  | 'dropped'
  | 'ended';

/** It does not grow with the number of clients, nor with how slow they are: a client that is further behind is answered `dropped`. */
export class MessageLog {
  #pieces: MessagePiece[] = [];
  #first = 0;
  #bytes = 0;
  #over: { readonly error?: unknown } | undefined;
  #waiting = new Set<() => void>();

  /** The number of the piece that comes next. */
  get end(): number {
    return this.#first + this.#pieces.length;
  }

  get isOver(): boolean {
    return this.#over !== undefined;
  }

  add(pieces: readonly MessagePiece[]): void {
    if (pieces.length === 0) return;
    let dropped = 0;
    for (; this.#bytes > mostKept; dropped += 1) this.#bytes -= this.#pieces[dropped]?.bytes.length ?? 0;
    this.#pieces.splice(0, dropped);
    this.#first += dropped;
    for (const piece of pieces) this.#bytes += piece.bytes.length;
    this.#pieces.push(...pieces);
    this.#wake();
  }

  /** Nothing comes any more; with an error, clients are refused with it. */
  close(error?: unknown): void {
    this.#over ??= error === undefined ? {} : { error };
    this.#wake();
  }

  /** The piece with that number, once it is there; `ended` if `signal` fires before. */
  async next(number: number, signal: AbortSignal): Promise<NextPiece> {
    for (;;) {
      if (number < this.#first) return 'dropped';
      const piece = this.#pieces[number - this.#first];
      if (piece !== undefined) return piece;
      if (this.#over !== undefined && 'error' in this.#over) throw this.#over.error;
      if (this.#over !== undefined || signal.aborted) return 'ended';
      await this.#change(signal);
    }
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake);
        this.#waiting.delete(wake);
        resolve();
      };
      signal.addEventListener('abort', wake);
      this.#waiting.add(wake);
    });
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
