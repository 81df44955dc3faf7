/** Gives a tool that measures the strength of its scenarios a private place for the mutants that they did not notice, and seals them
 *  with the run's holdout. They say what the scenarios do not test: no other node, prompt, record or page gets them. */
import { join } from 'node:path';
import { runsScenariosLive } from '../../core/policy/holdout-paths.ts';
import { layout, nodeLayout } from '../../core/records/layout.ts';
import { measuresStrength } from '../../core/settings/node.ts';
import { readPlain } from '../../platform/files/read.ts';
import { removeAside } from '../../platform/files/remove.ts';
import { makeFolder, writeFileAtomic } from '../../platform/files/write.ts';
import type { Layer, LayerContext } from './layer.ts';

/** Bytes; a longer list is not kept. */
const mostBytes = 64 * 1024 * 1024;

export const strength: Layer = (next) => async (context) => {
  const { run, node } = context;
  if (!measuresStrength(node.settings) || !runsScenariosLive(node.settings.tool_command ?? ''))
    return next(context);
  // No node can have a name that begins with a dot.
  const place = join(layout(run.runDir).scratch, '.survivors', node.id);
  try {
    await removeAside(place);
    makeFolder(place);
    const survivors = join(place, 'survivors.json');
    const executed = await next(context.with({ survivors }));
    await seal(context, survivors);
    return executed;
  } finally {
    await removeAside(place);
  }
};

async function seal({ run, node, nodeDir, secrets }: LayerContext, from: string): Promise<void> {
  const { sealed } = run;
  const read = readPlain(from, mostBytes);
  if (read.kind === 'missing') return;
  if (read.kind === 'none' || sealed === undefined) {
    const why = read.kind === 'none' ? `their list ${read.why}` : 'the run has no holdout, and so no key';
    run.log('warn', 'mutants that the scenarios did not notice are not kept', { node: node.id, why });
    return;
  }
  await writeFileAtomic(nodeLayout(nodeDir).survivors, sealed.seal(secrets.mask(read.text)), {
    mode: 0o600,
    evenFolder: true,
  });
}
