/** `factory order proof`: checks the final commit by itself. */
import { join } from 'node:path';
import { no, type StepVerdict, yes } from '../../core/contracts/step.ts';
import { inWorkspace } from '../../core/records/layout.ts';
import type { CommandIo } from '../../platform/command-io.ts';
import { readManifest } from '../../run/runs.ts';
import { buildCommits, openBuild } from '../build-state.ts';
import { prove } from '../proof.ts';
import { checksNothing } from '../proof-commands.ts';
import { spoken } from '../unittest.ts';
import { inRun, type StepOptions } from './in-run.ts';

/** Checks the final commit by itself, outside every repository. */
export const orderProof = (options: StepOptions, io: CommandIo): Promise<StepVerdict> =>
  inRun(options, io, async (place) => {
    const build = await openBuild(place, { allowExempt: false });
    if ('problem' in build) return no('config', build.problem);
    const left = build.orders.filter((one) => !build.state.done.some((done) => done.id === one.order.id));
    if (left.length > 0) return no('config', `not done yet: ${left.map((one) => one.order.id).join(', ')}`);
    const { head } = build.state;
    const outputDir = io.env['FACTORY_NODE_DIR'] ?? join(place.workspace, inWorkspace.order);
    const orders = build.orders.map((one) => one.order);
    const built = build.state.done.filter(({ attempts }) => attempts > 0).map(({ id }) => id);
    const last = orders.findLast((order) => built.includes(order.id));
    const { verified = [] } = build.state;
    const read = await readManifest(place.run.root);
    const setup = read.ok ? (read.manifest.setup?.commands ?? []) : [];
    const proof = await prove(io, place, { head, orders, last, verified, setup, outputDir });
    const where = head === null ? 'an empty tree' : `a fresh checkout of ${head.slice(0, 12)}`;
    if (!proof.ok) return no(proof.isWorld === true ? 'infra' : 'product', `in ${where}: ${proof.why}`);
    const ran = proof.commands.map(spoken);
    const how =
      proof.commands.length === 0 ? 'every promised file is there, but nothing could be run' : ran.join(', ');
    const needed = proof.needed.length === 0 ? '' : `; needed, but in no commit: ${proof.needed.join(', ')}`;
    const old = proof.outdated.map(({ work_order, command }) => `${work_order} (${command})`);
    const outdated = old.length === 0 ? '' : `; no longer accepted: ${old.join(', ')}`;
    const ready = setup.length === 0 ? '' : `, made ready by ${setup.join(', ')},`;
    return yes(`${where}${ready} holds: ${how}${needed}${outdated}`, {
      updates: {
        'build.head': head,
        'build.commits': buildCommits(build.state),
        'build.needed': proof.needed,
        'build.unchecked': build.orders
          .filter(({ order }) => order.acceptance_commands.every(checksNothing))
          .map(({ order }) => order.id),
        'build.proof': ran,
        'build.outdated': proof.outdated,
      },
    });
  });
