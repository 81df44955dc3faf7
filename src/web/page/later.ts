/** Work that is put off for a moment. */

/** Calls that come together are one, in the next frame at the latest. */
export function later(act: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    setTimeout(() => {
      asked = false;
      act();
    }, 50);
  };
}
