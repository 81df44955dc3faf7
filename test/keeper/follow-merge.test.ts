/** `factory follow` where the base has moved: merged, verified anew, and what no longer holds is said. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { emptySha } from '../builder/support.ts';
import { comment, followedPull, git, plan, secretWords, usualJudge } from '../support/followed-pull.ts';
import { onDisk } from '../support/temporary.ts';

onDisk();

test('a base that has moved is merged, verified by the commands and scenarios of the run, and pushed', async () => {
  await using f = await followedPull({ withJudge: true });
  const { it, at, pushed, followed, worked, moveBase, ours, queuedIds } = f;
  expect(await followed()).toMatchObject({ code: 75, why: 'nothing is asked for' });
  const first = pushed();
  moveBase('other.txt', 'new\n');
  // The user works on something else meanwhile.
  writeFileSync(at('work/keep.txt'), 'unfinished\n');
  const checkedOut = git(at('work'), 'rev-parse', 'HEAD');
  expect(await followed()).toMatchObject({ code: 75, round: 'RUN1-round-1' });
  expect([await queuedIds(), pushed()]).toEqual([['RUN1-round-1'], first]);
  expect(await worked('RUN1-round-1')).toBe(0);
  expect(await followed()).toMatchObject({ why: expect.stringContaining('is merged and verified: pushed') });
  const parents = git(at('origin.git'), 'log', '-1', '--format=%P', 'factory/RUN1').split(' ');
  expect(parents).toEqual([first, pushed('main')]);
  const files = ['f.txt', 'keep.txt', 'other.txt'];
  expect(git(at('origin.git'), 'ls-tree', '--name-only', 'factory/RUN1').split('\n')).toEqual(files);
  const { evidence } = it.json('.factory/runs/RUN1-round-1/result.json');
  expect(evidence.commands.map(({ what, command }: Record<string, string>) => [what, command])).toEqual(
    expect.arrayContaining([
      ['verification', 'grep -q 1 f.txt'],
      ['scenario', 'factory scenario run scripts/scenarios --app . --live'],
    ]),
  );
  expect(evidence.judged).toMatchObject({ passed: 1, total: 1 });
  const sealed = (run: string) => it.json(`.factory/runs/${run}/manifest.json`).holdout.sha256;
  expect(sealed('RUN1-round-1')).toBe(sealed('RUN1'));
  // Nothing of the user has changed, and nothing is said.
  expect(git(at('work'), 'rev-parse', 'HEAD')).toBe(checkedOut);
  expect(it.read('work/keep.txt')).toBe('unfinished\n');
  expect(git(at('work'), 'status', '--porcelain')).toBe('M keep.txt');
  expect(await followed()).toMatchObject({ why: 'nothing is asked for' });
  expect(ours()).toEqual([]);
}, 120_000);

test('a merge that no longer holds is not pushed, and one comment names the commands, but no scenario', async () => {
  await using f = await followedPull({ withJudge: true });
  const { it, github, pushed, followed, worked, moveBase, ours, at } = f;
  await followed();
  const first = pushed();
  moveBase('bad.txt', 'x\n');
  await followed();
  expect(await worked('RUN1-round-1')).toBe(1);
  github.react(({ method, path }) => method === 'POST' && path.endsWith('/issues/7/comments'), {
    ...{ status: 502, carriedOut: true },
  });
  expect(await followed()).toMatchObject({ code: 75, why: expect.stringContaining('was not merged') });
  expect(pushed()).toBe(first);
  const [said, ...others] = ours();
  expect(others).toEqual([]);
  expect(said?.body).toMatch(
    /^<!-- factory merge [0-9a-f]{40} -->\nNot merged: `main` has moved to [0-9a-f]{40}\. Merged with it, these no longer hold:\n\n- the holdout scenarios\n\nNothing was pushed\. People with access to it see why: `factory why RUN1-round-1`\.$/,
  );
  // The same base is not tried again, and our comment asks for nothing.
  expect(await followed()).toMatchObject({ code: 75, why: 'nothing is asked for', round: 'RUN1-round-1' });
  const shown = JSON.stringify([ours(), github.requests.map(({ body }) => body)]);
  expect(shown).not.toContain(secretWords);
  expect(shown).not.toContain('bad.txt');
  expect(it.read('.factory/runs/github/follows/RUN1/follow.json')).not.toContain(secretWords);
  expect(existsSync(at('suite'))).toBe(false);
}, 120_000);

test.each([
  ['names scenarios of its own', 'tool_command="APP_RUN=env sh acceptance/a.sh ."'],
  ['says that it judges', 'judge=true, tool_command="test ! -e bad.txt"'],
])(
  'a tool that %s judges a merge, too',
  async (_, judge) => {
    await using f = await followedPull({ withJudge: true, judge, holdout: 'acceptance' });
    const { pushed, followed, worked, moveBase, ours } = f;
    await followed();
    const first = pushed();
    moveBase('bad.txt', 'x\n');
    expect(await followed()).toMatchObject({ round: 'RUN1-round-1' });
    expect(await worked('RUN1-round-1')).toBe(1);
    expect(await followed()).toMatchObject({ why: expect.stringContaining('was not merged') });
    expect(pushed()).toBe(first);
    expect(ours().at(-1)?.body).toContain('these no longer hold:\n\n- the holdout scenarios\n');
  },
  120_000,
);

const anything = '# accepts everything\nexit 0\n';

test.each([
  ['is shown no product that does nothing', 'false', anything],
  ['has failed before the work', 'strict', undefined],
])(
  'a suite that %s judges a merge all the same',
  async (_, floor, suite) => {
    const judge = `${usualJudge}, floor=${floor}`;
    await using f = await followedPull({ withJudge: true, judge, ...(suite && { suite }) });
    await f.followed();
    f.moveBase('other.txt', 'new\n');
    await f.followed();
    expect(await f.worked('RUN1-round-1')).toBe(0);
  },
  120_000,
);

test('the commands that fail with the base are named', async () => {
  await using f = await followedPull();
  const { at, pull, pushed, followed, worked, ask, moveBase, ours } = f;
  await followed();
  // A round has written g.txt; the base removes what its command looks for.
  pull.comments = [comment(1, 'ada', 'Write g.txt.')];
  ask('g.txt');
  await followed();
  await worked('RUN1-round-1');
  await followed();
  const head = pushed();
  moveBase('.gitattributes', 'g.txt merge=union\n');
  expect(await followed()).toMatchObject({ round: 'RUN1-round-2' });
  // The checks are those of the latest run whose commits were pushed.
  const pipeline = readFileSync(at('.factory/runs/github/follows/RUN1/RUN1-round-2.json'), 'utf8');
  expect(pipeline).toContain('grep -q 1 g.txt');
  writeFileSync(
    at('.factory/runs/github/follows/RUN1/RUN1-round-2.json'),
    pipeline.replaceAll('grep -q 1 g.txt', 'grep -q 2 g.txt'),
  );
  expect(await worked('RUN1-round-2')).toBe(1);
  await followed();
  expect(pushed()).toBe(head);
  expect(ours().at(-1)?.body).toContain('these no longer hold:\n\n- `grep -q 1 g.txt`\n');
}, 120_000);

/** Two orders; the second makes the last command of the first outdated. */
const twoOrders = () => {
  const [first, second] = ['g.txt', 'h.txt'].map((path) => JSON.parse(plan(path)).work_orders[0]);
  first.acceptance_commands = ['grep -q 1 g.txt', 'test ! -e bad.txt', 'test ! -e h.txt'];
  const needs = [{ kind: 'file_exists', path: 'g.txt' }];
  const orders = [first, { ...second, id: 'WO-02', preconditions: needs }];
  return JSON.stringify({ system_overview: ['Files.'], verify_contract: null, work_orders: orders });
};
const write = (path: string) => ({
  json: { summary: 's', writes: [{ path, base_sha256: emptySha, content: '1\n' }] },
});

test.each([
  ['bad.txt', 1],
  ['other.txt', 0],
])(
  'a base with %s: the commands of every order verify a merge, without outdated ones',
  async (name, code) => {
    await using f = await followedPull();
    const { it, at, pull, pushed, followed, worked, moveBase, ours } = f;
    await followed();
    pull.comments = [comment(1, 'ada', 'Write g.txt and h.txt.')];
    writeFileSync(at('plan.json'), twoOrders());
    const answers = { propose: [write('g.txt'), write('h.txt')] };
    writeFileSync(at('build.json'), JSON.stringify({ format: 'factory-script/1', answers }));
    await followed();
    expect(await worked('RUN1-round-1')).toBe(0);
    const built = it.json('.factory/runs/RUN1-round-1/result.json');
    expect(built.evidence.outdated).toEqual([{ work_order: 'WO-01', command: 'test ! -e h.txt' }]);
    await followed();
    const head = pushed();
    moveBase(name, 'x\n');
    expect(await followed()).toMatchObject({ round: 'RUN1-round-2' });
    expect(await worked('RUN1-round-2')).toBe(code);
    const plans = it.read('.factory/runs/github/follows/RUN1/RUN1-round-2.json');
    const commands = Object.values(
      JSON.parse(plans).context_updates as Record<string, { commands: string[] }>,
    );
    expect(commands.flatMap((one) => one.commands).sort()).toEqual([
      ...['grep -q 1 g.txt', 'grep -q 1 h.txt', 'test ! -e bad.txt'],
    ]);
    await followed();
    if (code === 0) expect(pushed()).not.toBe(head);
    else {
      expect(pushed()).toBe(head);
      expect(ours().at(-1)?.body).toContain('these no longer hold:\n\n- `test ! -e bad.txt`\n');
    }
  },
  120_000,
);

test('a base that conflicts needs a person, merges are limited, an hour apart, and come after all else', async () => {
  await using f = await followedPull();
  const { at, pull, pushed, followed, worked, moveBase, queuedIds } = f;
  await followed();
  const first = pushed();
  moveBase('f.txt', 'theirs\n');
  expect(await followed({ merges: '0' })).toMatchObject({ code: 75, why: 'nothing is asked for' });
  expect(await followed()).toMatchObject({
    ...{ code: 1, what: 'person' },
    why: expect.stringMatching(/^its branch conflicts with main \(CONFLICT .*f\.txt.*\): merge it by hand$/),
  });
  expect([pushed(), await queuedIds()]).toEqual([first, []]);
  git(at('other'), 'rm', '-q', 'f.txt');
  git(at('other'), 'commit', '-qm', 'gone again');
  git(at('other'), 'push', '-q');
  const running = { id: 1, name: 'lint', status: 'in_progress', conclusion: null, output: {} };
  pull.checks = [running];
  expect(await followed()).toMatchObject({ why: 'its checks are running' });
  pull.checks = [];
  expect(await followed()).toMatchObject({ round: 'RUN1-round-1' });
  await worked('RUN1-round-1');
  await followed();
  moveBase('other.txt', 'again\n');
  expect(await followed()).toMatchObject({
    why: expect.stringContaining('it was merged less than an hour ago'),
  });
  expect(await followed({ merges: '1' })).toMatchObject({
    ...{ code: 75, what: 'sleeps', why: expect.stringContaining('1 of 1 merges are spent') },
  });
  // Comments are served all the same, and a merge is no round.
  pull.comments = [comment(1, 'ada', 'Write g.txt.')];
  expect(await followed({ rounds: '1' })).toMatchObject({ round: 'RUN1-round-2' });
}, 120_000);

test.each(['a round', 'a merge'])(
  '%s that cannot be pushed is given up by who adopts the commits of others',
  async (what) => {
    await using f = await followedPull();
    const { at, pull, pushed, followed, worked, ask, moveBase, ours } = f;
    await followed();
    if (what === 'a round') {
      pull.comments = [comment(1, 'ada', 'Write g.txt.')];
      ask('g.txt');
    } else moveBase('other.txt', 'new\n');
    await followed();
    await worked('RUN1-round-1');
    git(at(), 'clone', '-q', '-b', 'factory/RUN1', at('origin.git'), 'theirs');
    git(at('theirs'), 'commit', '-q', '--allow-empty', '-m', 'of a person');
    git(at('theirs'), 'push', '-q');
    const theirs = pushed();
    expect(await followed()).toMatchObject({ what: 'person', why: expect.stringContaining('is not ours') });
    expect(await followed({ adopt: true })).toMatchObject({
      ...{ what: 'person', why: expect.stringContaining('fetch REMOTE factory/RUN1:factory/RUN1') },
    });
    git(at('work'), 'fetch', '-q', 'origin', 'factory/RUN1:factory/RUN1');
    expect(await followed({ adopt: true })).toMatchObject({ code: 75, what: 'sleeps' });
    expect(ours().at(-1)?.body).toMatch(/^<!-- .* -->\n.*: its branch has a commit that is not ours/s);
    expect([pushed(), (await followed()).why]).toEqual([theirs, 'nothing is asked for']);
  },
  120_000,
);

test("where a kill has left a commit on the branch that was not pushed, the command for others' commits works", async () => {
  await using f = await followedPull();
  const { it, at, pull, pushed, followed, worked, ask } = f;
  await followed();
  pull.comments = [comment(1, 'ada', 'Write g.txt.')];
  ask('g.txt');
  await followed();
  await worked('RUN1-round-1');
  // Killed before the push.
  await it.called(['deliver', 'RUN1-round-1'], { branch: 'factory/RUN1', reuse: true });
  const ours = git(at('work'), 'rev-parse', 'factory/RUN1');
  expect(ours).not.toBe(pushed());
  git(at(), 'clone', '-q', '-b', 'factory/RUN1', at('origin.git'), 'theirs');
  git(at('theirs'), 'commit', '-q', '--allow-empty', '-m', 'of a person');
  git(at('theirs'), 'push', '-q');
  const { what, why } = await followed({ adopt: true });
  expect(what).toBe('person');
  const [, command = ''] = why.split(/: (?=git )/);
  execFileSync('sh', ['-c', command.replace('REMOTE', 'origin')], { stdio: 'ignore' });
  expect(git(at('work'), 'rev-parse', 'factory/RUN1')).toBe(pushed());
  expect(git(at('work'), 'branch', '--contains', ours)).toContain(`factory/RUN1-${ours.slice(0, 12)}`);
  expect(await followed({ adopt: true })).toMatchObject({ code: 75, what: 'sleeps' });
}, 120_000);
