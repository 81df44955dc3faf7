/** The dispatcher for proxies, bundled apart: of undici only the parts that it needs. */
export { EnvHttpProxyAgent } from 'undici';
