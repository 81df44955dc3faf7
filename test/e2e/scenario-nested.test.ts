/** Scenarios in a node of a pipeline: their sandboxes are nested in the node's. */
import { expect, test } from 'vitest';
import { sandboxCapabilities } from '../../src/platform/sandbox/capabilities.ts';
import { home } from '../support/cli.ts';
import { onDisk } from '../support/temporary.ts';

onDisk();

const { bwrap } = await sandboxCapabilities(process.env);
const why = 'missing' in bwrap ? bwrap.missing : '';
const pipeline = (attributes: string) =>
  `digraph g { start [shape=Mdiamond]; exit [shape=Msquare]; judge [shape=parallelogram, ${attributes}, tool_command="factory scenario run scripts/scenarios --app . --json"]; start -> judge -> exit }`;
const scenario = `if [ "$SCENARIO_MODE" = selftest ]; then exit 0; fi
# SECRETWORD
[ "$(cat "$HOME/shown/x")" = here ] || exit 4
said=$("$APP_RUN" sh app.sh </dev/null); echo "$said"
[ "$said" = done ]
`;
const product = `
grep -rsl SECRET[W]ORD "$PWD/../../.." /tmp /run/.proc ~ /proc/[0-9]*/cmdline /proc/[0-9]*/root/tmp
ls /run
[ "$(id -u)" != 0 ] || ! (exec 3>>/proc/sys/kernel/core_pattern) 2>/dev/null || echo 'the settings of the kernel can be written'
mount -t proc proc /proc 2>/dev/null && echo 'a new /proc can be mounted'
echo done
`;

test.skipIf(why !== '')(
  `a product in a nested sandbox finds nothing of its scenario, nor of the machine around (${why || 'bubblewrap works'})`,
  async () => {
    await using it = await home({
      'w/app.sh': product,
      'w/scripts/scenarios/a_scenario.sh': scenario,
      'home/shown/x': 'here',
      'home/other/x': 'SECRETWORD',
      'p.dot': pipeline('isolation=required, sandbox_bind="~/shown"'),
      'none.dot': pipeline('isolation=required, sandbox=none'),
    });
    const run = (pipe: string, id: string) =>
      it.factory(['run', pipe, '--workdir', 'w', '--run-id', id], {
        env: { FACTORY_SANDBOX: '', HOME: `${it.path}/home` },
      });
    const ran = await run('p.dot', 'r');
    const report = await it.json('.factory/runs/r/judge/tool.stdout.txt');
    expect(report).toMatchObject({
      results: [
        {
          outcome: 'pass',
          output: { stdout: 'done\n' },
          evidence: { isolation: 'launcher', network: 'private' },
        },
      ],
    });
    expect(ran.code, ran.stderr).toBe(0);
    expect((await run('none.dot', 'n')).code).toBe(1);
    expect(await it.read('.factory/runs/n/judge/tool.stderr.txt')).toContain('no sandbox works here');
  },
);
