import fc from 'fast-check';
import { expect, test } from 'vitest';
import { masker } from '../../../src/core/policy/mask.ts';
import {
  environmentWithSecrets,
  namedIn,
  namedSecrets,
  secretsOf,
} from '../../../src/core/policy/secrets.ts';

const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl';
const pem =
  '-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END RSA PRIVATE KEY-----';
const service = JSON.stringify({
  type: 'service_account',
  private_key: `${pem}\n`,
  client_email: 'a@b.example',
});

/** What of a secret variable's value is masked. */
const secret: readonly (readonly [name: string, value: string, ...mask: string[]])[] = [
  // By name.
  ['OPENAI_API_KEY', 'value-of-key', 'value-of-key'],
  ['KEY', 'value-of-key', 'value-of-key'],
  ['APIKEY', 'value-of-key', 'value-of-key'],
  ['apiKey', 'value-of-key', 'value-of-key'],
  ['TOKEN', 'value-of-token', 'value-of-token'],
  ['GITHUB_PAT', 'value-of-pat', 'value-of-pat'],
  ['GH_PAT_2', 'value-of-pat', 'value-of-pat'],
  ['SECRET_KEY_BASE', 'value-of-base', 'value-of-base'],
  ['client_secret', 'value-of-secret', 'value-of-secret'],
  ['dbPassword', 'hunter2hunter2', 'hunter2hunter2'],
  ['PGPASSWORD', 'hunter2hunter2', 'hunter2hunter2'],
  ['MYSQL_PWD', 'hunter2hunter2', 'hunter2hunter2'],
  ['DB_PW', 'hunter2hunter2', 'hunter2hunter2'],
  ['smtpPw', 'hunter2hunter2', 'hunter2hunter2'],
  ['ROOT_PW_2', 'hunter2hunter2', 'hunter2hunter2'],
  ['LDAP_PW_PROD', 'hunter2hunter2', 'hunter2hunter2'],
  ['PW', 'hunter2hunter2', 'hunter2hunter2'],
  ['DOCKER_PASS', 'hunter2hunter2', 'hunter2hunter2'],
  ['password', 'production', 'production'],
  ['PASSPHRASE', 'correct horse battery', 'correct horse battery'],
  ['AWS_ACCESS_KEY_ID', 'AKIAABCDEFGHIJKLMNOP', 'AKIAABCDEFGHIJKLMNOP'],
  ['SESSION_COOKIE', 'sid=0123456789abcdef01', 'sid=0123456789abcdef01', '0123456789abcdef01'],
  ['AUTHORIZATION', 'Bearer 0123456789abcdef01', 'Bearer 0123456789abcdef01', '0123456789abcdef01'],
  [
    'OTEL_EXPORTER_OTLP_HEADERS',
    'authorization=Bearer%200123456789abcdef01,x-team=a',
    'authorization=Bearer%200123456789abcdef01,x-team=a',
    '0123456789abcdef01',
    'Bearer 0123456789abcdef01',
  ],
  [
    'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
    'authorization=Basic%20dXNlcjpwYXNzd29yZA%3D%3D',
    'authorization=Basic%20dXNlcjpwYXNzd29yZA%3D%3D',
    'dXNlcjpwYXNzd29yZA%3D%3D',
    'Basic dXNlcjpwYXNzd29yZA==',
    'dXNlcjpwYXNzd29yZA==',
  ],
  ['HTTP_AUTH', 'admin:hunter2hunter2', 'admin:hunter2hunter2', 'hunter2hunter2'],
  ['API_KEYS', '0123456789abcdef01,f', '0123456789abcdef01,f', '0123456789abcdef01'],
  [
    'DOCKER_AUTH_CONFIG',
    '{"auths":{"r":{"auth":"dXNlcjpwYXNz"}}}',
    '{"auths":{"r":{"auth":"dXNlcjpwYXNz"}}}',
    'dXNlcjpwYXNz',
  ],
  [
    'SLACK_WEBHOOK',
    'https://hooks.example/services/T0/B0/0123456789abcdef',
    'https://hooks.example/services/T0/B0/0123456789abcdef',
    '/services/T0/B0/0123456789abcdef',
    '0123456789abcdef',
  ],
  ['NPM_CONFIG__AUTH', 'dXNlcjpwYXNz', 'dXNlcjpwYXNz'],
  ['npm_config_//registry.example/:_authToken', 'value-of-token', 'value-of-token'],
  ['GPG_KEY', 'E3FF2839C048B25C084DEBE9B26995E310250568', 'E3FF2839C048B25C084DEBE9B26995E310250568'],
  // Base64 that begins like a path.
  [
    'AWS_SECRET_ACCESS_KEY',
    '/Kx8aQ93ndk3kd9fk3Lsk39Jdk3kd93kd/93kdAA',
    '/Kx8aQ93ndk3kd9fk3Lsk39Jdk3kd93kd/93kdAA',
  ],
  // By name, with nothing to mask: a path, an address, a short value, a word that the name says.
  ['SSH_AUTH_SOCK', '/tmp/ssh-XXXXabcd/agent.17'],
  ['GOOGLE_APPLICATION_CREDENTIALS', '/home/u/keys/service.json'],
  ['KEY_PATHS', '/etc/keys/one:/etc/keys/two'],
  ['DEPLOY_KEY', '~/.ssh/id_ed25519'],
  ['MASTER_KEY', 'config/master.key'],
  ['AUTH_SERVER', 'http://localhost:8080'],
  ['SHORT_KEY', 'abcdefg'],
  ['POSTGRES_PASSWORD', 'postgres'],
  // By the value's shape.
  ['DATABASE_URL', 'postgres://app:hunter2hunter2@db:5432/app', 'hunter2hunter2'],
  ['MONGO_URI', 'mongodb://u:p%40ssw0rd9@a:1,b:2/db?authSource=admin', 'p%40ssw0rd9', 'p@ssw0rd9'],
  ['REDIS_URL', 'redis://:hunter2hunter2@h:6379', 'hunter2hunter2'],
  ['BROKERS', 'amqp://u:hunter2hunter2@a,amqp://u:hunter3hunter3@b', 'hunter2hunter2', 'hunter3hunter3'],
  ['HTTPS_PROXY', 'http://me:hunter2hunter2@proxy:3128', 'hunter2hunter2'],
  ['RAW_URL', 'mysql://root:hunter2/p@ss@host/db', 'hunter2/p@ss'],
  ['TEST_DB', 'postgres://postgres:postgres@localhost/x', ':postgres@'],
  ['SHORT_URL', 'postgres://app:abc@db/app'],
  ['JDBC', 'jdbc:postgresql://h/db?user=a&password=hunter2hunter2', 'hunter2hunter2'],
  ['ODBC', 'Driver=x;Uid=a;Pw=hunter2hunter2;', 'hunter2hunter2'],
  ['STORAGE', 'AccountName=a;AccountKey=0123456789abcdef==;Suffix=x', '0123456789abcdef=='],
  ['CONNECTION', 'host=h password=hunter2hunter2 user=x', 'hunter2hunter2'],
  ['STRIPE_SK', 'sk_live_51HabcDEF', 'sk_live_51HabcDEF'],
  ['CURL_OPTIONS', '-H "X: ghp_abcdefghij0123456789"', 'ghp_abcdefghij0123456789'],
  ['SESSION', jwt, jwt],
  ['DEPLOY', pem, pem],
  ['SERVICE', service, service.slice(service.indexOf('-----'), service.lastIndexOf('-----') + 5), pem],
];

test.for(secret)('%s=%s is a secret', ([name, value, ...mask]) => {
  expect(secretsOf({ [name]: value })).toEqual([{ name, mask }]);
});

test.for([
  ['PATH', '/usr/bin:/bin'],
  ['PWD', '/home/u/work'],
  ['OLDPWD', '/home/u/work'],
  ['PW_TEST_HTML_REPORT_OPEN', 'when-it-fails'],
  ['PWDEBUG', 'console-of-the-browser'],
  ['KEYBOARD', 'us-international'],
  ['MONKEY', 'a-long-value'],
  ['PASSENGER', 'a-long-value'],
  ['COMPASS', 'a-long-value'],
  ['AUTHOR', 'Ada Lovelace'],
  ['PATTERN', 'a-long-value'],
  ['TOKENIZERS_PARALLELISM', 'false'],
  ['MAX_TOKENS', '4096'],
  ['USE_COOKIES', 'true'],
  ['REDIS_URL', 'redis://localhost:6379/0'],
  ['DATABASE_URL', 'postgres://app@db:5432/app'],
  ['MONGO_URI', 'mongodb://localhost:27017/app?authSource=administrator'],
  ['REGISTRY', 'http://localhost:4873/@scope/package'],
  ['REMOTE', 'git+ssh://git@github.com/a/b.git'],
  ['npm_config_auth_type', 'legacy-web'],
  ['npm_package_config_key', 'a-long-value'],
  ['npm_lifecycle_script', 'node scripts/make-key.js'],
  ['FACTORY_API_KEY', 'a-long-value'],
  ['ATTRACTOR_CODEX_AUTO_APPROVE_CONFIG_KEY', 'a-long-value'],
  ['ATTRACTION_TOKEN', 'a-long-value'],
  ['IMAGE', 'sk-learn-contrib-pipeline'],
] as const)('%s=%s is none', ([name, value]) => {
  expect(secretsOf({ [name]: value })).toEqual([]);
  expect(environmentWithSecrets({ [name]: value }, {}).env).toEqual({ [name]: value });
});

test('a node gets the named secrets, and all values are masked', () => {
  const env = {
    A_KEY: 'value-of-a',
    B_KEY: 'value-of-b',
    C_KEY: 'short',
    HOME: '/home/x',
    GONE_KEY: undefined,
    FACTORY_LOG_KEY: 'not-a-secret',
  };
  expect(environmentWithSecrets(env, { pass: ['B_KEY', 'NOT_THERE'] })).toMatchObject({
    env: { B_KEY: 'value-of-b', HOME: '/home/x', FACTORY_LOG_KEY: 'not-a-secret' },
    withheld: ['A_KEY', 'C_KEY'],
    mask: ['value-of-a', 'value-of-b'],
  });
  const { env: all, withheld, mask } = environmentWithSecrets(env, { pass: ['*'] });
  expect(all).toEqual({ ...env, GONE_KEY: undefined });
  expect([withheld, mask]).toEqual([[], ['value-of-a', 'value-of-b']]);
});

test('a variable that is named as a secret is withheld, and one that an agent declares reaches it; both are masked', () => {
  const env = { LOGIN: 'value-of-login', FACTORY_X: 'value-of-x', A_KEY: 'value-of-a' };
  expect(environmentWithSecrets(env, { named: ['LOGIN', 'FACTORY_X'] })).toMatchObject({
    env: {},
    withheld: ['A_KEY', 'FACTORY_X', 'LOGIN'],
    mask: ['value-of-a', 'value-of-x', 'value-of-login'],
  });
  expect(environmentWithSecrets(env, { keys: ['LOGIN'] })).toMatchObject({
    env: { LOGIN: 'value-of-login', FACTORY_X: 'value-of-x' },
    withheld: ['A_KEY'],
    mask: ['value-of-a', 'value-of-login'],
  });
});

test('the address of the queue is withheld, with or without a password in it, and its password is masked', () => {
  const withPassword = { FACTORY_DB: 'postgres://nightly:correct-horse@db.example.org/factory' };
  expect(environmentWithSecrets(withPassword, {})).toMatchObject({ env: {}, mask: ['correct-horse'] });
  const without = { FACTORY_DB: 'postgres://db.example.org/factory' };
  expect(environmentWithSecrets(without, {})).toMatchObject({ env: {}, withheld: ['FACTORY_DB'] });
});

test('FACTORY_SECRETS takes names with commas between them', () => {
  expect(namedSecrets({ FACTORY_SECRETS: ' LOGIN, my-app.id,' })).toEqual({ names: ['LOGIN', 'my-app.id'] });
  expect(namedSecrets({})).toEqual({ names: [] });
  for (const bad of ['A B', '$LOGIN', 'AWS_*', '*'])
    expect(namedSecrets({ FACTORY_SECRETS: `LOGIN,${bad}` })).toEqual({ bad });
});

test.for<[text: string, named: boolean, name?: string]>([
  ['curl -H "Authorization: $MY_TOKEN"', true],
  ['printenv MY_TOKEN', true],
  ["KeyError: 'MY_TOKEN'", true],
  ['echo $MY_TOKEN_2', false],
  ['echo $NOT_MY_TOKEN', false],
  // A single word may be any word.
  ['grep TOKEN lexer.c', false, 'TOKEN'],
  ['echo ${TOKEN}', true, 'TOKEN'],
  ['node -p process.env.TOKEN', true, 'TOKEN'],
])('%s: whether it names the variable is %s', ([text, named, name = 'MY_TOKEN']) => {
  expect(namedIn(text, [name])).toEqual(named ? [name] : []);
});

test('no value of a secret that is masked stays in any text, and no other variable changes', () => {
  const part = fc.constantFrom('A', 'PATH', 'KEY', 'TOKEN', 'URL', 'AUTH', 'HOME', 'x', '2', 'pass');
  const name = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('_'));
  const word = fc.string({ unit: fc.constantFrom(...'abX9/+:@.=-_ \n'), maxLength: 40 });
  const value = fc.oneof(
    word,
    word.map((text) => `pg://u:${encodeURIComponent(text)}@h/d`),
  );
  fc.assert(
    fc.property(fc.dictionary(name, value), fc.array(name, { maxLength: 2 }), (env, pass) => {
      const { env: given, withheld, secrets, mask } = environmentWithSecrets(env, { pass });
      expect(
        Object.keys({ ...given })
          .concat(withheld)
          .sort(),
      ).toEqual(Object.keys(env).sort());
      for (const key of Object.keys(given)) expect(given[key]).toBe(env[key]);
      for (const key of withheld) expect(secrets.map((one) => one.name)).toContain(key);
      const shown = masker(mask)(
        Object.entries(env)
          .map(([key, text]) => `${key}=${text}`)
          .join('\0'),
      );
      for (const text of mask) expect(shown).not.toContain(text);
    }),
  );
});

test('a long value is examined in little time', () => {
  const long = ['a', 'sk-', 'eyJ', 'a:', 'x://', '/', '-----BEGIN A-----', 'k=v;', 'ghp_'];
  const env = Object.fromEntries(long.map((text, n) => [`V${n}`, text.repeat(131_000 / text.length)]));
  const began = process.cpuUsage().user;
  secretsOf(env);
  expect((process.cpuUsage().user - began) / 1000).toBeLessThan(2000);
});

test('a value is masked as JSON writes it, and without the white space around it', () => {
  const { mask } = environmentWithSecrets({ A_KEY: ' quo"te\\d\nkey \n', B_KEY: '       x       ' }, {});
  const hide = masker(mask);
  expect(hide(JSON.stringify({ said: 'it is quo"te\\d\nkey.' }))).toBe('{"said":"it is ***."}');
  expect(hide('quo"te\\d\nkey')).toBe('***');
  expect(mask).toHaveLength(1);
});

test.for<[values: string[], text: string, masked: string]>([
  [['secret12'], 'a secret12 and secret12secret12', 'a *** and ******'],
  [['abcdefgh', 'abcdefghij'], 'x abcdefghij abcdefgh', 'x *** ***'],
  [['abcdefgh', 'efghijkl'], 'abcdefghijkl.', '***.'],
  [['a.c*e[g]'], 'a.c*e[g] abcdefgh', '*** abcdefgh'],
  [['', 'aaaaaaaa'], 'aaaaaaaaaaaa', '***'],
  [[], 'text', 'text'],
  [['$&$1$`$$'], 'x $&$1$`$$ y', 'x *** y'],
])('%j in %j', ([values, text, masked]) => {
  expect(masker(values)(text)).toBe(masked);
});

/** Few letters, so that values overlap and repeat. */
const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '\n'), minLength: 1, maxLength: 6 });

test('masked text never contains a value, and without values nothing changes', () => {
  fc.assert(
    fc.property(fc.array(letters, { maxLength: 4 }), fc.array(letters), (values, parts) => {
      const text = parts.join('');
      const masked = masker(values)(text);
      for (const value of values) expect(masked).not.toContain(value);
      if (!values.some((value) => text.includes(value))) expect(masked).toBe(text);
    }),
  );
});
