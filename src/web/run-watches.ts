/** Who watches the list of runs. Each is kept the names of what has changed, and not the changes: a slow reader costs no more than
 *  its runs have names, and gets the newest row of each. */

/** What changes in the list from the moment at which the watch was opened. */
export interface RunWatch {
  /** Names of runs that are new, have changed in more than the time that they have taken, or are gone, since the last call. */
  take(): readonly string[];
  /** Settles when there is something to take, or when `signal` fires. */
  changed(signal: AbortSignal): Promise<void>;
  close(): void;
}

type Watcher = { readonly names: Set<string>; settle: () => void };

export class RunWatches {
  private readonly all = new Set<Watcher>();

  open(): RunWatch {
    const watcher: Watcher = { names: new Set(), settle: () => {} };
    this.all.add(watcher);
    return {
      take() {
        const names = [...watcher.names];
        watcher.names.clear();
        return names;
      },
      async changed(signal) {
        if (watcher.names.size > 0 || signal.aborted) return;
        await new Promise<void>((done) => {
          watcher.settle = () => {
            signal.removeEventListener('abort', watcher.settle);
            done();
          };
          signal.addEventListener('abort', watcher.settle);
        });
      },
      close: () => this.all.delete(watcher),
    };
  }

  areNone(): boolean {
    return this.all.size === 0;
  }

  note(name: string): void {
    for (const { names } of this.all) names.add(name);
  }

  /** After the notes of a look: its changes are sent together. */
  wake(): void {
    for (const { names, settle } of this.all) if (names.size > 0) settle();
  }
}
