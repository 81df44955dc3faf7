import fc from 'fast-check';
import { expect, test } from 'vitest';
import { secretNames, stageEnvironment } from '../../src/policy/secrets.ts';
import { masker } from '../../src/system/mask.ts';

test('secrets are recognised by their names', () => {
  const secret = {
    OPENAI_API_KEY: '',
    GITHUB_TOKEN: '',
    client_secret: '',
    DB_PASSWORD: '',
    PASSWORD_FILE: '',
    My_Password: '',
  };
  const open = {
    PATH: '',
    KEY: '',
    MONKEY: '',
    TOKENS: '',
    API_KEYS: '',
    FACTORY_API_KEY: '',
    ATTRACTOR_CODEX_AUTO_APPROVE_CONFIG_KEY: '',
    ATTRACTION_TOKEN: '',
    UNSET_KEY: undefined,
  };
  expect(secretNames({ ...secret, ...open })).toEqual(Object.keys(secret).sort());
});

test('a node gets the named secrets, and all values are masked', () => {
  const env = {
    A_KEY: 'value-of-a',
    B_KEY: 'value-of-b',
    C_KEY: 'short',
    HOME: '/home/x',
    GONE: undefined,
    FACTORY_LOG_KEY: 'not-a-secret',
  };
  expect(stageEnvironment(env, ['B_KEY', 'NOT_THERE'])).toEqual({
    env: { B_KEY: 'value-of-b', HOME: '/home/x', FACTORY_LOG_KEY: 'not-a-secret' },
    withheld: ['A_KEY', 'C_KEY'],
    mask: ['value-of-a', 'value-of-b'],
  });
});

test('a variable that is listed as secret reaches the node and is masked', () => {
  const env = { LOGIN: 'value-of-login', A_KEY: 'value-of-a' };
  expect(stageEnvironment(env, [], ['LOGIN', 'A_KEY'])).toEqual({
    env,
    withheld: [],
    mask: ['value-of-a', 'value-of-login'],
  });
});

test('a value is masked as JSON writes it, and without the white space around it', () => {
  const { mask } = stageEnvironment({ A_KEY: ' quo"te\\d\nkey \n', B_KEY: '       x       ' }, []);
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
