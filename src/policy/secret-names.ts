/** Whether a name says that its value is a secret: of an environment variable, a field of JSON, a parameter of a URL. */

/** Variables of the engine. */
const ownName = /^(?:FACTORY|ATTRACTOR|ATTRACTION)_/;

/** Variables that npm sets for the scripts that it runs. */
const ofNpm = /^npm_(?:config|package|lifecycle)_|^npm_(?:command|execpath|node_execpath)$/;
/** npm's settings that hold credentials begin with `_`: `npm_config__auth`, `npm_config_//host/:_authToken`. */
const npmCredential = /(?:^npm_config_|:)_[^:]*$/;

/** A whole word. Words of six letters and more, and TOKEN, also count at the end of a longer one (`PGPASSWORD`, `authtoken`). */
const secretWord =
  /^(?:KEY|PASS|SSHPASS|PWD|PAT|DSN|AUTH|AUTHORIZATION|CREDS?|PRIVATE|SIGNING)$|PASSWORD|PASSWD|PASSPHRASE|(?:APIKEY|TOKEN|SECRET|CREDENTIALS?|COOKIE|WEBHOOK|(?:ACCESS|AUTH|PRIVATE|SECRET|SIGNING)KEY)$/;
const severalSecrets = /^(?:KEYS|COOKIES)$|(?:APIKEYS|TOKENS|SECRETS|WEBHOOKS)$/;
/** Of a plural, such a value is a number of things or a switch: `MAX_TOKENS=4096`, `USE_COOKIES=true`. */
const countOrSwitch = /^(?:[\d_.,]*[km]?|true|false|yes|no|on|off)$/i;

/** Whether the engine set a variable of this name, or reads it as a setting. */
export const isOwnName = (name: string): boolean => ownName.test(name);

/** Whether a name says that the value is a secret. */
export function saysSecret(name: string, value: string): boolean {
  if (/^(?:OLD)?PWD$/i.test(name) || (ofNpm.test(name) && !npmCredential.test(name))) return false;
  const words = wordsOf(name);
  if (words.some((word) => secretWord.test(word))) return true;
  return !countOrSwitch.test(value.trim()) && words.some((word) => severalSecrets.test(word));
}

/** As `saysSecret` for parameters, by the last word alone: `authSource` is no secret, `sslpassword` is one. */
export function endsAsSecret(name: string): boolean {
  const last = wordsOf(name).at(-1) ?? '';
  return (secretWord.test(last) && !/^(?:AUTH|PRIVATE|SIGNING)$/.test(last)) || /^SIG(?:NATURE)?$/.test(last);
}

/** The words of `API_KEY_2`, `apiKey`, `_authToken` and `api-key`, in upper case and without numbers at their ends. */
const wordsOf = (name: string): readonly string[] =>
  name
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .split(/[^A-Za-z\d]+/)
    .map((word) => word.replace(/\d+$/, '').toUpperCase())
    .filter((word) => word !== '');
