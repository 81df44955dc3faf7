/** Turns of the event loop: long work in one piece would keep all others waiting. */

/** Lets what waits for its turn come first. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Items that are worked on in one turn. */
const atOnce = 100;

/** As `map` of a list, with turns for others in between. */
export async function mappedInTurns<From, To>(
  items: readonly From[],
  make: (item: From, at: number) => To,
): Promise<readonly To[]> {
  const made: To[] = [];
  for (const [at, item] of items.entries()) {
    if (at > 0 && at % atOnce === 0) await nextTurn();
    made.push(make(item, at));
  }
  return made;
}
