import { expect, test } from 'vitest';
import { launchdService, systemdService } from '../../src/keeper/install.ts';

const request = {
  runsDir: '/home/ada/shop 100%/.factory/runs',
  cwd: '/home/ada/shop 100%',
  home: '/home/ada',
  argv: ['/usr/bin/node', '/opt/factory/dist/cli.js', 'keep', '--notify=say "$X" & \\'],
  variables: { PATH: '/usr/bin' },
  drainTimeoutMs: 600_000,
};

test('a systemd unit drains its worker, and leaves engines alone', () => {
  const { path, text, start } = systemdService(request);
  expect(path).toMatch(/^\/home\/ada\/\.config\/systemd\/user\/factory-keep-shop-100--[0-9a-f]{6}\.service$/);
  expect(text).toContain('WorkingDirectory=/home/ada/shop 100%%\n');
  expect(text).toContain(
    'ExecStart="/usr/bin/node" "/opt/factory/dist/cli.js" "keep" "--notify=say \\"$$X\\" & \\\\"\n',
  );
  expect(text).toContain('Environment="PATH=/usr/bin"\n');
  expect(text).toContain('KillMode=process\n');
  expect(text).toContain('TimeoutStopSec=660\n');
  expect(start.join('\n')).toContain('systemctl --user enable --now factory-keep-shop-100-');
});

test('a launchd file does the same on macOS', () => {
  const { path, text } = launchdService(request);
  expect(path).toMatch(/^\/home\/ada\/Library\/LaunchAgents\/factory-keep-shop-100--[0-9a-f]{6}\.plist$/);
  expect(text).toContain('<string>--notify=say "$X" &amp; \\</string>');
  expect(text).toContain('<key>AbandonProcessGroup</key><true/>');
  expect(text).toContain('    <key>PATH</key><string>/usr/bin</string>');
});

test('workers of two runs directories have units of their names', () => {
  expect(systemdService(request).name).not.toBe(systemdService({ ...request, runsDir: '/other' }).name);
});
