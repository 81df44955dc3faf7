/** Holdouts for tests: scripts, fixtures and a picture, as a project might seal them. */
import { createHash } from 'node:crypto';
import type { SealedFile } from '../../src/core/records/manifest.ts';

export const sealed = (path: string, content: string | Buffer): SealedFile => ({
  path,
  kind: 'file',
  mode: 0o644,
  content: Buffer.from(content),
});

export const mit = (sign: string): string =>
  [
    'MIT License',
    '',
    'Copyright (c) 2024 The Harbour Authors',
    '',
    'Permission is hereby granted, free of charge, to any person obtaining a copy',
    'of this software and associated documentation files (the "Software"), to deal',
    'in the Software without restriction, including without limitation the rights',
    'to use, copy, modify, merge, publish, distribute, sublicense, and/or sell',
    'copies of the Software, and to permit persons to whom the Software is',
    'furnished to do so, subject to the following conditions:',
    '',
    'The above copyright notice and this permission notice shall be included in all',
    'copies or substantial portions of the Software.',
    '',
    'THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR',
    'IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,',
    'FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT.',
  ]
    .map((line) => `${sign} ${line}`.trimEnd())
    .join('\n');

export const harbour = `#!/usr/bin/env bash
${mit('#')}

# What a harbour master sees at dusk.
set -euo pipefail
here=$(cd "$(dirname "\${BASH_SOURCE[0]}")" && pwd)
app=\${1:?usage: harbour.sh APP_DIR}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

printf 'gannet,17\\nkittiwake,4821\\n' > "$tmp/moorings.csv"
python3 -m harbour --moorings "$tmp/moorings.csv" > "$tmp/out.txt"
if ! grep -q "kittiwake berthed at quay 4821" "$tmp/out.txt"; then
  echo "FAIL: the kittiwake must lie at the far quay" >&2
  exit 1
fi
[ "$(wc -l < "$tmp/out.txt")" -eq 2 ] || { echo "FAIL: gannet counted twice" >&2; exit 1; }
# canary: zx81-blue
diff -u "$here/expected-roster.txt" "$tmp/out.txt"
`;

export const roster = `roster of the northern basin
gannet      berth 17   draught 2.5
kittiwake   berth 4821 draught 3.75
tide table  springs at 04:17, neaps at 11:52
harbour dues 1,204.50 guilders
`;

/** Unique bytes. */
export const picture = Buffer.concat(
  Array.from({ length: 40 }, (_, n) => createHash('sha256').update(`tile ${n}`).digest()),
);

export const judge: readonly SealedFile[] = [
  sealed('scripts/scenarios/expected-roster.txt', roster),
  sealed('scripts/scenarios/harbour.sh', harbour),
  sealed('scripts/scenarios/quay.png', picture),
];
