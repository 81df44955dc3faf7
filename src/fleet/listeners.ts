/** Lets any number of callers hear of changes for the price of one: a queue watches its folders, or listens to its database, once. */

export interface ChangeListeners {
  /** Calls `changed` at each change until the returned function is called. */
  add(changed: () => void): () => void;
  /** Ends it for all. */
  close(): void;
}

/** `listen` is called for the first one, and what it returns after the last one. */
export function openListeners(listen: (changed: () => void) => () => void): ChangeListeners {
  const all = new Set<{ readonly changed: () => void }>();
  let end: (() => void) | undefined;
  const stop = (): void => {
    end?.();
    end = undefined;
  };
  return {
    add(changed) {
      const one = { changed };
      all.add(one);
      end ??= listen(() => {
        for (const each of [...all]) each.changed();
      });
      return () => {
        if (all.delete(one) && all.size === 0) stop();
      };
    },
    close() {
      all.clear();
      stop();
    },
  };
}
