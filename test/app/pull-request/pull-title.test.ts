/** The title of a pull request, which becomes the message of a commit where it is squashed. */
import { expect, test } from 'vitest';
import { pullTitle } from '../../../src/app/pull-request/pull-title.ts';

test.for([
  ['Alarm: fixes #7', 'Alarm: fixes # 7'],
  ['Closed: my-org/app#12 and resolves GH-3', 'Closed: my-org/app# 12 and resolves GH 3'],
  ['fix https://github.com/my-org/app/issues/9', 'fix https: //github.com/my-org/app/issues/9'],
  ['FIXES:#1', 'FIXES:# 1'],
  ['Crash in step #3 after prefixes #2', 'Crash in step #3 after prefixes #2'],
  ['Resolve the name of a host', 'Resolve the name of a host'],
] as const)('%j becomes %j', ([title, is]) => {
  expect(pullTitle(title)).toBe(is);
});
