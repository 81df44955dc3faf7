import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { differenceWords, targetDifferences } from '../../src/git/target-bytes.ts';
import { bareEnv, type Files, folder, git, put, repository } from '../builder/support.ts';

const files: Files = {
  'a.js': "export const id = '$Id$';\n",
  'b.txt': 'one\ntwo\n',
  'data.bin': '\0\n',
};

/** `there`: settings of the target, `info`: attributes of its own, `own`: attributes in the commit, `user`: of the user. */
type Row = readonly [
  title: string,
  how: { there?: Record<string, string>; info?: string; own?: string; user?: string; to?: true },
  content: readonly string[],
  lineEnds: readonly string[],
];

test.for<Row>([
  ['nothing without settings', {}, [], []],
  ['texts by core.autocrlf', { there: { 'core.autocrlf': 'true' } }, [], ['a.js', 'b.txt']],
  ['texts by core.eol', { there: { 'core.eol': 'crlf' }, own: '*.txt text\n' }, [], ['b.txt']],
  ['texts by attributes of the target', { info: '*.txt eol=crlf\n' }, [], ['b.txt']],
  ['keywords by attributes of the target', { info: '*.js ident\n' }, ['a.js'], []],
  ['keywords by attributes of the user', { user: '*.js ident\n' }, ['a.js'], []],
  ['keywords in a new repository of the user', { user: '*.js ident\n', to: true }, ['a.js'], []],
  ['an encoding', { info: '*.txt working-tree-encoding=UTF-16LE\n' }, ['b.txt'], []],
  ['nothing that the commit itself asks for', { own: '* ident text eol=crlf\n' }, [], []],
  ['nothing by a normalisation of texts', { info: '* text=auto\n' }, [], []],
  [
    'nothing by a filter, which does not run',
    {
      info: '* filter=x\n',
      there: { 'filter.x.smudge': 'exit 1', 'filter.x.process': 'exit 1', 'filter.x.required': 'true' },
    },
    [],
    [],
  ],
])(
  'a checkout in the target changes %s',
  async ([, { there = {}, info, own, user, to }, content, lineEnds]) => {
    using it = folder();
    const repo = join(it.path, 'repo');
    put(repo, { ...files, ...(own === undefined ? {} : { '.gitattributes': own }) });
    const head = repository(repo);
    git(it.path, 'clone', '-q', '--bare', 'repo', 'history.git');
    for (const [name, value] of Object.entries(there)) git(repo, 'config', name, value);
    if (info !== undefined) put(repo, { '.git/info/attributes': info });
    // Of another commit, which the target has checked out.
    writeFileSync(join(repo, '.gitattributes'), '*.js ident\n');
    const env = { ...bareEnv(it.path), GIT_CONFIG_GLOBAL: join(it.path, 'gitconfig') };
    put(it.path, { 'user.attributes': user ?? '' });
    put(it.path, { gitconfig: `[core]\n\tattributesFile = ${it.path}/user.attributes\n` });
    const historyDir = join(it.path, 'history.git');
    const target = to === true ? undefined : repo;
    const found = await targetDifferences({ historyDir, head, target, env });
    expect(found).toEqual({ content, lineEnds });
    const { refused, warnings } = differenceWords(found);
    expect(refused?.problem ?? '').toContain(content.join(', '));
    expect(warnings).toHaveLength(content.length === 0 && lineEnds.length > 0 ? 1 : 0);
  },
);
