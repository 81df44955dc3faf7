/** Places in files that lines of a program's output name: `a.ts:3:5`, `a.ts(3,5)`, `File "a.py", line 3`. Pure. */

export type FailurePlace = { readonly file: string; readonly line: number };

/** A path whose name has an extension: `127.0.0.1:80` and `v1.2:3` are none. */
const path = String.raw`(\/?(?:[\w.@+~-]+\/)*[\w.@+~-]*[\w@+~-]\.[A-Za-z]\w{0,9})`;
const forms: readonly RegExp[] = [
  /"([^"]+\.\w{1,10})", line (\d+)/g,
  new RegExp(String.raw`(?<![\w/.@+~-])${path}(?::|\(|:? line )(\d+)`, 'g'),
];

/** In the order of the line. */
export const placesIn = (line: string): readonly FailurePlace[] =>
  forms.flatMap((form) =>
    [...line.replaceAll('file://', '').matchAll(form)].map(([, file = '', at]) => ({
      file,
      line: Number(at),
    })),
  );
