/** A function that calls `make` at its first call and answers the same value ever after. Schemas are made so: a small run
 *  needs one in ten of them, and making all of them would delay every start noticeably. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
