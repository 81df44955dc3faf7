/** A model's proposal for one work order: the written files, or the stage at which it is refused. Uses the library, and
 *  the command for checks before the model call. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findings, same } from '../compare.mjs';
import { copyTree, inFolder, link, modes, put } from '../folders.mjs';
import { orderCommand } from './command.mjs';
import { changesBetween, treeOf } from './tree.mjs';

export const checkProposalCase = (one, setting) =>
  inFolder(setting, async (root) => {
    const place = join(root, 'place');
    const repo = join(place, 'repo');
    mkdirSync(repo, { recursive: true });
    put(repo, one.repoTree);
    put(place, one.outsideTree);
    link(repo, one.symlinks);
    modes(repo, one.modes);
    commitAll(repo);
    const before = treeOf(place);
    const answer = typeof one.proposal === 'string' ? one.proposal : JSON.stringify(one.proposal);

    const found = findings();
    const asked = needsCommand(one) ? await throughCommand(one, answer, root, setting, found) : undefined;
    const got =
      asked?.stage === 'preflight'
        ? { stage: 'preflight', touched: [] }
        : await apply(one, answer, repo, setting);

    const { stage, stage_any_of: anyOf, touched } = one.expect;
    if (stage !== undefined) found.equal('stage', stage, got.stage);
    if (anyOf !== undefined)
      found.check('stage', anyOf.includes(got.stage), `one of ${anyOf.join(', ')}`, got.stage);
    if (touched !== undefined) found.equal('touched', touched, got.touched);
    checkFiles(one.expect, before, treeOf(place), found);
    checkModes(one.expect, repo, found);
    return { problems: found.problems };
  });

/** The command is slower, so it is used only for these checks. */
const needsCommand = ({ workOrder, expect }) =>
  expect.stage === 'preflight' || expect.llmCalls === 0 || (workOrder.preconditions ?? []).length > 0;

async function apply(one, answer, repo, { library }) {
  const read = library.workOrderSchema().safeParse(one.workOrder);
  if (!read.success) return { stage: `the order is refused: ${read.error.message}` };
  const parsed = library.parseProposal(answer);
  if ('stage' in parsed) return { stage: parsed.stage };
  const applied = await library.applyProposal(repo, read.data, parsed.proposal);
  return { stage: applied.failure?.stage ?? null, touched: applied.touched };
}

/** The whole command also verifies and commits, so it runs in a separate folder. */
async function throughCommand(one, answer, root, setting, found) {
  const place = join(root, 'commanded');
  copyTree(join(root, 'place'), place);
  const before = treeOf(place);
  const run = await orderCommand(setting, {
    root,
    repo: join(place, 'repo'),
    order: one.workOrder,
    answers: [{ text: answer }],
    flags: ['--branch', 'proposed', '--no-push', '--max-attempts', '1'],
  });
  if (run.stages === undefined)
    found.differs('the command', 'a summary', `exit code ${run.code}, saying ${run.stderr.slice(-250)}`);
  if (one.expect.llmCalls !== undefined) found.equal('llmCalls', one.expect.llmCalls, run.calls);
  const stage = run.stages?.[0] ?? null;
  if (stage === 'preflight')
    found.equal('changed by the command', [], [...changesBetween(before, treeOf(place)).keys()]);
  return { stage };
}

/** Only expected files may have changed, also outside the repository. */
function checkFiles({ filesAfter }, before, after, found) {
  if (filesAfter === undefined) return;
  const changed = changesBetween(before, after, { modes: filesAfter === 'unchanged' });
  const wanted = filesAfter === 'unchanged' ? {} : filesAfter;
  const names = [...changed.keys()].filter((path) => changed.get(path)?.kind !== 'folder').sort();
  const expected = Object.keys(wanted)
    .map((path) => `repo/${path}`)
    .sort();
  found.equal('changed paths', expected, names);
  for (const [path, content] of Object.entries(wanted)) {
    const there = changed.get(`repo/${path}`);
    if (there === undefined) continue;
    const bytes = Buffer.isBuffer(content)
      ? content.toString('latin1')
      : Buffer.from(content).toString('latin1');
    found.equal(`${path} is a`, 'file', there.kind);
    if (!same(bytes, there.content)) found.differs(path, content, there.content);
  }
}

function checkModes({ modesAfter, executableAfter }, repo, found) {
  const mode = (path) => statSync(join(repo, path)).mode & 0o777;
  for (const [path, bits] of Object.entries(modesAfter ?? {}))
    found.equal(`mode of ${path}`, Number.parseInt(bits, 8).toString(8), mode(path).toString(8));
  for (const path of executableAfter ?? [])
    found.check(`${path} is executable`, (mode(path) & 0o111) !== 0, true, false);
}

function commitAll(repo) {
  const git = (...words) =>
    execFileSync(
      'git',
      ['-c', 'user.name=Case', '-c', 'user.email=case@example.test', '-c', 'core.autocrlf=false', ...words],
      {
        cwd: repo,
        stdio: 'ignore',
      },
    );
  git('init', '-q', '-b', 'main');
  git('config', 'core.autocrlf', 'false');
  git('add', '-A');
  git('commit', '-q', '--allow-empty', '-m', 'initial state');
}
