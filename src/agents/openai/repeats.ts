/** Notices a model that goes in a circle: the same calls, with the same results, and nothing changed by them. Pure. */

/** Turns of nothing but repetition until the model is told, and until it is stopped. */
const tolerated = { told: 2, stopped: 4 } as const;

export type Call = {
  readonly name: string;
  /** In any spelling that is the same for the same arguments. */
  readonly args: string;
  readonly result: string;
  /** The same as long as nothing was changed. */
  readonly state: string;
};

export interface Repeats {
  /** Takes the calls of a turn; says what is to be done about them. */
  turn(calls: readonly Call[]): 'go on' | 'tell' | 'stop';
}

/** `sameCalls`: turns of the same calls, the first included, that are too many; 0 for never. */
export function repeats(sameCalls = tolerated.stopped + 1): Repeats {
  const seen = new Set<string>();
  let streak = 0;
  return {
    turn(calls) {
      const fresh = calls.filter(({ name, args, result, state }) => {
        const key = JSON.stringify([name, args, result, state]);
        const is = !seen.has(key);
        seen.add(key);
        return is;
      });
      streak = fresh.length > 0 || calls.length === 0 ? 0 : streak + 1;
      if (sameCalls > 0 && streak > 0 && streak >= sameCalls - 1) return 'stop';
      return streak >= tolerated.told ? 'tell' : 'go on';
    },
  };
}
