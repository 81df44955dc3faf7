/** Files by which systemd or launchd starts a worker when its user logs in or the machine boots. Nothing secret is in them. */
import { basename, join } from 'node:path';
import { sha256 } from '../core/sha256.ts';

export type Service = {
  /** Of the unit; workers of other folders have other names. */
  readonly name: string;
  readonly path: string;
  readonly text: string;
  /** Commands that start it, watch it and end it. */
  readonly start: readonly string[];
  readonly stop: string;
  /** Where variables with secrets belong, such as keys of models. */
  readonly secrets: string;
};

export type ServiceRequest = {
  readonly runsDir: string;
  readonly cwd: string;
  readonly home: string;
  /** The words that start the worker; absolute programs. */
  readonly argv: readonly string[];
  /** Variables that it needs and that are no secrets. */
  readonly variables: Readonly<Record<string, string>>;
  readonly drainTimeoutMs: number;
};

/** A line of every such file: one without it is not ours. */
export const serviceMark = 'written by factory keep --install';

/** How long the system waits beyond the drain before it kills. */
const marginSeconds = 60;

/** A name for the worker of a runs directory. */
function nameOf({ runsDir, cwd }: ServiceRequest): string {
  const word = basename(cwd).replace(/[^A-Za-z0-9_-]/g, '-') || 'root';
  return `factory-keep-${word}-${sha256(runsDir).slice(0, 6)}`;
}

export function systemdService(request: ServiceRequest): Service {
  const { home, cwd, argv, variables, drainTimeoutMs } = request;
  const name = nameOf(request);
  const secrets = join(home, '.config/factory', `${name}.env`);
  const text = `# ${serviceMark}
[Unit]
Description=factory worker of ${unitText(cwd)}
StartLimitIntervalSec=0

[Service]
Type=exec
WorkingDirectory=${unitPath(cwd)}
ExecStart=${argv.map(unitWord).join(' ')}
${Object.entries(variables)
  .map(([key, value]) => `Environment=${quotedUnit(`${key}=${value}`)}`)
  .join('\n')}
EnvironmentFile=-${unitPath(secrets)}
Restart=on-failure
RestartSec=5
# Only the worker gets the signal: it drains. Engines outlive it, and the next worker watches them.
KillMode=process
OOMPolicy=continue
TimeoutStopSec=${Math.ceil(drainTimeoutMs / 1000) + marginSeconds}

[Install]
WantedBy=default.target
`;
  return {
    ...{ name, text, secrets },
    path: join(home, '.config/systemd/user', `${name}.service`),
    start: [
      'systemctl --user daemon-reload',
      `systemctl --user enable --now ${name}`,
      'loginctl enable-linger # to run also while you are not logged in',
      `journalctl --user -u ${name} -f # its log`,
    ],
    stop: `systemctl --user disable --now ${name}`,
  };
}

/** In a command line systemd expands `$`; everywhere `%`. */
const unitWord = (word: string): string => quotedUnit(word).replaceAll('$', '$$$$');
const quotedUnit = (text: string): string =>
  `"${unitText(text).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
/** `WorkingDirectory` and `EnvironmentFile` take the whole line. */
const unitPath = (path: string): string => unitText(path);
const unitText = (text: string): string => text.replaceAll('%', '%%');

export function launchdService(request: ServiceRequest): Service {
  const { home, cwd, argv, variables, drainTimeoutMs } = request;
  const name = nameOf(request);
  const secrets = join(home, '.config/factory', `${name}.env`);
  const log = join(home, 'Library/Logs', `${name}.log`);
  const file = join(home, 'Library/LaunchAgents', `${name}.plist`);
  // launchd reads no file of variables: a shell does, and becomes the worker.
  const script = `[ -f "$0" ] && { set -a; . "$0"; set +a; }; exec "$@"`;
  const words = ['/bin/sh', '-c', script, secrets, ...argv];
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ${serviceMark} -->
<plist version="1.0">
<dict>
  <key>Label</key><string>${xml(name)}</string>
  <key>WorkingDirectory</key><string>${xml(cwd)}</string>
  <key>ProgramArguments</key>
  <array>
${words.map((word) => `    <string>${xml(word)}</string>`).join('\n')}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${Object.entries(variables)
  .map(([key, value]) => `    <key>${key}</key><string>${xml(value)}</string>`)
  .join('\n')}
  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>AbandonProcessGroup</key><true/>
  <key>ExitTimeOut</key><integer>${Math.ceil(drainTimeoutMs / 1000) + marginSeconds}</integer>
  <key>StandardErrorPath</key><string>${xml(log)}</string>
</dict>
</plist>
`;
  return {
    ...{ name, text, secrets, path: file },
    start: [`launchctl bootstrap gui/$(id -u) '${file}'`, `tail -f '${log}' # its log`],
    stop: `launchctl bootout gui/$(id -u)/${name}`,
  };
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
const xml = (text: string): string => text.replace(/[&<>]/g, (letter) => entities[letter] ?? letter);
