/** Checks the changes of a step in the repository. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gitIn, stateOf } from './repository.mjs';

const whole = (pattern, text) => new RegExp(`^(?:${pattern})$`).test(text ?? '');

export function checkRepository({ step, before, place }, found) {
  const expected = step.expect;
  const { git, repo, home, remote } = place;
  const after = stateOf(git);
  if (expected.headUnchanged) found.equal('HEAD', before.head, after.head);
  if ('branch' in expected) {
    const right = expected.branch === null ? after.branch === null : whole(expected.branch, after.branch);
    found.check('branch', right, expected.branch, after.branch);
  }
  if (expected.commits !== undefined) checkCommits(expected.commits, before.head, git, found);
  if (expected.clean) found.equal('git status', '', git('status', '--porcelain'));
  for (const [path, content] of Object.entries(expected.files ?? {})) {
    const file = join(repo, path);
    const got = existsSync(file) ? readFileSync(file) : null;
    if (content === null) found.check(path, got === null, 'nothing', got?.toString());
    else found.check(path, got?.equals(Buffer.from(content)) === true, content, got?.toString() ?? 'nothing');
  }
  if (expected.author !== undefined) found.equal('author', expected.author, authorAs(expected.author, git));
  checkBranches('local branches', expected.localBranches, Object.keys(after.tips), found);
  const there = remote === undefined ? [] : Object.keys(stateOf(gitIn(remote, home)).tips);
  checkBranches('remote branches', expected.remoteBranches, there, found);
  for (const [branch, wanted] of Object.entries(expected.branchTips ?? {})) {
    const got = before.tips[branch] === after.tips[branch] ? 'unchanged' : 'moved';
    found.equal(`tip of ${branch}`, wanted, got);
  }
}

/** New commits, oldest first. A subject is that of the case or of the design: `WO-NN: title`. */
function checkCommits(expected, since, git, found) {
  const range = since === undefined ? 'HEAD' : `${since}..HEAD`;
  const list = git('rev-list', '--reverse', range).split('\n').filter(Boolean);
  found.equal('number of commits', expected.length, list.length);
  for (const [n, commit] of list.entries()) {
    const wanted = expected[n];
    if (wanted === undefined) break;
    const subject = git('log', '-1', '--format=%s', commit);
    const pattern = wanted.subject ?? '.*';
    found.check(
      `subject of commit ${n + 1}`,
      whole(pattern, subject) || /^WO-\d+: ./.test(subject),
      pattern,
      subject,
    );
    if (wanted.files === undefined) continue;
    const files = git('diff-tree', '--root', '--no-commit-id', '--name-only', '-r', '-z', commit).split('\0');
    found.equal(`files of commit ${n + 1}`, [...wanted.files].sort(), files.filter(Boolean).sort());
  }
}

/** The author of HEAD, with the mail address if one is expected. */
const authorAs = (expected, git) =>
  git(
    'log',
    '-1',
    `--format=${expected.includes('<') ? '%an <%ae>' : expected.includes('@') ? '%ae' : '%an'}`,
  );

function checkBranches(what, expected, got, found) {
  if (expected === undefined) return;
  for (const branch of expected.include ?? [])
    found.check(what, got.includes(branch), `one named ${branch}`, got);
  for (const branch of expected.exclude ?? [])
    found.check(what, !got.includes(branch), `none named ${branch}`, got);
  if (typeof expected.count === 'number') found.equal(`number of ${what}`, expected.count, got.length);
}
