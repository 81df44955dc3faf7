/** A scenario: a repository, and a sequence of commands with a scripted model. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findings } from '../compare.mjs';
import { fill } from '../expand.mjs';
import { inFolder, put } from '../folders.mjs';
import { clearUp, killGroup, waitFor } from '../processes.mjs';
import { checkArtifacts, checkEnding, checkFolders } from './checks.mjs';
import { factory } from './command.mjs';
import { checkRepository } from './git-checks.mjs';
import { gitIn, makeRepository, prepare, stateOf } from './repository.mjs';

export const runScenario = (scenario, setting) =>
  inFolder(setting, async (root) => {
    const place = {
      root,
      work: join(root, 'work'),
      repo: join(root, 'repo'),
      outdir: join(root, 'work/wo-out'),
      artifacts: join(root, 'artifacts'),
      home: join(root, 'home'),
    };
    for (const folder of [place.work, place.repo, place.home]) mkdirSync(folder);
    place.git = gitIn(place.repo, place.home);
    if (scenario.repo) place.remote = makeRepository(scenario.repo, place);
    const problems = [];
    for (const [n, step] of scenario.steps.entries()) {
      const found = findings(scenario.steps.length > 1 ? `step ${n + 1}, ` : '');
      await runStep(fill(step, /\{(work|repo|outdir|artifacts)\}/g, place), n + 1, place, setting, found);
      problems.push(...found.problems);
    }
    return { problems };
  });

async function runStep(step, number, place, setting, found) {
  prepare(step.prepare ?? {}, place);
  const before = stateOf(place.git);
  const run = await factory(setting, {
    argv: argvOf(step, number, place),
    cwd: place.work,
    home: place.home,
    reactions: step.do === 'plan' ? step.planner : step.se,
    env: step.env ?? {},
    timeoutMs: (step.expect.maxSeconds ?? 120) * 1000 + 30_000,
    during: step.signal === undefined ? undefined : (state) => interrupt(step.signal, state),
  });
  await sleep((step.expect.settleSeconds ?? 0) * 1000);
  const seen = { step, run, before, place };
  checkEnding(seen, found);
  checkRepository(seen, found);
  checkArtifacts(seen, found);
  checkFolders(seen, found);
  clearUp(run.pid);
}

async function interrupt({ name, whenFileExists, to }, state) {
  if (!(await waitFor(state, () => existsSync(whenFileExists)))) return;
  if (to === 'group') killGroup(state.child.pid, name);
  else state.child.kill(name);
}

function argvOf(step, number, place) {
  const flags = step.flags ?? [];
  const has = (flag) => flags.some((word) => word === flag || word.startsWith(`${flag}=`));
  const file = (name, content) => {
    const path = join(place.root, `${number}-${name}`);
    writeFileSync(
      path,
      typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content),
    );
    return path;
  };
  const given = ['--artifacts-dir', place.artifacts];
  if (step.do === 'plan') {
    if (step.spec !== undefined) given.push('--spec', file('spec.md', step.spec));
    if (step.template !== undefined) given.push('--template', file('template.md', step.template));
    return ['plan', ...given, ...flags];
  }
  if (!has('--repo')) given.push('--repo', place.repo);
  if (step.do === 'run') {
    if (step.workOrder !== undefined) given.push('--work-order', file('order.json', step.workOrder));
    return ['order', 'run', ...given, ...flags];
  }
  if (step.workOrders !== undefined) {
    const folder = join(place.root, `${number}-orders`);
    mkdirSync(folder);
    const text = (content) =>
      typeof content === 'object' && !Buffer.isBuffer(content) ? JSON.stringify(content) : content;
    put(
      folder,
      Object.fromEntries(Object.entries(step.workOrders).map(([name, content]) => [name, text(content)])),
    );
    given.push('--workdir', folder);
  } else if (!has('--workdir')) given.push('--workdir', place.outdir);
  return ['order', step.do, ...given, ...flags];
}
